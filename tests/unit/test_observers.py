"""Tests of observers (replicas that a placement config keeps out of the ISR): they do not count as under-replicated,
and reassignments keep them.
"""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import observers as model_observers
from console.model.cluster import Broker, Partition, Topic, TopicListing
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, ConfigListing, ConfigSet, topic_resource
from console.model.snapshot import Snapshot, with_cluster, with_configs, with_topics
from console.operations.goals import Drain
from console.operations.placement import placement_of
from console.operations.planner import propose
from console.present.topics import PARTITIONS, PartitionRow
from console.triage.diagnosis import diagnose
from tests.unit.test_triage import healthy, watched

AT = datetime(2026, 3, 1, tzinfo=UTC)
(KEY,) = model_observers.PLACEMENT_KEYS
BROKERS = tuple(Broker(n, "h", n, rack) for n, rack in ((1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, None)))


def placed(value: str) -> ConfigSet:
    return ConfigSet((ConfigEntry(KEY, value, ConfigSource(1)),))


def rules(*observers: tuple[int, str | None]) -> str:
    """Return the placement config with these observers: (count, rack); a rack of None means any rack."""
    wanted = [{"count": count, "constraints": {"rack": rack} if rack else {}} for count, rack in observers]
    return json.dumps({"version": 2, "replicas": [{"count": 2, "constraints": {"rack": "a"}}], "observers": wanted})


@pytest.mark.parametrize(
    ("value", "replicas", "isr", "found"),
    [
        (rules((1, "b")), (1, 2, 3), (1, 2), (3,)),
        (rules((2, "b")), (1, 3, 4), (1,), (3, 4)),
        (rules((1, "b")), (1, 3, 4), (1,), (4,)),  # the last one in the list; 3 is missing
        (rules((1, "b")), (1, 2, 3), (1, 2, 3), ()),  # promoted
        (rules((1, "b")), (1, 2), (1,), ()),  # a replica that is missing is no observer
        (rules((1, None)), (1, 2, 5), (1, 2), (5,)),
        (rules((1, "b"), (1, "a")), (2, 1, 3), (2,), (1, 3)),
        (rules((0, "b")), (1, 3), (1,), ()),
        ('{"version":1,"replicas":[]}', (1, 3), (1,), ()),
        ("", (1, 3), (1,), ()),
        ("{not json", (1, 3), (1,), ()),
        ('{"observers": [{"count": "x"}]}', (1, 3), (1,), ()),
        ("[" * 100_000, (1, 3), (1,), ()),
    ],
)
def test_they_are_told_by_count_and_rack(
    value: str, replicas: tuple[int, ...], isr: tuple[int, ...], found: tuple[int, ...]
) -> None:
    topic = Topic("t", (Partition(0, isr[0], replicas, isr),))
    (partition,) = model_observers.observed(
        {"t": topic}, {"t": model_observers.observer_rules(placed(value))}, BROKERS
    )["t"].partitions
    assert partition.observers == found
    assert model_observers.not_in_sync(partition) == tuple(
        each for each in replicas if each not in isr and each not in found
    )
    assert partition.under_replicated is bool(model_observers.not_in_sync(partition))


ids = st.lists(st.integers(1, 5), unique=True, min_size=1).map(tuple)


@given(ids, st.sets(st.integers(1, 5)), st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(["a", "b", None]))))
def test_a_replica_is_in_sync_missing_or_an_observer(
    replicas: tuple[int, ...], in_sync: set[int], some: list[tuple[int, str | None]]
) -> None:
    """Each replica counts as exactly one of in sync, missing or observer, and no partition has more observers than its
    config allows.
    """
    isr = tuple(each for each in replicas if each in in_sync)
    made = tuple(model_observers.ObserverRule(count, {"rack": rack} if rack else {}) for count, rack in some)
    topic = Topic("t", (Partition(0, -1, replicas, isr),))
    (partition,) = model_observers.observed({"t": topic}, {"t": made}, BROKERS)["t"].partitions
    assert sorted((*partition.isr, *model_observers.not_in_sync(partition), *partition.observers)) == sorted(replicas)
    assert len(partition.observers) <= sum(max(0, count) for count, _ in some)


