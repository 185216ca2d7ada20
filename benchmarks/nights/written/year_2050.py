"""A record has a timestamp in the year 2050: retention keeps its segment, and all later segments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITION = 1
IN_2050_MS = 2_540_000_000_000
# Since Kafka 4, brokers refuse timestamps that are more than an hour ahead by default; this topic has the former
# default.
_ANY_TIME = "9223372036854775807"
_CONFIGS = {"retention.ms": "20000", "segment.ms": "8000", "message.timestamp.after.max.ms": _ANY_TIME}


@asynccontextmanager
async def _sensors(field: Field, stamp_ms: int | None) -> AsyncIterator[Begin]:
    """Run sensors that write to a topic with a short retention, which regularly deletes the oldest records. The yielded
    function writes a record with a timestamp in the future.

    Args:
        stamp_ms: the record's timestamp in ms since 1970; None for five seconds ahead.
    """
    await field.topic("readings", partitions=2, configs=_CONFIGS)
    async with (
        field.producer("readings", rate=80, value_bytes=500, name="sensors"),
        field.consumer("readings", "charts", batch=100),
    ):
        await field.reads("charts", "readings")
        await asyncio.sleep(30)  # the first segments are deleted in this time

        async def begin() -> None:
            when = stamp_ms or int(time.time() * 1000) + 5_000
            await field.writes("readings", 1, partition=PARTITION, timestamp_ms=when)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a record with a timestamp in 2050 is
    written.
    """
    async with _sensors(field, IN_2050_MS) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a record with a timestamp
    five seconds ahead is written, so it is deleted five seconds later than its neighbours.
    """
    async with _sensors(field, None) as begin:
        yield begin


NIGHT = Night(
    name="a record of the year 2050",
    source="https://github.com/bitnami/containers/issues/78629",
    story="After months without trouble brokers stopped to delete old records of one partition, while the other "
    "partitions of its topic were trimmed as ever. One record there had a stamp far in the future: its segment is not "
    "old until then, and as logs are trimmed from their head only, everything behind it stays too. The disk fills, "
    "with the right retention in every place where one looks for it.",
    make=_make,
    twin_story="A record that is stamped five seconds ahead goes with its segment, five seconds late.",
    twin=_twin,
    cause=Words(
        (
            r"readings",
            r"timestamp|time ?stamp|stamped|create.?time|clock",
            r"2050|future|ahead|later than (now|today)|years? from now|not (yet )?reached",
        )
    ),
    symptom=Words(
        (
            r"readings",
            r"retention|older than|oldest|not (deleted|trimmed|removed)|log start|start offset|grow|size|keeps",
        )
    ),
    step=Words(
        (
            r"LogAppendTime|message\.timestamp\.(type|after)|delete.?records|records? (up to|before|below)|clock"
            r"|producer|retention\.bytes",
        )
    ),
    wrong=(r"delete topic readings", r"reset group charts", r"delete group charts", r"retention\.ms=-1"),
    # The default is five minutes; here brokers check the age of records every few seconds.
    properties={"log.retention.check.interval.ms": "4000"},
    watch=120.0,
)
