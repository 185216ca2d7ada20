"""Neighbours (healthy clusters that resemble a fault) of the faults of brokers and controllers. Each function
returns the healthy cluster or, with `ill`, the one with the fault; a tick is the number of a poll.
"""

from __future__ import annotations

import json
from datetime import timedelta

from msgspec.structs import replace

from benchmarks.faults.fault import cause
from benchmarks.faults.neighbours import Neighbour, embedded, modelled
from console.embedded.brokers import EmbeddedCluster
from console.embedded.faults import Delay, Fault
from console.embedded.replicas import new_topic, striped
from console.model.certificates import Certificate, Listener
from console.model.cluster import Broker, Partition, Topic, TopicListing
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigListing, ConfigSet, topic_resource
from console.model.metadata_views import Views, views_after
from console.model.observers import PLACEMENT_KEYS
from console.model.snapshot import Snapshot, with_configs
from console.triage.facts import Facts
from tests.unit.test_triage import START, TICK, healthy, set_by, without_broker


def _on(snapshot: Snapshot, *replicas: int) -> Snapshot:
    """Return the snapshot with all replicas of the topic on these brokers, which lead its partitions in turn."""
    topic = snapshot.topics["orders"]
    lists = [tuple(replicas[(n + k) % len(replicas)] for k in range(len(replicas))) for n in range(6)]
    partitions = tuple(Partition(n, mine[0], mine, mine) for n, mine in enumerate(lists))
    return replace(snapshot, topics={"orders": replace(topic, partitions=partitions)})


def _without(snapshot: Snapshot, *gone: int) -> Snapshot:
    """Return the snapshot without these brokers."""
    brokers = tuple(each for each in snapshot.cluster.brokers if each.id not in gone)
    return replace(snapshot, cluster=replace(snapshot.cluster, brokers=brokers))


