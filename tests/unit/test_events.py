"""Tests of the events that kac derives from two snapshots: properties for random clusters, their times, and their
greatest number.
"""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.admin.settings import ConnectionSettings, ConnectSettings
from console.model import changes, cluster, codes, config, tokens
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.severity import Severity
from console.model.snapshot import Snapshot, share, with_failures
from console.present import events as present_events
from console.session.event_reads import AT_A_TIME, NEVER, gaps, longest_ago
from console.triage import events
from console.triage.config_changes import HIDDEN
from console.triage.judged_changes import warned_places
from tests.support import samples
from tests.support.cpu_time import least_cpu_seconds
from tests.support.examples import examples

THEN = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
NOW = THEN + timedelta(seconds=7)
PARTS = ("cluster", "quorum", "topics", "configs", "quotas", "acls", "scram", "tokens", "groups")

# -- random clusters ---------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["orders", "stock", "audit", "pay"])
BROKERS = st.integers(1, 4)
_replicas = st.lists(BROKERS, min_size=1, max_size=3, unique=True)


@st.composite
def _partition(draw: st.DrawFn, number: int) -> cluster.Partition:
    replicas = draw(_replicas)
    isr = draw(st.lists(st.sampled_from(replicas), unique=True))
    return cluster.Partition(
        number, draw(st.sampled_from([*isr, -1])), tuple(replicas), tuple(isr), leader_epoch=draw(BROKERS)
    )


@st.composite
def _topic(draw: st.DrawFn, name: str) -> cluster.Topic:
    count = draw(st.integers(1, 3))
    partitions = tuple(draw(_partition(number)) for number in range(count))
    return cluster.Topic(name, partitions, topic_id=draw(st.sampled_from(["id-1", "id-2"])))


@st.composite
def _configs(draw: st.DrawFn, resource: config.ConfigResource) -> config.ConfigSet:
    def entry(key: str) -> config.ConfigEntry:
        source = draw(
            st.sampled_from(
                [config.own_source(resource), codes.DYNAMIC_DEFAULT_BROKER_CONFIG, codes.DYNAMIC_TOPIC_CONFIG]
            )
        )
        value = draw(st.sampled_from(["1", "2", "-1", "", None]))
        return config.ConfigEntry(key, value, source, sensitive=value is None)

    return config.ConfigSet(
        tuple(entry(key) for key in draw(st.sets(st.sampled_from(["k", "retention.ms"])).map(sorted)))
    )


_RESOURCES = (
    config.topic_resource("orders"),
    config.topic_resource("stock"),
    config.broker_resource(1),
    config.CLUSTER_DEFAULT,
)
_ENTITIES = tuple(QuotaEntity.of(parts) for parts in ({"user": "alice"}, {"user": None}, {"client-id": "x"}))
_ACLS = tuple(samples.acl(name=name) for name in ("orders", "stock", "pay"))
_members = st.none() | st.lists(st.just(cluster.GroupMember("m", "c", "h")), max_size=3).map(tuple)


