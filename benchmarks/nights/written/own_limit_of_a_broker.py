"""A dynamic config of one broker, left from a test, makes it refuse large records for the partitions that it leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


async def _limit(field: Field, broker: int, size: int) -> None:
    """Set message.max.bytes of one broker dynamically to `size` bytes."""
    change = ("--entity-type", "brokers", "--entity-name", str(broker), "--add-config", f"message.max.bytes={size}")
    await field.tool("kafka-configs", "--alter", *change)


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[None]:
    """Run clients with records of 30 kB, and clients with small records."""
    await field.topic("images", on=[(1, 2, 3), (2, 3, 1), (3, 1, 2)])
    await field.topic("orders", partitions=3)
    async with (
        field.producer("images", rate=6, value_bytes=30_000),
        field.producer("orders", rate=30),
        field.consumer("images", "thumbnails"),
        field.consumer("orders", "billing"),
    ):
        await field.reads("thumbnails", "images")
        await field.reads("billing", "orders")
        await field.settled()
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: one broker gets a limit of its own for the size
    of records, below the size of those that are written.
    """
    async with _services(field):

        async def begin() -> None:
            await _limit(field, 2, 20_000)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: all brokers get the same
    larger limit for the size of records, one after another.
    """
    async with _services(field):

        async def begin() -> None:
            for broker in field.cluster.broker_ids:
                await _limit(field, broker, 2_000_000)

        yield begin


NIGHT = Night(
    name="a limit of one broker",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/12690",
    story="Somebody set message.max.bytes on one broker by hand, and the tool that keeps the cluster's settings "
    "does not undo what is set on single brokers. Records of 30 kB are refused by broker 2 and taken by the "
    "others: a third of the images is lost, and every file of properties is as it should be.",
    make=_make,
    twin_story="The limit is raised on each broker by hand, to the same value.",
    twin=_twin,
    cause=Words((r"broker 2\b|\b2\b", r"message\.max\.bytes", r"differ|\bonly\b|other|dynamic|overrid|unlike|\bown\b")),
    symptom=Words((r"images", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|uneven|skew|fell|less")),
    step=Words((r"message\.max\.bytes",)),
    wrong=(r"delete topic", r"reset group", r"unclean", r"set cluster message\.max\.bytes=20000"),
)
