"""A common retention is set on all topics, also on the schema history topic of a change data capture connector."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

HISTORY = "schemahistory.inventory"
TABLES = ("inventory.customers", "inventory.addresses")
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
FOREVER = "-1"


@asynccontextmanager
async def _capturing(field: Field, retained: tuple[str, ...]) -> AsyncIterator[Begin]:
    """Run a capture of two tables, whose schemas were written a month ago. The yielded function sets a retention of a
    week.

    Args:
        retained: the topics that get the retention.
    """
    await field.topic(HISTORY, partitions=1, configs={"retention.ms": FOREVER})
    a_month_ago = int(time.time() * 1000) - 30 * DAY_MS
    await field.writes(HISTORY, 60, partition=0, value=b"d" * 500, timestamp_ms=a_month_ago)
    for table in TABLES:
        await field.topic(table, partitions=3, configs={"retention.ms": FOREVER})
    async with (
        field.producer(TABLES[0], rate=50, name="inventory-connector-customers"),
        field.producer(TABLES[1], rate=20, name="inventory-connector-addresses"),
        field.consumer(TABLES[0], "warehouse"),
        field.consumer(TABLES[1], "shipping"),
    ):
        await field.reads("warehouse", TABLES[0])
        await field.reads("shipping", TABLES[1])

        async def begin() -> None:
            for topic in retained:
                change = ("--entity-type", "topics", "--entity-name", topic, "--add-config", f"retention.ms={WEEK_MS}")
                await field.tool("kafka-configs", "--alter", *change)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the schema history gets the retention of all
    topics, and is older.
    """
    async with _capturing(field, (*TABLES, HISTORY)) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: only the topics of the
    tables get the retention.
    """
    async with _capturing(field, TABLES) as begin:
        yield begin


NIGHT = Night(
    name="a schema history with a retention",
    source="https://github.com/airbytehq/airbyte/issues/41948",
    story="A connector of Debezium keeps the schemas of its tables in a topic that must be kept forever and is only "
    "read when the connector starts. With a limited retention the brokers deleted the schemas; days later a restart "
    "failed because the history was missing, and only a new snapshot helped.",
    make=_make,
    twin_story="The same retention for the topics of the tables, and none for the schema history.",
    twin=_twin,
    cause=Words(
        (r"schemahistory", r"retention", r"delet|lost|empt|remov|gone|expire|older|no records|log start|missing")
    ),
    symptom=Words((r"schemahistory", r"retention|delet|lost|empt|remov|gone|no records|log start|records")),
    step=Words((r"retention|snapshot|recover|restor|(write|fill|build).{0,40}again",)),
    wrong=(
        r"delete (topic|group|records)",
        r"reset group",
        r"set topic schemahistory\S* (retention\.(ms|bytes)=\d|cleanup\.policy=\S*compact)",
    ),
    properties={"log.retention.check.interval.ms": "4000"},
)
