"""Neighbours (healthy clusters that resemble a fault) of the faults of partitions, on real brokers: throttles,
reassignments, min ISR, transactions, coordinators. Each function that yields `Steps` makes the healthy cluster;
the step `switch` makes the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.faults.cluster import ANNEX, CORE
from benchmarks.faults.fault import cause
from benchmarks.faults.laboratory import WARM, Laboratory
from benchmarks.faults.load import running
from benchmarks.faults.neighbours.real import Eyes, RealNeighbour, Steps, nothing
from benchmarks.faults.neighbours.real.groups import make_fault, stands_at
from benchmarks.faults.nodes import VICTIM
from benchmarks.faults.partitions import OFFSETS
from console.model.changes import UnregisterBroker
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from tests.support.transactional_client import TransactionalClient

LARGE = bytes(10_000)
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
SLOW = "150000"
"""A replication throttle in bytes per second, with which a reassignment takes more than a minute."""


@asynccontextmanager
async def _throttled_move(lab: Laboratory) -> AsyncIterator[str]:
    """Reassign partition 0 of a topic slowly from broker 2 to the laboratory's victim broker, until the end of the
    block. Yield the topic's name.
    """
    brokers = [broker_resource(broker) for broker in lab.cluster.broker_ids]
    async with lab.topic("moving", on=[(1, 2)]) as topic:
        await lab.write(topic, 1_500, value=LARGE)
        throttled = {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": f"0:{VICTIM}",
        }
        await lab.configure(topic_resource(topic), throttled)
        try:
            for broker in brokers:
                await lab.configure(broker, dict.fromkeys(RATES, SLOW))
            await lab.move(topic, 0, (1, VICTIM))
            yield topic
        finally:
            await lab.bring_up()
            for broker in brokers:
                await lab.unset(broker, *RATES)
            await lab.until(lambda: _still(lab, topic), "the move has ended")


async def _still(lab: Laboratory, topic: str) -> bool:
    (partition,) = await lab.partitions(topic)
    return set(partition.replicas) == set(partition.isr)


@asynccontextmanager
async def _throttle_in_use(lab: Laboratory) -> AsyncIterator[Steps]:
    async with _throttled_move(lab) as topic:
        yield Steps(switch=lambda: lab.move(topic, 0, None))


@asynccontextmanager
async def _move(lab: Laboratory) -> AsyncIterator[Steps]:
    async with _throttled_move(lab):
        yield Steps(switch=lambda: lab.kill(VICTIM))


@asynccontextmanager
async def _meant_throttle(lab: Laboratory) -> AsyncIterator[Steps]:
    one = broker_resource(2)
    await lab.configure(CLUSTER_DEFAULT, dict.fromkeys(RATES, "50000000"))
    await lab.configure(one, {RATES[0]: "20000000"})
    meant = frozenset({*((CLUSTER_DEFAULT, key) for key in RATES), (one, RATES[0])})
    try:
        yield Steps(switch=nothing, by=Eyes(throttles=meant), then=Eyes())
    finally:
        await lab.unset(CLUSTER_DEFAULT, *RATES)
        await lab.unset(one, RATES[0])


@asynccontextmanager
async def _all_wanted(lab: Laboratory) -> AsyncIterator[Steps]:
    async with lab.topic("all-of-three", configs={"min.insync.replicas": "3"}) as topic:
        yield Steps(switch=lambda: lab.configure(topic_resource(topic), {"min.insync.replicas": "4"}))


@asynccontextmanager
async def annex(lab: Laboratory) -> AsyncIterator[None]:
    """Run brokers 4 and 5, in a separate rack, in addition to the three others, until the end of the block."""
    await asyncio.to_thread(lab.cluster.open_annex)
    try:
        yield
    finally:
        left = set(lab.cluster.broker_ids) - set(CORE)
        await asyncio.to_thread(lab.cluster.close_annex)
        for broker in sorted(left):
            await lab.send(UnregisterBroker(broker))


async def retire(lab: Laboratory, broker: int) -> None:
    """Shut down broker 4 or 5, and unregister it."""
    await asyncio.to_thread(lab.cluster.stop, broker)
    lab.cluster.broker_ids = tuple(each for each in lab.cluster.broker_ids if each != broker)
    await lab.send(UnregisterBroker(broker))


@asynccontextmanager
async def _one_fewer(lab: Laboratory) -> AsyncIterator[Steps]:
    dies, goes = ANNEX
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(annex(lab))
        smaller = await stack.enter_async_context(
            lab.topic("smaller", on=[(1, 2, goes)], configs={"min.insync.replicas": "2"})
        )
        await stack.enter_async_context(
            lab.topic("not-smaller", on=[(1, 2, dies)], configs={"min.insync.replicas": "3"})
        )

        async def moved_away() -> None:
            await lab.move(smaller, 0, (1, 2))
            await lab.until(lambda: _is_of(lab, smaller, 2), "it has two replicas")
            await asyncio.sleep(WARM)  # an operator who drains a broker also waits before shutting it down
            await retire(lab, goes)

        yield Steps(happens=moved_away, switch=lambda: lab.kill(dies))


async def _is_of(lab: Laboratory, topic: str, replicas: int) -> bool:
    (partition,) = await lab.partitions(topic)
    return len(partition.replicas) == len(partition.isr) == replicas


# -- transactions ------------------------------------------------------------------------------------------------------


def _booking(lab: Laboratory, name: str) -> TransactionalClient:
    return TransactionalClient(dict(zip(lab.cluster.broker_ids, lab.cluster.addresses, strict=True)), name)


async def _hang(lab: Laboratory, topic: str, name: str) -> None:
    """Write a record of a transaction that no coordinator knows. name: the transactional id."""

    def write() -> None:
        with _booking(lab, name) as client:
            client.begin()
            client.write(topic, 0, b"never ended", times=(lab.now_ms(),))

    await asyncio.to_thread(write)


@asynccontextmanager
async def _long_transaction(lab: Laboratory) -> AsyncIterator[Steps]:
    topic, group = "exported", "export-readers"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic, partitions=1))
        await stack.enter_async_context(running(lab.producer(topic, 1, 20.0)))
        stack.push_async_callback(lab.drop_group, group)
        reader = lab.consumer(topic, group, isolation_level="read_committed")
        await stack.enter_async_context(running(reader))
        await lab.committed(group, topic)
        client = stack.enter_context(_booking(lab, "export"))

        def write() -> None:
            client.begin()
            client.add(topic, 0)
            client.write(topic, 0, b"first of many", times=(lab.now_ms(),))

        await asyncio.to_thread(write)

        async def another_hangs() -> None:
            await _hang(lab, topic, "lost")
            await asyncio.to_thread(client.end)

        yield Steps(switch=another_hangs)


@asynccontextmanager
async def _idle(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: three transactions are committed, and a member stops
    before the marker of the last one. `switch` makes the fault: no coordinator knows the last transaction.
    """
    topic, group = "settled", "settlement"
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic(topic, partitions=1))
        stack.push_async_callback(lab.drop_group, group)

        def write() -> None:
            with _booking(lab, "settle") as client:
                for _ in range(3):
                    client.begin()
                    client.add(topic, 0)
                    client.write(topic, 0, b"one", b"two", times=(lab.now_ms(),) * 2)
                    client.end()

        await asyncio.to_thread(write)
        await stands_at(lab, stack, topic, group, await lab.end_of(topic) - 1)
        yield Steps(switch=lambda: _hang(lab, topic, "lost"))


