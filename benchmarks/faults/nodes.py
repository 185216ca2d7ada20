"""Faults of brokers, of the replication between them, and of the metadata quorum: functions that make them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from benchmarks.faults.cluster import ANNEX, ANNEX_RACK, KEY_STORE
from benchmarks.faults.fault import Begin, Fault, beside, cause
from benchmarks.faults.laboratory import STEADY, Laboratory
from benchmarks.faults.load import running
from console.admin.changes import send
from console.admin.cluster import describe_quorum
from console.model.changes import ElectLeaders, PartitionTarget, UnregisterBroker
from console.model.config import broker_resource
from tests.support.stopped_thread import java_thread, stopped_thread

VICTIM = 3
NODE = frozenset({"a broker"})
RELAY = frozenset({"a relay"})
DELAY = 7.0
"""Seconds by which fetch responses are delayed; more than the laboratory's replica.lag.time.max.ms."""


@asynccontextmanager
async def _killed(lab: Laboratory) -> AsyncIterator[Begin]:
    try:
        yield lambda: lab.kill(VICTIM)
    finally:
        await lab.bring_up()


@asynccontextmanager
async def _hanging(lab: Laboratory) -> AsyncIterator[Begin]:
    hanging = lab.cluster.hanging(VICTIM)

    async def begin() -> None:
        await asyncio.to_thread(hanging.__enter__)

    try:
        yield begin
    finally:
        await asyncio.to_thread(hanging.__exit__, None, None, None)
        await lab.until(lambda: _sees_all(lab), "all brokers are back")


async def _sees_all(lab: Laboratory) -> bool:
    await asyncio.to_thread(lab.cluster.await_brokers, lab.cluster.broker_ids)
    return True


