"""A broker's replica.lag.time.max.ms is shorter than the time that its followers' fetches wait: replicas leave and join
the ISR again and again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 1


@asynccontextmanager
async def _tuned(field: Field, properties: dict[str, str | None], *, flaps: bool) -> AsyncIterator[Begin]:
    """Run brokers whose followers wait 1.5 seconds for data, to fetch more at once. The yielded function restarts one
    broker with new properties.

    Args:
        properties: the new properties; None removes a property.
        flaps: whether the followers of this broker then fall out of sync.
    """
    await field.topic("orders", on=[(1, 2, 3), (2, 3, 1), (3, 1, 2)], configs={"min.insync.replicas": "2"})
    await field.topic("visits", on=[(1, 3, 2), (2, 1, 3), (3, 2, 1)])

    async def led() -> list[str]:
        """Return the lines that kafka-topics prints about the partition of orders whose preferred leader is the
        broker.
        """
        described = await field.tool("kafka-topics", "--describe", "--topic", "orders")
        return [line for line in described.splitlines() if f"Leader: {BROKER}\t" in f"{line}\t"]

    async def is_elected() -> bool:
        """Elect preferred leaders, and return whether the broker leads its partition again, as after each restart."""
        election = ("--election-type", "preferred", "--all-topic-partitions")
        await field.tool("kafka-leader-election", *election, check=False)
        return bool(await led())

    async def is_alone() -> bool:
        return any(f"Isr: {BROKER}\t" in f"{line}\t" for line in await led())

    async with (
        field.producer("orders", rate=60),
        field.producer("visits", rate=60),
        field.consumer("orders", "billing"),
        field.consumer("visits", "statistics"),
    ):
        await field.reads("billing", "orders")
        await field.reads("statistics", "visits")

        async def begin() -> None:
            await field.with_properties(BROKER, properties)
            await field.restart(BROKER)
            await field.until(is_elected, f"broker {BROKER} leads again", within=150)
            if flaps:
                await field.until(is_alone, f"broker {BROKER} is alone in sync", within=90)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker's replica.lag.time.max.ms is set to
    0.6 seconds, less than its followers' fetches wait.
    """
    # A broker does not start if its own wait is longer than its own limit.
    properties: dict[str, str | None] = {"replica.lag.time.max.ms": "600", "replica.fetch.wait.max.ms": "500"}
    async with _tuned(field, properties, flaps=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker's own fetches are
    set to wait for a shorter time.
    """
    async with _tuned(field, {"replica.fetch.wait.max.ms": "500"}, flaps=False) as begin:
        yield begin


NIGHT = Night(
    name="a lag time below the wait",
    source="https://github.com/apache/kafka/pull/7699",
    story="replica.lag.time.max.ms was lowered to learn of slow replicas sooner, below the time for which followers "
    "wait for data in a fetch. Followers that were well were taken out of the in-sync replicas and put in again all "
    "the time; writes that need two replicas failed in between, and disks and networks were searched for a fault.",
    make=_make,
    twin_story="The same broker is restarted with a shorter wait for its own fetches, and leads again.",
    twin=_twin,
    cause=Words(
        (
            r"broker 1\b|\b1\b",
            r"replica\.lag\.time\.max\.ms|lag.?time|(limit|time|longest|maximum).{0,40}(replica|follower).{0,40}(lag|behind)",
        )
    ),
    symptom=Words(
        (
            r"orders|visits|__consumer_offsets|broker [123]\b",
            r"under.?replicat|in.?sync|\bisr\b|not enough|min\.insync|flap|alone|behind",
        )
    ),
    step=Words((r"replica\.lag\.time\.max\.ms",)),
    wrong=(
        r"unclean",
        r"unregister",
        r"min\.insync\.replicas\s*=\s*1\b",
        r"delete topic",
        r"reset group",
    ),
    # The broker is restarted in the twin, too.
    fine=(
        r"broker 1.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer|back)",
        r"under.?replicat|in.?sync",
    ),
    properties={"replica.fetch.wait.max.ms": "1500", "replica.fetch.min.bytes": "5000000"},
)
