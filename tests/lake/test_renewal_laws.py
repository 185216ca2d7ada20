"""Tests of incremental builds with random events and polls: after the rows that changed were built again and written,
the tables equal those of a complete build.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.lake import schema
from console.lake.gold import All, PollTimes, _covered, reached, rows_for_usage
from console.lake.transforms.change_event import TOLERANCE
from console.lake.transforms.coverage import Covered, Polls
from console.lake.transforms.history import history
from console.lake.transforms.kraft_changes import SINCE_BEFORE, Event, sha256
from console.lake.transforms.rows import differing, newest, rows_of, table_of
from tests.lake.gold_rows import covers_of
from tests.support.examples import examples

# -- rows that replace others ------------------------------------------------------------------------------------------

WITH_NEWEST = [schema.CHANGE_EVENT, schema.HISTORY, schema.POLICY_VIOLATION, schema.QUOTA_SUGGESTION]
_OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["a", "b", ""]),
    "bigint": st.integers(0, 2),
    "int": st.integers(0, 2),
    "double": st.sampled_from([0.0, 1.5]),
    "boolean": st.booleans(),
    "timestamp": st.integers(0, 2),
}


def rows_for(table: schema.Table, *, tombstones: bool = False) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    columns = [
        _OF_TYPE[column.type] | st.none()
        if column.nullable or (tombstones and column.name == table.there)
        else _OF_TYPE[column.type]
        for column in table.columns
    ]
    return st.lists(st.tuples(*columns), max_size=6)


def holding(table: schema.Table, written: Sequence[pa.Table]) -> list[tuple[Any, ...]]:
    """Return the rows that a reader of the table sees after these writes."""
    made = [each.append_column("made", pa.array([at] * each.num_rows, pa.int64())) for at, each in enumerate(written)]
    kept = newest(pa.concat_tables(made), table.newest)
    assert kept.schema == schema.arrow_schema(table)
    place = table.names.index(table.there)
    return sorted((row for row in rows_of(kept, *table.names) if row[place] is not None), key=repr)


@pytest.mark.parametrize("table", WITH_NEWEST, ids=lambda table: table.name)
@examples(20, at_length=60)
@given(data=st.data())
def test_what_differs_takes_the_place_of_what_was_there(table: schema.Table, data: st.DataObject) -> None:
    """For any sequence of complete tables, of which only the differences are written, a reader sees the rows of the
    last one, and no unchanged row is written again.
    """
    written: list[pa.Table] = [schema.arrow_schema(table).empty_table()]
    held: list[tuple[Any, ...]] = []
    for _ in range(data.draw(st.integers(1, 4))):
        wanted = sorted(data.draw(rows_for(table)), key=repr)
        more = differing(table, table_of(table, wanted), table_of(table, held))
        key = [table.names.index(name) for name in table.newest]
        touched = {tuple(row[at] for at in key) for row in rows_of(more, *table.names)}
        by_key = [
            {one: [row for row in rows if tuple(row[at] for at in key) == one] for one in touched}
            for rows in (wanted, held)
        ]
        assert all(by_key[0][one] != by_key[1][one] for one in touched)
        written.append(more)
        held = holding(table, written)
        assert held == wanted
        assert differing(table, table_of(table, held), table_of(table, wanted)).num_rows == 0


@examples(20, at_length=60)
@given(rows_for(schema.HISTORY, tombstones=True), rows_for(schema.HISTORY, tombstones=True))
def test_rows_that_say_that_nothing_is_left_are_no_rows(
    made: list[tuple[Any, ...]], former: list[tuple[Any, ...]]
) -> None:
    place = schema.HISTORY.names.index(schema.HISTORY.there)
    there = [[row for row in rows if row[place] is not None] for rows in (made, former)]
    with_them = differing(schema.HISTORY, *(table_of(schema.HISTORY, rows) for rows in (made, former)))
    assert with_them == differing(schema.HISTORY, *(table_of(schema.HISTORY, rows) for rows in there))


# -- polls, and the time that a log covers -----------------------------------------------------------------------------

TYPES = st.sampled_from(["topic", "quota", "topic,quota", "acl,topic"])
TIMES = st.lists(st.integers(0, 30), max_size=8)


@given(st.lists(st.tuples(TYPES, TIMES), max_size=4), st.lists(st.sampled_from("123")))
def test_polls_are_by_type_in_order_each_once(read: list[tuple[str, list[int]]], brokers: list[str]) -> None:
    polls = Polls.of(read, brokers)
    expected: dict[str, set[int]] = defaultdict(set)
    for types, when in read:
        for each in types.split(","):
            expected[each] |= set(when)
    assert {each: list(times) for each, times in polls.times.items()} == {
        each: sorted(times) for each, times in expected.items()
    }
    assert polls.brokers == set(brokers)


STEP = 500_000
"""Microseconds between two possible times of events and polls: half a second, so that differences are less than, equal
to or more than the tolerance of clocks.
"""
LAST = 40
SOURCES = ("kraft_log", "kraft_snapshot", "snapshot", "journal", "request_log")
ATTRS = {"topic": ("retention.ms", ":partitions"), "quota": ("producer_byte_rate",), "broker": ("log.dirs",)}


class World(NamedTuple):
    """The known events, the new events, and polls.

    polls: entity types of a poll -> the times of the known polls, and the times of the new polls.
    """

    before: list[Event]
    after: list[Event]
    polls: dict[str, tuple[list[int], list[int]]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a history in which polls and the metadata log continue, mostly after the known ones. The new events are of
    an entity of their own, because the tested property does not hold for entities with new events.
    """
    split = draw(st.integers(5, LAST))
    anywhere = st.integers(0, LAST)
    old = st.integers(0, split) if draw(st.integers(0, 3)) else anywhere
    new = st.integers(split, LAST) if draw(st.integers(0, 3)) else anywhere
    polls = {
        types: (sorted(draw(st.sets(old, max_size=5))), sorted(draw(st.sets(new, max_size=3))))
        for types in draw(st.lists(st.sampled_from(["broker,quota,topic", "broker,topic", "quota"]), unique=True))
    }
    beats: dict[str, list[int]] = defaultdict(list)
    for types, (there, _) in polls.items():
        for each in types.split(","):
            beats[each] = sorted({*beats[each], *there})

    def event(key: str, at: int, source: str, offset: int) -> Event | None:
        type_ = draw(st.sampled_from(sorted(ATTRS)))
        uncertain = 0
        if source == "snapshot":
            if not beats[type_]:
                return None
            place = draw(st.integers(0, len(beats[type_]) - 1))
            at = beats[type_][place]
            uncertain = (at - beats[type_][place - 1]) * STEP // 1000 if place else SINCE_BEFORE
        elif source == "kraft_snapshot":
            uncertain = draw(st.sampled_from([SINCE_BEFORE, SINCE_BEFORE, 0, 1000, 4000]))
        elif source != "kraft_log":
            uncertain = draw(st.sampled_from([0, 500, 3000]))
        op = draw(st.sampled_from(["set", "set", "delete"]))
        value = draw(st.sampled_from(["1", "2"])) if op == "set" else None
        log = offset if source.startswith("kraft") else None
        digest = None if value is None else sha256(value)
        attr = draw(st.sampled_from(ATTRS[type_]))
        who = "User:a" if source in ("journal", "request_log") else None
        return Event("c", at * STEP, uncertain, log, type_, key, attr, op, value, digest, source, who)

    before = [
        told
        for number in range(draw(st.integers(1, 6)))
        if (told := event(draw(st.sampled_from("12")), draw(old), draw(st.sampled_from(SOURCES)), number))
    ]
    more = [
        told
        for number in range(draw(st.integers(0, 2)))
        if (told := event("new", draw(new), draw(st.sampled_from(SOURCES[:2])), 100 + number))
    ]
    return World(before, [*before, *more], polls)