@st.composite
def _snapshot(draw: st.DrawFn) -> Snapshot:
    ids = draw(st.sets(BROKERS))
    brokers = tuple(cluster.Broker(number, "h", 9092, fenced=draw(st.booleans())) for number in sorted(ids))
    topics = {name: draw(_topic(name)) for name in draw(st.sets(NAMES))}
    leader = draw(st.none() | st.sampled_from([-1, 1, 2]))
    voters = tuple(
        cluster.QuorumReplica(each, 1, 0, directory_id=f"d{each}") for each in sorted(draw(st.sets(BROKERS)))
    )
    groups = {
        name: cluster.Group(name, draw(st.sampled_from(["Stable", "Empty", "Dead"])), "classic", members=draw(_members))
        for name in draw(st.sets(NAMES))
    }
    return Snapshot(
        cluster=cluster.ClusterInfo("c", draw(BROKERS), brokers),
        quorum=None if leader is None else cluster.Quorum(leader, 1, 1, voters, ()),
        topics=topics,
        configs={each: draw(_configs(each)) for each in draw(st.sets(st.sampled_from(_RESOURCES)))},
        quotas={
            each: draw(st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([1.0, 2.5]), min_size=1))
            for each in draw(st.sets(st.sampled_from(_ENTITIES)))
        },
        acls=tuple(sorted(draw(st.sets(st.sampled_from(_ACLS))))),
        scram={
            user: (cluster.ScramCredential(codes.ScramMechanism(1), draw(st.sampled_from([4096, 8192]))),)
            for user in draw(st.sets(st.sampled_from(["u", "v"])))
        },
        tokens={
            id_: tokens.DelegationToken(id_, "User:alice", "User:alice", 0, draw(st.sampled_from([1, 2])), 9)
            for id_ in draw(st.sets(st.sampled_from(["t", "w"])))
        },
        groups=groups,
        read_at=dict.fromkeys(draw(st.sets(st.sampled_from(PARTS))), THEN),
    )


@st.composite
def _two(draw: st.DrawFn) -> tuple[Snapshot, Snapshot]:
    """Draw a snapshot and a later one. Equal parts are the same objects, as after a refresh."""
    old, new = draw(_snapshot()), draw(_snapshot())
    kept = draw(st.sets(st.sampled_from(["topics", "configs", "quotas", "scram", "tokens", "groups"])))
    parts = {
        part: getattr(old, part) if part in kept else share(getattr(old, part), getattr(new, part))
        for part in ("topics", "configs", "quotas", "scram", "tokens", "groups")
    }
    return old, replace(new, **parts, read_at={**old.read_at, **dict.fromkeys(new.read_at, NOW)})


# -- the law: the differences lead from the old snapshot to the new one ------------------------------------------------


def at(kind: str, *where: Any) -> events.Place:
    """Return the place of an event. kind: the name of its kind. where: such as topic and partition."""
    return events.Place(events.Kind[kind], *where)


def _facts(of: Snapshot, beside: Snapshot, read: Snapshot) -> dict[events.Place, str]:
    """Return place -> fact of a snapshot, as text. beside: the snapshot that it is compared with. read: the earlier one
    of the two.
    """
    return dict(_shown(of, beside, read))


def _shown(of: Snapshot, beside: Snapshot, read: Snapshot) -> Iterator[tuple[events.Place, str]]:
    if "cluster" in read.read_at:
        for broker in of.cluster.brokers:
            yield at("BROKER", changes.BrokerTarget(broker.id)), "fenced" if broker.fenced else "up"
    if all("quorum" in each.read_at and (each.quorum or "cluster" in each.read_at) for each in (of, beside)):
        number = of.quorum.leader_id if of.quorum else of.cluster.controller_id
        if number >= 0:
            yield at("CONTROLLER", config.CLUSTER_DEFAULT), str(number)
    if "quorum" in read.read_at and of.quorum is not None and beside.quorum is not None:
        for voter in of.quorum.voters:
            yield at("VOTER", changes.VoterTarget(voter.id, voter.directory_id)), events.VOTES
    if "topics" in read.read_at:
        for name, topic in of.topics.items():
            yield at("TOPIC", changes.TopicTarget(name), events.PARTITIONS), str(len(topic.partitions))
            other = beside.topics.get(name)
            if other is None:
                continue
            assert topic.topic_id is not None
            yield at("TOPIC", changes.TopicTarget(name), events.ID), topic.topic_id
            for one, its in zip(topic.partitions, other.partitions, strict=False):
                place = changes.PartitionTarget(name, one.number)
                yield at("REPLICAS", changes.MoveTarget(name, one.number)), ",".join(map(str, one.replicas))
                if one.leader >= 0:
                    yield at("LEADER", place), str(one.leader)
                for number in set(one.isr) & set(its.replicas):
                    yield at("ISR", place, str(number)), events.IN_SYNC
    for resource in of.configs.keys() & beside.configs.keys():
        for entry in of.configs[resource]:
            if entry.source == config.own_source(resource):
                yield at("CONFIG", resource, entry.name), HIDDEN if entry.hidden else entry.value or ""
    if "quotas" in read.read_at:
        for entity, values in of.quotas.items():
            for key, value in values.items():
                yield at("QUOTA", entity, key), repr(value)
    if "acls" in read.read_at:
        for binding in of.acls:
            yield at("ACL", binding), events.PRESENT
    if "scram" in read.read_at:
        for user, credentials in of.scram.items():
            for each in credentials:
                yield at("SCRAM", changes.ScramUser(user, each.mechanism)), str(each.iterations)
    if "tokens" in read.read_at:
        for id_, token in of.tokens.items():
            yield at("TOKEN", tokens.TokenTarget(id_)), str(token.expires)
    if "groups" in read.read_at:
        for name, group in of.groups.items():
            yield at("GROUP", changes.GroupTarget(name), events.STATE), group.state
            other_group = beside.groups.get(name)
            if group.members is not None and other_group is not None and other_group.members is not None:
                yield at("GROUP", changes.GroupTarget(name), events.MEMBERS), str(len(group.members))


