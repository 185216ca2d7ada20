"""A broker is cordoned for maintenance and stays so: no topic with a replica on each broker can be created."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

TOPICS = ("returns", "returns-changelog")
"""The topics that the new release of the service needs."""


def _refusal(bootstrap: str) -> str:
    """Return the name of the error with which the controllers would refuse a topic with three replicas; ``""`` if they
    would create it.
    """
    client = AdminClient({"bootstrap.servers": bootstrap})
    try:
        client.create_topics([NewTopic("probe", 1, 3)], validate_only=True)["probe"].result()
    except KafkaException as error:
        return str(error.args[0].name())
    return ""


@asynccontextmanager
async def _deployed(field: Field, *, forgotten: bool) -> AsyncIterator[Begin]:
    """Run a service. The yielded function cordons the log directories of broker 3, stops the service, and creates the
    topics that its next release needs.

    Args:
        forgotten: whether the broker is still cordoned then, so that the topics are refused and the service stays
            down; otherwise the cordon is removed before, and the service starts.
    """
    await field.topic("parcels", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("parcels", rate=40),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("parcels", "returns-desk") as service,
    ):
        await field.reads("billing", "orders")
        await field.reads("returns-desk", "parcels")

        async def is_known() -> bool:
            """Return whether the controllers know the newest state of the cordon, which a heartbeat tells them."""
            expected = "INVALID_REPLICATION_FACTOR" if forgotten else ""
            return await asyncio.to_thread(_refusal, field.cluster.bootstrap) == expected

        async def begin() -> None:
            on_it = ("--alter", "--entity-type", "brokers", "--entity-name", "3")
            await field.tool("kafka-configs", *on_it, "--add-config", "cordoned.log.dirs=*")
            if not forgotten:
                await field.tool("kafka-configs", *on_it, "--delete-config", "cordoned.log.dirs")
            await field.until(is_known, "the controllers know the state of the cordon")
            await service.stop()
            printed = ""
            for name in TOPICS:
                wanted = ("--topic", name, "--partitions", "3", "--replication-factor", "3")
                printed += await field.tool("kafka-topics", "--create", *wanted, check=False)
            there = (await field.tool("kafka-topics", "--list")).split()
            missing = [name for name in TOPICS if name not in there]
            if bool(missing) is not forgotten:
                raise RuntimeError(f"missing topics: {missing}; {printed}")
            if not missing:
                await service.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The cordon is forgotten, so the topics of the deployment are refused."""
    async with _deployed(field, forgotten=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The cordon is removed after the maintenance, and then the topics are created."""
    async with _deployed(field, forgotten=False) as begin:
        yield begin


NIGHT = Night(
    name="a cordon left behind",
    source="https://github.com/apache/kafka/pull/21273",
    story="The log directories of a broker were cordoned for the time of a maintenance, so that it got no new "
    "partitions, and nobody removed the cordon. The broker ran and served its partitions, but with three brokers each "
    "new topic of three replicas was refused, and a release that needed such topics never started.",
    make=_make,
    twin_story="The cordon is removed after the maintenance: the topics are created, and the service comes back.",
    twin=_twin,
    cause=Words((r"cordon", r"\b3\b|broker")),
    symptom=Words(
        (
            r"returns-desk|parcels",
            r"no members?|empty|\bleft\b|nobody|without (a )?members?|\blag\b|behind|lost its",
        )
    ),
    step=Words((r"cordon",)),
    wrong=(
        r"reset group",
        r"delete (group|topic|records)",
        r"unregister|delete broker",
        r"set broker [12] .*cordoned\.log\.dirs\s*=\s*\S",
    ),
    versions=("4.3", "4.4"),
)
