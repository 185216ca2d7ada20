"""Each rule of who made a change, and of what snapshots of the log tell: a case is a cluster of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from console.lake.schema import PARTS, TABLES, arrow_schema
from console.lake.transforms.change_event import Bronze
from tests.lake.gold_rows import events_of

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TOPIC, BROKER = 2, 4
Row = dict[str, Any]


class Case:
    """What is told of a cluster, by table. Times are seconds after `AT`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[str, list[Row]] = {table: [] for table in (*TABLES, *PARTS)}
        self.offset = 100

    def record(self, seconds: float, type_: str, hmac: str | None = None, **fields: Any) -> Case:
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
    ) -> Case:
        type_ = TOPIC if of == "orders" else BROKER
        fields = {"resourceType": type_, "resourceName": of, "name": name, "value": value}
        return self.record(seconds, "ConfigRecord", hmac, **fields)

    def checkpoint(self, seconds: float, **configs: str) -> Case:
        """A snapshot of the log in which these configs of the topic are all."""
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
    ) -> Case:
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

    def journal(self, who: str, start: float, end: float, attr: str, value: str | None = None, **more: Any) -> Case:
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

    def poll(self, seconds: float, **values: str | None) -> Case:
        for attr, value in values.items():
            self._poll(seconds, "state", attr, value)
        return self._poll(seconds, "heartbeat", None, None)

    def _poll(self, seconds: float, kind: str, attr: str | None, value: str | None) -> Case:
        key = "orders" if attr else None
        row = {"kind": kind, "entity_type": "topic", "entity_key": key, "attr": attr, "value": value}
        return self._add("snapshot", observed_ts=_time(seconds), is_sensitive=False, **row)

    def _add(self, table: str, **row: Any) -> Case:
        self.rows[table].append({"cluster_id": self.name, "run_id": "r", **row})
        return self


def _time(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def _authors() -> Iterator[tuple[Case, str | None, str]]:
    """Cases with one change of the log or of polls that counts, who made it, and how that is known."""

    def set_5(name: str) -> Case:
        return Case(name).config(0, "k", "5")

    def replaced() -> Case:
        return Case("replaced").config(-60, "old", "1").config(0, "old", None)

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
    added = Case("added").config(0, "k", "delete,compact").asked("alice", -0.1, 0.1, "k", "append", "compact")
    yield added, "User:alice", "request"
    not_added = Case("not added").config(0, "k", "delete").asked("alice", -0.1, 0.1, "k", "append", "compact")
    yield not_added, None, "none"
    taken = Case("taken").config(0, "k", "").asked("alice", -0.1, 0.1, "k", "subtract", "compact,delete")
    yield taken, "User:alice", "request"
    not_taken = Case("not taken").config(0, "k", "compact").asked("alice", -0.1, 0.1, "k", "subtract", "compact")
    yield not_taken, None, "none"
    yield replaced().asked("alice", -0.1, 0.1, "new", value="1", api="ALTER_CONFIGS"), "User:alice", "request"
    secret = Case("secret").config(0, "ssl.key.password", "[hidden]", hmac="ab", of="1")
    place = {"entity_type": "broker", "entity_key": "1", "is_sensitive": True}
    yield secret.asked("alice", -0.1, 0.1, "ssl.key.password", **place), "User:alice", "request"
    seen = Case("seen").poll(-900, k="4").poll(0, k="5").asked("alice", -700, -699.9, "k", value="5")
    yield seen, "User:alice", "request"
    before = Case("before").poll(-900, k="4").poll(0, k="5").asked("alice", -950, -949, "k", value="5")
    yield before, None, "none"
    first = Case("first look").poll(0, k="5").asked("alice", -700, -699.9, "k", value="5")
    yield first, None, "none"


def _deletions() -> Iterator[tuple[Case, str | None]]:
    """Topics with a config that are deleted, by whom."""
    topic = {"name": "orders", "topicId": "T1"}
    for name, asked, who in (
        ("topic gone", {"attr": ":topic_id", "op": "delete", "api": "DELETE_TOPICS"}, "User:alice"),
        ("not moved", {"attr": ":reassignment/0", "op": "delete", "api": "ALTER_PARTITION_REASSIGNMENTS"}, None),
    ):
        case = Case(name).record(-60, "TopicRecord", **topic).config(-60, "k", "5")
        yield case.record(0, "RemoveTopicRecord", topicId="T1").asked("alice", -0.1, 0.1, **asked), who


def _bronze(cases: list[Case]) -> Bronze:
    def table(name: str) -> pa.Table:
        rows = [row for case in cases for row in case.rows[name]]
        return pa.Table.from_pylist(rows, schema=arrow_schema({**TABLES, **PARTS}[name]))

    return Bronze(*map(table, Bronze._fields))


def _checkpoints() -> Case:
    """A log that begins with a snapshot, and lacks a part."""
    case = Case("snapshots").checkpoint(-300, old="1", kept="1", reset="1").config(-200, "kept", "2")
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
    # A deleted topic takes its id, partitions and configs away; here it had an id and a config.
    wanted += [(case.name, who, "request" if who else "none") for case, who in deletions for _ in range(2)]
    assert sorted(now, key=repr) == sorted(wanted, key=repr)

    forwarded = [(row["source"], row["client_host"]) for row in events if row["cluster_id"] == "forwarded"]
    assert sorted(forwarded) == [("kraft_log", "10.0.0.7"), ("request_log", "10.0.0.7")]

    names = ("event_ts", "attr", "op", "value", "ts_uncertainty_ms", "source")
    told = [tuple(row[name] for name in names) for row in events if row["cluster_id"] == "snapshots"]
    rows = [(_time(e["at"]), e["attr"], e["op"], e["value"], e["sure"], e["source"]) for e in SNAPSHOTS]
    assert sorted(told, key=repr) == sorted(rows, key=repr)
