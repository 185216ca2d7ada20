"""Neighbours (healthy clusters that resemble a fault) of the faults of disks and of logs, on real brokers. Each
function that yields `Steps` makes the healthy cluster; the step `switch` makes the fault.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from benchmarks.faults.cluster import SPARE_ON
from benchmarks.faults.fault import cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import running
from benchmarks.faults.neighbours.real import Eyes, RealNeighbour, Steps
from benchmarks.faults.neighbours.real.groups import make_fault
from benchmarks.faults.storage import CORRUPT_ON, DAYS_MS, LEFT, SEGMENT
from console.model.changes import DeleteRecords, LogTarget
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource

LARGE = bytes(10_000)
CUT = "log.retention.ms"
CLEANER = "log.cleaner.io.max.bytes.per.second"
READ_DISKS_SECONDS = 12.0
"""Seconds after which the console has certainly read the log directories again."""


@asynccontextmanager
async def _cordoned(lab: Laboratory) -> AsyncIterator[Steps]:
    broker, key = broker_resource(SPARE_ON), "cordoned.log.dirs"
    await lab.configure(broker, {key: str(lab.cluster.spare_dir)})
    async with AsyncExitStack() as stack:

        async def fails() -> None:
            await lab.unset(broker, key)
            await make_fault(stack, lab, "log directory unreadable")

        yield Steps(switch=fails)


@asynccontextmanager
async def _disk(lab: Laboratory, left: Sequence[float]) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a disk has these shares of free space (0 to 1), one
    after another, each until the console has read it. `switch` makes the fault: the disk has the share `LEFT`.
    """
    mount = lab.cluster.spare_mount
    ballast = mount / "segments"

    def hold(share: float) -> None:
        ballast.unlink(missing_ok=True)
        usage = shutil.disk_usage(mount)
        ballast.write_bytes(bytes(max(0, int(usage.free - share * usage.total))))

    async def filled_and_emptied() -> None:
        for share in left:
            await asyncio.to_thread(hold, share)
            await asyncio.sleep(READ_DISKS_SECONDS)

    try:
        await asyncio.to_thread(hold, 0.9)
        yield Steps(happens=filled_and_emptied, switch=lambda: asyncio.to_thread(hold, LEFT))
    finally:
        ballast.unlink(missing_ok=True)


async def _begins_at(lab: Laboratory, topic: str, offset: int) -> bool:
    return (await lab.range_of(topic)).start >= offset


async def _outlived(lab: Laboratory, topic: str, days: int, count: int = 20) -> None:
    """Write records whose timestamps are older than the retention, wait until the broker has deleted them, and write
    new ones. days: the age of the old records. count: the number of the old records, and also of the new ones.
    """
    begin = await lab.end_of(topic)
    await lab.write(topic, count, timestamp_ms=lab.now_ms() - days * DAYS_MS)
    await lab.until(lambda: _begins_at(lab, topic, begin + count), "what is too old is deleted")
    await lab.write(topic, count)