def made(events: list[Event], polls: Polls, covered: Covered | None) -> dict[tuple[str, str], list[Any]]:
    rows = history(table_of(schema.CHANGE_EVENT, events), {"c": polls}, {} if covered is None else {"c": covered})
    by_entity: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in rows_of(rows, *schema.HISTORY.names):
        by_entity[row[1], row[2]].append(row)
    return {entity: sorted(of, key=repr) for entity, of in by_entity.items()}


def poll_times(world: World, former: Covered | None) -> list[PollTimes]:
    """Return the times of the polls as the application counts them. former: the time that the log covered before; None
    for none.
    """
    first = min((at * STEP for _, new in world.polls.values() for at in new), default=None)
    told = []
    for types, (there, new) in world.polls.items():
        times = [at * STEP for at in (*there, *new)]
        before = max((at for at in times if first is None or at < first), default=None)
        sure = None if former is None else max((at for at in times if at <= former.reaches), default=None)
        after = 0 if first is None else sum(at >= first for at in times)
        if times:
            told.append(PollTimes(types, before, sure, after, len(new)))
    return told


def of_log(key: str, at: int) -> Event:
    """Return an event of the metadata log that sets a value of an entity with this key at a time."""
    what = ("topic", key, "retention.ms", "set", "1", sha256("1"), "kraft_log")
    return Event("c", at * STEP, 0, at, *what)


