"""One broker is restarted without the SASL mechanism that a service uses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


@asynccontextmanager
async def _rebuilt(field: Field, mechanisms: str) -> AsyncIterator[Begin]:
    """Run a service that logs in with SCRAM, and one that logs in with PLAIN. The yielded function restarts broker 2
    with a new list of mechanisms.

    Args:
        mechanisms: the new list, separated by commas.
    """
    await field.scram("shop")
    await field.topic("orders", partitions=3, configs={"min.insync.replicas": "2"})
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("orders", rate=60, name="shop", user="shop"),
        field.producer("clicks", rate=60, name="web", user="alice"),
        field.consumer("orders", "billing", user="alice"),
        field.consumer("clicks", "stats", user="alice"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            await field.with_properties(BROKER, {"sasl.enabled.mechanisms": mechanisms})
            await field.restart(BROKER)
            await field.settled()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is restarted with a list of
    mechanisms that lacks SCRAM.
    """
    async with _rebuilt(field, "PLAIN") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is restarted
    with the same mechanisms in another order.
    """
    async with _rebuilt(field, "SCRAM-SHA-256,PLAIN") as begin:
        yield begin


NIGHT = Night(
    name="login mechanism of one broker",
    source="https://github.com/lectra-tech/kapoeira/issues/13",
    story="A broker's server.properties was written again from a template whose sasl.enabled.mechanisms was PLAIN. "
    "After its restart the service that logs in with SCRAM could connect to the other two brokers, but not to this "
    "one: orders for the partitions that broker 2 leads stayed in the service, while services with PLAIN saw nothing.",
    make=_make,
    twin_story="The same restart, with the same mechanisms in another order.",
    twin=_twin,
    cause=Words((r"\b2\b", r"sasl\.enabled\.mechanisms|mechanism|scram")),
    symptom=Words(
        (r"orders|broker 2\b", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|uneven|fell|less|quiet")
    ),
    step=Words((r"sasl\.enabled\.mechanisms|mechanism",)),
    wrong=(
        r"unclean",
        r"unregister",
        r"delete (topic|group|user|scram)",
        r"reset group",
        r"(unset|delete|remove|drop) .*scram",
    ),
    # The broker is restarted in the twin, too.
    fine=(
        r"broker 2.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer|back)",
        r"under.?replicat|in.?sync",
    ),
    security="logins",
)
