"""Tests of values that kac updates from changes only: they equal the values computed from the whole, whatever is added,
deleted or changed.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model import cluster
from console.model.acl import Acl, acl_differences
from console.model.differing import differing
from console.model.lag_trend import trend_after
from console.model.name_order import in_order
from console.model.observed_logs import LogOffsets, ObservedLogs, logs_after, without_logs
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot, merged, share
from console.model.topic_counts import TopicCounts, alike
from console.model.topic_readers import TopicLags
from console.present.quotas import QuotaTree, index_in
from console.present.topics import size_on_disk
from console.tui.panes.table import ordered
from tests.support import samples

NOW = datetime(2026, 3, 1, tzinfo=UTC)
VALUES = [object() for _ in range(3)]
numbers = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3), max_size=6)
objects = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(VALUES), max_size=6)


@given(objects, objects)
def test_what_differs_is_what_is_another_object(old: dict[str, object], new: dict[str, object]) -> None:
    found = differing(old, new)
    keys = [key for key, _, _ in found]
    assert sorted(keys) == sorted(key for key in old.keys() | new.keys() if old.get(key) is not new.get(key))
    assert all((before, after) == (old.get(key), new.get(key)) for key, before, after in found)
    gone = [key for key in old if key not in new]
    assert keys == [key for key in new if key in keys] + gone


def fresh(values: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return, for each key, a new tuple that equals the former one."""
    return {key: (value, value) for key, value in values.items()}


@given(numbers, numbers)
def test_equal_values_are_the_objects_known_before(old: dict[str, int], new: dict[str, int]) -> None:
    known = fresh(old)
    shared = share(known, fresh(new))
    assert shared == fresh(new)
    assert [*shared] == [*new] or shared is known
    assert all(shared[key] is known[key] for key in shared if known.get(key) == shared[key])
    assert (shared is known) == (old == new)


@given(numbers, numbers, st.sets(st.sampled_from("abcdef")))
def test_what_was_found_is_put_into_what_is_known(known: dict[str, int], found: dict[str, int], gone: set[str]) -> None:
    before = fresh(known)
    after = merged(before, fresh(found), gone)
    assert after == {key: value for key, value in fresh({**known, **found}).items() if key not in gone}
    assert (after is before) == (after == before)
    assert all(after[key] is before[key] for key in after if before.get(key) == after[key])


@given(st.lists(st.sets(st.integers(0, 40), max_size=30), max_size=8))
def test_names_are_in_order_however_they_change(steps: list[set[int]]) -> None:
    for step in steps:
        named = {f"{number:02}": number for number in step}
        assert [*in_order(named)] == sorted(named)
        assert in_order(named) is in_order(named)
        assert in_order({**named}) == in_order(named)


partitions = st.lists(
    st.tuples(st.integers(-1, 2), st.sampled_from([(1, 2), (1,), ()])).map(
        lambda each: cluster.Partition(0, each[0], (1, 2), each[1])
    ),
    max_size=3,
).map(tuple)
SETS = [
    (cluster.Partition(0, 1, (1, 2), (1, 2)),),
    (cluster.Partition(0, -1, (1, 2), ()), cluster.Partition(1, 1, (1, 2), (1,))),
    (),
]
topic_maps = st.dictionaries(
    st.sampled_from("abcd"), st.tuples(st.one_of(st.sampled_from(SETS), partitions), st.booleans()), max_size=4
).map(lambda made: {name: cluster.Topic(name, parts, internal) for name, (parts, internal) in made.items()})


@given(st.lists(topic_maps, max_size=6), topic_maps)
def test_counts_of_topics_are_those_of_the_whole(
    steps: list[dict[str, cluster.Topic]], same: dict[str, cluster.Topic]
) -> None:
    counts = TopicCounts()
    for step in steps:
        topics = {**step, **{name: topic for name, topic in same.items() if name in step}}
        counts = counts.after(topics)
        assert counts.made_of is topics
        assert counts.topics == sum(not topic.internal for topic in topics.values())
        assert counts.under_replicated == sum(topic.under_replicated for topic in topics.values())
        assert counts.offline == sum(topic.offline for topic in topics.values())
        assert counts.after(topics) is counts
        assert sum(count for _, count in alike(topics.values())) == len(topics)


quota_entities = st.one_of(
    st.fixed_dictionaries({"user": st.sampled_from([None, "a", "b", "c"])}),
    st.fixed_dictionaries({"user": st.sampled_from([None, "a", "b"]), "client-id": st.sampled_from([None, "x", "y"])}),
    st.fixed_dictionaries({"client-id": st.sampled_from([None, "x"])}),
    st.fixed_dictionaries({"ip": st.sampled_from([None, "10.0.0.1"]), "kind": st.just("z")}),
    st.just({}),
).map(QuotaEntity.of)
quotas = st.dictionaries(quota_entities, st.just({"x": 1.0}), max_size=8)


