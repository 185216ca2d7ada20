"""A default quota on controller mutations is far too small: a deployment can't create its topics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

TOPICS = tuple(f"pricing-{name}" for name in ("by-product", "by-shop", "rates", "changelog"))
"""The topics that the new release of the service needs."""


@asynccontextmanager
async def _deployed(field: Field, rate: str, *, refused: bool) -> AsyncIterator[Begin]:
    """Run a service. The yielded function sets a default quota for controller mutations, stops the service and creates
    the topics that its next release needs.

    Args:
        rate: the quota, in partition mutations per second.
        refused: whether the quota refuses some of the topics; otherwise the function waits until all exist.
    """
    await field.topic("offers", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("offers", rate=40),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("offers", "pricing") as service,
    ):
        await field.reads("billing", "orders")
        await field.reads("pricing", "offers")

        async def begin() -> None:
            quota = ("--entity-type", "clients", "--entity-default", "--add-config", f"controller_mutation_rate={rate}")
            await field.tool("kafka-configs", "--alter", *quota)
            await service.stop()
            for name in TOPICS:
                wanted = ("--topic", name, "--partitions", "3", "--replication-factor", "3")
                await field.tool("kafka-topics", "--create", *wanted, check=False)
            there = (await field.tool("kafka-topics", "--list")).split()
            missing = [name for name in TOPICS if name not in there]
            if bool(missing) is not refused:
                raise RuntimeError(f"of the topics, {missing or 'none'} is missing")
            if not missing:
                await service.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a default quota on controller mutations is set
    to a partition in 100 seconds, so after the first new topic the next one has to wait for minutes.
    """
    async with _deployed(field, "0.01", refused=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a default quota on
    controller mutations is set to ten partitions per second, which is enough for a deployment.
    """
    async with _deployed(field, "10", refused=False) as begin:
        yield begin


NIGHT = Night(
    name="a mutation quota for all",
    source="https://github.com/apache/kafka/pull/8933",
    story="To protect the controllers from clients that create and delete topics in a loop, a default quota was set on "
    "mutations, in partitions per second. It was meant to be generous and was far too small: a deployment got one of "
    "its topics, was refused the others with THROTTLING_QUOTA_EXCEEDED, and its service never started.",
    make=_make,
    twin_story="The quota is one that a deployment never reaches: its topics are created, and the service comes back.",
    twin=_twin,
    cause=Words(
        (
            r"controller_mutation_rate|mutation",
            r"quota|\brate\b|\blimit",
            r"default|clients?\b|everybody|everyone|cluster|\ball\b",
        )
    ),
    symptom=Words(
        (
            r"pricing|offers",
            r"no members?|empty|\bleft\b|nobody|without (a )?members?|\blag\b|behind|lost its",
        )
    ),
    step=Words((r"controller_mutation_rate|mutation",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
)