@given(_two())
@examples(40, at_length=150)
def test_differences_lead_from_one_snapshot_to_the_other(two: tuple[Snapshot, Snapshot]) -> None:
    old, new = two
    facts = _facts(old, new, old)
    seen = set()
    for place, was, became in events.differences(old, new):
        # A new or deleted topic has a difference of its partitions, and none of its id.
        assert place not in seen, "each place once"
        seen.add(place)
        assert facts.get(place) == was
        assert was != became
        if became is None:
            del facts[place]
        else:
            facts[place] = became
    assert facts == _facts(new, old, old)


@given(_snapshot())
def test_equal_snapshots_have_no_differences(one: Snapshot) -> None:
    again = replace(one, topics=dict(one.topics), configs=dict(one.configs), groups=dict(one.groups), acls=(*one.acls,))
    assert list(events.differences(one, again)) == []
    assert list(events.differences(one, one)) == []


@given(_two())
@examples(25, at_length=75)
def test_every_difference_is_in_exactly_one_event(two: tuple[Snapshot, Snapshot]) -> None:
    old, new = two
    found = list(events.differences(old, new))
    made = events.events(found, old, new, NOW)
    by_place = {each.place: each for each in found}
    assert sorted(repr(place) for each in made for place in each.places) == sorted(map(repr, by_place))
    for each in made:
        assert each.count == len(each.places)
        assert each.since is None or each.since <= each.until
        for place in each.places:
            assert each.was in ("", by_place[place].was)
            assert each.became in ("", by_place[place].became)


@given(st.lists(st.integers(0, 400), max_size=6))
def test_the_last_ones_are_kept_and_the_others_counted(batches: list[int]) -> None:
    record, made = events.Record(THEN), 0
    for size in batches:
        batch = [_event(str(made + place)) for place in range(size)]
        record, made = record.with_events(batch), made + size
    kept = [each.became for each in record.events]
    assert kept == [str(number) for number in range(made - 1, -1, -1)][: events.MOST_EVENTS]
    assert record.dropped == max(0, made - events.MOST_EVENTS)


def _event(became: str, places: int = 1) -> events.Event:
    place = events.Place(events.Kind.CONFIG, config.topic_resource("orders"), "retention.ms")
    return events.Event(events.Kind.CONFIG, (place,) * places, places, 1, "1", became, THEN, NOW, Severity.WARNING)


# -- single rules ------------------------------------------------------------------------------------------------------


def _between(old: Snapshot, new: Snapshot) -> list[events.Event]:
    return events.events(events.differences(old, new), old, new, NOW)


