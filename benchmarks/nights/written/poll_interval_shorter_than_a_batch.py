"""A consumer needs longer for a batch than its max.poll.interval.ms, leaves its group each time, and reads the same
batch again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BATCH = 300
"""Records that are written at once, and that the consumer takes between two polls."""
EVERY = 30.0
"""Seconds between two batches."""
QUICK_MS, SLOW_MS = 5.0, 60.0
"""Milliseconds for a record with the fast and the slow database; the slow one needs 18 seconds for a batch."""


@asynccontextmanager
async def _batches(field: Field, interval_ms: int) -> AsyncIterator[Begin]:
    """Run a topic that gets a batch every 30 seconds, and its reader. In the yielded function the reader's database
    becomes slow.

    Args:
        interval_ms: the reader's max.poll.interval.ms.
    """
    await field.topic("invoices", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.rounds() as rounds,
        field.consumer(
            "invoices", "archive", batch=500, session_timeout_ms=6000, max_poll_interval_ms=interval_ms
        ) as reader,
        field.producer("orders", rate=40),
        field.consumer("orders", "billing"),
    ):
        await reader.tell(work_ms=QUICK_MS)

        async def write() -> None:
            while True:
                await field.writes("invoices", BATCH)
                await asyncio.sleep(EVERY)

        rounds(write())
        await field.reads("archive", "invoices")
        await field.reads("billing", "orders")

        async def begin() -> None:
            await reader.tell(work_ms=SLOW_MS)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a batch takes longer than the reader's
    max.poll.interval.ms.
    """
    async with _batches(field, 8_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a batch takes as long, and
    the reader has five minutes between two polls.
    """
    async with _batches(field, 300_000) as begin:
        yield begin


NIGHT = Night(
    name="a poll interval shorter than a batch",
    source="https://github.com/confluentinc/confluent-kafka-python/issues/552",
    story="The processing of the records from one poll took longer than max.poll.interval.ms. The client left its "
    "group in the middle of the work, could not commit what it had done, joined again and got the same records. The "
    "group alternates between empty and stable, does everything twice, and its lag grows.",
    make=_make,
    twin_story="The same slow work, and a reader that may take five minutes between two polls: each batch is done "
    "before the next one comes.",
    twin=_twin,
    cause=Words(
        (
            r"archive",
            r"max\.poll|poll (interval|loop|timeout)|between (two )?polls|(too|so) (long|slow)|longer than"
            r"|(slow|long).{0,40}(process|work|batch|record)|(process|work|batch|record).{0,40}(slow|long)",
            r"leav|left|again|re-?join|rebalanc|expel|kick|drop|out of the group"
            r"|come.{0,20}(and|go)|lose|without commit",
        )
    ),
    symptom=Words(
        (
            r"archive",
            r"rebalanc|\blag|behind|re-?join|leav|left|member.{0,40}(come|go|join|chang|new)|empty|no member|unstable"
            r"|not (been )?commit|no progress|stuck",
        )
    ),
    step=Words(
        (
            r"max\.poll|poll interval|(smaller|fewer|less).{0,40}(batch|record|poll)|faster|speed"
            r"|(shorten|reduce).{0,60}(batch|work|process)",
        )
    ),
    wrong=(r"reset group", r"delete (topic|group|records)"),
    # A batch of 300 records waits for up to 18 s: a lag that comes and goes is true.
    fine=(r"^(?=.*archive)(?=.*(\blag|behind))(?!.*(rebalanc|re-?join|left|leav|empty|no member|stuck))",),
)
