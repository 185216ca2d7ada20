"""What is not built yet of the metadata log: the changes that happened, wherever the last build stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.lake_tables import history_table
from console.history.reader.queries import Wanted, timeline
from console.history.reader.tables import EPOCH, Change, Tables
from console.history.reader.tail import State, Tail, Value, folded
from console.history.schema import CHANGE_EVENT, HISTORY, KRAFT_RECORD
from console.history.store import Lake
from console.history.store.write import writing
from console.history.transforms.kraft_changes import Names, Record, placed_facts
from tests.history import change_worlds as worlds
from tests.history.change_worlds import World
from tests.history.lake_rows import arrow_rows

STEPS = 14


def records(rows: Iterable[dict[str, Any]]) -> list[Record]:
    """Rows of `kraft_record` as the tail reads them."""
    return [
        Record(
            each["log_offset"],
            each["in_snapshot"],
            _stamp(each["record_ts"]),
            each["record_type"],
            json.loads(each["payload"]),
            each["value_hmac"],
        )
        for each in rows
    ]


def _stamp(at: datetime) -> int:
    return (at - EPOCH) // timedelta(microseconds=1)


def shown(value: str | None) -> str | None:
    return None if value is None or value.startswith(worlds.HIDDEN) else value


def digest(value: str | None) -> str | None:
    """Of a value; a world's log has the same of a secret for its HMAC."""
    return None if value is None else hashlib.sha256(value.encode()).hexdigest()


def state_after(world: World, step: int) -> State:
    """What `history` has as current after a step: values that are hidden it does not have."""
    state: State = {}
    for change in world.changes:
        if change.at <= worlds.BEGIN + step * worlds.STEP:
            of_entity = state.setdefault((change.key.type, change.key.entity), {})
            of_entity[change.key.attr] = Value(
                shown(change.new), digest(change.new), _stamp(change.at), change.new is not None
            )
    return state


def tail_of(rows: Iterable[dict[str, Any]], state: State, names: Names | None = None) -> Tail:
    return folded("c", placed_facts(records(rows), names), state)


def told(found: Tail) -> list[tuple[Any, ...]]:
    rows = [
        (each.entity_type, each.entity_key, each.attr, each.old_value, each.new_value, each.valid_from, each.is_deleted)
        for each in found.changes
    ]
    return sorted(rows, key=repr)


def happened(world: World, after: int) -> list[tuple[Any, ...]]:
    rows = [
        (*change.key, shown(change.old), shown(change.new), change.at, change.new is None)
        for change in world.changes
        if change.at > worlds.BEGIN + after * worlds.STEP
    ]
    return sorted(rows, key=repr)


@given(seed=st.integers(0, 10**9), after=st.integers(0, STEPS))
def test_what_follows_a_build_is_what_happened(seed: int, after: int) -> None:
    world = worlds.made(seed, STEPS)
    found = tail_of(
        worlds.log_rows(world, after + 1), state_after(world, after), Names(records(worlds.log_rows(world)))
    )
    assert told(found) == happened(world, after)


@given(seed=st.integers(0, 10**9), step=st.integers(0, STEPS))
def test_a_snapshot_is_a_state_and_no_change(seed: int, step: int) -> None:
    world = worlds.made(seed, STEPS)
    rows = [*worlds.checkpoint_rows(world, step), *worlds.log_rows(world, step + 1)]
    assert told(tail_of(rows, {})) == happened(world, step)


@given(seed=st.integers(0, 10**9))
def test_the_values_of_an_attribute_follow_one_another(seed: int) -> None:
    world = worlds.made(seed, STEPS)
    found = tail_of(worlds.log_rows(world), {})
    last: dict[tuple[str, ...], Change] = {}
    for change in found.changes:
        key = change[1:4]
        if (before := last.get(key)) is not None:
            assert (before.valid_to, before.is_current) == (change.valid_from, False)
            assert before.new_value == change.old_value
        else:
            assert found.ended[key] == change.valid_from
        last[key] = change
    assert all(change.is_current and change.valid_to is None for change in last.values())


BUILT = 7


@pytest.fixture(scope="module")
def world() -> World:
    return worlds.renamed(worlds.made(6, STEPS), "followed")  # sets a hidden value again, to the same


