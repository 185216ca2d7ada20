"""Neighbours (healthy clusters that resemble a fault) of the faults of groups, on real brokers. Each function that
yields `Steps` makes the healthy cluster; the step `switch` makes the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.faults.catalogue import FAULTS
from benchmarks.faults.fault import cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import Consumer, ended, running
from benchmarks.faults.neighbours.real import RealNeighbour, Steps
from console.model.changes import DeleteRecords, LogTarget

RECORDS, DELETED = 11, 10
MANY = 300


async def make_fault(stack: AsyncExitStack, lab: Laboratory, name: str, *, seen: float = 0.0) -> None:
    """Prepare and make a fault of the catalogue; closing the stack undoes it. seen: seconds for which the console polls
    the prepared cluster before the fault is made.
    """
    begin = await stack.enter_async_context(FAULTS[name].make(lab))
    await asyncio.sleep(seen)
    await begin()


async def stands_at(lab: Laboratory, stack: AsyncExitStack, topic: str, group: str, offset: int) -> None:
    """Run a member that keeps its partitions, and stops reading at an offset of the first one. Closing the stack ends
    it.
    """
    reader: Consumer = lab.consumer(topic, group)
    await stack.enter_async_context(running(reader))
    await lab.committed(group, topic)
    await reader.commit_wrong(0, offset)


async def _expired(lab: Laboratory, stack: AsyncExitStack, topic: str) -> None:
    """Create a topic of two partitions whose first records are deleted. Closing the stack deletes the topic."""
    await stack.enter_async_context(lab.topic(topic))
    for partition in range(2):
        await lab.write(topic, RECORDS, partition=partition)
    await lab.send(DeleteRecords({LogTarget(topic, partition): DELETED for partition in range(2)}))


@asynccontextmanager
async def _dead(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "expired", "long-dead"
    async with AsyncExitStack() as stack:
        await _expired(lab, stack, topic)
        await lab.commit(group, {(topic, 0): 0, (topic, 1): 0})
        stack.push_async_callback(lab.drop_group, group)
        yield Steps(switch=lambda: stands_at(lab, stack, topic, group, 0))


@asynccontextmanager
async def _hundreds(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, alive = "forgotten", "still-alive"
    groups = [f"console-{number:03}" for number in range(MANY)]
    async with AsyncExitStack() as stack:
        await _expired(lab, stack, topic)
        for group in groups:
            await lab.commit(group, {(topic, 0): 0, (topic, 1): 0})
            stack.push_async_callback(lab.drop_group, group)
        stack.push_async_callback(lab.drop_group, alive)
        yield Steps(switch=lambda: stands_at(lab, stack, topic, alive, 0))


@asynccontextmanager
async def _mirrored(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: another cluster's offsets are committed again and
    again, beyond the end of this cluster's shorter log. `switch` makes the fault: a member reads the log, and
    then its committed offset is beyond the end.
    """
    topic, group, beyond = "mirrored", "mirrored-readers", 50_000

    async def copied() -> None:
        for turn in range(5):
            await lab.commit(group, {(topic, 0): beyond + 40 * turn})
            await lab.until(lambda turn=turn: _is_at(lab, group, topic, beyond + 40 * turn), "it is committed")

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic, partitions=1))
        await lab.write(topic, 100)
        await lab.commit(group, {(topic, 0): beyond})
        stack.push_async_callback(lab.drop_group, group)
        yield Steps(happens=copied, switch=lambda: _stands_beyond(lab, stack, topic, group))


async def _is_at(lab: Laboratory, group: str, topic: str, offset: int) -> bool:
    return await lab.committed_sum(group, topic) == offset


async def _stands_beyond(lab: Laboratory, stack: AsyncExitStack, topic: str, group: str) -> None:
    """Run a member that begins at an offset in the log, and then commits an offset far beyond the log's end. Closing
    the stack ends it.
    """
    await lab.commit(group, {(topic, 0): 0})
    await stands_at(lab, stack, topic, group, 10**7)


