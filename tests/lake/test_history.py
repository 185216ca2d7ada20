"""Tests of the table `history`, and of the authors of changes in it. Each case has its own cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from console.lake.schema import PARTS, TABLES, arrow_schema
from console.lake.transforms.change_event import Bronze
from console.lake.transforms.history import gaps, history
from tests.lake.gold_rows import covers_of, events_of, polls_of

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
Row = dict[str, Any]
Told = tuple[float, str | None, str | None, str | None, str, str]
"""An expected row of `history`: seconds after `AT`, old value, new value, principal, attribution, source."""


class Case:
    """A case: changes of one attribute, polls, and the expected rows of `history`."""

    def __init__(self, name: str, attr: str = "k", entity: tuple[str, str] = ("topic", "orders")) -> None:
        self.name, self.attr, self.entity = name, attr, entity
        self.events: list[Row] = []
        self.polls: list[Row] = []
        self.wanted: list[Told] = []

    def told(self, seconds: float, source: str, value: str | None, who: str | None = None, **more: Any) -> Case:
        """Add a change that a source shows, `seconds` seconds after `AT`. value: None for a deletion. who: the
        principal; None if the source does not name one.
        """
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


# -- the rules for authors of changes and for snapshots of the log; each case has its own cluster ----------------------

TOPIC, BROKER = 2, 4


class AuthorCase:
    """Table -> the rows that a cluster's sources give. Methods add rows; their times are seconds after `AT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[str, list[Row]] = {table: [] for table in (*TABLES, *PARTS)}
        self.offset = 100

    def record(self, seconds: float, type_: str, hmac: str | None = None, **fields: Any) -> AuthorCase:
        self.offset += 1
        return self._add(
            "kraft_record",
            log_offset=self.offset,
            record_index=0,
            in_snapshot=False,
            record_ts=_time(seconds),
            record_type=type_,
            payload=json.dumps(fields),
            value_hmac=hmac,
        )

    def config(
        self, seconds: float, name: str, value: str | None, *, of: str = "orders", hmac: str | None = None
    ) -> AuthorCase:
        type_ = TOPIC if of == "orders" else BROKER
        fields = {"resourceType": type_, "resourceName": of, "name": name, "value": value}
        return self.record(seconds, "ConfigRecord", hmac, **fields)

    def checkpoint(self, seconds: float, **configs: str) -> AuthorCase:
        """Add a snapshot of the metadata log, in which the topic has these configs, and the config x the value 0."""
        self.offset += 1
        for index, (name, value) in enumerate({"x": "0", **configs}.items()):
            fields = {"resourceType": TOPIC, "resourceName": "orders", "name": name, "value": value}
            self._add(
                "kraft_record",
                log_offset=self.offset,
                record_index=index,
                in_snapshot=True,
                record_ts=_time(seconds),
                record_type="ConfigRecord",
                payload=json.dumps(fields),
            )
        return self

    def asked(
        self,
        who: str,
        start: float,
        end: float,
        attr: str,
        op: str = "set",
        value: str | None = None,
        api: str = "INCREMENTAL_ALTER_CONFIGS",
        **more: Any,
    ) -> AuthorCase:
        row = {
            "broker_id": 1,
            "start_ts": _time(start),
            "end_ts": _time(end),
            "api": api,
            "correlation_id": len(self.rows["alter_request"]),
            "client_id": "cli",
            "client_host": "10.0.0.7",
            "principal": f"User:{who}",
            "is_forwarded": False,
            "validate_only": False,
            "entity_type": "topic",
            "entity_key": "orders",
            "attr": attr,
            "op": op,
            "value": value,
            "is_sensitive": False,
            "error_code": 0,
            "byte_pos": len(self.rows["alter_request"]),
        }
        return self._add("alter_request", **{**row, **more})

    def journal(
        self, who: str, start: float, end: float, attr: str, value: str | None = None, **more: Any
    ) -> AuthorCase:
        row = {
            "change_id": len(self.rows["journal"]),
            "edit": 0,
            "intent_ts": _time(start),
            "end_ts": _time(end),
            "status": "applied",
            "entity_type": "topic",
            "entity_key": "orders",
            "attr": attr,
            "op": "set",
            "value": value,
            "principal": who,
            "client_host": "192.0.2.1",
        }
        return self._add("journal", **{**row, **more})

    def poll(self, seconds: float, **values: str | None) -> AuthorCase:
        for attr, value in values.items():
            self._poll(seconds, "state", attr, value)
        return self._poll(seconds, "heartbeat", None, None)

    def _poll(self, seconds: float, kind: str, attr: str | None, value: str | None) -> AuthorCase:
        key = "orders" if attr else None
        row = {"kind": kind, "entity_type": "topic", "entity_key": key, "attr": attr, "value": value}
        return self._add("snapshot", observed_ts=_time(seconds), is_sensitive=False, **row)

    def _add(self, table: str, **row: Any) -> AuthorCase:
        self.rows[table].append({"cluster_id": self.name, "run_id": "r", **row})
        return self


