"""max.message.bytes of a topic is set below the size of its producer's records: brokers refuse all further records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _cutting(field: Field, limit: int) -> AsyncIterator[Begin]:
    """Run clients of a topic with records of 5 kB. The yielded function sets its max.message.bytes.

    Args:
        limit: bytes of the largest batch that brokers then accept.
    """
    await field.topic("images", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("images", rate=15, value_bytes=5000),
        field.consumer("images", "thumbnails"),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("thumbnails", "images")
        await field.reads("billing", "orders")
        await asyncio.sleep(10)

        async def begin() -> None:
            """Set the limit."""
            await field.tool(
                "kafka-configs",
                *("--alter", "--entity-type", "topics", "--entity-name", "images"),
                *("--add-config", f"max.message.bytes={limit}"),
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: max.message.bytes of a topic is set below the
    size of each record.
    """
    async with _cutting(field, 2000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: max.message.bytes of a
    topic is set far above the size of each record, and far below the former limit.
    """
    async with _cutting(field, 100_000) as begin:
        yield begin


NIGHT = Night(
    name="maximum size cut, producer refused",
    source="https://www.netdata.cloud/guides/kafka/kafka-message-too-large-error/",
    story="A topic's max.message.bytes was cut to keep large records out; a digit was missing. The producer, whose "
    "records had always been that large, was refused each of them (MESSAGE_TOO_LARGE). Its readers were up to date, "
    "and every broker was well.",
    make=_make,
    twin_story="The same setting is cut to a tenth, which is still twenty times the largest record.",
    twin=_twin,
    cause=Words(
        (r"images", r"max\.message\.bytes|message size|maximum size|size limit|largest (record|batch)|too large")
    ),
    symptom=Words(
        (
            r"images",
            r"no (new |more )?(writes?|records?)|writes? .{0,20}stop|stopped|nothing (is |was )?(written|arrives)|"
            r"end (offsets? )?(stands|does not move)|silent|idle|quiet",
        )
    ),
    step=Words((r"max\.message\.bytes",)),
    wrong=(r"delete (group|topic|records)", r"reset group", r"set topic images (retention|cleanup|min\.insync)"),
)
