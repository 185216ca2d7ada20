"""A retention time for all topics is also set for the topic in which a connector keeps the history of the schemas of
its database: its records, which the connector needs at its next start, are deleted.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_HISTORY = "schemahistory.inventory"
_CHANGES = ("inventory.customers", "inventory.orders")
_DAY_MS = 86_400_000


@asynccontextmanager
async def _captured(field: Field, topics: tuple[str, ...]) -> AsyncIterator[Begin]:
    """Run the writers and readers of a database's changes. The yielded function sets a retention time.

    Args:
        topics: the topics that get a retention time of seven days.
    """
    keep = {"retention.ms": "-1", "cleanup.policy": "delete"}
    await field.topic(_HISTORY, partitions=1, configs=keep)
    await field.writes(_HISTORY, 60, partition=0, timestamp_ms=int(time.time() * 1000) - 30 * _DAY_MS)
    for name in _CHANGES:
        await field.topic(name, partitions=3, configs=keep)
    async with (
        field.producer(_CHANGES[0], rate=30, name="inventory-connector-0"),
        field.producer(_CHANGES[1], rate=30, name="inventory-connector-1"),
        field.consumer(_CHANGES[0], "search"),
        field.consumer(_CHANGES[1], "warehouse"),
    ):
        await field.reads("search", _CHANGES[0])
        await field.reads("warehouse", _CHANGES[1])

        async def is_deleted() -> bool:
            found = await field.tool("kafka-get-offsets", "--topic", _HISTORY, "--time", "-2")
            return found.strip().endswith(":60")

        async def begin() -> None:
            for name in topics:
                change = ("--alter", "--add-config", f"retention.ms={7 * _DAY_MS}")
                await field.tool("kafka-configs", "--entity-type", "topics", "--entity-name", name, *change)
            if _HISTORY in topics:
                await field.until(is_deleted, "the history is deleted")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: all topics of a connector get a retention time
    of seven days, the schema history too.
    """
    async with _captured(field, (_HISTORY, *_CHANGES)) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: only the topics of changes
    get the retention time.
    """
    async with _captured(field, _CHANGES) as begin:
        yield begin


NIGHT = Night(
    name="the schema history of a connector expired",
    source="https://kafka-options-explorer.conduktor.io/debezium/errors/mysql-schema-history-missing",
    story="A script gave all topics of a Debezium connector a retention time of a week. The schema history, which was "
    "written a month ago and has to be kept for ever, was deleted by the brokers. The connector ran on; at its next "
    "start it would not, because its history was missing.",
    make=_make,
    twin_story="The script passes over the schema history: only the topics of changes get the retention time.",
    twin=_twin,
    cause=Words(
        (
            _HISTORY,
            r"retention",
            r"delet|remov|expire|\blost\b|\bgone\b|empt|kept? (for ?ever|without)|for ?ever|infinite|unlimited|\b-1\b",
        )
    ),
    symptom=Words((_HISTORY, r"delet|remov|expire|\blost\b|\bgone\b|empt|log start|first offset|retention")),
    step=Words((r"retention\.ms=-1|retention\S* .{0,60}(for ?ever|infinite|unlimited|-1)|recover|snapshot",)),
    wrong=(r"delete topic", r"cleanup\.policy=compact", r"delete.?records", r"reset group", r"retention\.ms=[1-9]"),
    properties={"log.retention.check.interval.ms": "5000"},
)
