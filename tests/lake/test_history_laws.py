"""Tests of properties of the table `history` that hold for any cluster, on many small random clusters at once."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from console.lake.schema import PARTS, TABLES, arrow_schema
from console.lake.transforms.change_event import Bronze
from console.lake.transforms.history import history
from tests.lake import change_worlds as worlds
from tests.lake.change_worlds import World
from tests.lake.gold_rows import covers_of, events_of, polls_of

pytestmark = pytest.mark.timeout(900)

STEPS = 14
Row = dict[str, Any]
BRONZE = ("kraft_record", "snapshot", "journal", "alter_request")

_TABLES = {**TABLES, **PARTS}


@dataclass
class Told:
    """A random history, and the rows that its sources give."""

    world: World
    polls: list[int] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=lambda: {table: [] for table in BRONZE})


def all_by_log(seed: int, by_journal: bool) -> Told:
    """Return a history with the rows of its whole metadata log and of some polls. The authors of all changes are in one
    source: the journal if `by_journal`, else the request logs.
    """
    dice = random.Random(seed)
    world = worlds.renamed(worlds.made(seed, STEPS), f"{seed}-{'journal' if by_journal else 'requests'}")
    told = Told(world, sorted(dice.sample(range(1, STEPS + 1), dice.randint(0, 3))))
    told.rows["kraft_record"] += worlds.log_rows(world)
    told.rows["snapshot"] += worlds.poll_rows(world, told.polls)
    if by_journal:
        told.rows["journal"] += worlds.journal_rows(world, world.asked)
    else:
        told.rows["alter_request"] += worlds.request_rows(world, world.asked, forwarded=dice.random() < 0.5)
    return told


def some_of_all(seed: int) -> Told:
    """Return a history with the rows of its polls, and with some or none of the rows of each other source."""
    dice = random.Random(seed)
    world = worlds.renamed(worlds.made(seed, STEPS), f"{seed}-some")
    told = Told(world, sorted(dice.sample(range(1, STEPS + 1), dice.randint(1, 6))))
    told.rows["snapshot"] += worlds.poll_rows(world, told.polls)
    first, then, last = sorted(dice.choices(range(1, STEPS + 1), k=3))
    log, checkpoint = worlds.log_rows, worlds.checkpoint_rows
    parts: list[Callable[[], list[Row]]] = [
        lambda: [],
        lambda: [*log(world, last=last)],
        lambda: [*checkpoint(world, first), *log(world, first + 1)],
        lambda: [*log(world, last=first), *checkpoint(world, then), *log(world, then + 1, last)],
        lambda: [*checkpoint(world, first), *checkpoint(world, then), *log(world, then + 1), *checkpoint(world, last)],
    ]
    told.rows["kraft_record"] += _once(dice.choice(parts)())
    asked = [each for each in world.asked if dice.random() < 0.6]
    told.rows["alter_request"] += worlds.request_rows(world, asked, forwarded=dice.random() < 0.5)
    mine = [each for each in world.asked if each.who == "User:alice" and dice.random() < 0.5]
    told.rows["journal"] += worlds.journal_rows(world, mine)
    return told


def _once(rows: list[Row]) -> list[Row]:
    key = TABLES["kraft_record"].key
    return list({tuple(row[name] for name in key): row for row in rows}.values())


def tables(told: list[Told], shuffled: int | None = None) -> tuple[list[Row], list[Row]]:
    """Return the rows of change_event and of history. shuffled: the seed by which the incoming rows are put into
    another order; None keeps the order.
    """
    read = []
    for table in BRONZE:
        rows = [row for each in told for row in each.rows[table]]
        if shuffled is not None:
            random.Random(shuffled).shuffle(rows)
        read.append(pa.Table.from_pylist(rows, schema=arrow_schema(_TABLES[table])))
    events = events_of(Bronze(*read))
    polls = polls_of(read[1])
    return events.to_pylist(), history(_again(events, shuffled), polls, covers_of(events)).to_pylist()


def _again(events: pa.Table, shuffled: int | None) -> pa.Table:
    places = list(range(events.num_rows))
    if shuffled is not None:
        random.Random(shuffled).shuffle(places)
    return events.take(places)


@settings(max_examples=1, phases=[Phase.generate], deadline=None)
@given(seeds=st.lists(st.integers(0, 10**9), min_size=24, max_size=24, unique=True))
def test_history_is_what_happened(seeds: list[int]) -> None:
    whole = [all_by_log(seed, by_journal=seed % 2 == 0) for seed in seeds]
    some = [some_of_all(seed) for base in seeds for seed in (base, base + 10**9, base + 2 * 10**9)]
    events, rows = tables(whole + some)
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_cluster[row["cluster_id"]].append(row)
    for told in whole + some:
        _cover_time_once(by_cluster[told.world.cluster_id])
        _agree_with_every_poll(told, by_cluster[told.world.cluster_id])
    for told in whole:
        _are_the_changes(told, by_cluster[told.world.cluster_id])
    assert len({_key("change_event", row) for row in events}) == len(events)
    assert len({_key("history", row) for row in rows}) == len(rows)

    again_events, again_rows = tables(whole + some, shuffled=seeds[0])
    assert _sorted(again_events) == _sorted(events)
    assert _sorted(again_rows) == _sorted(rows)


def _cover_time_once(rows: list[Row]) -> None:
    """Check that each value of an attribute is valid until the next one begins, and that the last one is current.
    Raises AssertionError otherwise.
    """
    by_key: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["valid_from"]):
        by_key[row["entity_type"], row["entity_key"], row["attr"]].append(row)
    for values in by_key.values():
        for row, following in zip(values, [*values[1:], None], strict=True):
            assert row["valid_to"] == (following["valid_from"] if following else None)
            assert row["is_current"] == (following is None)
            assert following is None or following["old_value"] == row["new_value"]
            assert not row["is_deleted"] or row["new_value"] is None


def _agree_with_every_poll(told: Told, rows: list[Row]) -> None:
    for step in told.polls:
        at = worlds.BEGIN + step * worlds.STEP + worlds.POLL_AFTER
        assert _state(rows, at) == _shown(told.world.states[step]), (told.world.cluster_id, step)


def _state(rows: list[Row], at: datetime) -> dict[tuple[str, ...], str | None]:
    found = {}
    for row in rows:
        if row["valid_from"] <= at and (row["valid_to"] is None or at < row["valid_to"]) and not row["is_deleted"]:
            key = worlds.Key(row["entity_type"], row["entity_key"], row["attr"])
            found[key] = "h" if key == worlds.ENDPOINTS else row["new_value"]
    return found


def _shown(state: worlds.State) -> dict[tuple[str, ...], str | None]:
    return {key: "h" if key == worlds.ENDPOINTS else _seen(value) for key, value in state.items()}


def _seen(value: str | None) -> str | None:
    return None if value is None or value.startswith(worlds.HIDDEN) else value


def _are_the_changes(told: Told, rows: list[Row]) -> None:
    how = "journal" if told.rows["journal"] else "request"

    def expected() -> Iterator[tuple[Any, ...]]:
        for each in told.world.changes:
            names = ", ".join(sorted(each.who)) or None
            manner = ("none", how, "several")[len(each.who)]
            yield (*each.key, _seen(each.old), _seen(each.new), each.at, each.new is None, names, manner, "kraft_log")

    names = ("entity_type", "entity_key", "attr", "old_value", "new_value", "valid_from", "is_deleted", "principal")
    found = [(*(row[name] for name in names), row["attribution"], row["source"]) for row in rows]
    assert sorted(found, key=repr) == sorted(expected(), key=repr), told.world.cluster_id


def _key(table: str, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _TABLES[table].key)


def _sorted(rows: list[Row]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)
