"""Neighbours (healthy clusters that resemble a fault) of the faults of brokers and controllers, on real brokers.
Each function that yields `Steps` makes the healthy cluster; the step `switch` makes the fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from benchmarks.faults.catalogue import FAULTS
from benchmarks.faults.cluster import ANNEX, ANNEX_RACK, KEY_STORE
from benchmarks.faults.fault import cause
from benchmarks.faults.laboratory import WARM, Laboratory
from benchmarks.faults.neighbours.real import Eyes, RealNeighbour, Steps, nothing
from benchmarks.faults.neighbours.real.groups import make_fault
from benchmarks.faults.neighbours.real.partitions import annex, retire
from benchmarks.faults.nodes import DELAY, VICTIM
from console.admin.settings import ConnectionSettings
from console.model.config import CLUSTER_DEFAULT, broker_resource
from tests.support.kafka_cluster import KafkaCluster
from tests.support.zookeeper_cluster import ZooKeeperCluster

HELLO = 0.4
STAYS, GOES = ANNEX


@asynccontextmanager
async def _removed(lab: Laboratory) -> AsyncIterator[Steps]:
    async with annex(lab), lab.topic("on-annex", on=[(STAYS, 1), (1, STAYS)]):
        yield Steps(happens=lambda: retire(lab, GOES), switch=lambda: lab.kill(STAYS))


@asynccontextmanager
async def _scaled(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a broker without replicas is repeatedly removed, after
    a controlled shutdown, and added. `switch` makes the fault: a broker with replicas is killed each time.
    """
    async with annex(lab), lab.topic("on-annex", on=[(STAYS, 1), (1, STAYS)]):

        async def scaled() -> None:
            for _ in range(2):
                await retire(lab, GOES)
                await asyncio.sleep(3)
                lab.cluster.broker_ids = (*lab.cluster.broker_ids, GOES)
                await asyncio.to_thread(lab.cluster.restart, GOES)
            await retire(lab, GOES)

        async def comes_and_goes() -> None:
            for turn in range(3):
                await lab.kill(STAYS)
                await lab.until(lambda: _out_of_isr(lab, STAYS), "it is missed")
                if turn < 2:
                    await lab.bring_up()
                    await asyncio.sleep(3)

        yield Steps(happens=scaled, switch=comes_and_goes)


async def _out_of_isr(lab: Laboratory, broker: int) -> bool:
    return all(broker not in each.isr for each in await lab.partitions("on-annex"))


