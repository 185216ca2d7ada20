"""One of the two topics that a service joins by key gets more partitions: the service ends at each start."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _grown(field: Field, topics: str) -> AsyncIterator[Begin]:
    """Run a service that joins clicks with users, partition by partition. The yielded function gives topics six
    partitions instead of three.

    Args:
        topics: the growing topics, as a regular expression.
    """
    await field.topic("clicks", partitions=3)
    await field.topic("users", partitions=3, configs={"cleanup.policy": "compact"})
    await field.topic("orders", partitions=3)
    joiner = (sys.executable, "-m", "benchmarks.nights.programs.joiner", field.cluster.bootstrap)
    async with (
        field.producer("clicks", rate=50, topic_metadata_refresh_interval_ms=5_000),
        field.producer("users", rate=10, topic_metadata_refresh_interval_ms=5_000),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.program(*joiner, "enrich", "clicks", "users") as service,
    ):
        await field.reads("enrich", "clicks")
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Add partitions, to make room for more readers."""
            await field.tool("kafka-topics", "--alter", "--topic", topics, "--partitions", "6")

            async def has_noticed() -> bool:
                return "'clicks': 6" in service.output.read_text()

            await field.until(has_noticed, "the service has the new partitions, or has ended")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: of the two topics that a service joins, only
    the busier one, clicks, gets more partitions.
    """
    async with _grown(field, "clicks") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: both topics that a service
    joins get the same number of partitions.
    """
    async with _grown(field, "clicks|users") as begin:
        yield begin


NIGHT = Night(
    name="one side of a join grown",
    source="https://github.com/gojek/ziggurat/issues/11",
    story="The source topic of a streaming application got more partitions. The threads of the application died, as "
    "the topics that belong together no longer had the same number, and each restart ended in the same way. The "
    "topics were well, and other groups read them as before.",
    make=_make,
    twin_story="Both topics of the join get the same number of partitions at once, and the service goes on.",
    twin=_twin,
    cause=Words(
        (
            r"enrich",
            r"clicks",
            r"partitions",
            r"co-?partition|mismatch|differen|not the same|unequal|\b3\b.{0,80}\b6\b|\b6\b.{0,80}\b3\b|added|increas|"
            r"grew|grown|more partitions|new partitions|raised|changed",
        )
    ),
    symptom=Words(
        (
            r"enrich",
            r"no members?|empty|\blag\b|behind|leav|left|join|rebalanc|restart|crash|unstable|come and go|stand|stopp",
        )
    ),
    step=Words(
        (
            r"partitions",
            r"users|same|equal|both|repartition|co-?partition|restart|log of|application|new topic|another topic",
        )
    ),
    wrong=(r"delete (topic|group|records)", r"reset group (billing|enrich\b.*latest)", r"(alter|set) .*orders"),
    watch=75.0,
)
