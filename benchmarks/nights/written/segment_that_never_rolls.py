"""The retention of a quiet topic is cut, and its old records remain: they are in a segment that is still written."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

HOUR_MS = 3_600_000
PARTITIONS = 3


@asynccontextmanager
async def _cut(field: Field, configs: Mapping[str, str]) -> AsyncIterator[Begin]:
    """Write records with timestamps of three hours ago to a topic, and run its clients. The yielded function sets the
    topic's retention to one hour.

    Args:
        configs: the topic's config overrides.
    """
    await field.topic("sessions", partitions=PARTITIONS, configs=configs)
    then = int(time.time() * 1000) - 3 * HOUR_MS
    for partition in range(PARTITIONS):
        await field.writes("sessions", 1_000, partition=partition, value=b"s" * 300, timestamp_ms=then)
    async with field.producer("sessions", rate=30), field.consumer("sessions", "audit"):
        await field.reads("audit", "sessions")

        async def begin() -> None:
            on_it = ("--entity-type", "topics", "--entity-name", "sessions")
            await field.tool("kafka-configs", "--alter", *on_it, "--add-config", f"retention.ms={HOUR_MS}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the retention of a topic is cut whose
    segments have the default size, a week or a gigabyte, so the old records are in the segment that is still
    written.
    """
    async with _cut(field, {}) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the retention of a
    topic is cut that begins a segment every ten minutes, so the old records are in a segment that is no longer
    written.
    """
    async with _cut(field, {"segment.ms": "600000"}) as begin:
        yield begin


NIGHT = Night(
    name="a segment that never rolls",
    source="https://dalelane.co.uk/blog/?p=3993",
    story="A topic with little traffic got a retention of an hour, and records of three hours ago were still there "
    "long after the next checks. Brokers delete whole segments, never the one that is written, and segments of a week "
    "or a gigabyte were never closed at this traffic: the retention had no effect.",
    make=_make,
    twin_story="The same cut on a topic that begins a segment every ten minutes: the old records go.",
    twin=_twin,
    cause=Words(
        (
            r"sessions",
            r"segments?\b",
            r"retention|older|\bold\b|oldest|expired|deleted?|kept|keeps?|remain",
            r"\broll|active|closed?\b|segment\.(ms|bytes)|still (being )?written|current|one segment|longer than",
        )
    ),
    symptom=Words(
        (
            r"sessions",
            r"retention|older than|oldest|expired|not (yet )?deleted|kept (for )?longer|still (there|kept)|remain",
        )
    ),
    step=Words((r"segment\.(ms|bytes)|\broll",)),
    wrong=(
        r"delete (topic|group)",
        r"reset group",
        r"cleanup\.policy\s*=\s*\W?compact",
        r"segment\.(ms|bytes)\s*=\s*(\d{1,4}(ms)?|\d{1,2}s)\s*$",
        r"set topic sessions .*retention\.(ms|bytes)\s*=\s*(\d{1,4}(ms)?|\d{1,2}s)\s*$",
    ),
    properties={"log.retention.check.interval.ms": "4000"},
)
