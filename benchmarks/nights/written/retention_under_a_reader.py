"""The retention of a topic is shortened to save disk space, to less than the lag of the group that reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

MEGABYTE = 1_048_576
SLOW_MS = 8.0
"""Milliseconds of the loader's work for a record: it processes about 110 of the 240 records that are written per
second.
"""


@asynccontextmanager
async def _cut(field: Field, work_ms: float) -> AsyncIterator[Begin]:
    """Run a topic with a day's records and its reader. The yielded function shortens the retention to a megabyte for
    each partition.

    Args:
        work_ms: milliseconds of the reader's work for a record.
    """
    await field.topic("clicks", partitions=3, configs={"segment.bytes": str(MEGABYTE)})
    await field.writes("clicks", 9_000, value=b"c" * 1000)
    # Let the client prefetch only a few records: by default it prefetches up to 64 MB, and would not notice that later
    # records are gone.
    little: dict[str, Any] = {
        "queued_min_messages": 10,
        "fetch_message_max_bytes": 50_000,
        "fetch_queue_backoff_ms": 20,
        "auto_commit_interval_ms": 1000,
    }
    async with (
        field.producer("clicks", rate=240, value_bytes=1000),
        field.consumer("clicks", "loader", work_ms=work_ms, **little),
    ):
        await field.reads("loader", "clicks")

        async def begin() -> None:
            change = ("--entity-type", "topics", "--entity-name", "clicks")
            await field.tool("kafka-configs", "--alter", *change, "--add-config", f"retention.bytes={MEGABYTE}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the retention of a topic is shortened while its
    reader is some megabytes behind, and slower than the producer.
    """
    async with _cut(field, SLOW_MS) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the retention of a topic
    is shortened while its reader is up to date, so it has read all deleted records.
    """
    async with _cut(field, 0.0) as begin:
        yield begin


NIGHT = Night(
    name="retention cut under a reader",
    source="https://github.com/tulios/kafkajs/issues/1119",
    story="A topic's retention.bytes is smaller than what a group has yet to read. Brokers deleted segments before "
    "the group came to them, its position was out of range, and it went on at the first record that was left: "
    "thousands were never read. The lag looked better than before, and each new segment took more of them.",
    make=_make,
    twin_story="The same cut under a group that is up to date: old records go, and nobody needed them.",
    twin=_twin,
    cause=Words(
        (
            r"clicks",
            r"loader",
            r"retention|segment|log start|first offset|delet|remov",
            r"lost|los(e|es|ing)\b|unread|never read|not (yet )?(been )?read|before (it|they|the group)|out of range"
            r"|skip|jump|miss(ed|es|ing)",
        )
    ),
    symptom=Words((r"clicks|loader", r"retention|\blag|behind|log start|delet|out of range|skip|jump|lost|unread")),
    step=Words((r"retention",)),
    wrong=(
        r"reset group loader to latest",
        r"delete (topic|group|records)",
        r"set topic clicks retention\.ms=\d{1,7}\b",
    ),
    properties={"log.retention.check.interval.ms": "4000"},
)