def _with_topics(*topics: cluster.Topic, at: datetime = THEN) -> Snapshot:
    return Snapshot(topics={each.name: each for each in topics}, read_at={"topics": at})


def test_a_replica_that_was_moved_away_is_not_out_of_sync() -> None:
    old = _with_topics(cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2, 3), (1, 2, 3)),)))
    new = _with_topics(cluster.Topic("orders", (cluster.Partition(0, 1, (1, 2, 4), (1, 2, 4)),)), at=NOW)
    (moved,) = _between(old, new)
    assert (moved.kind, moved.was, moved.became, moved.trouble) == (events.Kind.REPLICAS, "1,2,3", "1,2,4", False)
    assert (moved.since, moved.until) == (THEN, NOW)


def _audit_with(key: str, value: str | None) -> Snapshot:
    own = () if value is None else (config.ConfigEntry(key, value, codes.DYNAMIC_TOPIC_CONFIG),)
    resource = config.topic_resource("audit")
    topics = _with_topics(cluster.Topic("audit", (cluster.Partition(0, 1, (1, 2), (1, 2)),)))
    read_at = {**topics.read_at, "configs": THEN}
    return replace(topics, configs={resource: config.ConfigSet(own)}, configs_at={resource: THEN}, read_at=read_at)


@pytest.mark.parametrize(
    ("key", "was", "became", "trouble"),
    [
        ("retention.ms", "604800000", "1000", True),
        ("retention.ms", "1000", "604800000", False),
        ("retention.ms", "604800000", "302400000", False),
        ("unclean.leader.election.enable", None, "true", True),
        ("unclean.leader.election.enable", "true", None, False),
        ("min.insync.replicas", "1", "3", True),
        ("min.insync.replicas", "3", "1", False),
    ],
)
def test_a_change_is_trouble_if_a_rule_of_plans_warns_of_it(
    key: str, was: str | None, became: str | None, *, trouble: bool
) -> None:
    old, new = _audit_with(key, was), _audit_with(key, became)
    found = [*events.differences(old, new)]
    (event,) = events.events(found, old, new, NOW, {}, warned_places(found, old, new))
    assert event.trouble is trouble


def _at(second: int, kind: events.Kind, was: str | None, became: str | None, *places: events.Place) -> events.Event:
    times = THEN + timedelta(seconds=second - 1), THEN + timedelta(seconds=second)
    return events.Event(kind, places, len(places), 1, was, became, *times, Severity.HIGH)


def _flap(second: int, up: str | None, down: str | None) -> list[events.Event]:
    """Return events around a second: the ISR changes of broker 3's replicas, its change from the state `up` to the
    state `down`, and the leader's change that follows. up, down: states as text; None if the broker is absent.
    """
    broker = events.Place(events.Kind.BROKER, changes.BrokerTarget(3))
    of = changes.PartitionTarget("orders", 0), changes.PartitionTarget("orders", 1)
    isr = [events.Place(events.Kind.ISR, each, "3") for each in of]
    led = events.Place(events.Kind.LEADER, of[0])
    return [
        _at(second, events.Kind.ISR, "in" if up else None, "in" if down else None, *isr),
        _at(second + 2, events.Kind.BROKER, up, down, broker),
        _at(second + 3, events.Kind.LEADER, "3" if up else "1", "1" if up else "3", led),
    ]


def test_a_broker_that_goes_and_comes_is_one_event() -> None:
    gone = events.Record(THEN).with_events(_flap(10, "up", None))
    assert len(gone.events) == 3, "nothing came back yet"
    other = _at(15, events.Kind.ISR, "in", None, events.Place(events.Kind.ISR, changes.PartitionTarget("a", 0), "2"))
    lost = _at(16, events.Kind.LEADER, "3", None, events.Place(events.Kind.LEADER, changes.PartitionTarget("a", 0)))
    back = gone.with_events([other, lost]).with_events(_flap(60, None, "up")).with_events(_flap(90, "up", None))
    flap, *rest = back.events
    assert rest == [lost, other], "of another broker, and a partition without a leader"
    assert (flap.was, flap.became, flap.times, len(flap.places)) == ("up", None, 3, 4)
    assert (flap.since, flap.until) == (THEN + timedelta(seconds=11), THEN + timedelta(seconds=93))
    assert present_events.what_text(flap) == "broker 3 came and went, 3 changes"
    assert flap.trouble
    much_later = back.with_events(_flap(2_000, None, "up"))
    assert [each.times for each in much_later.events if each.kind is events.Kind.BROKER] == [1, 3]