def _removed(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: broker 3, which has no replicas, is removed for good. If `ill` is
    true, it still has replicas.
    """
    return _without(snapshot if ill else _on(snapshot, 1, 2), *((3,) if tick >= 2 else ()))


def _scaled(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: broker 4, which has no replicas, is added and removed again and again,
    as by automatic scaling. If `ill` is true, it has replicas.
    """
    snapshot = _on(snapshot, 1, 2, 4) if ill else snapshot
    there = (*snapshot.cluster.brokers, Broker(4, "127.0.0.1", 9004, "rack-1"))
    snapshot = replace(snapshot, cluster=replace(snapshot.cluster, brokers=there))
    return (without_broker(snapshot, [4], fenced=False) if ill else _without(snapshot, 4)) if tick % 2 else snapshot


def _handed_over(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: after a restart another controller leads the quorum. If `ill` is true,
    its leader changes at each poll.
    """
    assert snapshot.quorum is not None
    times = tick if ill else int(tick >= 3)
    quorum = replace(snapshot.quorum, leader_id=1 + times % 3, leader_epoch=7 + times)
    return replace(snapshot, quorum=quorum)


def _on_zookeeper(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: no controller leads a metadata log, because the cluster uses ZooKeeper. If `ill` is true,
    there is a metadata log without a leader.
    """
    assert snapshot.quorum is not None
    return replace(snapshot, quorum=replace(snapshot.quorum, leader_id=-1) if ill else None)


def _rack_given_up(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: all brokers of a rack are removed. If `ill` is true, they still have
    replicas.
    """
    racks = {each.id: each.rack for each in snapshot.cluster.brokers}
    mine = [broker for broker, rack in racks.items() if rack == "rack-1"]
    if not ill:
        snapshot = _on(snapshot, *(broker for broker in racks if broker not in mine))
    if tick < 2:
        return snapshot
    return without_broker(snapshot, mine) if ill else _without(snapshot, *mine)


def _led_elsewhere(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: one partition is not led by its preferred leader, broker 3. If `ill` is true, broker 3 leads
    none of the partitions of which it is the preferred leader.
    """
    topic = snapshot.topics["orders"]
    mine = [each.number for each in topic.partitions if each.leader == 3][: None if ill else 1]
    led = tuple(each._replace(leader=each.replicas[1]) if each.number in mine else each for each in topic.partitions)
    return replace(snapshot, topics={"orders": replace(topic, partitions=led)})


def _observed(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: broker 3 is in no ISR, because the topic's placement makes it an observer. If `ill` is true,
    there is no such placement.
    """
    topic = snapshot.topics["orders"]
    out = tuple(each._replace(replicas=(1, 2, 3) if each.number % 2 else (2, 1, 3)) for each in topic.partitions)
    out = tuple(each._replace(leader=each.replicas[0], isr=each.replicas[:2]) for each in out)
    snapshot = replace(snapshot, topics={"orders": replace(topic, partitions=out)})
    rule = {"observers": [] if ill else [{"count": 1, "constraints": {"rack": "rack-0"}}]}
    value = ConfigEntry(PLACEMENT_KEYS[0], json.dumps(rule), ConfigSource(1))
    listing = ConfigListing({topic_resource("orders"): ConfigSet((value,))})
    return with_configs(snapshot, listing, START, described_by=1)


def _single(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: a leader is alone in the ISR of its partitions, because it has their only replica. If `ill`
    is true, they have other replicas.
    """
    topic = snapshot.topics["orders"]
    alone = tuple(
        each._replace(replicas=each.replicas if ill else each.replicas[:1], isr=each.replicas[:1])
        if each.leader == 1
        else each
        for each in topic.partitions
    )
    return replace(snapshot, topics={"orders": replace(topic, partitions=alone)})


def _fewer_fetchers(snapshot: Snapshot, _tick: int, ill: bool) -> Snapshot:
    """Return the snapshot: broker 2 has one replica fetcher, the others have four. If `ill` is true, broker 2 is also
    out of sync.
    """
    snapshot = set_by(snapshot, **{"num.replica.fetchers": "1"})
    if not ill:
        return snapshot
    topic = snapshot.topics["orders"]
    lost = tuple(
        each._replace(isr=tuple(b for b in each.isr if b != 2)) if each.leader != 2 else each
        for each in topic.partitions
    )
    return replace(snapshot, topics={"orders": replace(topic, partitions=lost)})


def _clean_election(snapshot: Snapshot, tick: int, ill: bool) -> Snapshot:
    """Return the snapshot at poll number `tick`: after a few polls another replica, which was in sync, leads. If `ill`
    is true, it was not in sync.
    """
    topic = snapshot.topics["orders"]
    first, *rest = topic.partitions
    brokers = snapshot.cluster.brokers
    if ill:
        first = first._replace(replicas=(9, 2, 3), isr=(9,), leader=9, leader_epoch=4)
        brokers = (*brokers, Broker(9, "127.0.0.1", 9009, fenced=tick >= 2))
        if tick >= 2:
            first = first._replace(leader=-1, offline=(9,), leader_epoch=5)
        if tick >= 4:
            first = first._replace(leader=2, isr=(2,), leader_epoch=6)
    elif tick >= 4:
        first = first._replace(leader=first.replicas[1], leader_epoch=6)
    topics = {"orders": replace(topic, partitions=(first, *rest))}
    return replace(snapshot, topics=topics, cluster=replace(snapshot.cluster, brokers=brokers))


def _late_answers(tick: int, ill: bool) -> Facts:
    """Return facts at poll number `tick`: in one poll broker 2 answers with former leaders. If `ill` is true, it does
    so in all polls.
    """
    topic = Topic("orders", (Partition(0, 1, (1, 2, 3), (1, 2, 3), leader_epoch=6),), topic_id="id")
    old = replace(topic, partitions=(topic.partitions[0]._replace(leader_epoch=5),))
    views = Views()
    for each in range(tick + 1):
        for broker in (1, 2, 3):
            late = broker == 2 and (ill or each == 3)
            views = views_after(
                views,
                broker,
                [topic],
                TopicListing({"orders": old if late else topic}),
                (START + each * TICK).timestamp(),
            )
    return Facts(views=views)


def _certificates(_tick: int, ill: bool) -> Facts:
    """Return facts: a certificate expires within a day, because it was issued for only one day and is renewed. If `ill`
    is true, it was issued for longer.
    """
    lives = timedelta(days=365 if ill else 1)
    ends = START + timedelta(hours=16)
    listener = Listener(1, "127.0.0.1", 9001)
    return Facts(certificates=(Certificate(listener, "CN=b", "CN=ca", ends - lives, ends),))


def _slow_hello(running: EmbeddedCluster, ill: bool) -> None:
    """Let every broker answer the first request on a new connection slowly. If `ill` is true, broker 3 never
    answers.
    """
    running.state.put_topic(new_topic("orders", striped([1, 2, 3], 6, 3), [1, 2, 3]))
    running.faults.add(Fault(Delay(0.4), api="api_versions"))
    if ill:
        running.faults.add(Fault(Delay(3600), api="api_versions", broker=3))


NEIGHBOURS = (
    Neighbour(
        name="a broker that was removed",
        fault="broker killed",
        how="a broker is not in the cluster's list any more",
        decides="replicas are on it",
        ill=cause("broker-down", broker=3),
        polls=modelled(_removed),
    ),
    Neighbour(
        name="slow connections",
        fault="broker stopped",
        how="every broker takes 0.4 s for the first answer on a connection",
        decides="one never gives it",
        ill=cause("broker-unresponsive", broker=3),
        polls=embedded(_slow_hello),
    ),
    Neighbour(
        name="a broker of a scaled group",
        fault="broker comes and goes",
        how="a broker comes and goes",
        decides="it has replicas",
        ill=cause("broker-flapping", broker=4),
        polls=modelled(_scaled),
    ),
    Neighbour(
        name="a controller that hands over",
        fault="controller killed again and again",
        how="another controller leads",
        decides="again and again",
        ill=cause("quorum-unstable"),
        polls=modelled(_handed_over),
    ),
    Neighbour(
        name="a cluster on ZooKeeper",
        fault="quorum lost",
        how="no metadata log has a leader",
        decides="it has a metadata log",
        ill=cause("quorum-lost"),
        polls=modelled(_on_zookeeper),
    ),
    Neighbour(
        name="a rack that is given up",
        fault="rack down",
        how="all brokers of a rack go",
        decides="with replicas on them",
        ill=cause("rack-down", rack="rack-1"),
        polls=modelled(_rack_given_up, before=lambda: healthy(brokers=6, racks=2)),
    ),
    Neighbour(
        name="a broker that hears of a change late",
        fault="metadata behind",
        how="a broker answers with former leaders",
        decides="for longer than a few fetches of the metadata log",
        ill=cause("metadata-behind", broker=2),
        polls=modelled(lambda snapshot, _tick, _ill: snapshot, facts=_late_answers),
    ),
    Neighbour(
        name="one leader elsewhere",
        fault="leaders not preferred",
        how="a partition is led by another than its preferred replica",
        decides="more than one, and a tenth of a broker's",
        ill=cause("leader-skew", broker=3),
        polls=modelled(_led_elsewhere),
    ),
    Neighbour(
        name="observers",
        fault="replication cut",
        how="a broker is in the ISR of no partition that it has a replica of",
        decides="the topic does not say that it is to be so",
        ill=cause("replication-broken", broker=3),
        polls=modelled(_observed),
    ),
    Neighbour(
        name="partitions of one replica",
        fault="inter-broker listener cut",
        how="a leader is alone in the ISR of its partitions",
        decides="they have other replicas",
        ill=cause("replication-broken", broker=1),
        polls=modelled(_single),
    ),
    Neighbour(
        name="a broker with fewer fetchers",
        fault="replication delayed",
        how="one broker has one fetcher, the others four",
        decides="its replicas are out of sync",
        ill=cause("config-odd", broker=2),
        polls=modelled(_fewer_fetchers),
    ),
    Neighbour(
        name="a certificate of a day",
        fault="certificate near its end",
        how="a listener's certificate ends in 16 hours",
        decides="it lives for a year",
        ill=cause("certificate-expiring", broker=1),
        polls=modelled(lambda snapshot, _tick, _ill: snapshot, facts=_certificates),
    ),
    Neighbour(
        name="an election in sync",
        fault="unclean election",
        how="another replica leads, with a higher epoch",
        decides="it was not in sync",
        ill=cause("unclean-election", topic="orders", partition=0),
        polls=modelled(_clean_election),
    ),
)
