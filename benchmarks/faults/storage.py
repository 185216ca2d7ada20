"""Faults of disks, of logs and of records: functions that make them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.faults.cluster import SPARE_ON
from benchmarks.faults.fault import Begin, Fault, beside, cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import ended, running
from benchmarks.faults.nodes import NODE
from console.model.changes import DeleteRecords, LogTarget
from console.model.config import topic_resource

SPARE = frozenset({"the spare directory"})
LEFT = 0.05
"""The share (0 to 1) of the small filesystem that stays usable."""
DAYS_MS = 86_400_000
CORRUPT_ON = 3
SEGMENT = 1 << 20
"""Segment size in bytes: the smallest that Kafka 4 accepts."""
MAGIC_AT = 16
"""The position of the magic byte in a record batch, in bytes: after base offset, length and leader epoch."""


@asynccontextmanager
async def _unreadable(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a log directory is renamed, and within 5 seconds
    the broker fails to write its next checkpoint of high watermarks there.
    """
    spare = lab.cluster.spare_dir
    away = spare.with_name("away")

    async def begin() -> None:
        spare.rename(away)

    try:
        yield begin
    finally:
        await asyncio.to_thread(lab.cluster.stop, SPARE_ON)
        shutil.rmtree(spare, ignore_errors=True)  # the broker may have created the folder again
        away.rename(spare)
        await lab.bring_up()


@asynccontextmanager
async def _filled(lab: Laboratory) -> AsyncIterator[Begin]:
    ballast = lab.cluster.spare_mount / "ballast"

    async def begin() -> None:
        usage = shutil.disk_usage(lab.cluster.spare_mount)
        ballast.write_bytes(bytes(max(0, int(usage.free - LEFT * usage.total))))

    try:
        yield begin
    finally:
        ballast.unlink(missing_ok=True)


@asynccontextmanager
async def _retention_cut(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a topic's retention is shortened, after the
    topic's producer has stopped, because brokers do not delete a segment with new records.
    """
    async with lab.topic("short-lived") as topic:
        async with running(lab.producer(topic, 2, 200.0)):
            await lab.until(lambda: _has_records(lab, topic), "records that can be deleted")

        async def begin() -> None:
            await lab.configure(topic_resource(topic), {"retention.ms": "1000"})

        yield begin


@asynccontextmanager
async def _unread(lab: Laboratory, topic: str) -> AsyncIterator[None]:
    """Create a topic, and run a group that has not read all its records, until the end of the block. Nothing more is
    written, so that it counts as no trouble yet.
    """
    group = f"{topic}-readers"
    async with lab.topic(topic, partitions=1):
        producer, reader = lab.producer(topic, 1, 200.0), lab.consumer(topic, group)
        async with running(producer, reader) as (writing, _):
            await lab.committed(group, topic)
            reader.stuck = {0}
            await asyncio.sleep(2)
            await ended(writing)
            yield
        await lab.drop_group(group)


@asynccontextmanager
async def _unread_deleted(lab: Laboratory) -> AsyncIterator[Begin]:
    topic = "behind"
    async with _unread(lab, topic):

        async def begin() -> None:
            end = await lab.end_of(topic)
            await lab.send(DeleteRecords({LogTarget(topic, 0): end - 1}))

        yield begin


@asynccontextmanager
async def _unread_cut(lab: Laboratory) -> AsyncIterator[Begin]:
    async with _unread(lab, "outlived"):
        yield lambda: lab.configure(topic_resource("outlived"), {"retention.ms": "1000"})


@asynccontextmanager
async def _uncleanable(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault of an uncleanable partition on a follower: the
    magic byte of its first batch is overwritten, the log cleaner marks the partition uncleanable, and the log grows.
    No other thread reads the batch there.
    """
    configs = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT)}
    async with lab.topic("compacted", on=[(1, CORRUPT_ON)], configs=configs) as topic:
        producer = lab.producer(topic, 1, 10.0)
        async with running(producer):
            await lab.until(lambda: _has_records(lab, topic), "records to corrupt")
            segment = lab.cluster.segment(CORRUPT_ON, topic, 0)
            await lab.until(lambda: _is_written(segment), "a follower's records")

            async def begin() -> None:
                with segment.open("r+b") as file:
                    file.seek(MAGIC_AT)
                    file.write(b"\x7f")
                producer.value, producer.rate = bytes(10_000), 60.0

            yield begin


@asynccontextmanager
async def _future(lab: Laboratory) -> AsyncIterator[Begin]:
    configs = {"message.timestamp.after.max.ms": str(2**53)}
    async with lab.topic("ahead", configs=configs) as topic:

        async def begin() -> None:
            async with running(lab.producer(topic, 2, 50.0, ahead_ms=30 * DAYS_MS)):
                await lab.until(lambda: _has_records(lab, topic), "records ahead")

        yield begin


async def _is_written(segment: Path) -> bool:
    return (await asyncio.to_thread(segment.stat)).st_size > MAGIC_AT


async def _has_records(lab: Laboratory, topic: str) -> bool:
    return await lab.end_of(topic) > 0


FAULTS = (
    Fault(
        name="log directory unreadable",
        how=f"the spare log directory of broker {SPARE_ON} is renamed; back, and the broker started again",
        make=_unreadable,
        named=(cause("log-dir-failed", broker=SPARE_ON, dir="spare"),),
        beside=(
            beside("its replicas are offline before the directory is described", "log-dir-failed", broker=SPARE_ON),
        ),
        takes=SPARE | NODE,
    ),
    Fault(
        name="disk filled",
        how=f"a file fills the filesystem of the spare log directory but for {LEFT:.0%}",
        make=_filled,
        named=(cause("disk-filling", broker=SPARE_ON, dir="spare"),),
        takes=SPARE,
    ),
    Fault(
        name="retention cut",
        how="retention.ms of a topic with records is set to 1 s",
        make=_retention_cut,
        named=(cause("records-deleted", topic="short-lived"),),
        beside=(beside("that is the change", "changed-lately", topic="short-lived"),),
        takes=frozenset({"short-lived"}),
    ),
    Fault(
        name="unread records deleted",
        how="records that a group has not read are deleted",
        make=_unread_deleted,
        named=(cause("records-deleted", topic="behind"),),
        beside=(
            beside("that is what it does", "offsets-out-of-range", group="behind-readers", topic="behind", partition=0),
        ),
        takes=frozenset({"behind"}),
    ),
    Fault(
        name="unread retention cut",
        how="retention.ms of a topic that a group has not read is set to 1 s",
        make=_unread_cut,
        named=(cause("records-deleted", topic="outlived"),),
        beside=(
            beside(
                "that is what it does", "offsets-out-of-range", group="outlived-readers", topic="outlived", partition=0
            ),
            beside("that is the change", "changed-lately", topic="outlived"),
        ),
        takes=frozenset({"outlived"}),
    ),
    Fault(
        name="cleaner stopped",
        how=f"a byte of a compacted log is overwritten on broker {CORRUPT_ON}, whose cleaner gives it up",
        make=_uncleanable,
        named=(cause("cleaner-stopped", broker=CORRUPT_ON),),
        takes=NODE | {"compacted"},  # a restarted broker also restarts its cleaner
        within=90,
    ),
    Fault(
        name="future timestamps",
        how="records of a topic are 30 days ahead",
        make=_future,
        named=(cause("future-records", topic="ahead"),),
        takes=frozenset({"ahead"}),
        stands=True,
    ),
)
