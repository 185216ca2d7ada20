"""The retention of all brokers is cut: every topic without a retention of its own loses its history."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

HOUR_MS = 3_600_000
TOPICS = ("orders", "payments", "clicks")
PARTITIONS = 2
ROLLS = {"segment.ms": "600000"}
"""Old records are in a segment of their own, so the next check may delete them."""


@asynccontextmanager
async def _cut(field: Field, configs: Mapping[str, str], *, deletes: bool) -> AsyncIterator[Begin]:
    """Topics have records of three hours ago. The yielded function sets a retention of one hour for all brokers.

    Args:
        configs: of the topics, besides `ROLLS`.
        deletes: whether the old records are deleted then; the function waits for it.
    """
    then = int(time.time() * 1000) - 3 * HOUR_MS
    for name in TOPICS:
        await field.topic(name, partitions=PARTITIONS, configs=ROLLS | dict(configs))
        for partition in range(PARTITIONS):
            await field.writes(name, 1_500, partition=partition, value=b"h" * 200, timestamp_ms=then)
    async with (
        field.producer("orders", rate=30),
        field.producer("payments", rate=30),
        field.producer("clicks", rate=30),
        field.consumer("orders", "billing", batch=500),
        field.consumer("payments", "booking", batch=500),
    ):
        await field.reads("billing", "orders")
        await field.reads("booking", "payments")

        async def is_cut() -> bool:
            lines = (await field.tool("kafka-get-offsets", "--topic", "orders", "--time", "earliest")).split()
            return len(lines) == PARTITIONS and all(int(line.rpartition(":")[2]) >= 1_500 for line in lines)

        async def begin() -> None:
            change = ("--alter", "--add-config", f"log.retention.ms={HOUR_MS}")
            await field.tool("kafka-configs", "--entity-type", "brokers", "--entity-default", *change)
            if deletes:
                await field.until(is_cut, "the old records of topic orders are deleted")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The topics have no retention of their own."""
    async with _cut(field, {}, deletes=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The topics keep their records for a week, by a retention of their own."""
    async with _cut(field, {"retention.ms": str(168 * HOUR_MS)}, deletes=False) as begin:
        yield begin


NIGHT = Night(
    name="a default retention cut",
    source="https://github.com/sitewhere/sitewhere/issues/942",
    story="As disks filled up, the time for which brokers keep records was lowered for the whole cluster. It applies "
    "to every topic that has no retention of its own, which were nearly all: within minutes they lost the history that "
    "their owners counted on for a week, without any change of the topics themselves.",
    make=_make,
    twin_story="The same default is set, and each topic has a retention of its own: nothing is deleted.",
    twin=_twin,
    cause=Words(
        (
            r"retention",
            r"log\.retention|default|brokers?\b|cluster|inherit|every topic|all topics",
            r"\b(cut|lower|short|less|reduc|chang|set|now)|delet|\blost\b|\bloses?\b|remov|drop|\bgone\b|"
            r"\b1 ?h|an hour|3600000",
        )
    ),
    symptom=Words(
        (
            r"orders|payments|clicks",
            r"delet|\blost\b|\bloses?\b|remov|shrank|shrunk|smaller|dropped|\bgone\b|oldest|start offset|retention",
        )
    ),
    step=Words((r"log\.retention|retention\.ms|retention",)),
    wrong=(
        r"delete (topic|group|records)",
        r"reset group",
        r"retention\.(ms|bytes)\s*=\s*\W?(\d{1,6}(ms)?|\d{1,3}s|[1-9]m|[1-5]\dm|1h)\s*$",
    ),
    properties={"log.retention.check.interval.ms": "4000"},
)