def test_what_topics_inherit_is_an_event_of_where_it_is_set() -> None:
    default = (config.ConfigEntry("log.retention.ms", "5", codes.DYNAMIC_DEFAULT_BROKER_CONFIG),)
    inherited = (config.ConfigEntry("retention.ms", "5", codes.DYNAMIC_DEFAULT_BROKER_CONFIG),)
    before = {config.CLUSTER_DEFAULT: config.ConfigSet(()), config.topic_resource("a"): config.ConfigSet(())}
    after = {config.CLUSTER_DEFAULT: config.ConfigSet(default), config.topic_resource("a"): config.ConfigSet(inherited)}
    (event,) = _between(Snapshot(configs=before), Snapshot(configs=after))
    assert event.place == events.Place(events.Kind.CONFIG, config.CLUSTER_DEFAULT, "log.retention.ms")
    # A broker's own value does not belong to the default.
    own = (config.ConfigEntry("log.cleaner.threads", "2", codes.DYNAMIC_BROKER_CONFIG),)
    one = config.ConfigResource(codes.BROKER, "1")
    (event,) = _between(Snapshot(configs={one: config.ConfigSet(())}), Snapshot(configs={one: config.ConfigSet(own)}))
    assert (event.place.about, event.was, event.became) == (one, None, "2")


# -- gaps: parts that are not watched ----------------------------------------------------------------------------------


def _watched(at: datetime, **parts: Any) -> Snapshot:
    resources = (config.topic_resource("orders"), config.broker_resource(1), config.CLUSTER_DEFAULT)
    watched = Snapshot(
        cluster=cluster.ClusterInfo("c", 1, (cluster.Broker(1, "h", 9092),)),
        topics={"orders": cluster.Topic("orders", ())},
        configs_at=dict.fromkeys(resources, at),
        read_at=dict.fromkeys(PARTS, at),
    )
    return replace(watched, **parts)


PLAIN = ConnectionSettings((("h", 9092),))
WITH_CONNECT = replace(PLAIN, connect=(ConnectSettings("main", ()),))


def test_what_is_not_watched_is_said() -> None:
    assert gaps(_watched(NOW), WITH_CONNECT, NOW) == ["Connect (not read yet)"]
    assert gaps(_watched(NOW), PLAIN, NOW) == []
    unread = _watched(NOW, read_at={part: NOW for part in PARTS if part != "acls"})
    assert gaps(unread, PLAIN, NOW) == ["ACLs (not read yet)"]
    refused = with_failures(_watched(NOW), "scram", [("", Failure("CLUSTER_AUTHORIZATION_FAILED"))])
    assert gaps(refused, PLAIN, NOW) == ["SCRAM users (CLUSTER_AUTHORIZATION_FAILED)"]
    assert gaps(_watched(NOW, quotas_sparse=True), PLAIN, NOW) == ["quotas (0 entities: too many)"]
    assert gaps(_watched(NOW, configs_at={}), PLAIN, NOW) == ["configs of 2 of 2 topics and brokers"]
    assert gaps(_watched(NOW), PLAIN, NOW + timedelta(minutes=3)) == ["configs of 2 are more than 2 min old"]


# -- a large cluster ---------------------------------------------------------------------------------------------------