@asynccontextmanager
async def _flapping(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        for turn in range(3):
            await lab.kill(VICTIM)
            await lab.until(lambda: _without(lab, VICTIM), f"broker {VICTIM} is missed")
            if turn < 2:
                await lab.bring_up()
                await asyncio.sleep(3)  # leave the broker up long enough for a poll of the console

    try:
        yield begin
    finally:
        await lab.bring_up()


async def _without(lab: Laboratory, broker: int) -> bool:
    return all(broker not in each.isr for each in await lab.partitions(STEADY))


@asynccontextmanager
async def _controllers_killed(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        for _ in range(3):
            leader = await _controller(lab)
            await lab.kill(leader)
            await lab.until(lambda old=leader: _is_other(lab, old), "another controller leads")
            await lab.bring_up()

    try:
        yield begin
    finally:
        await lab.bring_up()


async def _controller(lab: Laboratory) -> int:
    return (await lab.client.run(describe_quorum)).leader_id


async def _is_other(lab: Laboratory, old: int) -> bool:
    return await _controller(lab) not in (old, -1)


@asynccontextmanager
async def _majority_killed(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        await asyncio.gather(lab.kill(2), lab.kill(3))

    try:
        yield begin
    finally:
        await lab.bring_up()


@asynccontextmanager
async def _skewed(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a broker is restarted, and preferred leaders are
    not elected afterwards.
    """

    async def begin() -> None:
        await asyncio.to_thread(lab.cluster.stop, VICTIM)
        await lab.bring_up()
        await lab.until(lambda: _in_sync(lab), "its replicas are in sync")

    yield begin


async def _in_sync(lab: Laboratory) -> bool:
    return all(len(each.isr) == len(each.replicas) for each in await lab.partitions(STEADY))


@asynccontextmanager
async def _pair_cut(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        lab.cluster.relays.cut(1, VICTIM)

    try:
        yield begin
    finally:
        lab.cluster.relays.heal()


@asynccontextmanager
async def _listener_cut(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        lab.cluster.relays.cut(1, 2, 3)

    try:
        yield begin
    finally:
        lab.cluster.relays.heal()


@asynccontextmanager
async def _pair_delayed(lab: Laboratory) -> AsyncIterator[Begin]:
    async def begin() -> None:
        lab.cluster.relays.delay(1, VICTIM, DELAY)

    try:
        yield begin
    finally:
        lab.cluster.relays.heal()


@asynccontextmanager
async def _unclean(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault of an unclean election: a follower is cut off, its
    leader alone gets the last records and is killed, and the follower is elected.
    """
    configs = {"unclean.leader.election.enable": "true"}
    made = lab.topic("elected", on=[(VICTIM, 2)], configs=configs)
    async with made as topic, running(lab.producer("elected", 1, 20.0)):
        lab.cluster.relays.cut(VICTIM, 2)
        await lab.until(lambda: _isr_is(lab, topic, (VICTIM,)), "the follower is out of the ISR")

        async def begin() -> None:
            await lab.kill(VICTIM)
            await lab.until(lambda: _elected(lab, topic), "an unclean leader")

        try:
            yield begin
        finally:
            lab.cluster.relays.heal()
            await lab.bring_up()


@asynccontextmanager
async def _certificate_ends(lab: Laboratory) -> AsyncIterator[Begin]:
    broker = broker_resource(2)
    keys = {KEY_STORE: str(lab.cluster.ending_certificate)}
    try:
        yield lambda: lab.configure(broker, keys)
    finally:
        await lab.configure(broker, {KEY_STORE: str(lab.cluster.certificate)})
        await lab.unset(broker, KEY_STORE)


@asynccontextmanager
async def _rack_down(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: both brokers of a rack are killed. They are two
    additional brokers, because the quorum needs the three others.
    """
    await asyncio.to_thread(lab.cluster.open_annex)
    try:
        async with lab.topic("annexed", on=[(4, 1), (5, 2), (1, 4), (2, 5)]):

            async def begin() -> None:
                await asyncio.gather(*map(lab.kill, ANNEX))

            yield begin
    finally:
        await asyncio.to_thread(lab.cluster.close_annex)
        for broker in ANNEX:
            await lab.send(UnregisterBroker(broker))


@asynccontextmanager
async def _behind(lab: Laboratory) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the fault: a broker sends heartbeats, but does not apply the
    metadata log, because the thread that applies it is stopped.
    """
    before, after = (1, 2), (2, 1)
    stopped = ExitStack()
    # Move few leaders, among many that stay, so that broker 2 always leads more than nine tenths of the partitions
    # whose preferred leader it is. If it led fewer, that would be a separate fault.
    async with lab.topic("led-all-along", on=[after] * 12), lab.topic("turned", on=[before] * 4) as topic:

        def stop() -> None:
            pid = lab.cluster.pid(VICTIM)
            name = f"kafka-{VICTIM}-metadata-loader-event-handler"
            stopped.enter_context(stopped_thread(java_thread(pid, name, lambda: lab.cluster.server_log(VICTIM))))

        async def begin() -> None:
            await asyncio.to_thread(stop)
            for number in range(4):
                await lab.move(topic, number, after)
                await lab.elect(topic, number)

        try:
            yield begin
        finally:
            await asyncio.to_thread(stopped.close)
            await lab.until(lambda: _sees_all(lab), "the broker is back")


async def _isr_is(lab: Laboratory, topic: str, isr: tuple[int, ...]) -> bool:
    return (await lab.partitions(topic))[0].isr == isr


async def _elected(lab: Laboratory, topic: str) -> bool:
    (partition,) = await lab.partitions(topic)
    if partition.leader == 2:
        return True
    if partition.leader < 0:  # controllers of 3.9 look for such partitions only from time to time
        await lab.client.run(send, ElectLeaders((PartitionTarget(topic, 0),), unclean=True), validate_only=False)
    return False


_FENCED = "a broker that answers no heartbeat is fenced after its session: for the cluster it is down"

FAULTS = (
    Fault(
        name="broker killed",
        how=f"broker {VICTIM} is killed (SIGKILL), and started again",
        make=_killed,
        named=(cause("broker-down", broker=VICTIM),),
        takes=NODE,
    ),
    Fault(
        name="broker stopped",
        how=f"all threads of broker {VICTIM} are stopped (SIGSTOP), and go on",
        make=_hanging,
        named=(cause("broker-unresponsive", broker=VICTIM),),
        beside=(beside(_FENCED, "broker-down", broker=VICTIM),),
        takes=NODE,
    ),
    Fault(
        name="broker comes and goes",
        how=f"broker {VICTIM} is killed three times, and started in between",
        make=_flapping,
        named=(cause("broker-flapping", broker=VICTIM),),
        beside=(
            beside("it is down each time", "broker-down", broker=VICTIM),
            beside("it came back and leads nothing", "leader-skew", broker=VICTIM),
            beside("its controller may have led", "quorum-unstable"),
        ),
        within=150,
        takes=NODE,
    ),
    Fault(
        name="controller killed again and again",
        how="the leader of the quorum is killed, three times, and started again",
        make=_controllers_killed,
        named=(cause("quorum-unstable"),),
        beside=(
            *tuple(
                each
                for broker in (1, 2, 3)
                for each in (
                    beside("a controller is a broker here, and down while it starts", "broker-down", broker=broker),
                    beside("who was killed twice or more comes and goes", "broker-flapping", broker=broker),
                    beside("it came back and leads nothing", "leader-skew", broker=broker),
                )
            ),
            beside("for the time of an election there is no leader", "quorum-lost"),
        ),
        within=150,
        takes=NODE,
    ),
    Fault(
        name="quorum lost",
        how="two of three nodes, each broker and controller, are killed, and started again",
        make=_majority_killed,
        named=(cause("quorum-lost"), cause("broker-down", broker=2), cause("broker-down", broker=3)),
        within=45,
        takes=NODE | {"short-lived", "outlived", "bounded"},  # meanwhile no config and no quota can be changed
    ),
    Fault(
        name="rack down",
        how=f"two brokers, all of rack {ANNEX_RACK}, are killed; they are no controllers",
        make=_rack_down,
        named=(cause("rack-down", rack=ANNEX_RACK),),
        beside=tuple(beside("it is one of the rack", "broker-down", broker=broker) for broker in ANNEX),
        takes=NODE,
    ),
    Fault(
        name="metadata behind",
        how=f"the thread of broker {VICTIM} that takes in the metadata log is stopped, and leaders change",
        make=_behind,
        named=(cause("metadata-behind", broker=VICTIM),),
        takes=NODE | RELAY,
    ),
    Fault(
        name="leaders not preferred",
        how=f"broker {VICTIM} is shut down and started again; leaders are not elected",
        make=_skewed,
        named=(cause("leader-skew", broker=VICTIM),),
        takes=NODE,
        stands=True,
    ),
    Fault(
        name="replication cut",
        how=f"a relay cuts the connections on which broker {VICTIM} fetches from broker 1",
        make=_pair_cut,
        named=(cause("replication-broken", broker=VICTIM),),
        takes=NODE | RELAY,  # a broker that is down fetches nothing
    ),
    Fault(
        name="inter-broker listener cut",
        how="a relay cuts the connections on which all others fetch from broker 1",
        make=_listener_cut,
        named=(cause("replication-broken", broker=1),),
        takes=NODE | RELAY,  # a broker that is down fetches nothing
    ),
    Fault(
        name="replication delayed",
        how=f"a relay holds what broker {VICTIM} fetches from broker 1 back for {DELAY:g} s",
        make=_pair_delayed,
        named=(cause("replication-broken", broker=VICTIM),),
        takes=NODE | RELAY,  # a broker that is down fetches nothing
    ),
    Fault(
        name="certificate near its end",
        how="the key store of a TLS listener of broker 2 is replaced by one whose certificate has a day left",
        make=_certificate_ends,
        named=(cause("certificate-expiring", broker=2),),
        beside=(beside("that is the change", "changed-lately", broker=2),),
        takes=frozenset({"a certificate"}),
        stands=True,
    ),
    Fault(
        name="unclean election",
        how=f"a follower is cut off, its leader {VICTIM} is killed, and the follower elected unclean",
        make=_unclean,
        named=(cause("broker-down", broker=VICTIM), cause("unclean-election", topic="elected", partition=0)),
        beside=(
            beside("until it is elected it has no leader", "leaderless", topic="elected", partition=0),
            beside("the follower was cut off before", "replication-broken", broker=2),
            beside("the records that are lost end its log before what it was", "records-deleted", topic="elected"),
            beside("allowed for this topic alone", "changed-lately", topic="elected"),
        ),
        takes=NODE | RELAY,
    ),
)
