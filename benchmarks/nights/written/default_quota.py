"""A default quota that is far too small slows every consumer of the cluster down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

GROUPS = ("billing", "fraud-check", "search-index")


async def _limit_all(field: Field, bytes_a_second: int) -> None:
    """Limit the bytes per second that each client id without its own quota may read from a broker."""
    change = ("--entity-type", "clients", "--entity-default", "--add-config", f"consumer_byte_rate={bytes_a_second}")
    await field.tool("kafka-configs", "--alter", *change)


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[None]:
    """Run three groups that read 100 kB per second each, and have no lag."""
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=200, value_bytes=500),
        field.consumer("orders", GROUPS[0]),
        field.consumer("orders", GROUPS[1]),
        field.consumer("orders", GROUPS[2]),
    ):
        for group in GROUPS:
            await field.reads(group, "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator sets a default quota in bytes per
    second, but means kilobytes.
    """
    async with _services(field):

        async def begin() -> None:
            await _limit_all(field, 2_000)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator sets a default
    quota far above the rate of any client.
    """
    async with _services(field):

        async def begin() -> None:
            await _limit_all(field, 20_000_000)

        yield begin


NIGHT = Night(
    name="a default quota for everybody",
    source="https://github.com/apache/kafka/pull/8290",
    story="To protect the brokers from one greedy job, a default quota for all client ids was set on what they may "
    "read, and far too small. The brokers are idle, every consumer is there and works, and the lag of all "
    "groups grows at once.",
    make=_make,
    twin_story="A default quota is set too, a hundred times what the busiest client reads.",
    twin=_twin,
    cause=Words((r"quota|throttl", r"consumer_byte_rate|consum|fetch|read", r"default|every|\ball\b")),
    symptom=Words((r"billing|fraud-check|search-index", r"\blag|behind")),
    step=Words((r"quota|consumer_byte_rate",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"partitions[ =]\d"),
)
