"""Golden tables: stored expected rows, which must not change. Functions read them, bring rows into a canonical form,
and compare them.

In `golden_rows/`, with times as microseconds since 1970:

- `world-NN.json.gz`: random histories: the incoming rows of bronze tables by step, the operator's files, and the rows
of gold (and of `change_event`) that a complete build makes from them.

- `known-changes.json.gz`: the same for one run of the changes of `known_changes` on two brokers, with a poll before
them and one after. Another run has other times, ids and ports.

- `known-changes.zip`: the metadata log and the request logs of that run (`KNOWN`), from which all rows but those of the
polls were read.

- `demo.json.gz`: gold of the demo with the recorded day's own times, in the form of `without_chance`.

- `metadata-log.json.gz`: counts, digests and some rows of gold for the log of 157,129 records that ``write_log(folder,
10 << 20, Day().batches())`` of `benchmarks.metadata_log` writes, in a lake with the key `KEY`.
"""

import gzip
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from console.lake.schema import TABLES

FOLDER = Path(__file__).parent / "golden_rows"
GOLD = ("change_event", "history", "drift", "quota_usage", "policy_violation")
SUGGESTED = ("suggested_value", "reason")
"""Columns that come from the table `quota_suggestion`. They are compared as part of the rows of `quota_usage` from
which they are computed.
"""
TOLERANCE = 1e-6
"""The greatest relative difference between two doubles that count as equal: a sum may be computed in any order."""
DIGITS = 6
KEY = b"golden-key-of-the-known-tables-1"
"""The lake's HMAC key with which the known changes and the metadata log were read."""
KNOWN = FOLDER / "known-changes.zip"
"""The zip archive with ``data/meta.properties``, ``data/__cluster_metadata-0/``, ``broker-1/request.log`` and
``broker-2/request.log``.
"""
KNOWN_ZONE = "America/New_York"
"""The time zone of the request logs of the known changes."""
METADATA_RECORDS = 157_129
_SHOWN = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
Row = Mapping[str, Any]
Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class World:
    """A stored history: the incoming rows, and the tables that follow from them."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the history in the ids of tests."""
        return self.path.name.partition(".")[0]

    @property
    def steps(self) -> list[dict[str, Rows]]:
        """For each step, bronze table -> the incoming rows."""
        return [self._rows(step) for step in self._content["steps"]]

    @property
    def files(self) -> dict[str, str]:
        """Name -> text of the operator's files, `baseline.yaml` and `policies.yaml`; empty if the history has none."""
        return dict(self._content["files"])

    @property
    def gold(self) -> dict[str, Rows]:
        """Name of a table of `GOLD` -> its expected rows."""
        return self._rows(self._content["gold"])

    @cached_property
    def _content(self) -> Any:
        return json.loads(gzip.decompress(self.path.read_bytes()))

    def _rows(self, tables: Mapping[str, list[list[Any]]]) -> dict[str, Rows]:
        columns = self._content["columns"]
        return {name: [dict(zip(columns[name], row, strict=True)) for row in rows] for name, rows in tables.items()}


def worlds() -> list[World]:
    """Return all stored random histories."""
    return [World(path) for path in sorted(FOLDER.glob("world-*.json.gz"))]


def known_changes() -> World:
    """Return the stored history of one run of the changes of the module `known_changes`."""
    return World(FOLDER / "known-changes.json.gz")


def demo_gold() -> dict[str, Rows]:
    """Return name of a table of `GOLD` -> its expected rows for the demo, in the form of `without_chance`."""
    return World(FOLDER / "demo.json.gz").gold


def metadata_log_gold() -> dict[str, Any]:
    """Return name of a table of `GOLD` -> its expected `summary` for the metadata log of `METADATA_RECORDS` records."""
    found: dict[str, Any] = json.loads(gzip.decompress((FOLDER / "metadata-log.json.gz").read_bytes()))
    return found


# -- comparison -------------------------------------------------------------------------------------------------------


def canonical(table: str, row: Row) -> dict[str, Any]:
    """Return column -> value of a row, in the order of the table's columns, with times as microseconds since 1970.
    Raises KeyError if the row lacks a column.
    """
    more = SUGGESTED if table == "quota_usage" else ()
    return {name: _plain(row[name]) for name in (*TABLES[table].names, *more)}


