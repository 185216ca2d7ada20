"""A topic is deleted and created again with the same name while a group reads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


async def _makes_again(field: Field) -> None:
    """Delete the topic, and create it with the same name, partitions and replicas."""
    await field.tool("kafka-topics", "--delete", "--topic", "orders")
    await asyncio.sleep(2)
    await field.tool("kafka-topics", "--create", "--topic", "orders", "--partitions", "3", "--replication-factor", "3")


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a topic is deleted and created again while a
    group with auto.offset.reset=none reads it; this group has already read some hundreds of records of each
    partition.
    """
    await field.topic("orders", partitions=3)
    await field.writes("orders", 1500)
    async with field.producer("orders", rate=6):
        async with field.consumer("orders", "billing", auto_commit_interval_ms=1000):
            await field.reads("billing", "orders")
            await asyncio.sleep(3)
        # librdkafka's name for Java's auto.offset.reset=none, for services that must neither lose nor repeat a record,
        # and that handle the error.
        async with field.consumer("orders", "billing", auto_commit_interval_ms=1000, auto_offset_reset="error"):
            await asyncio.sleep(5)

            async def begin() -> None:
                """Create the topic again under its producer and its reader."""
                await _makes_again(field)

            yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a topic is deleted and
    created again while its reader is stopped; then the reader starts at the first record.
    """
    await field.topic("orders", partitions=3)
    await field.writes("orders", 1500)
    async with (
        field.producer("orders", rate=6) as producer,
        field.consumer("orders", "billing", auto_commit_interval_ms=1000) as reader,
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Stop both clients, create the topic again, start both."""
            await reader.stop()
            await producer.stop()
            await _makes_again(field)
            await producer.start()
            await reader.start()

        yield begin


NIGHT = Night(
    name="a topic made again under a reader",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-516%3A+Topic+Identifiers",
    story="To empty a topic somebody deleted it and created it again with the same name, while producers and a group "
    "were at work. The producers went on at offset 0 of the new one; the group's position and commits belonged to the "
    "old one, so that it read nothing, with a lag that made no sense.",
    make=_make,
    twin_story="The topic is deleted and made again in order: producer and reader are stopped for it, and the reader "
    "starts again at the beginning and keeps up.",
    twin=_twin,
    cause=Words(
        (
            r"orders",
            r"delet|gone|removed|re-?creat|made again|new id|topic id|other topic|another topic",
            r"re-?creat|made again|created again|creat|new id|topic id|old (one|topic)",
        )
    ),
    symptom=Words(
        (
            r"billing|orders",
            r"outside|out of range|beyond|past the end|no (valid )?commit|without commit|lag|stands? still|unread",
        )
    ),
    step=Words((r"earliest|beginning|\bstart\b|first record|to (offset )?0\b",)),
    wrong=(r"reset group billing\b.*(latest|\bend\b)", r"delete (group|topic)", r"delete records"),
    # For the healthy twin, too, it is true that a topic was created again, and worth a row.
    fine=(r"re-?created|made again|created again",),
    # Otherwise a producer's request for metadata would create the topic again, with one partition, which is the subject
    # of another night.
    properties={"auto.create.topics.enable": "false"},
)
