"""An operator clears the messages of a topic in a web interface: records that a nightly job has not read yet are
deleted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITIONS = 3
EARLY = 60
"""Number of records in each partition that all groups have already read."""
WAITS = 12.0
"""Seconds for which records wait for the job before the click, and seconds from the click until the job runs."""


async def _delete_before(field: Field, offset: int) -> None:
    """Delete the topic's records before an offset in each partition; -1 is the end."""
    wanted = [{"topic": "orders", "partition": each, "offset": offset} for each in range(PARTITIONS)]
    file = field.cluster.directory / "before.json"
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))
    await field.tool("kafka-delete-records", "--offset-json-file", str(file))


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator empties a topic while the job that
    reads it is not running.
    """
    await field.topic("orders", partitions=PARTITIONS)
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "billing"),
        field.consumer("orders", "reports") as job,
    ):
        await field.reads("billing", "orders")
        await field.reads("reports", "orders")
        await job.stop()
        await asyncio.sleep(WAITS)

        async def begin() -> None:
            await _delete_before(field, -1)
            await asyncio.sleep(WAITS)
            await job.start()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service deletes records
    that both groups have read, as Kafka Streams does in repartition topics.
    """
    await field.topic("orders", partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        await field.writes("orders", EARLY, partition=partition)
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "billing"),
        field.consumer("orders", "reports"),
    ):
        await field.reads("billing", "orders")
        await field.reads("reports", "orders")

        async def begin() -> None:
            for offset in (EARLY // 3, EARLY):
                await _delete_before(field, offset)

        yield begin


NIGHT = Night(
    name="a topic emptied by a click",
    source="https://github.com/provectus/kafka-ui/issues/1229",
    story="A button of a web interface cleared all messages of a topic at once, without a question. A nightly job that "
    "had not run yet found its offset out of range, began with the first record that was left, without an error, and "
    "its report was short. Nothing in the topic's settings tells of it, and no retention did it.",
    make=_make,
    twin_story="Old records of the same topic are deleted, which every group has read.",
    twin=_twin,
    cause=Words(
        (
            r"orders",
            r"delete.?records|deleted|purg|emptied|cleared",
            r"by hand|somebody|someone|a client|not (by |the )?(its )?retention|no retention|without .{0,20}retention|"
            r"all (of )?(its |the )?(partitions|records)|delete.?records|up to (the|its) end|purg|emptied|cleared",
        ),
        never=(r"retention\.(ms|bytes) (is|was) (too )?(short|small|low|cut)",),
    ),
    symptom=Words(
        (
            r"orders|reports",
            r"lost|skipp|out of range|gone|deleted|log start|first record|never read|nobody reads|behind",
        )
    ),
    step=Words((r"source|back.?up|restore|replay|again from|write .{0,30}again|who |\bacls?\b|principal|audit",)),
    wrong=(r"reset group \w+.*(latest|\bend\b)", r"delete (topic|group|records)"),
)