@given(st.lists(st.tuples(quotas, st.lists(quota_entities, max_size=3)), max_size=6))
def test_a_tree_of_quotas_is_that_of_the_whole(
    steps: list[tuple[dict[QuotaEntity, Mapping[str, float]], list[QuotaEntity]]],
) -> None:
    tree = QuotaTree({})
    for known, staged in steps:
        before, roots = tree, [*tree.roots]
        tree, whole = tree.after(known, staged), QuotaTree(known, staged)
        assert [*tree.roots] == [*whole.roots]
        assert tree.quotas is known
        assert all([*tree.children(each)] == [*whole.children(each)] for each in {*tree.roots, *whole.roots})
        assert [*before.roots] == roots
        assert [index_in(tree.roots, each) for each in tree.roots] == [*range(len(tree.roots))]
        gone = QuotaEntity.of({"user": "nobody"})
        assert index_in(tree.roots, gone) is None


def lag(*behind: tuple[str, int]) -> cluster.GroupLag:
    return cluster.GroupLag(
        tuple(cluster.PartitionLag(topic, n, 0, each, each) for n, (topic, each) in enumerate(behind))
    )


group_polls = st.dictionaries(
    st.sampled_from(["g", "h", "i"]),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=3),
    max_size=3,
)


@given(st.lists(st.tuples(group_polls, st.booleans()), max_size=8))
def test_lags_by_topic_are_those_of_the_whole(
    steps: list[tuple[dict[str, list[tuple[str, int]]], bool]],
) -> None:
    lags, snapshot = TopicLags(), Snapshot()
    for second, (polls, whole) in enumerate(steps):
        known = {} if whole else snapshot.lag_trends
        at = NOW.timestamp() + 5 * second
        read = {name: trend_after(known.get(name), lag(*each), at) for name, each in polls.items()}
        groups = {name: cluster.Group(name, "Stable", "classic") for name in polls} if whole else snapshot.groups
        read_at = {"groups": NOW} if whole else snapshot.read_at
        snapshot = replace(snapshot, lag_trends={**known, **read}, groups=groups, read_at=read_at)
        before, lags = lags, lags.after(snapshot)
        again = TopicLags().after(snapshot)
        assert lags.topics == again.topics
        assert lags.complete == again.complete
        assert (lags.topics is before.topics) == (lags.topics == before.topics)
        assert lags.after(snapshot) is lags


offsets = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)).map(lambda each: LogOffsets(*sorted(each)))
log_reads = st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), offsets, max_size=4)


@given(st.lists(log_reads, max_size=8))
def test_logs_that_share_what_is_equal_are_observed_as_each_alone(
    steps: list[dict[tuple[str, int], LogOffsets]],
) -> None:
    known, alone = ObservedLogs(), {}
    for second, read in enumerate(steps):
        known = logs_after(known, read, 1_000.0 + 5 * second)
        for place in {place for step in steps for place in step}:
            mine = {place: read[place]} if place in read else {}
            alone[place] = logs_after(alone.get(place, ObservedLogs()), mine, 1_000.0 + 5 * second)
        assert known.logs == {place: each for one in alone.values() for place, each in one.logs.items()}
        assert known.waiting == {place for place, each in known.logs.items() if each.stable_since is not None}
        assert sorted(known.jumps) == sorted(jump for each in alone.values() for jump in each.jumps)
        assert sorted(known.falls) == sorted(fall for each in alone.values() for fall in each.falls)
    kept = without_logs(known, {"b"})
    assert kept.waiting == {place for place in known.waiting if place[0] == "a"}


def test_equal_logs_are_one_object() -> None:
    places = [("a", 0), ("a", 1), ("b", 0)]
    known = ObservedLogs()
    for second in range(3):
        known = logs_after(known, dict.fromkeys(places, LogOffsets(0, 7, 7)), 1_000.0 + second)
    assert len({id(each) for each in known.logs.values()}) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99)), max_size=20), st.booleans())
def test_rows_are_ordered_as_sorted_does(rows: list[tuple[int, int]], down: bool) -> None:
    assert ordered(rows, lambda row: row[0], down) == sorted(rows, key=lambda row: row[0], reverse=down)


acls = st.lists(st.sampled_from("abcdef"), max_size=6, unique=True).map(
    lambda names: sorted(samples.acl("User:a", name) for name in names)
)


@given(acls, acls)
def test_acls_that_differ_are_those_of_one_side(old: Sequence[Acl], new: Sequence[Acl]) -> None:
    assert acl_differences(old, new) == (sorted({*old} - {*new}), sorted({*new} - {*old}))


def test_a_topics_size_is_of_all_its_replicas() -> None:
    def held(*replicas: tuple[str, int, int]) -> tuple[cluster.LogDir, ...]:
        return (cluster.LogDir("/d", cluster.ReplicaSizes(cluster.ReplicaSize(*each, 0, False) for each in replicas)),)

    dirs = {1: held(("a", 0, 5), ("a", 1, 7)), 2: held(("a", 0, 4), ("b", 0, 0))}
    assert [size_on_disk(dirs, name) for name in ("a", "b", "c")] == [16, 0, None]
