"""Tests of the marks of entities in trouble: they agree with triage's symptoms, and a healthy cluster has none."""

from dataclasses import dataclass
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.cluster import Broker, ClusterInfo, Partition, Topic
from console.model.codes import DYNAMIC_BROKER_CONFIG, DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG
from console.model.config import ConfigEntry, ConfigSet, broker_resource, topic_resource
from console.model.snapshot import Snapshot
from console.triage.symptoms import MOVING, Poll, symptoms
from console.triage.trouble import Troubles, troubles

AT = datetime(2026, 3, 1, tzinfo=UTC)
BROKERS = (1, 2, 3)


@dataclass(frozen=True)
class Key:
    name: str
    values: tuple[str, str, str]


def cluster(*topics: Topic) -> Snapshot:
    brokers = tuple(Broker(number, "127.0.0.1", 9000 + number) for number in BROKERS)
    read_at = dict.fromkeys(("cluster", "topics", "reassignments"), AT)
    return Snapshot(cluster=ClusterInfo("c", 1, brokers), topics={each.name: each for each in topics}, read_at=read_at)


partitions = st.builds(
    lambda number, leader, isr: Partition(number, leader if leader in isr else -1, BROKERS, tuple(sorted(isr))),
    st.integers(0, 5),
    st.sampled_from(BROKERS),
    st.sets(st.sampled_from(BROKERS)),
)
topics = st.builds(
    Topic, st.sampled_from("abc"), st.lists(partitions, max_size=6, unique_by=lambda p: p.number).map(tuple)
)


@given(st.lists(topics, max_size=3, unique_by=lambda topic: topic.name), st.sets(st.sampled_from(BROKERS)))
def test_it_is_what_has_a_symptom(found: list[Topic], silent: set[int]) -> None:
    snapshot = cluster(*found)
    seen = [each for each in symptoms(Poll(AT, snapshot, frozenset(silent))) if each.name != MOVING]
    trouble = troubles(Poll(AT, snapshot, frozenset(silent)))
    assert trouble.topics == {each.subject.topic for each in seen if each.subject.topic is not None}
    for topic in found:
        wrong = {p.number for p in topic.partitions if p.leader < 0 or p.under_replicated}
        assert wrong == {p.number for p in topic.partitions if trouble.has_partition(topic.name, p.number)}
    assert silent <= trouble.brokers
    assert (trouble == Troubles()) == (not seen)


def of_brokers(key: Key) -> Snapshot:
    configs = {
        broker_resource(number): ConfigSet((ConfigEntry(key.name, value, STATIC_BROKER_CONFIG),))
        for number, value in zip(BROKERS, key.values, strict=True)
    }
    return replace(cluster(), configs=configs)


def test_what_is_odd_of_a_broker_a_throttle_and_a_min_isr() -> None:
    odd = troubles(Poll(AT, of_brokers(Key("num.io.threads", ("8", "8", "2"))))).configs
    assert odd == {broker_resource(3): frozenset({"num.io.threads"})}
    assert not troubles(Poll(AT, of_brokers(Key("num.io.threads", ("8", "8", "8"))))).configs
    assert not troubles(Poll(AT, of_brokers(Key("num.io.threads", ("8", "4", "2"))))).configs
    assert not troubles(Poll(AT, of_brokers(Key("broker.rack", ("a", "a", "b"))))).configs
    rate = "follower.replication.throttled.rate"
    entry = ConfigEntry(rate, "1000", DYNAMIC_BROKER_CONFIG)
    snapshot = replace(cluster(), configs={broker_resource(1): ConfigSet((entry,))})
    assert troubles(Poll(AT, snapshot)).configs == {broker_resource(1): frozenset({rate})}
    held = frozenset({(broker_resource(1), rate)})
    assert not troubles(Poll(AT, snapshot, own_throttles=held)).configs
    healthy = Topic("a", (Partition(0, 1, (1, 2), (1, 2)),))
    entry = ConfigEntry("min.insync.replicas", "3", DYNAMIC_TOPIC_CONFIG)
    snapshot = replace(cluster(healthy), configs={topic_resource("a"): ConfigSet((entry,))})
    found = troubles(Poll(AT, snapshot))
    assert found.configs == {topic_resource("a"): frozenset({"min.insync.replicas"})}
    assert found.has_partition("a", 0)
    assert troubles(Poll(AT, cluster(healthy))) == Troubles()
