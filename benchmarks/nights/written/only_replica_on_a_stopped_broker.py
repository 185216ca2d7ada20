"""A broker is shut down for maintenance, and a partition has its only replica there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


@asynccontextmanager
async def _maintained(field: Field, replicas: Sequence[Sequence[int]]) -> AsyncIterator[Begin]:
    """Run clients of a topic with three replicas, and of a topic with one replica. The yielded function shuts a broker
    down.

    Args:
        replicas: the broker of each partition of the topic with one replica.
    """
    await field.topic("orders", partitions=3)
    await field.topic("invoices", on=replicas)
    async with (
        field.producer("orders", rate=30),
        field.producer("invoices", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("invoices", "bookkeeping"),
    ):
        await field.reads("billing", "orders")
        await field.reads("bookkeeping", "invoices")

        async def begin() -> None:
            await field.stop(BROKER)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is shut down that has the only
    replica of a partition.
    """
    async with _maintained(field, ((1,), (BROKER,), (3,))) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is shut down
    that has no partition of the topic with one replica.
    """
    async with _maintained(field, ((1,), (3,), (1,))) as begin:
        yield begin


NIGHT = Night(
    name="the only replica on a stopped broker",
    source="https://github.com/confluentinc/librdkafka/issues/3545",
    story="A topic was made with a replication factor of 1. When one of three brokers went down for maintenance, the "
    "partition that it had for itself got no leader: records for it timed out in the producer, and its reader waited, "
    "while the topic's other partitions and all replicated topics went on.",
    make=_make,
    twin_story="The same broker is shut down, and no partition has its only replica there.",
    twin=_twin,
    cause=Words(
        (
            r"invoices",
            r"brokers?:? 2\b|\bon 2\b|replicas?:? \[?2\]?",
            r"(only|one|single|sole) replica|replication factor|no other (replica|copy)|not replicated|offline"
            r"|no leader|leaderless|without a leader|unavailable",
        )
    ),
    symptom=Words((r"invoices", r"offline|no leader|leaderless|without a leader|unavailable|no replica")),
    step=Words((r"start|bring .{0,40}(back|up)|\bback\b",)),
    wrong=(
        r"unclean",
        r"unregister",
        r"delete (topic|group|records)",
        r"reset group",
        r"set topic orders min\.insync",
    ),
    # In the twin a broker is down, and the partitions with three replicas have one less. Nothing is offline.
    fine=(r"^(?![\s\S]*invoices)(?=[\s\S]*(brokers?:? 2\b|under.?replicated|in.sync))",),
)
