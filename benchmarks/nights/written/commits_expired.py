"""The committed offsets of a job that rarely runs expire between two runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

TOO_LONG, SHORT = 80.0, 20.0
"""Seconds between two runs. Here brokers keep the commits of an empty group for one minute; in the report they kept
them for a day.
"""


@asynccontextmanager
async def _away_for(field: Field, seconds: float) -> AsyncIterator[Begin]:
    """Run a job and another group that reads all the time. The yielded function ends the job and starts it again
    `seconds` seconds later.
    """
    await field.topic("invoices", partitions=3)
    async with (
        field.producer("invoices", rate=40),
        field.consumer("invoices", "nightly-export", auto_offset_reset="latest") as job,
        field.consumer("invoices", "billing"),
    ):
        await field.reads("nightly-export", "invoices")
        await field.reads("billing", "invoices")

        async def begin() -> None:
            await job.stop()
            await asyncio.sleep(seconds)
            await job.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a job is stopped for longer than brokers keep
    its committed offsets.
    """
    async with _away_for(field, TOO_LONG) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a job is started again in
    time, and reads the records that were written meanwhile.
    """
    async with _away_for(field, SHORT) as begin:
        yield begin


NIGHT = Night(
    name="commits expired between two runs",
    source="https://github.com/Parsely/pykafka/issues/504",
    story="A job read a topic now and then, and once it had not run for longer than offsets.retention.minutes. "
    "Brokers drop the commits of a group without members after that time, and the group with them; the next run found "
    "no position, began at the end, and what was written in between was never read. No lag was shown for it.",
    make=_make,
    twin_story="The job pauses for a third of that time, and goes on where it was.",
    twin=_twin,
    cause=Words((r"nightly-export", r"offset|commit|position|group", r"expir|retention|retain")),
    symptom=Words(
        (
            r"nightly-export",
            r"\bgone\b|vanish|disappear|delet|no (longer|commit|offset|position|member)|without|lost|skip|missed"
            r"|jump|empty|at the end|never read|unread",
        )
    ),
    step=Words((r"offsets\.retention|reset|to (a |the )?(time|offset|earliest|datetime)",)),
    wrong=(r"reset group nightly-export to latest", r"delete group nightly-export", r"delete topic invoices"),
    watch=60.0,
    properties={"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "5000"},
)
