"""A topic gets more partitions, and its readers, which start at the end of partitions, do not know them yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _grown(field: Field, refresh_ms: int, reset: str) -> AsyncIterator[Begin]:
    """Run two members that read a topic. The yielded function adds three partitions to it.

    Args:
        refresh_ms: milliseconds between the readers' requests for the topic's partitions.
        reset: the readers' ``auto.offset.reset``.
    """
    await field.topic("clicks", partitions=3)
    async with (
        # The producer soon knows the new partitions, like a producer that was started after they were added.
        field.producer("clicks", rate=90, topic_metadata_refresh_interval_ms=2_000),
        field.consumer("clicks", "sessions", topic_metadata_refresh_interval_ms=refresh_ms, auto_offset_reset=reset),
        field.consumer("clicks", "sessions", topic_metadata_refresh_interval_ms=refresh_ms, auto_offset_reset=reset),
    ):
        await field.reads("sessions", "clicks")
        await asyncio.sleep(5)

        async def begin() -> None:
            await field.tool("kafka-topics", "--alter", "--topic", "clicks", "--partitions", "6")
            await asyncio.sleep(10)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a topic gets more partitions, and its readers
    refresh their metadata only every five minutes, which is the default.
    """
    async with _grown(field, 300_000, "latest") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a topic gets more
    partitions, and its readers refresh their metadata every two seconds, and read new partitions from their start.
    """
    async with _grown(field, 2_000, "earliest") as begin:
        yield begin


NIGHT = Night(
    name="partitions not noticed",
    source="https://github.com/IBM/sarama/issues/1739",
    story=(
        "A topic was given more partitions during the evening's peak. Producers wrote to them at once, but the group "
        "learns of new partitions only when it refreshes its metadata, minutes later, and then starts at their end: "
        "all records of these minutes in the new partitions are never read, and no lag is shown for them."
    ),
    make=_make,
    twin_story="The same topic grows; its readers see that within seconds and begin at the start of new partitions.",
    twin=_twin,
    cause=Words(
        must=(
            r"clicks",
            r"sessions",
            r"partition",
            r"\badded|\bnew\b|grew|grown|increas|expan|more partitions|not (yet )?(read|assigned)|no member|nobody|"
            r"unread|unassigned|not covered|no committed|without (a |an |any )?(committed |reader|offset|member)",
        )
    ),
    symptom=Words(must=(r"clicks", r"lag|behind|unread|partition.{0,40}(3|6|added|grew|new|count)|\bkeys?\b")),
    step=Words(
        must=(
            r"restart|re-?join|rebalanc|metadata\.max\.age|refresh|earliest|auto\.offset\.reset|commit.{0,40}(start|begin)",
        )
    ),
    wrong=(r"reset group sessions.*(latest|end)", r"delete topic clicks", r"delete group sessions"),
    # Keys are in other partitions from then on, which is true and worth a row.
    fine=(r"clicks.*(\badded|grew|grown|3 (to|->|→) 6|\bkeys\b)",),
)