def _authors() -> Iterator[tuple[AuthorCase, str | None, str]]:
    """Yield cases with one change, in the log or in polls; with each, its expected author (None if unknown) and
    attribution.
    """

    def set_5(name: str) -> AuthorCase:
        return AuthorCase(name).config(0, "k", "5")

    def replaced() -> AuthorCase:
        return AuthorCase("replaced").config(-60, "old", "1").config(0, "old", None)

    yield set_5("nobody"), None, "none"
    yield set_5("one").asked("alice", -0.1, 0.1, "k", value="5"), "User:alice", "request"
    yield set_5("other value").asked("alice", -0.1, 0.1, "k", value="6"), None, "none"
    yield set_5("other key").asked("alice", -0.1, 0.1, "j", value="5"), None, "none"
    yield set_5("other entity").asked("alice", -0.1, 0.1, "k", value="5", entity_key="x"), None, "none"
    yield set_5("too early").asked("alice", -9, -2.1, "k", value="5"), None, "none"
    yield set_5("too late").asked("alice", 2.1, 9, "k", value="5"), None, "none"
    yield set_5("other clock").asked("alice", -9, -1.9, "k", value="5"), "User:alice", "request"
    yield set_5("refused").asked("alice", -0.1, 0.1, "k", value="5", error_code=29), None, "none"
    yield set_5("only asked").asked("alice", -0.1, 0.1, "k", value="5", validate_only=True), None, "none"
    yield set_5("hidden").asked("alice", -0.1, 0.1, "k", is_sensitive=True), "User:alice", "request"
    both = set_5("two").asked("bob", -0.1, 0.1, "k", value="5").asked("alice", -0.2, 0.1, "k", value="5")
    yield both, "User:alice, User:bob", "several"
    tighter = set_5("tighter").asked("bob", 0.5, 0.7, "k", value="5").asked("alice", -0.2, 0.1, "k", value="5")
    yield tighter, "User:alice", "request"
    for name, offs, who, how in (
        ("at once", (0.01, 0.1, 1.0), "User:p0", "request"),
        ("soon", (0.1, 0.5, -1.9), "User:p0", "request"),
        ("before it", (-0.02, 0.03, 1.0), "User:p0", "request"),
        ("as soon", (0.05, -0.2, 1.0), "User:p0, User:p1", "several"),
        ("late", (1.5,), "User:p0", "request"),
    ):
        near = set_5(name)
        for number, off in enumerate(offs):
            near.asked(f"p{number}", off - 0.001 * (off < 0), off + 0.001 * (off > 0), "k", value="5")
        yield near, who, how
    across = set_5("across minutes").asked("alice", -4000, 90, "k", value="5")
    yield across, "User:alice", "request"
    copy = {"is_forwarded": True, "broker_id": 2, "client_host": "10.0.0.1"}
    forwarded = (
        set_5("forwarded").asked("alice", 0.5, 0.7, "k", value="5").asked("alice", -0.1, 0.1, "k", value="5", **copy)
    )
    yield forwarded, "User:alice", "request"
    known = set_5("journal").asked("alice", -0.1, 0.1, "k", value="5").journal("alice", -0.2, 0.2, "k", "5")
    yield known, "User:alice", "journal"
    nameless = set_5("nameless").asked("alice", -0.1, 0.1, "k", value="5").journal("certificate", -0.2, 0.2, "k", "5")
    yield nameless, "User:alice", "journal"
    yield set_5("failed").journal("alice", -0.2, 0.2, "k", "5", status="failed"), None, "none"
    added = AuthorCase("added").config(0, "k", "delete,compact").asked("alice", -0.1, 0.1, "k", "append", "compact")
    yield added, "User:alice", "request"
    not_added = AuthorCase("not added").config(0, "k", "delete").asked("alice", -0.1, 0.1, "k", "append", "compact")
    yield not_added, None, "none"
    taken = AuthorCase("taken").config(0, "k", "").asked("alice", -0.1, 0.1, "k", "subtract", "compact,delete")
    yield taken, "User:alice", "request"
    not_taken = AuthorCase("not taken").config(0, "k", "compact").asked("alice", -0.1, 0.1, "k", "subtract", "compact")
    yield not_taken, None, "none"
    yield replaced().asked("alice", -0.1, 0.1, "new", value="1", api="ALTER_CONFIGS"), "User:alice", "request"
    secret = AuthorCase("secret").config(0, "ssl.key.password", "[hidden]", hmac="ab", of="1")
    place = {"entity_type": "broker", "entity_key": "1", "is_sensitive": True}
    yield secret.asked("alice", -0.1, 0.1, "ssl.key.password", **place), "User:alice", "request"
    seen = AuthorCase("seen").poll(-900, k="4").poll(0, k="5").asked("alice", -700, -699.9, "k", value="5")
    yield seen, "User:alice", "request"
    before = AuthorCase("before").poll(-900, k="4").poll(0, k="5").asked("alice", -950, -949, "k", value="5")
    yield before, None, "none"
    first = AuthorCase("first look").poll(0, k="5").asked("alice", -700, -699.9, "k", value="5")
    yield first, None, "none"


