"""A job commits its transactions at its checkpoints, which now come every ten minutes: readers of committed records get
no records in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_TIMEOUT_MS = 900_000
"""The job's transaction timeout in ms, as is usual with checkpoints every ten minutes."""
_SHORT = 4.0
"""Seconds for which a transaction of the twin stays open."""
_STILL = 8.0


@asynccontextmanager
async def _job(field: Field) -> AsyncIterator[Client]:
    """Run a job with exactly-once output, a reader of committed records, and a reader of all records. Yield the job."""
    await field.topic("bookings", partitions=3)
    async with (
        field.producer(
            "bookings",
            rate=60,
            name="enricher",
            transactional_id="enricher-0",
            transaction_timeout_ms=_TIMEOUT_MS,
        ) as job,
        field.consumer("bookings", "desk", isolation_level="read_committed"),
        field.consumer("bookings", "statistics", isolation_level="read_uncommitted"),
    ):
        await field.reads("desk", "bookings")
        await field.reads("statistics", "bookings")
        yield job


async def _ends(field: Field, isolation: str) -> list[int]:
    """Return the end offset of each partition, as readers with an isolation level see it."""

    def ask() -> list[int]:
        admin = AdminClient({"bootstrap.servers": field.cluster.bootstrap})
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        places = {TopicPartition("bookings", number): latest for number in range(3)}
        asked = admin.list_offsets(places, isolation_level=IsolationLevel[isolation])
        return [asked[place].result(20).offset for place in places]

    return await asyncio.to_thread(ask)


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a job writes in a transaction that it does not
    end before its next checkpoint, ten minutes later.
    """
    async with _job(field) as job:

        async def begin() -> None:
            await job.tell(hold=True)
            await asyncio.sleep(3)
            stable, end = await _ends(field, "READ_COMMITTED"), await _ends(field, "READ_UNCOMMITTED")
            await asyncio.sleep(_STILL)
            if await _ends(field, "READ_COMMITTED") != stable:
                raise RuntimeError("the last stable offset moves: the transaction is not held")
            if sum(await _ends(field, "READ_UNCOMMITTED")) <= sum(end):
                raise RuntimeError("the job does not write any more")

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a job's checkpoints, at
    which it ends its transactions, come every few seconds instead of each second.
    """

    async def checkpoints(job: Client) -> None:
        while True:
            await job.tell(hold=True)
            await asyncio.sleep(_SHORT)
            await job.tell(hold=False)
            await asyncio.sleep(0.5)

    async with _job(field) as job, field.rounds() as begin_round:

        async def begin() -> None:
            begin_round(checkpoints(job))
            await asyncio.sleep(_STILL)

        yield begin


NIGHT = Night(
    name="transactions as long as the checkpoints",
    source="https://github.com/apache/flink/pull/9764",
    story="To spare its storage somebody raised the checkpoint interval of a streaming job from a second to ten "
    "minutes. With exactly-once output, each transaction lasts as long. The job is well and writes on, but readers "
    "with read_committed stand still for ten minutes, get everything at once, and stand still again.",
    make=_make,
    twin_story="The interval is raised to a few seconds: readers of committed records follow in small steps.",
    twin=_twin,
    cause=Words(
        (
            r"bookings|enricher|desk",
            r"transaction",
            r"\bopen\b|ongoing|\blong\b|lasts|not (been )?(committed|ended|finished|completed)|unfinished|"
            r"uncommitted|never ended|for \d+ ?(s\b|sec|min)",
        ),
        # The job lives, and writes on in it.
        never=(
            r"(?<!if )(?<!whether )the (job|producer|writer|application) (is|was|has) (dead|gone|crashed|killed|ended)",
            r"transaction is (hanging|abandoned|orphaned)",
        ),
    ),
    symptom=Words(
        (
            r"desk|bookings",
            r"\blag\b|behind|stand|stuck|stable offset|\bLSO\b|no progress|not (move|advance|progress)|"
            r"read_committed|transaction",
        )
    ),
    step=Words(
        (
            r"checkpoint|commit (it|them|its|more|sooner|often)|shorter|more often|commit.?interval|interval|"
            r"(look|ask|check).{0,60}(job|producer|application|writer|client|owner|log)|"
            r"(job|producer|application|writer|enricher).{0,80}(commit|end|finish|shorten|log)",
        )
    ),
    # The job loses what it wrote since its last checkpoint, and fails; readers don't get those records sooner.
    wrong=(
        r"\babort\b",
        r"terminat|\bfence\b",
        r"reset group",
        r"delete group",
        r"delete topic",
        r"delete.?records",
    ),
)
