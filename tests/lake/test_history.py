"""What the history makes of changes that several sources tell, with clocks apart, in holes of the log, between polls:
a case is a cluster of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from console.lake.schema import TABLES, arrow_schema
from console.lake.transforms.history import gaps, history
from tests.lake.gold_rows import covers_of, polls_of

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Row = dict[str, Any]
Told = tuple[float, str | None, str | None, str | None, str, str]
"""A row that is wanted: seconds after `AT`, old value, new value, principal, attribution, source."""


class Case:
    """Changes of one attribute, polls, and the rows that they must come to."""

    def __init__(self, name: str, attr: str = "k", entity: tuple[str, str] = ("topic", "orders")) -> None:
        self.name, self.attr, self.entity = name, attr, entity
        self.events: list[Row] = []
        self.polls: list[Row] = []
        self.wanted: list[Told] = []

    def told(self, seconds: float, source: str, value: str | None, who: str | None = None, **more: Any) -> Case:
        """A change. value None: a deletion."""
        op = "delete" if value is None else "set"
        how = "none" if who is None else {"journal": "journal"}.get(source, "request")
        row = {
            "cluster_id": self.name,
            "event_ts": _time(seconds),
            "ts_uncertainty_ms": 0,
            "log_offset": len(self.events) + 1 if source == "kraft_log" else None,
            "entity_type": self.entity[0],
            "entity_key": self.entity[1],
            "attr": self.attr,
            "op": op,
            "value": value,
            "value_sha256": None if value is None else hashlib.sha256(value.encode()).hexdigest(),
            "source": source,
            "principal": who,
            "attribution": how,
            "run_id": "r",
        }
        self.events.append({**row, **more})
        return self

    def polled(self, *seconds: float, entity_type: str | None = None) -> Case:
        for each in seconds:
            row = {"kind": "heartbeat", "entity_type": entity_type or self.entity[0], "run_id": "r"}
            self.polls.append({"cluster_id": self.name, "observed_ts": _time(each), "is_sensitive": False, **row})
        return self

    def makes(self, *wanted: Told) -> Case:
        self.wanted += wanted
        return self


def _time(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def _cases() -> Iterator[Case]:
    log, poll, ask, kac = "kraft_log", "snapshot", "request_log", "journal"

    again = Case("same again").told(0, log, "1", "User:a").told(60, log, "1", "User:b").told(90, log, None)
    yield again.makes((0, None, "1", "User:a", "request", log), (90, "1", None, None, "none", log))

    late_poll = Case("late clock of the look").polled(-900, -1).told(-1, poll, "1", ts_uncertainty_ms=899_000)
    yield late_poll.told(0, log, "1", "User:a").makes((0, None, "1", "User:a", "request", log))

    behind = Case("new controller's clock is behind").told(60, log, "1").told(30, log, "2")
    yield behind.makes((60, None, "1", None, "none", log), (60.000001, "1", "2", None, "none", log))

    confirmed = Case("asked for, then seen").polled(-900, 900).told(0, ask, "1", "User:a")
    confirmed.told(900, poll, "1", "User:a", ts_uncertainty_ms=1_800_000)
    yield confirmed.makes((0, None, "1", "User:a", "request", poll))

    twice = Case("told twice").told(0, ask, "1", "User:a").told(0.1, kac, "1", "User:a", ts_uncertainty_ms=300)
    yield twice.makes((0, None, "1", "User:a", "journal", kac))

    hidden: Row = {"op": "set", "value_sha256": None}
    secret = Case("hidden, told twice").told(0, ask, None, "User:a", **hidden)
    secret.told(0.1, kac, None, "User:a", ts_uncertainty_ms=300, **hidden).told(60, ask, None, "User:b", **hidden)
    yield secret.makes((0, None, None, "User:a", "journal", kac), (60, None, None, "User:b", "request", ask))

    by_hmac = Case("hidden in the log").polled(30, 330)
    for seconds, digest in ((0, "h1"), (60, "h1"), (120, "h2")):
        by_hmac.told(seconds, log, None, op="set", value_sha256=digest)
    by_hmac.told(30, poll, None, op="set", ts_uncertainty_ms=-1)
    yield by_hmac.makes((0, None, None, None, "none", log), (120, None, None, None, "none", log))

    items = Case("a list without the log").polled(-60).told(-60, poll, "delete", ts_uncertainty_ms=-1)
    items.told(0, ask, "compact", "User:a", op="append", value_sha256=None)
    items.told(10, ask, "compact", "User:b", op="append", value_sha256=None)
    items.told(20, ask, "delete", "User:b", op="subtract", value_sha256=None)
    yield items.makes(
        (-60, None, "delete", None, "none", poll),
        (0, "delete", "delete,compact", "User:a", "request", ask),
        (20, "delete,compact", "compact", "User:b", "request", ask),
    )

    undone = Case("undone by nobody knows whom").polled(-60, 300).told(-60, poll, "1", ts_uncertainty_ms=-1)
    undone.told(0, ask, "2", "User:a")
    yield undone.makes(
        (-60, None, "1", None, "none", poll),
        (0, "1", "2", "User:a", "request", ask),
        (300, "2", "1", None, "none", poll),
    )

    down = Case("a broker is down", entity=("broker", "2")).polled(30, 330).told(0, log, "1", "User:a")
    down.told(30, poll, "1", ts_uncertainty_ms=-1).told(330, poll, None, ts_uncertainty_ms=300_000)
    yield down.told(400, log, "2", "User:a").makes(
        (0, None, "1", "User:a", "request", log), (400, "1", "2", "User:a", "request", log)
    )

    many = Case("one endpoint of many", ":endpoints", ("broker", "1")).polled(30)
    many.told(0, log, "A://h:1,B://h:2").told(30, poll, "h:2", ts_uncertainty_ms=-1).told(60, log, "A://h:1,B://h:2")
    yield many.makes((0, None, "A://h:1,B://h:2", None, "none", log))

    no_op = Case("taken away what was not there").polled(-60).told(0, ask, None, "User:a")
    yield no_op
    unknown = Case("taken away, nothing known before").told(0, ask, None, "User:a")
    yield unknown.makes((0, None, None, "User:a", "request", ask))

    moved = Case("moved", ":reassignment/0").told(0, ask, "2,3", "User:a")
    moved.told(-9, log, "1", attr="j").told(9, log, "2", attr="j")
    yield moved.makes((0, None, "2,3", "User:a", "request", ask))


GAPS = {
    "looks stopped for a while": (Case("gap").polled(*range(0, 1500, 300), *range(5000, 6000, 300)), [(1200, 5000)]),
    "looks ended": (Case("ended").polled(*range(-9000, -7000, 300)), [(-7200, None)]),
    "the log goes on": (
        Case("log").polled(*range(0, 1500, 300), 5900).told(600, "kraft_log", "1").told(5000, "kraft_log", "2"),
        [],
    ),
    "the log goes on for a while": (
        Case("some log").polled(*range(0, 1500, 300), 5900).told(600, "kraft_log", "1").told(2000, "kraft_log", "2"),
        [(2000, 5900)],
    ),
}


def test_rows_of_the_history() -> None:
    cases = list(_cases())
    events = _table("change_event", [row for case in cases for row in case.events])
    polls = polls_of(_table("snapshot", [row for case in cases for row in case.polls]))
    rows = history(events, polls, covers_of(events)).to_pylist()
    names = ["cluster_id", "valid_from", "old_value", "new_value", "principal", "attribution", "source"]
    found = [tuple(row[name] for name in names) for row in rows if row["attr"] != "j"]
    wanted = [(case.name, _time(seconds), *more) for case in cases for seconds, *more in case.wanted]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)


def test_time_without_polls_and_log_is_a_gap() -> None:
    cases = [case for case, _ in GAPS.values()]
    covers = covers_of(_table("change_event", [row for case in cases for row in case.events]))
    polls = polls_of(_table("snapshot", [row for case in cases for row in case.polls]))
    until = int(_time(5900).timestamp()) * 1_000_000
    found_of = (gaps(of, its, covers.get(of), until).to_pylist() for of, its in polls.items())
    rows = [row for rows in found_of for row in rows]
    assert {row["attr"] for row in rows} == {":unobserved"}
    found = [(row["cluster_id"], row["entity_key"], row["valid_from"], row["valid_to"]) for row in rows]
    wanted = [
        (case.name, case.name, _time(since), None if end is None else _time(end))
        for case, spans in GAPS.values()
        for since, end in spans
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert all(row["is_current"] is (row["valid_to"] is None) for row in rows)


def _table(name: str, rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=arrow_schema(TABLES[name]))