def _deletions() -> Iterator[tuple[AuthorCase, str | None]]:
    """Yield cases in which a topic with a config is deleted, each with the expected author; None if it is unknown."""
    topic = {"name": "orders", "topicId": "T1"}
    for name, asked, who in (
        ("topic gone", {"attr": ":topic_id", "op": "delete", "api": "DELETE_TOPICS"}, "User:alice"),
        ("not moved", {"attr": ":reassignment/0", "op": "delete", "api": "ALTER_PARTITION_REASSIGNMENTS"}, None),
    ):
        case = AuthorCase(name).record(-60, "TopicRecord", **topic).config(-60, "k", "5")
        yield case.record(0, "RemoveTopicRecord", topicId="T1").asked("alice", -0.1, 0.1, **asked), who


def _bronze(cases: list[AuthorCase]) -> Bronze:
    def table(name: str) -> pa.Table:
        rows = [row for case in cases for row in case.rows[name]]
        return pa.Table.from_pylist(rows, schema=arrow_schema({**TABLES, **PARTS}[name]))

    return Bronze(*map(table, Bronze._fields))


def _checkpoints() -> AuthorCase:
    """Return the case of a metadata log that begins with a snapshot, and in which some offsets are missing."""
    case = AuthorCase("snapshots").checkpoint(-300, old="1", kept="1", reset="1").config(-200, "kept", "2")
    return case.checkpoint(-100, kept="2", new="3", reset="9").config(0, "kept", "2")


SNAPSHOTS: list[Mapping[str, Any]] = [
    {"at": -300, "attr": "kept", "op": "set", "value": "1", "sure": -1, "source": "kraft_snapshot"},
    {"at": -300, "attr": "old", "op": "set", "value": "1", "sure": -1, "source": "kraft_snapshot"},
    {"at": -300, "attr": "reset", "op": "set", "value": "1", "sure": -1, "source": "kraft_snapshot"},
    {"at": -300, "attr": "x", "op": "set", "value": "0", "sure": -1, "source": "kraft_snapshot"},
    {"at": -200, "attr": "kept", "op": "set", "value": "2", "sure": 0, "source": "kraft_log"},
    {"at": -100, "attr": "new", "op": "set", "value": "3", "sure": 200_000, "source": "kraft_snapshot"},
    {"at": -100, "attr": "old", "op": "delete", "value": None, "sure": 200_000, "source": "kraft_snapshot"},
    {"at": -100, "attr": "reset", "op": "set", "value": "9", "sure": 200_000, "source": "kraft_snapshot"},
    {"at": 0, "attr": "kept", "op": "set", "value": "2", "sure": 0, "source": "kraft_log"},
]


def test_authors_and_snapshots() -> None:
    authors, deletions = list(_authors()), list(_deletions())
    cases = [case for case, *_ in authors] + [case for case, _ in deletions] + [_checkpoints()]
    events = events_of(_bronze(cases)).to_pylist()

    now = [
        (row["cluster_id"], row["principal"], row["attribution"])
        for row in events
        if row["source"] not in ("journal", "request_log")
        and row["event_ts"] == AT
        and row["cluster_id"] != "snapshots"
    ]
    wanted = [(case.name, who, how) for case, who, how in authors]
    # The deletion of a topic deletes its id, partitions and configs; here it has an id and a config.
    wanted += [(case.name, who, "request" if who else "none") for case, who in deletions for _ in range(2)]
    assert sorted(now, key=repr) == sorted(wanted, key=repr)

    forwarded = [(row["source"], row["client_host"]) for row in events if row["cluster_id"] == "forwarded"]
    assert sorted(forwarded) == [("kraft_log", "10.0.0.7"), ("request_log", "10.0.0.7")]

    names = ("event_ts", "attr", "op", "value", "ts_uncertainty_ms", "source")
    told = [tuple(row[name] for name in names) for row in events if row["cluster_id"] == "snapshots"]
    rows = [(_time(e["at"]), e["attr"], e["op"], e["value"], e["sure"], e["source"]) for e in SNAPSHOTS]
    assert sorted(told, key=repr) == sorted(rows, key=repr)