@asynccontextmanager
async def _default_cut(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: the default retention is shortened, but the topic has
    a retention of its own, and loses only older records. `switch` makes the fault: the topic uses the default.
    """
    old = {"message.timestamp.before.max.ms": str(2**53)}
    own = {"retention.ms": str(DAYS_MS), **old}
    async with AsyncExitStack() as stack:
        kept = await stack.enter_async_context(lab.topic("kept-itself", partitions=1, configs=own))
        stack.push_async_callback(lab.unset, CLUSTER_DEFAULT, CUT)

        async def cut() -> None:
            await lab.configure(CLUSTER_DEFAULT, {CUT: "20000"})
            await _outlived(lab, kept, days=2)

        async def cut_for_another() -> None:
            await lab.unset(CLUSTER_DEFAULT, CUT)
            bare = await stack.enter_async_context(lab.topic("kept-by-default", partitions=1))
            await lab.write(bare, 20)
            await asyncio.sleep(READ_DISKS_SECONDS)  # wait until the console has looked at the records
            await lab.configure(CLUSTER_DEFAULT, {CUT: "10000"})

        yield Steps(happens=cut, switch=cut_for_another)


@asynccontextmanager
async def _mended_cut(lab: Laboratory) -> AsyncIterator[Steps]:
    configs = {"retention.ms": str(3 * DAYS_MS), "message.timestamp.before.max.ms": str(2**53)}
    async with lab.topic("cut-and-mended", partitions=1, configs=configs) as topic:
        resource = topic_resource(topic)

        async def cut_and_mend() -> None:
            await lab.configure(resource, {"retention.ms": str(DAYS_MS)})
            await asyncio.sleep(3)
            await lab.configure(resource, {"retention.ms": str(3 * DAYS_MS)})
            await _outlived(lab, topic, days=4)

        yield Steps(happens=cut_and_mend, switch=lambda: lab.configure(resource, {"retention.ms": "1000"}))


@asynccontextmanager
async def _deleted_once_read(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "work", "workers"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic, partitions=1))
        stack.push_async_callback(lab.drop_group, group)
        reader = lab.consumer(topic, group)
        await stack.enter_async_context(running(lab.producer(topic, 1, 20.0), reader))
        await lab.committed(group, topic)

        async def delete_what_is_read() -> None:
            for _ in range(3):
                read = await lab.committed_sum(group, topic)
                await lab.send(DeleteRecords({LogTarget(topic, 0): read}))
                await asyncio.sleep(4)

        async def delete_all() -> None:
            reader.stuck = {0}
            read = await lab.committed_sum(group, topic)
            await lab.until(lambda: _is_behind(lab, group, topic, 60), f"{group} is behind {read}")
            await lab.send(DeleteRecords({LogTarget(topic, 0): await lab.end_of(topic) - 1}))

        yield Steps(happens=delete_what_is_read, switch=delete_all)


async def _is_behind(lab: Laboratory, group: str, topic: str, records: int) -> bool:
    return await lab.end_of(topic) - await lab.committed_sum(group, topic) > records


@asynccontextmanager
async def _waits_for_cleaner(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a broker's log cleaner is slow, so its replica is
    larger than the others, but by less than two segments. `switch` makes the fault: it is larger by more.
    """
    configs = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT), "min.cleanable.dirty.ratio": "0.01"}
    slow = broker_resource(CORRUPT_ON)
    await lab.configure(slow, {CLEANER: "2000"})
    try:
        async with lab.topic("keyed", on=[(1, CORRUPT_ON)], configs=configs) as topic:
            await lab.write(topic, 170, value=LARGE)
            yield Steps(switch=lambda: lab.write(topic, 500, value=LARGE))
    finally:
        await lab.unset(slow, CLEANER)
        # The broker applies no metadata until the slow cleaner ends (DynamicBrokerConfig stops the old cleaner first),
        # so kill the broker.
        await lab.kill(CORRUPT_ON)
        await lab.bring_up()


@asynccontextmanager
async def _somewhat_ahead(lab: Laboratory) -> AsyncIterator[Steps]:
    configs = {"message.timestamp.after.max.ms": str(2**53)}
    async with lab.topic("clocks", partitions=1, configs=configs) as topic:
        await lab.write(topic, 20, timestamp_ms=lab.now_ms() + 1_800_000)

        async def days_ahead() -> None:
            await lab.write(topic, 20, timestamp_ms=lab.now_ms() + 30 * DAYS_MS)

        yield Steps(switch=days_ahead, then=Eyes())


NEIGHBOURS = (
    RealNeighbour(
        name="a cordoned directory",
        make=_cordoned,
        ill=cause("log-dir-failed", broker=SPARE_ON, dir="spare"),
        since=(4, 3),
    ),
    RealNeighbour(
        name="a disk that is emptied again",
        make=partial(_disk, left=(0.85, 0.9) * 3),
        ill=cause("disk-filling", broker=SPARE_ON, dir="spare"),
    ),
    RealNeighbour(
        name="a disk that was emptied once",
        make=partial(_disk, left=(0.875, 0.875, 0.899, 0.899, 0.875)),
        ill=cause("disk-filling", broker=SPARE_ON, dir="spare"),
    ),
    RealNeighbour(
        name="a default that the topic does not take",
        make=_default_cut,
        ill=cause("records-deleted", entity="broker default", key=CUT),
        within=120.0,
    ),
    RealNeighbour(
        name="a cut that was mended in time",
        make=_mended_cut,
        ill=cause("records-deleted", topic="cut-and-mended", key="retention.ms"),
        within=120.0,
    ),
    RealNeighbour(
        name="records that are deleted once read", make=_deleted_once_read, ill=cause("records-deleted", topic="work")
    ),
    RealNeighbour(
        name="an active segment that waits for its cleaner",
        make=_waits_for_cleaner,
        ill=cause("cleaner-stopped", broker=CORRUPT_ON),
        within=120.0,
    ),
    RealNeighbour(
        name="a producer's clock that is somewhat ahead",
        make=_somewhat_ahead,
        ill=cause("future-records", topic="clocks"),
    ),
)