def _large(isr: tuple[int, ...], at: datetime) -> Snapshot:
    topics = (
        cluster.Topic(f"t{n}", tuple(cluster.Partition(p, 1, (1, 2, 3), isr) for p in range(8))) for n in range(5_000)
    )
    return _with_topics(*topics, at=at)


def test_forty_thousand_replicas_out_of_sync_are_one_event_and_a_calm_tick_costs_little() -> None:
    old, new = _large((1, 2, 3), THEN), _large((1, 3), NOW)
    (event,) = _between(old, new)
    assert (event.kind, event.place.key, event.count, event.units) == (events.Kind.ISR, "2", 40_000, 5_000)
    assert event.trouble
    (kept,) = events.Record(THEN).with_events([event]).events
    assert (kept.count, len(kept.places)) == (40_000, events.MOST_PLACES)
    # A poll of 40,000 equal partitions costs 20 ms of CPU at most, mostly for comparing identities.
    old = _large((1, 2, 3), THEN)
    new = replace(old, topics=dict(old.topics), read_at={"topics": NOW})  # at worst not even the mapping is shared
    assert list(events.differences(old, new)) == []
    assert least_cpu_seconds(lambda: list(events.differences(old, new)), 5) < 0.02


def test_few_topics_are_an_event_each() -> None:
    def some(isr: tuple[int, ...]) -> Snapshot:
        return _with_topics(
            *(cluster.Topic(f"t{n}", (cluster.Partition(0, 1, (1, 2), isr),) * 1) for n in range(events.MOST_LINES))
        )

    made = _between(some((1, 2)), some((1,)))
    assert [(each.place.about, each.count) for each in made] == [
        (changes.PartitionTarget(f"t{n}", 0), 1) for n in range(events.MOST_LINES)
    ]


def test_a_quorum_that_becomes_dynamic_keeps_its_voters() -> None:
    """If a quorum becomes dynamic, there is no event of a changed voter, although voters now have directory ids. A node
    that is formatted again has a new directory id, so it is another voter.
    """

    def quorum(**directories: str) -> Snapshot:
        voters = tuple(
            cluster.QuorumReplica(int(each[1:]), 1, 0, directory_id=id_) for each, id_ in directories.items()
        )
        return Snapshot(quorum=cluster.Quorum(1, 1, 1, voters, ()), read_at={"quorum": THEN})

    static, dynamic = quorum(n1="", n2=""), quorum(n1="a", n2="b")
    assert list(events.differences(static, dynamic)) == []
    again = quorum(n1="a", n2="c", n3="d")
    changed = [(each.place.about, each.was, each.became) for each in events.differences(dynamic, again)]
    assert changed == [
        (changes.VoterTarget(2, "b"), events.VOTES, None),
        (changes.VoterTarget(2, "c"), None, events.VOTES),
        (changes.VoterTarget(3, "d"), None, events.VOTES),
    ]


async def test_a_hundred_thousand_configs_are_looked_at_in_pieces() -> None:
    """The search for the configs to read next lets other tasks run after each `AT_A_TIME` resources."""
    compared, turns = 0, [0]

    def resources() -> Iterator[config.ConfigResource]:
        nonlocal compared
        for number in range(100_000):
            compared += 1
            yield config.topic_resource(f"t{number:06}")

    async def other_work() -> None:
        while True:
            turns.append(compared)
            await asyncio.sleep(0)

    read_at = {config.topic_resource(f"t{number:06}"): NOW for number in range(100_000) if number % 1_000}
    read_at |= {
        config.topic_resource(f"t{number:06}"): THEN - timedelta(seconds=number) for number in (7, 9_007, 80_007)
    }
    others = asyncio.create_task(other_work())
    oldest, found = await longest_ago(resources(), read_at, NOW, 102)
    others.cancel()
    assert [each.name for each in found] == [f"t{each * 1_000:06}" for each in range(100)] + ["t080007", "t009007"]
    assert compared == 100_000
    assert oldest == NEVER
    assert max(after - before for before, after in pairwise(turns)) <= AT_A_TIME
