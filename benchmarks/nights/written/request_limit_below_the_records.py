"""The brokers' limit of a request is below their limit of a record: large records end in closed connections."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _images(field: Field, limit: int) -> AsyncIterator[Begin]:
    """Restart each broker with a limit of a request, and run clients. The yielded function deploys a release of the
    producer of images that writes records of 300 kB.

    Args:
        limit: socket.request.max.bytes of every broker.
    """
    for broker in field.cluster.broker_ids:
        await field.with_properties(broker, {"socket.request.max.bytes": str(limit)})
        await field.restart(broker)
    await field.topic("images", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("images", rate=4, value_bytes=30_000) as images,
        field.producer("orders", rate=30),
        field.consumer("images", "thumbnails"),
        field.consumer("orders", "billing"),
    ):
        await field.reads("thumbnails", "images")
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            await images.tell(value_bytes=300_000, rate=1.5)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: records outgrow the limit of a request, while
    they are far below the limit of a record.
    """
    async with _images(field, 200_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: records of the same size
    meet a limit of a request that is above the limit of a record.
    """
    async with _images(field, 20_000_000) as begin:
        yield begin


NIGHT = Night(
    name="request limit below the record limit",
    source="https://github.com/apache/kafka/pull/23309",
    story="Against memory peaks somebody had set socket.request.max.bytes to 200 kB in every server.properties, below "
    "message.max.bytes, which kept its default of 1 MB. A release of a producer began to write records of 300 kB: the "
    "brokers closed the connection at each of them, the producer saw disconnects and retried, and no image arrived.",
    make=_make,
    twin_story="The limit of a request is 20 MB; the same larger records arrive.",
    twin=_twin,
    cause=Words((r"socket\.request\.max\.bytes",)),
    symptom=Words((r"images|thumbnails", r"no (new )?(record|write)|silent|idle|stopp|stand|not grow|fell|less|quiet")),
    step=Words((r"socket\.request\.max\.bytes",)),
    wrong=(r"delete topic", r"reset group", r"unclean", r"delete group"),
    watch=80.0,
)