@pytest.fixture(scope="module")
def tables(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    """A lake that was built after half of the steps, and has taken in the others since."""
    lake = Lake.create(str(tmp_path_factory.mktemp("tail") / "lake"))
    built = [change for change in world.changes if change.at <= worlds.BEGIN + BUILT * worlds.STEP]
    before = list(worlds.log_rows(world, last=BUILT))
    changes = [as_history(world, change) for change in built]
    with writing(lake, "build") as write:
        write.add_arrow(KRAFT_RECORD.name, arrow_rows(KRAFT_RECORD, before))
        write.add_arrow(HISTORY.name, arrow_rows(HISTORY, changes))
        events = [as_event(world, change, place) for place, change in enumerate(built)]
        events.append({**events[-1], "op": "delete", "attr": "none", "log_offset": before[-1]["log_offset"]})
        write.add_arrow(CHANGE_EVENT.name, arrow_rows(CHANGE_EVENT, events))
        write.commit()
    for step in range(BUILT + 1, STEPS + 1):
        if rows := list(worlds.log_rows(world, step, step)):
            with writing(lake, "follow") as write:
                write.add_arrow(KRAFT_RECORD.name, arrow_rows(KRAFT_RECORD, rows))
                write.commit()
    with closing(Tables(lake.where)) as opened:
        yield opened


def as_history(world: World, change: worlds.Change) -> dict[str, Any]:
    ends = [each.at for each in world.changes if each.key == change.key and each.at > change.at]
    ended = next((at for at in ends if at <= worlds.BEGIN + BUILT * worlds.STEP), None)
    return {
        "cluster_id": world.cluster_id,
        **dict(zip(("entity_type", "entity_key", "attr"), change.key, strict=True)),
        "old_value": shown(change.old),
        "new_value": shown(change.new),
        "valid_from": change.at,
        "valid_to": ended,
        "is_current": ended is None,
        "is_deleted": change.new is None,
        "attribution": "none",
        "source": "kraft_log",
    }


def as_event(world: World, change: worlds.Change, place: int) -> dict[str, Any]:
    """place: in the order of the log; offsets that are before those of all its records."""
    return {
        "cluster_id": world.cluster_id,
        **dict(zip(("entity_type", "entity_key", "attr"), change.key, strict=True)),
        "event_ts": change.at,
        "log_offset": place - len(world.changes),
        "op": "delete" if change.new is None else "set",
        "value_sha256": digest(change.new),
        "source": "kraft_log",
    }


def test_a_timeline_goes_on_where_the_build_ended(world: World, tables: Tables) -> None:
    found = timeline(tables, Wanted(world.cluster_id), 1000)
    new = [change for change in found if not change.is_built]
    assert {change.valid_from > worlds.BEGIN + BUILT * worlds.STEP for change in new} == {True}
    assert told(Tail(found, {})) == happened(world, -1)
    assert len(new) > 5
    assert timeline(tables, Wanted(), 1000) == found
    current = [change[1:4] for change in found if change.is_current]
    assert len(set(current)) == len(current)
    for change in found:
        later = [each for each in found if each[1:4] == change[1:4] and each.valid_from > change.valid_from]
        assert change.is_current is not bool(later)
        assert change.valid_to == (later[-1].valid_from if later else None)


def test_the_latest_changes_are_of_both(world: World, tables: Tables) -> None:
    whole = timeline(tables, Wanted(world.cluster_id), 1000)
    for size in (1, 3, len(whole)):
        assert timeline(tables, Wanted(world.cluster_id), size) == whole[:size]


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(entities=(("topic", "orders"),)),
        Wanted(key="retention.ms"),
        Wanted(key="*retention*"),
        Wanted(since=worlds.BEGIN + (BUILT + 2) * worlds.STEP),
        Wanted(until=worlds.BEGIN + (BUILT + 2) * worlds.STEP),
        Wanted(text="CAROL"),
    ],
)
def test_a_filter_holds_for_what_is_not_built_too(wanted: Wanted, tables: Tables) -> None:
    everything = timeline(tables, Wanted(), 1000)
    assert timeline(tables, wanted, 1000) == [change for change in everything if fits(change, wanted)]


def fits(change: Change, wanted: Wanted) -> bool:
    """In other words than the reader's."""
    names = [] if not wanted.key else [wanted.key.strip("*")]
    return (
        (not wanted.entities or change[1:3] == wanted.entities[0])
        and all(name in change.attr if "*" in (wanted.key or "") else name == change.attr for name in names)
        and (wanted.since is None or wanted.since <= change.valid_from)
        and (wanted.until is None or change.valid_from < wanted.until)
        and wanted.text.lower() in " ".join(str(each) for each in change[1:6]).lower()
    )


def test_a_table_says_what_is_not_built_yet(world: World, tables: Tables) -> None:
    found = timeline(tables, Wanted(world.cluster_id), 1000)
    (new, *_), built = found, found[-1]
    own = new._replace(principal="User:alice", attribution="journal")
    made = history_table([new, own, built], clusters=False, first_polls={})
    assert [row.cells[-1] for row in made.rows] == ["not built yet", "journal, not built yet", "none"]
    assert [row.data["is_built"] for row in made.rows] == [False, False, True]