# -- coordinators ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _coordinators_move(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: the replicas of partition 0 of __consumer_offsets lead
    it in turn. `switch` makes the fault: the partition has no leader.
    """
    (first, *_) = await lab.partitions(OFFSETS)

    async def lead_in_turn() -> None:
        for turn in (1, 2, 0):
            order = (*first.replicas[turn:], *first.replicas[:turn])
            await lab.move(OFFSETS, 0, order)
            await lab.elect(OFFSETS, 0)
            await lab.until(lambda leader=order[0]: _led_by(lab, leader), "another leads")
            await asyncio.sleep(3)

    async with AsyncExitStack() as stack:
        yield Steps(happens=lead_in_turn, switch=lambda: make_fault(stack, lab, "coordinator leaderless"))


async def _led_by(lab: Laboratory, broker: int) -> bool:
    return (await lab.partitions(OFFSETS))[0].leader == broker


NEIGHBOURS = (
    RealNeighbour(
        name="a throttle that is in use",
        make=_throttle_in_use,
        ill=cause("replication-throttled", topic="moving"),
    ),
    RealNeighbour(name="a throttle that is meant", make=_meant_throttle, ill=cause("replication-throttled")),
    RealNeighbour(
        name="a move that goes on",
        make=_move,
        ill=cause("reassignment-stalled", topic="moving", partition=0),
    ),
    RealNeighbour(
        name="every replica has to be in sync",
        make=_all_wanted,
        ill=cause("min-isr-impossible", topic="all-of-three"),
    ),
    RealNeighbour(
        name="a broker less, and a replica less",
        make=_one_fewer,
        ill=cause("min-isr-impossible", topic="not-smaller"),
    ),
    RealNeighbour(
        name="a long transaction",
        make=_long_transaction,
        ill=cause("transaction-hanging", topic="exported", partition=0),
        seconds=40.0,
    ),
    RealNeighbour(
        name="an idle transactional topic",
        make=_idle,
        ill=cause("transaction-hanging", topic="settled", partition=0),
        seconds=40.0,
    ),
    RealNeighbour(
        name="coordinators that move",
        make=_coordinators_move,
        ill=cause("coordinator-unavailable", topic=OFFSETS, partition=0),
    ),
)
