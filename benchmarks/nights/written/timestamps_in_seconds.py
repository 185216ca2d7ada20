"""A producer gives its records' timestamps in seconds instead of milliseconds: to the brokers they are from 1970, and
retention deletes them at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

# The default is five minutes; here brokers check the age of records every few seconds.
_CHECKS = {"log.retention.check.interval.ms": "4000"}


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: alerts whose timestamps are in seconds are
    written to a new topic with a retention of a week; one reader always runs, another runs from time to time. There
    are no earlier records with correct timestamps: they would be at the head of the log, and keep all later records
    from being deleted.
    """
    await field.topic("alerts", partitions=2)
    async with (
        AsyncExitStack() as later,
        field.consumer("alerts", "pager", topic_metadata_refresh_interval_ms=2_000),
    ):

        async def begin() -> None:
            now = time.time()
            await later.enter_async_context(field.producer("alerts", rate=40, ahead_ms=now - now * 1000))
            audit = await later.enter_async_context(field.consumer("alerts", "audit"))
            await field.reads("audit", "alerts")
            await audit.stop()
            await asyncio.sleep(20)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: alerts with correct
    timestamps are written to a topic with a retention of half a minute, and both readers are always in time.
    """
    # Only whole segments are deleted, and never the active one, so a short retention needs short segments.
    await field.topic("alerts", partitions=2, configs={"retention.ms": "30000", "segment.ms": "10000"})
    async with (
        AsyncExitStack() as later,
        field.consumer("alerts", "pager", topic_metadata_refresh_interval_ms=2_000),
    ):

        async def begin() -> None:
            await later.enter_async_context(field.producer("alerts", rate=40))
            await later.enter_async_context(field.consumer("alerts", "audit"))
            await field.reads("audit", "alerts")
            await asyncio.sleep(20)

        yield begin


NIGHT = Night(
    name="timestamps in seconds",
    source="https://github.com/influxdata/kapacitor/issues/2239",
    story=(
        "Alerts that a monitoring service writes are gone from their topic minutes later, although it keeps a week. "
        "The service stamps records with seconds where Kafka wants milliseconds, so that they are of January 1970, "
        "and each check of retention deletes all that was written since the last one. Who reads at once sees them; "
        "the audit, which reads once in a while, finds nothing."
    ),
    make=_make,
    twin_story="A topic with a retention of seconds by intention, whose readers are always in time.",
    twin=_twin,
    cause=Words(
        must=(
            r"alerts",
            r"timestamp|time ?stamp|create.?time|1970|stamped",
            r"retention|delet|remov|log start|\bgone\b|lost|expire",
        )
    ),
    symptom=Words(
        must=(
            r"alerts",
            r"log start|retention|delet|remov|lost|out of range|\bgone\b|no longer|skip|before (the )?(first|start)|"
            r"missed|earl(y|ier)|behind",
        )
    ),
    step=Words(must=(r"LogAppendTime|message\.timestamp\.(type|before)|milliseconds|retention\.ms|producer",)),
    wrong=(
        r"reset group (audit|pager)",
        r"delete topic alerts",
        r"delete group (audit|pager)",
        r"retention\.ms=\d{1,8}\b",
    ),
    properties=_CHECKS,
)