@asynccontextmanager
async def _given_up(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "orphaned", "given-up"

    async def a_member_comes_and_goes() -> None:
        async with running(lab.consumer(topic, group)):
            before = await lab.committed_sum(group, topic)
            await lab.until(lambda: _above(lab, group, topic, before + 20), "it reads")

    async with lab.topic(topic) as _, running(lab.producer(topic, 2, 40.0)):
        await lab.until(lambda: _has(lab, topic, 20), "records")
        await lab.commit(group, {(topic, 0): 5, (topic, 1): 5})
        yield Steps(switch=a_member_comes_and_goes)
        await lab.drop_group(group)


async def _above(lab: Laboratory, group: str, topic: str, offset: int) -> bool:
    return await lab.committed_sum(group, topic) > offset


async def _has(lab: Laboratory, topic: str, count: int) -> bool:
    return await lab.end_of(topic) >= count


@asynccontextmanager
async def _left_topic(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a group has offsets of a topic that none of its
    members reads. `switch` makes the fault: a member reads this topic and leaves.
    """
    now, old, group = "read-now", "read-before", "two-topics"
    async with AsyncExitStack() as stack:
        for topic in (now, old):
            await stack.enter_async_context(lab.topic(topic))
            await stack.enter_async_context(running(lab.producer(topic, 2, 40.0)))
        await lab.until(lambda: _has(lab, old, 20), "records")
        await lab.commit(group, {(old, 0): 5, (old, 1): 5})
        stack.push_async_callback(lab.drop_group, group)
        await stack.enter_async_context(running(lab.consumer(now, group)))
        await lab.committed(group, now)

        async def read_and_leave() -> None:
            async with running(lab.consumer(old, group)):
                await lab.until(lambda: _above(lab, group, old, 100), "a member reads the other topic")

        yield Steps(switch=read_and_leave)


@asynccontextmanager
async def _deployed(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: two members of a group are replaced, one after the
    other. `switch` makes the fault: a member joins and leaves every 2 seconds.
    """
    topic, group = "deployed", "deployed-service"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic))
        await stack.enter_async_context(running(lab.producer(topic, 2, 40.0)))
        stack.push_async_callback(lab.drop_group, group)
        old = await stack.enter_async_context(running(*(lab.consumer(topic, group) for _ in range(2))))
        await lab.committed(group, topic)

        async def replaced() -> None:
            for each in old:
                before = await lab.committed_sum(group, topic)
                await stack.enter_async_context(running(lab.consumer(topic, group)))
                await ended(each)
                await lab.until(lambda before=before: _above(lab, group, topic, before + 40), "the group reads on")

        yield Steps(happens=replaced, switch=lambda: make_fault(stack, lab, "group rebalancing"))


@asynccontextmanager
async def _each_minute(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "connected", "a-connector"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic))
        await stack.enter_async_context(running(lab.producer(topic, 2, 10.0)))
        stack.push_async_callback(lab.drop_group, group)
        reader = lab.consumer(topic, group, auto_commit_interval_ms=60_000)
        await stack.enter_async_context(running(reader))
        await lab.committed(group, topic)
        yield Steps(switch=lambda: make_fault(stack, lab, "consumer stuck"))


@asynccontextmanager
async def _burst(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "bursts", "burst-readers"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic, partitions=1))
        stack.push_async_callback(lab.drop_group, group)
        producer, reader = lab.producer(topic, 1, 5.0), lab.consumer(topic, group)
        reader.pause = 0.08
        await stack.enter_async_context(running(producer, reader))
        await lab.committed(group, topic)

        async def read_again() -> None:
            await lab.write(topic, 4_000)
            await lab.until(lambda: _near_the_end(lab, group, topic), "they are read")

        async def go_on() -> None:
            producer.rate = 300.0

        yield Steps(happens=read_again, switch=go_on)


async def _near_the_end(lab: Laboratory, group: str, topic: str) -> bool:
    return await lab.committed_sum(group, topic) > await lab.end_of(topic) - 50


NEIGHBOURS = (
    RealNeighbour(
        name="a dead group whose records are deleted",
        make=_dead,
        ill=cause("offsets-out-of-range", group="long-dead", topic="expired", partition=0),
    ),
    RealNeighbour(
        name="hundreds of dead groups",
        make=_hundreds,
        ill=cause("offsets-out-of-range", group="still-alive", topic="forgotten", partition=0),
        within=120.0,
    ),
    RealNeighbour(
        name="a mirror's commits",
        make=_mirrored,
        ill=cause("offsets-out-of-range", group="mirrored-readers", topic="mirrored", partition=0),
    ),
    RealNeighbour(name="a group that was given up", make=_given_up, ill=cause("group-stopped", group="given-up")),
    RealNeighbour(
        name="offsets of a topic that is read no more",
        make=_left_topic,
        ill=cause("consumer-slow", group="two-topics"),
    ),
    RealNeighbour(name="a deployment", make=_deployed, ill=cause("group-rebalancing", group="restless-readers")),
    RealNeighbour(
        name="commits once a minute",
        make=_each_minute,
        ill=cause("consumer-stuck", group="poisoned-readers", topic="poisoned", partition=1),
        seconds=150.0,
    ),
    RealNeighbour(name="a burst of records", make=_burst, ill=cause("consumer-slow", group="burst-readers")),
)