SEEN_SINCE = World(
    [of_log("1", 0), of_log("2", 10), of_log("1", 20)],
    [of_log("1", 0), of_log("2", 10), of_log("1", 20), of_log("1", 35)],
    {"broker,topic": ([5, 30], [])},
)
"""A history in which a poll after the end of the log shows that a topic has lost a value, and the log later covers the
time of this poll.
"""


@examples(50, at_length=200, deadline=None)
@given(worlds())
@example(SEEN_SINCE)
def test_whose_history_differs_has_an_event_since_then(world: World) -> None:
    covers = [covers_of(table_of(schema.CHANGE_EVENT, events)).get("c") for events in (world.before, world.after)]
    former, now = covers
    try:
        since = reached(former, now, poll_times(world, former))
    except All:
        return
    states = [
        made(events, Polls.of([(types, [at * STEP for at in when(of)]) for types, of in world.polls.items()], "12"), to)
        for events, to, when in (
            (world.before, former, lambda of: of[0]),
            (world.after, now, lambda of: (*of[0], *of[1])),
        )
    ]
    for entity in {(each.entity_type, each.entity_key) for each in world.before}:
        if states[0].get(entity) != states[1].get(entity):
            times = [each.event_ts for each in world.before if (each.entity_type, each.entity_key) == entity]
            assert since is not None, entity
            assert max(times) > since - TOLERANCE, (entity, since)


@examples(60, at_length=300)
@given(worlds())
def test_what_a_log_covers_follows_from_the_marks_of_its_events(world: World) -> None:
    """The time that a log covers can be computed from a few aggregates that Spark makes: the times and uncertainties of
    changes from snapshots, and the first and last time of all events.
    """
    of_log = [each for each in world.after if each.source.startswith("kraft")]
    marks: dict[tuple[int | None, int | None], list[int]] = defaultdict(list)
    for each in of_log:
        by_snapshot = each.source == "kraft_snapshot"
        mark = (each.event_ts, each.ts_uncertainty_ms) if by_snapshot else (None, None)
        marks[mark].append(each.event_ts)
    expected = covers_of(table_of(schema.CHANGE_EVENT, world.after)).get("c")
    assert bool(of_log) == (expected is not None)
    if expected is not None:
        covered = _covered((*mark, min(times), max(times)) for mark, times in marks.items())
        assert covered == expected


# -- the requests from which usage is computed -------------------------------------------------------------------------

_HOUR = 3600
_AROUND_MIDNIGHT = 20_000 * 24
"""The first hour of a day, in hours since 1970."""


def day_of(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d}"


@examples(50, at_length=200)
@example(requests=[("a", _AROUND_MIDNIGHT * _HOUR - 5, 7)], hours={("a", _AROUND_MIDNIGHT)}, whole=frozenset())
@example(requests=[("a", _AROUND_MIDNIGHT * _HOUR + 5, 7)], hours={("a", _AROUND_MIDNIGHT - 1)}, whole=frozenset())
@example(requests=[("b", 0, 7)], hours={("a", _AROUND_MIDNIGHT)}, whole=frozenset("b"))
@given(
    requests=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers((_AROUND_MIDNIGHT - 50) * _HOUR, (_AROUND_MIDNIGHT + 50) * _HOUR),
            st.integers(1, 9),
        ),
        max_size=8,
    ),
    hours=st.sets(
        st.tuples(st.sampled_from("abc"), st.integers(_AROUND_MIDNIGHT - 26, _AROUND_MIDNIGHT + 26)), max_size=3
    ),
    whole=st.frozensets(st.sampled_from("abc"), max_size=1),
)
def test_usage_reads_the_days_of_its_hours(
    requests: list[tuple[str, int, int]], hours: set[tuple[str, int]], whole: frozenset[str]
) -> None:
    """To compute an hour of usage, kac reads the requests of the days that have this hour, the hour after it, and the
    ten minutes before it.

    Args:
        requests: (cluster id, second since 1970, number of rows), each in a file of its own.
    """
    others = {(cluster, hour) for cluster, hour in hours if cluster not in whole}
    days = {day_of(each) for _, hour in others for each in range(hour * _HOUR - 600, (hour + 2) * _HOUR, 600)}
    clusters = whole | {cluster for cluster, _ in others}
    expected = sum(rows for cluster, at, rows in requests if cluster in clusters and (whole or day_of(at) in days))
    sizes = ((cluster, day_of(second), rows) for cluster, second, rows in requests)
    assert rows_for_usage(sizes, hours, whole) == expected
