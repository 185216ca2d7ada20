"""Tests of cached results of triage: only those of changed arguments are computed again, and one cluster's results do
not affect another's.
"""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.model.cluster import Group, GroupLag, PartitionLag
from console.model.snapshot import Snapshot, trends_after
from console.triage.diagnosis import Verdict, diagnose
from console.triage.observations import after, begin
from console.triage.remembered import RememberedAmong, RememberedEach, remembered
from console.triage.symptoms import Poll
from tests.unit.test_triage import START, TICK, fresh, healthy

NAMES = ("billing", "search", "mail")


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 3))))
def test_each_part_has_its_own_result_and_is_worked_out_where_it_changed(polls: list[dict[str, int]]) -> None:
    asked: list[int] = []

    def double(value: int) -> int:
        asked.append(value)
        return 2 * value

    each = RememberedEach[str, int](double)
    before: dict[str, int] = {}
    for poll in polls:
        asked.clear()
        assert each.of((name, (value,)) for name, value in poll.items()) == [2 * value for value in poll.values()]
        assert asked == [value for name, value in poll.items() if before.get(name) != value]
        before = poll


LETTERS = st.sampled_from("abcd")
TABLE = st.dictionaries(LETTERS, st.integers(0, 2))


@given(st.lists(st.tuples(TABLE, TABLE, st.frozensets(LETTERS), st.integers(0, 1)), max_size=6), st.booleans())
def test_results_from_tables_are_those_of_calls_for_each_and_only_changed_ones_are_called(
    polls: list[tuple[dict[str, int], dict[str, int], frozenset[str], int]], keep: bool
) -> None:
    """Cached results for tables equal the results of separate calls, and the function is called for changed entries
    only, whether unchanged tables are the same objects as before or equal ones.
    """
    asked: list[str] = []

    def all_of(*arguments: object) -> tuple[object, ...]:
        asked.append("")
        return arguments

    among = RememberedAmong[str, tuple[object, ...]](all_of)
    before: dict[str, tuple[object, ...]] = {}
    last: Sequence[object] = ()
    for names, table, some, common in polls:
        asked.clear()
        tables = [names, table, some]
        if keep and last:
            tables = [old if old == new else new for old, new in zip(last, tables, strict=True)]
        found = among.of(tables[0], *tables[1:], common=(common,))
        expected = {name: (first, table.get(name), name in some, common) for name, first in names.items()}
        assert [*found.items()] == [*expected.items()]
        assert len(asked) == sum(name not in before or before[name] != each for name, each in expected.items())
        before, last = expected, tables


def test_a_call_is_remembered_by_identity_and_sets_by_what_is_in_them() -> None:
    calls = []

    @remembered
    def count(one: object, some: frozenset[int]) -> int:
        calls.append(one)
        return len(calls)

    first = [1]
    assert [count(first, frozenset({1000})), count(first, frozenset({1000}))] == [1, 1]
    assert [count(list(first), frozenset({1000})), count(first, frozenset({1001}))] == [2, 3]


# A group's poll: how far its commit and its end advance, and its state.
STEP = st.tuples(st.sampled_from((0, 1, 40)), st.sampled_from((0, 50)), st.sampled_from(("Stable", "Empty")))
POLL = st.tuples(st.dictionaries(st.sampled_from(NAMES), STEP), st.sets(st.integers(0, 5)), st.booleans())


def _verdicts(*clusters: Sequence[tuple[dict[str, tuple[int, int, str]], set[int], bool]]) -> list[list[Verdict]]:
    """Return, for each cluster, the verdict of each of its polls; the clusters are polled in turn."""
    bases = [_cluster() for _ in clusters]
    observed = [begin(Poll(START, base)) for base in bases]
    found: list[list[Verdict]] = [[] for _ in clusters]
    for tick in range(1, max(map(len, clusters)) + 1):
        at = START + tick * TICK
        for place, polls in enumerate(clusters):
            if tick <= len(polls):
                bases[place] = _changed(bases[place], *polls[tick - 1], at - START)
                observed[place] = after(observed[place], Poll(at, fresh(bases[place], tick)))
                found[place].append(diagnose(observed[place]))
    return found


def _cluster() -> Snapshot:
    base = healthy()
    groups = {name: Group(name, "Stable", "consumer", coordinator=1) for name in NAMES}
    lags = {name: GroupLag((PartitionLag("orders", 0, 100, 100, 0, "m"),)) for name in NAMES}
    return replace(base, groups=groups, lags=lags, lag_trends=trends_after({}, lags, START))


def _changed(
    base: Snapshot, steps: dict[str, tuple[int, int, str]], behind: set[int], fenced: bool, since: timedelta
) -> Snapshot:
    groups, lags = dict(base.groups), dict(base.lags)
    for name, (read, written, state) in steps.items():
        (was,) = lags[name].partitions
        end = was.end + written
        committed = min(end, was.committed + read)
        lags[name] = GroupLag((was._replace(committed=committed, end=end, lag=end - committed),))
        groups[name] = replace(groups[name], state=state)
    trends = trends_after(base.lag_trends, {name: lags[name] for name in steps}, START + since)
    topic = base.topics["orders"]
    partitions = tuple(
        each._replace(isr=tuple(b for b in each.replicas if b != 2 or each.number not in behind))
        for each in topic.partitions
    )
    topics = base.topics if partitions == topic.partitions else {"orders": replace(topic, partitions=partitions)}
    brokers = tuple(replace(each, fenced=fenced and each.id == 3) for each in base.cluster.brokers)
    cluster = replace(base.cluster, brokers=brokers)
    return replace(
        base, groups=groups, lags=lags, lag_trends={**base.lag_trends, **trends}, topics=topics, cluster=cluster
    )


@given(st.lists(POLL, max_size=8), st.lists(POLL, max_size=8))
def test_clusters_that_are_polled_in_turn_have_the_verdicts_that_each_has_alone(
    one: list[tuple[dict[str, tuple[int, int, str]], set[int], bool]],
    other: list[tuple[dict[str, tuple[int, int, str]], set[int], bool]],
) -> None:
    assert _verdicts(one, other) == [*_verdicts(one), *_verdicts(other)]
