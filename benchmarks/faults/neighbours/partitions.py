"""Neighbours (healthy clusters that resemble a fault) of the faults of partitions: throttles, reassignments, min
ISR. Each function returns the snapshot at a tick (the number of the poll) of the healthy cluster or, with `ill`,
of the one with the fault.
"""

from __future__ import annotations

from msgspec.structs import replace

from benchmarks.faults.fault import cause
from benchmarks.faults.neighbours import Neighbour, embedded, modelled
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic, striped
from console.model.cluster import Broker, LogDir, Reassignment, ReplicaSize, ReplicaSizes
from console.model.codes import ConfigSource
from console.model.config import CLUSTER_DEFAULT, ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.snapshot import Snapshot
from tests.unit.test_triage import config, without_broker

WHOLE = 10_000_000
DYNAMIC_BROKER = ConfigSource(2)


def _copying(snapshot: Snapshot, tick: int, to: int = 4) -> Snapshot:
    """Return the snapshot with a reassignment of orders/0 from broker 3 to another broker, which has received more
    bytes with each tick.
    """
    topic = snapshot.topics["orders"]
    first, *rest = topic.partitions
    first = first._replace(replicas=(1, 2, to, 3), isr=(1, 2, 3), leader=1)
    held = {1: WHOLE, 2: WHOLE, 3: WHOLE, to: 200_000 * tick}
    dirs = {
        broker: (LogDir("/data", ReplicaSizes([ReplicaSize("orders", 0, size, 0, False)]), 10**9, 9 * 10**8),)
        for broker, size in held.items()
    }
    return replace(
        snapshot,
        topics={"orders": replace(topic, partitions=(first, *rest))},
        reassignments=(Reassignment("orders", 0, (1, 2, to, 3), (to,), (3,)),),
        cluster=replace(snapshot.cluster, brokers=(*snapshot.cluster.brokers, Broker(to, "127.0.0.1", 9000 + to))),
        log_dirs=dirs,
    )


def _throttled(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: replication is throttled for a running reassignment. If `ill` is true,
    no reassignment runs.
    """
    snapshot = snapshot if ill else _copying(snapshot, tick)
    rates = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
    replicas = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")
    of_broker = ConfigSet(tuple(ConfigEntry(key, "5000000", DYNAMIC_BROKER) for key in rates))
    of_topic = ConfigSet(
        tuple(
            ConfigEntry(key, value, ConfigSource(1))
            for key, value in zip(replicas, ("0:4", "0:1,0:2,0:3"), strict=True)
        )
    )
    configs = {broker_resource(n): of_broker for n in ((2,) if ill else (1, 2, 3, 4))}
    return replace(snapshot, configs=configs if ill else {**configs, topic_resource("orders"): of_topic})


KEPT = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
"""The configs of a throttle that is always set, so that reassignments never use the whole network."""


def _kept_throttle(cluster: EmbeddedCluster, _ill: bool) -> None:
    state = cluster.state
    state.put_topic(new_topic("orders", striped([1, 2, 3], 3, 3), [1, 2, 3]))
    state.alter_config(CLUSTER_DEFAULT, dict.fromkeys(KEPT, "50000000"))
    state.alter_config(broker_resource(2), {KEPT[0]: "20000000"})


def _moved(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a partition is being reassigned to broker 4. If `ill` is true, broker
    4 is down.
    """
    snapshot = _copying(snapshot, 0 if ill else tick)
    return without_broker(snapshot, [4]) if ill else snapshot


def _all_wanted(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: min.insync.replicas equals the number of replicas. If `ill` is true, it is higher."""
    wanted = "4" if ill else "3"
    return replace(snapshot, configs={topic_resource("orders"): config("min.insync.replicas", wanted, 1)})


def _one_fewer(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: a broker is removed after its replicas were moved away. If `ill` is
    true, it still has replicas, and a write needs all replicas in sync.
    """
    configs = {topic_resource("orders"): config("min.insync.replicas", "3" if ill else "2", 1)}
    snapshot = replace(snapshot, configs=configs)
    if ill:
        return without_broker(snapshot, [3]) if tick >= 2 else snapshot
    topic = snapshot.topics["orders"]
    two = tuple(
        each._replace(replicas=kept, isr=kept, leader=kept[0])
        for each in topic.partitions
        if (kept := tuple(broker for broker in each.replicas if broker != 3))
    )
    brokers = tuple(each for each in snapshot.cluster.brokers if each.id != 3 or tick < 2)
    topics = {"orders": replace(topic, partitions=two)}
    return replace(snapshot, topics=topics, cluster=replace(snapshot.cluster, brokers=brokers))


NEIGHBOURS = (
    Neighbour(
        name="a throttle that is in use",
        fault="throttle left over",
        how="brokers have a replication throttle",
        decides="nothing moves",
        ill=cause("replication-throttled"),
        told=frozenset({"reassignment-running"}),
        polls=modelled(_throttled),
    ),
    Neighbour(
        name="a throttle that is meant",
        fault="throttle left over",
        how="brokers have a replication throttle at all times, which the context declares",
        decides="it is not declared",
        ill=cause("replication-throttled"),
        polls=embedded(
            _kept_throttle,
            polls=2,
            meant=frozenset({*((CLUSTER_DEFAULT, key) for key in KEPT), (broker_resource(2), KEPT[0])}),
        ),
    ),
    Neighbour(
        name="a move that goes on",
        fault="move to a dead broker",
        how="a partition moves, and the new replica is not in sync",
        decides="its broker is down",
        ill=cause("reassignment-stalled", topic="orders", partition=0),
        told=frozenset({"reassignment-running"}),
        polls=modelled(_moved),
    ),
    Neighbour(
        name="every replica has to be in sync",
        fault="min ISR above replicas",
        how="min.insync.replicas is the number of replicas",
        decides="it is above that",
        ill=cause("min-isr-impossible", topic="orders"),
        polls=modelled(_all_wanted),
    ),
    Neighbour(
        name="a broker less, and a replica less",
        fault="min ISR above what is alive",
        how="a broker goes, and min.insync.replicas is the number of replicas that are left",
        decides="its replicas were not moved away before",
        ill=cause("min-isr-impossible", topic="orders"),
        polls=modelled(_one_fewer),
    ),
)