@asynccontextmanager
async def _rack_given_up(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: all brokers of a rack are shut down and removed.
    `switch` makes the fault: they come back with replicas, and are killed.
    """
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(annex(lab))

        async def go() -> None:
            for broker in ANNEX:
                await retire(lab, broker)

        yield Steps(happens=go, switch=lambda: make_fault(stack, lab, "rack down"))


@asynccontextmanager
async def _late(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a broker does not apply the metadata log for some
    seconds, while leaders change. `switch` makes the fault: it does not apply the log any more.
    """
    async with AsyncExitStack() as stack:

        async def for_a_moment() -> None:
            async with FAULTS["metadata behind"].make(lab) as begin:
                await begin()
                await asyncio.sleep(3)

        yield Steps(happens=for_a_moment, switch=lambda: make_fault(stack, lab, "metadata behind"))


@asynccontextmanager
async def _led_elsewhere(lab: Laboratory) -> AsyncIterator[Steps]:
    async with AsyncExitStack() as stack:

        async def prefer_victim(topic: str, partitions: int) -> None:
            await stack.enter_async_context(lab.topic(topic, on=[(1, 2, VICTIM)] * partitions))
            for number in range(partitions):
                await lab.move(topic, number, (VICTIM, 1, 2))

        await prefer_victim("led-elsewhere", 1)
        yield Steps(switch=lambda: prefer_victim("all-led-elsewhere", 6))


@asynccontextmanager
async def _alone(lab: Laboratory) -> AsyncIterator[Steps]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(lab.topic("of-one-replica", on=[(1,)] * 4))
        yield Steps(switch=lambda: make_fault(stack, lab, "inter-broker listener cut"))


@asynccontextmanager
async def _fewer_fetchers(lab: Laboratory) -> AsyncIterator[Steps]:
    key, broker = "num.replica.fetchers", 2
    await lab.configure(CLUSTER_DEFAULT, {key: "2"})  # brokers accept at most twice as many at once
    await lab.configure(broker_resource(broker), {key: "1"})

    async def falls_behind() -> None:
        for leader in (1, 3):
            lab.cluster.relays.delay(leader, broker, DELAY)

    try:
        yield Steps(switch=falls_behind)
    finally:
        lab.cluster.relays.heal()
        await lab.unset(broker_resource(broker), key)
        await lab.unset(CLUSTER_DEFAULT, key)


@asynccontextmanager
async def _certificate_of_a_day(lab: Laboratory) -> AsyncIterator[Steps]:
    broker = broker_resource(2)
    await lab.configure(broker, {KEY_STORE: str(lab.cluster.daily_certificate)})
    try:
        yield Steps(switch=lambda: lab.configure(broker, {KEY_STORE: str(lab.cluster.ending_certificate)}), then=Eyes())
    finally:
        await lab.configure(broker, {KEY_STORE: str(lab.cluster.certificate)})
        await lab.unset(broker, KEY_STORE)


@asynccontextmanager
async def _clean_election(lab: Laboratory) -> AsyncIterator[Steps]:
    async with AsyncExitStack() as stack:
        topic = await stack.enter_async_context(lab.topic("handed-over", on=[(1, 2, 3)]))

        async def elected() -> None:
            await lab.move(topic, 0, (2, 3, 1))
            await lab.elect(topic, 0)

        yield Steps(happens=elected, switch=lambda: make_fault(stack, lab, "unclean election", seen=WARM))


@asynccontextmanager
async def _slow_hello(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: the console connects through relays, each of which
    delays the first response on a connection. `switch` makes the fault: all threads of a broker are stopped.
    """
    async with AsyncExitStack() as stack:
        lab.cluster.relays.delay_hello(HELLO)
        by = Eyes(ConnectionSettings(lab.cluster.relayed_addresses, request_timeout=20.0))
        yield Steps(by=by, switch=lambda: make_fault(stack, lab, "broker stopped"))


# -- separate clusters -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def other_cluster(cluster: KafkaCluster) -> AsyncIterator[Eyes]:
    """Run a cluster besides the laboratory's until the end of the block, and yield a console for it."""
    await asyncio.to_thread(cluster.__enter__)
    try:
        yield Eyes(ConnectionSettings(cluster.addresses))
    finally:
        await asyncio.to_thread(cluster.close)


@asynccontextmanager
async def _on_zookeeper(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a cluster on Kafka 2.8, which has no metadata log.
    `switch` makes the fault, on the laboratory's cluster: two of its nodes are killed.
    """
    async with AsyncExitStack() as stack:
        by = await stack.enter_async_context(other_cluster(ZooKeeperCluster(brokers=1)))
        yield Steps(by=by, switch=lambda: make_fault(stack, lab, "quorum lost"), then=Eyes())


@asynccontextmanager
async def _no_group_yet(lab: Laboratory) -> AsyncIterator[Steps]:
    """Make the healthy form, and yield the steps of its test: a cluster of one broker in which no group has been
    used. For the fault, the console is opened on another cluster of one broker, whose properties require three
    replicas of __consumer_offsets.
    """
    version, wanted = lab.cluster.version, {"offsets.topic.replication.factor": "3"}
    async with AsyncExitStack() as stack:
        well = await stack.enter_async_context(other_cluster(KafkaCluster(version, brokers=1)))
        ill = await stack.enter_async_context(other_cluster(KafkaCluster(version, brokers=1, properties=wanted)))
        yield Steps(by=well, switch=nothing, then=ill)


NEIGHBOURS = (
    RealNeighbour(name="a broker that was removed", make=_removed, ill=cause("broker-down", broker=STAYS)),
    RealNeighbour(
        name="a broker of a scaled group", make=_scaled, ill=cause("broker-flapping", broker=STAYS), within=180.0
    ),
    RealNeighbour(
        name="a rack that is given up", make=_rack_given_up, ill=cause("rack-down", rack=ANNEX_RACK), within=120.0
    ),
    RealNeighbour(name="a broker that hears of a change late", make=_late, ill=cause("metadata-behind", broker=VICTIM)),
    RealNeighbour(name="one leader elsewhere", make=_led_elsewhere, ill=cause("leader-skew", broker=VICTIM)),
    RealNeighbour(name="partitions of one replica", make=_alone, ill=cause("replication-broken", broker=1)),
    RealNeighbour(name="a broker with fewer fetchers", make=_fewer_fetchers, ill=cause("config-odd", broker=2)),
    RealNeighbour(
        name="a certificate of a day", make=_certificate_of_a_day, ill=cause("certificate-expiring", broker=2)
    ),
    RealNeighbour(
        name="an election in sync", make=_clean_election, ill=cause("unclean-election", topic="elected", partition=0)
    ),
    RealNeighbour(name="slow connections", make=_slow_hello, ill=cause("broker-unresponsive", broker=VICTIM)),
    RealNeighbour(name="a cluster on ZooKeeper", make=_on_zookeeper, ill=cause("quorum-lost")),
    RealNeighbour(
        name="a cluster without groups",
        make=_no_group_yet,
        ill=cause("coordinator-unavailable", topic="__consumer_offsets"),
    ),
)
