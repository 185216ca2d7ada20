"""Faults of topics and partitions: throttles, reassignments, min ISR, transactions, coordinators; functions that make
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.faults.fault import Begin, Fault, beside, cause
from benchmarks.faults.laboratory import Laboratory
from benchmarks.faults.load import running
from benchmarks.faults.nodes import NODE, VICTIM
from console.model.config import broker_resource, topic_resource
from tests.support.transactional_client import TransactionalClient

THROTTLED = {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"}
RATES = {"leader.replication.throttled.rate": "10000000", "follower.replication.throttled.rate": "10000000"}
OFFSETS = "__consumer_offsets"


@asynccontextmanager
async def _throttled(lab: Laboratory) -> AsyncIterator[Begin]:
    brokers = [broker_resource(broker) for broker in lab.cluster.broker_ids]
    async with lab.topic("throttled") as topic:

        async def begin() -> None:
            for resource in brokers:
                await lab.configure(resource, RATES)
            await lab.configure(topic_resource(topic), THROTTLED)

        try:
            yield begin
        finally:
            for resource in brokers:
                await lab.unset(resource, *RATES)


@asynccontextmanager
async def _moved_to_dead(lab: Laboratory) -> AsyncIterator[Begin]:
    async with lab.topic("moved", on=[(1, 2)]) as topic:

        async def begin() -> None:
            await lab.kill(VICTIM)
            await lab.move(topic, 0, (1, VICTIM))

        try:
            yield begin
        finally:
            await lab.bring_up()
            await lab.until(lambda: _is_on(lab, topic, {1, VICTIM}), "the move has ended")


async def _is_on(lab: Laboratory, topic: str, brokers: set[int]) -> bool:
    (partition,) = await lab.partitions(topic)
    return set(partition.replicas) == set(partition.isr) == brokers


@asynccontextmanager
async def _min_isr(lab: Laboratory) -> AsyncIterator[Begin]:
    async with lab.topic("demanding", on=[(1, 2), (2, 1)]) as topic:

        async def begin() -> None:
            await lab.configure(topic_resource(topic), {"min.insync.replicas": "3"})

        yield begin


@asynccontextmanager
async def _min_isr_alive(lab: Laboratory) -> AsyncIterator[Begin]:
    async with lab.topic("strict", partitions=3, configs={"min.insync.replicas": "3"}):
        try:
            yield lambda: lab.kill(VICTIM)
        finally:
            await lab.bring_up()


@asynccontextmanager
async def _hanging_transaction(lab: Laboratory) -> AsyncIterator[Begin]:
    addresses = dict(zip(lab.cluster.broker_ids, lab.cluster.addresses, strict=True))
    async with lab.topic("ledger", partitions=1) as topic, running(lab.producer(topic, 1, 20.0)):

        def write() -> None:
            with TransactionalClient(addresses, "booking") as client:
                client.begin()
                client.write(topic, 0, b"never ended", times=(lab.now_ms(),))

        async def begin() -> None:
            await asyncio.to_thread(write)

        yield begin


@asynccontextmanager
async def _coordinator_gone(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: the broker is killed that has the only replica of
    a partition of __consumer_offsets.
    """
    before = {each.number: each.replicas for each in await lab.partitions(OFFSETS)}
    await lab.move(OFFSETS, 0, (VICTIM,))
    await lab.until(lambda: _offsets_on(lab, (VICTIM,)), "it is moved")
    try:
        yield lambda: lab.kill(VICTIM)
    finally:
        await lab.bring_up()
        await lab.move(OFFSETS, 0, before[0])
        await lab.until(lambda: _offsets_on(lab, before[0]), "it is moved back")


async def _offsets_on(lab: Laboratory, replicas: tuple[int, ...]) -> bool:
    first = (await lab.partitions(OFFSETS))[0]
    return first.replicas == replicas and set(first.isr) == set(replicas)


FAULTS = (
    Fault(
        name="throttle left over",
        how="rates of brokers and throttled replicas of a topic are set, and nothing moves",
        make=_throttled,
        named=(cause("replication-throttled", topic="throttled"),),
        beside=(
            beside("that is the change", "changed-lately", topic="throttled"),
            *tuple(beside("that is the change", "changed-lately", broker=broker) for broker in (1, 2, 3)),
        ),
        takes=frozenset({"throttled"}),
        stands=True,
    ),
    Fault(
        name="move to a dead broker",
        how=f"broker {VICTIM} is killed, and a partition moved to it",
        make=_moved_to_dead,
        named=(
            cause("broker-down", broker=VICTIM),
            cause("reassignment-stalled", topic="moved", partition=0),
        ),
        takes=NODE,
    ),
    Fault(
        name="min ISR above replicas",
        how="min.insync.replicas=3 on a topic of two replicas",
        make=_min_isr,
        named=(cause("min-isr-impossible", topic="demanding"),),
        beside=(beside("that is the change", "changed-lately", topic="demanding"),),
        takes=frozenset({"demanding"}),
        stands=True,
    ),
    Fault(
        name="min ISR above what is alive",
        how=f"broker {VICTIM} is killed under a topic with min.insync.replicas=3 of three replicas",
        make=_min_isr_alive,
        named=(cause("broker-down", broker=VICTIM),),
        beside=(beside("it can't be met while the broker is away", "min-isr-impossible", topic="strict"),),
        takes=NODE,
    ),
    Fault(
        name="hanging transaction",
        how="a record of a transaction that no coordinator knows",
        make=_hanging_transaction,
        named=(cause("transaction-hanging", topic="ledger", partition=0),),
        takes=NODE | {"ledger"},  # transactions need their coordinator, and the coordinator's topic needs its replicas
        within=60,
    ),
    Fault(
        name="coordinator leaderless",
        how=f"the broker that has the only replica of {OFFSETS}/0 is killed",
        make=_coordinator_gone,
        named=(
            cause("broker-down", broker=VICTIM),
            cause("coordinator-unavailable", topic=OFFSETS, partition=0),
        ),
        takes=NODE,
    ),
)
