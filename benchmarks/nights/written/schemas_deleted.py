"""A script sets a retention for every topic, even for one that must be compacted: the schemas are deleted because of
their age.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

SCHEMAS = 25
_DAY_MS = 86_400_000
_KEEP = f"cleanup.policy=delete,retention.ms={_DAY_MS}"


@asynccontextmanager
async def _tidied(field: Field, topics: Sequence[str]) -> AsyncIterator[Begin]:
    """Create topics with records from three days ago: schemas, which have not changed since, and clicks. The yielded
    function limits the retention of topics to a day.

    Args:
        topics: the topics whose retention is limited.
    """
    await field.topic("_schemas", partitions=1, configs={"cleanup.policy": "compact"})
    await field.topic("orders", partitions=3)
    await field.topic("clicks", partitions=2, configs={"segment.ms": str(_DAY_MS)})
    then = int(time.time() * 1000) - 3 * _DAY_MS
    for number in range(SCHEMAS):
        key = f'{{"keytype":"SCHEMA","subject":"subject-{number}-value","version":1,"magic":1}}'
        await field.writes("_schemas", 1, partition=0, key=key, value=b'{"schema":"string"}', timestamp_ms=then)
    for partition in (0, 1):
        await field.writes("clicks", 400, partition=partition, timestamp_ms=then)
    async with (
        field.producer("orders", rate=40),
        field.producer("clicks", rate=40),
        field.consumer("orders", "billing"),
        field.consumer("clicks", "charts", batch=100),
    ):
        await field.reads("billing", "orders")
        await field.reads("charts", "clicks")

        async def begin() -> None:
            for topic in topics:
                entity = ("--entity-type", "topics", "--entity-name", topic)
                await field.tool("kafka-configs", "--alter", *entity, "--add-config", _KEEP)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a script sets a retention for all topics
    except those whose names begin with two underscores, and so also for the topic of the schemas.
    """
    async with _tidied(field, ("_schemas", "clicks", "orders")) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a script sets a retention
    for all topics except those whose names begin with an underscore. Only old clicks are deleted, as intended.
    """
    async with _tidied(field, ("clicks", "orders")) as begin:
        yield begin


NIGHT = Night(
    name="schemas deleted as old",
    source="https://github.com/ImFlog/schema-registry-plugin/issues/26",
    story="Schemas that were registered long ago were gone one day. The registry keeps them in a topic that has to be "
    "compacted, which holds the last record of each key for ever; somebody had given it a retention, and as nobody "
    "registers a schema twice, all of them were older than that. The registry goes on with what it has in memory, and "
    "finds an empty topic at its next start: records that were written with these schemas can't be read any more.",
    make=_make,
    twin_story="The same script without that topic: old clicks go, which are meant to be kept for a day.",
    twin=_twin,
    cause=Words(
        (
            r"_schemas",
            r"cleanup\.policy|compact|retention",
            r"delet|lost|gone|remov|empty|start offset|log start|expire|trimm|no (longer|more)",
        )
    ),
    symptom=Words(
        (r"_schemas", r"delet|lost|gone|remov|empty|start offset|log start|records|cleanup\.policy|retention|chang")
    ),
    step=Words((r"cleanup\.policy|compact|restor|backup|registry|retention",)),
    wrong=(
        r"delete topic _schemas",
        r"delete.?records",
        r"set topic _schemas.{0,60}retention\.(ms|bytes)=\d",
        r"reset group",
    ),
    # The default is five minutes; here brokers check the age of records every few seconds.
    properties={"log.retention.check.interval.ms": "4000"},
)
