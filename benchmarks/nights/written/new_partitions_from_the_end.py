"""Partitions are added to a topic that a group reads with auto.offset.reset=latest: it never reads the records that
were written before it knew the new partitions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _grown(field: Field, reset: str) -> AsyncIterator[Begin]:
    """Run a producer that soon learns of new partitions, and a group that rarely refreshes its metadata. The yielded
    function adds three partitions to their topic.

    Args:
        reset: auto.offset.reset of the group.
    """
    await field.topic("payments", partitions=3)
    async with (
        # Java's clients refresh metadata every five minutes. Here the producer refreshes every 2 s, the consumer every
        # 45 s; the difference between them causes the gap.
        field.producer("payments", rate=150, topic_metadata_refresh_interval_ms=2000),
        field.consumer(
            "payments", "ledger", auto_offset_reset=reset, batch=100, topic_metadata_refresh_interval_ms=45_000
        ),
    ):
        await field.reads("ledger", "payments")

        async def begin() -> None:
            """Add partitions to the topic."""
            await field.tool("kafka-topics", "--alter", "--topic", "payments", "--partitions", "6")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: partitions are added to a topic whose group
    begins at the end of a partition without a committed offset.
    """
    async with _grown(field, "latest") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: partitions are added to a
    topic whose group begins at the start of a partition without a committed offset, so it reads all records.
    """
    async with _grown(field, "earliest") as begin:
        yield begin


NIGHT = Night(
    name="new partitions read from the end",
    source="https://github.com/IBM/sarama/issues/1739",
    story="Partitions were added to a topic in use. Producers wrote to them at once; the consumer group found them at "
    "its next look at metadata, had no offsets there, and began at their ends. What had been written meanwhile was "
    "never consumed by anybody, without an error and without lag.",
    make=_make,
    twin_story="The same topic grows under a group that begins new partitions at their beginning: lag for a while, "
    "then none.",
    twin=_twin,
    cause=Words(
        (
            r"ledger",
            r"(new|added|additional|more) (\d+ )?partitions?|partitions? .*(added|new\b|grew|grown)|payments-[345]|"
            r"partitions? [345]\b|3 (to|→) 6",
            r"never (been )?read|not (been )?read|unread|skip|lost|miss|latest|from the end|at (its|the|their) ends?|"
            r"auto\.offset\.reset|without being read|passed over|left out",
        )
    ),
    symptom=Words((r"ledger|payments", r"partitions?", r"new|added|grew|grown|3 (to|→) 6|no (committed )?offset")),
    step=Words((r"reset (group )?.*ledger|reset offsets|auto\.offset\.reset|earliest|by_duration|to.offset",)),
    wrong=(r"delete (topic|group|records)", r"reset group ledger.*(latest|end)\b", r"remove member"),
)
