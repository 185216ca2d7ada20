"""A topic's retention is set in seconds, and the brokers read milliseconds."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

RECORDS = 500
"""Old records in each partition. They fill more than one segment."""
TWO_DAYS = 2 * 24 * 3600


@asynccontextmanager
async def _kept(field: Field, retention: int) -> AsyncIterator[Begin]:
    """Fill the topic orders with records of two days ago, and run clients that write and read it. The yielded function
    sets the topic's retention.

    Args:
        retention: the new retention.ms.
    """
    await field.topic("orders", partitions=3, configs={"segment.bytes": "1048576"})
    await field.topic("clicks", partitions=3)
    old = round((time.time() - TWO_DAYS) * 1000)
    for partition in range(3):
        await field.writes("orders", RECORDS, partition=partition, value=b"v" * 10_000, timestamp_ms=old)
    async with (
        field.producer("orders", rate=40),
        field.producer("clicks", rate=40),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            orders = ("--entity-type", "topics", "--entity-name", "orders")
            await field.tool("kafka-configs", "--alter", *orders, "--add-config", f"retention.ms={retention}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a week in seconds."""
    async with _kept(field, 604_800) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a week in ms."""
    async with _kept(field, 604_800_000) as begin:
        yield begin


NIGHT = Night(
    name="retention in seconds",
    source="https://github.com/lovoo/goka/pull/293",
    story="A deployment tool computed retention.ms in another unit: the topic orders should have kept a week, and got "
    "604800, which is ten minutes. Within a minute the brokers deleted two days of orders. Services that read at the "
    "end of the topic noticed nothing; the weekly report found an almost empty topic.",
    make=_make,
    twin_story="The same setting of a week, in milliseconds.",
    twin=_twin,
    cause=Words(
        (
            r"orders",
            r"retention",
            r"604[ ,_.]?800\b|\b10 ?m|ten minutes|0?:10\b|second|short|lower|\bcut\b|reduc|\bless\b|chang|was set",
        )
    ),
    symptom=Words((r"orders", r"delet|lost|gone|start offset|removed|shr[aiu]nk|emptied|earliest|oldest|smaller")),
    step=Words((r"orders", r"retention")),
    wrong=(r"retention\.ms=604800$", r"delete (topic|group|records)", r"reset group"),
    properties={"log.retention.check.interval.ms": "10000"},
)