def digest(table: str, rows: Iterable[Row]) -> str:
    """Return the SHA-256 in hex of the rows, each as a line of JSON, sorted, with doubles rounded to six significant
    digits.
    """
    lines = sorted(_as_text(canonical(table, row)) for row in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


GROUPS = {
    "change_event": "entity_type",
    "history": "entity_type",
    "drift": "scope",
    "quota_usage": "quota_key",
    "policy_violation": "policy_id",
}
"""Table -> the column by which the digests of a large table are grouped, so that they show where the rows differ."""
_EACH = 400


def summary(table: str, rows: Iterable[Row]) -> dict[str, Any]:
    """Return the form in which a large table is stored: its `count`, the digest and the count of each group, and every
    400th row.
    """
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_group[row[GROUPS[table]]].append(row)
    every = sorted((canonical(table, row) for of in by_group.values() for row in of), key=_as_text)
    groups = {name: [len(of), digest(table, of)] for name, of in sorted(by_group.items())}
    return {"count": len(every), "groups": groups, "sample": every[::_EACH]}


def summary_differences(table: str, expected: Mapping[str, Any], found: Iterable[Row]) -> str:
    """Return the differences of the rows in `found` from a stored summary, as text; "" if there are none."""
    rows = list(found)
    now = summary(table, rows)
    names = sorted(expected["groups"].keys() | now["groups"].keys())
    was_and_is = [(name, expected["groups"].get(name), now["groups"].get(name)) for name in names]
    said = [f"{name}: {was} is now {then}" for name, was, then in was_and_is if was != then]
    if not said:
        return ""
    there = {_as_text(canonical(table, row)) for row in rows}
    lost = [text for text in map(_as_text, expected["sample"]) if text not in there]
    title = f"{table}: {expected['count']} rows were there, now {now['count']}; by {GROUPS[table]}"
    return "\n".join((_said(title, said), _said(f"{len(lost)} of the sampled rows missing", lost)))


_PORT = re.compile(r"127\.0\.0\.1:\d+")


def without_chance(table: str, rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the demo's rows without the values that differ between runs: ports, topic ids, and the digests of these
    and of hidden values.
    """
    made = []
    for row in rows:
        plain = canonical(table, row)
        for name in {"value", "old_value", "new_value", "actual"} & plain.keys():
            text = plain[name]
            if text is not None:
                of_id = plain["attr"] == ":topic_id"
                plain[name] = "an id" if of_id else _PORT.sub("127.0.0.1:PORT", text)
        if "value_sha256" in plain:
            value, by_chance = row["value"], plain["value"] != row["value"]
            known = value is not None and hashlib.sha256(value.encode()).hexdigest() == plain["value_sha256"]
            plain["value_sha256"] = plain["value_sha256"] if known and not by_chance else None
        made.append(plain)
    return made


def differences(table: str, expected: Iterable[Row], found: Iterable[Row]) -> str:
    """Return the first differences between two lists of rows, in any order, as text; "" if there are none. Doubles may
    differ by `TOLERANCE`.
    """
    wanted, there = (_by_exact(table, rows) for rows in (expected, found))
    missing, more, other = list[str](), list[str](), list[str]()
    for exact in sorted(wanted.keys() | there.keys()):
        mine, its = wanted.get(exact, []), there.get(exact, [])
        missing += [exact] * (len(mine) - len(its))
        more += [exact] * (len(its) - len(mine))
        pairs = zip(mine, its, strict=False)
        other += [f"{exact}: {one} is now {then}" for one, then in pairs if not _are_near(one, then)]
    kinds = (("missing", missing), ("not expected", more), ("with other doubles", other))
    said = [_said(f"{table}: {len(rows)} rows {kind}", rows) for kind, rows in kinds if rows]
    return "\n".join(said)


def _said(title: str, rows: list[str]) -> str:
    return "\n  ".join((title, *rows[:_SHOWN], *(["…"] if len(rows) > _SHOWN else [])))


def _by_exact(table: str, rows: Iterable[Row]) -> dict[str, list[list[float | None]]]:
    """Group the rows by their values without doubles. Return these values as JSON -> the doubles of all rows that have
    them, sorted.
    """
    doubles = [column.name for column in TABLES[table].columns if column.type == "double"]
    doubles += SUGGESTED[:1] if table == "quota_usage" else ()
    found: dict[str, list[list[float | None]]] = defaultdict(list)
    for row in rows:
        values = canonical(table, row)
        of_row = [values.pop(name) for name in doubles]
        found[json.dumps(values, ensure_ascii=False)].append(of_row)
    for each in found.values():
        each.sort(key=lambda of_row: [(value is not None, value or 0.0) for value in of_row])
    return found


def _are_near(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return all(
        a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=TOLERANCE))
        for a, b in zip(one, other, strict=True)
    )


def _as_text(row: Row) -> str:
    return json.dumps({name: _rounded(value) for name, value in row.items()}, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime) else value


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