def test_a_snapshot_knows_them_whatever_is_read_first() -> None:
    bare = replace(healthy(), topics={}, configs={})
    listing = TopicListing({"t": Topic("t", (Partition(0, 1, (1, 2, 3), (1, 2)),))})
    racks = replace(bare.cluster, brokers=BROKERS)
    configs = ConfigListing({topic_resource("t"): placed(rules((1, "b")))})
    known = replace(bare, cluster=racks)
    one = with_configs(with_topics(known, listing, whole=True, at=AT), configs, AT, described_by=1)
    other = with_topics(with_configs(known, configs, AT, described_by=1), listing, whole=True, at=AT)
    assert one.topics == other.topics
    assert one.topics["t"].partitions[0].observers == (3,)
    unknown = replace(bare, cluster=replace(bare.cluster, brokers=()))
    last = with_configs(with_topics(unknown, listing, whole=True, at=AT), configs, AT, described_by=1)
    assert last.topics["t"].partitions[0].observers == (), "no broker's rack is known"
    assert with_cluster(last, racks, AT).topics == one.topics
    again = with_topics(one, listing, whole=True, at=AT)
    assert again.topics is one.topics, "what is equal stays the same object"
    gone = with_configs(one, ConfigListing({topic_resource("t"): placed("")}), AT, described_by=1)
    assert gone.topics["t"].partitions[0].observers == ()


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")), st.booleans())
def test_of_a_server_without_placements_one_topic_is_read_and_of_others_all_that_are_short(
    short: set[str], known: set[str], has_key: bool
) -> None:
    topics = {name: Topic(name, (Partition(0, 1, (1, 2), (1,) if name in short else (1, 2)),)) for name in "abcdef"}
    plain = ConfigSet((ConfigEntry("retention.ms", "1", ConfigSource(5)),))
    configs = {topic_resource(name): placed("") if has_key else plain for name in known}
    asked: set[str] = set()
    while names := model_observers.placements_to_read(topics, configs, asked):
        asked.update(names)
        configs.update({topic_resource(name): placed("") if has_key else plain for name in names})
    left = short - known
    assert asked == (left if has_key else set() if known else {min(left)} if left else set())


def stretched(snapshot: Snapshot, value: str) -> Snapshot:
    """Return the snapshot in which broker 3, in rack-0, is in no ISR, and topic orders has this placement config."""
    topic = snapshot.topics["orders"]
    out = tuple(
        each._replace(replicas=tuple(sorted(each.replicas, key=lambda b: b == 3)), isr=(1, 2), leader=1, offline=())
        for each in topic.partitions
    )
    known = replace(snapshot, topics={"orders": replace(topic, partitions=out)})
    return with_configs(known, ConfigListing({topic_resource("orders"): placed(value)}), AT, described_by=1)


def test_triage_names_no_trouble_of_them_and_names_what_is_missing() -> None:
    assert {each.claim.cause for each in diagnose(watched(lambda s, _: stretched(s, rules((1, "rack-0"))))).causes} <= {
        "leader-skew"
    }
    ill = diagnose(watched(lambda s, _: stretched(s, rules((1, "rack-9")))))
    assert "replication-broken" in {each.claim.cause for each in ill.causes}


def test_moves_leave_them() -> None:
    snapshot = stretched(healthy(), rules((1, "rack-0")))
    proposal = propose(Drain((1,)), placement_of(snapshot))
    assert proposal.moves == ()
    assert all("is an observer of it" in each.why or "needs 3 other brokers" in each.why for each in proposal.held)


def test_a_row_says_observer() -> None:
    partition = stretched(healthy(), rules((1, "rack-0"))).topics["orders"].partitions[1]._replace(leader=1)
    first = partition._replace(replicas=(1, 2, 3))
    texts = [cell if isinstance(cell, str) else cell[0] for cell in PARTITIONS.cells(PartitionRow(first))]
    assert "observer 3" in texts
