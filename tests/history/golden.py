"""Tables that were made once and have to stay as they are: read, canonicalised and compared.

`golden/world-NN.json.gz` are random histories: the rows of bronze tables as they came in, step by step, the operator's
files, and the rows of gold (and of `change_event`) that a build of everything makes of them. Times are microseconds since 1970.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from console.history.schema import TABLES

FOLDER = Path(__file__).parent / "golden"
GOLD = ("change_event", "history", "drift", "quota_usage", "policy_violation")
TOLERANCE = 1e-6
"""How far doubles may be apart, relatively: the order of a sum is free."""
DIGITS = 6
_SHOWN = 5
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
Row = Mapping[str, Any]
Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class World:
    """A history as it came in, and what is made of it."""

    path: Path

    @property
    def name(self) -> str:
        """For ids of tests."""
        return self.path.name.partition(".")[0]

    @property
    def steps(self) -> list[dict[str, Rows]]:
        """What came in, in turn: rows by bronze table."""
        return [self._rows(step) for step in self._content["steps"]]

    @property
    def files(self) -> dict[str, str]:
        """The texts of the operator's files, `baseline.yaml` and `policies.yaml`, where there are any."""
        return dict(self._content["files"])

    @property
    def gold(self) -> dict[str, Rows]:
        """The rows of each table of `GOLD`."""
        return self._rows(self._content["gold"])

    @cached_property
    def _content(self) -> Any:
        return json.loads(gzip.decompress(self.path.read_bytes()))

    def _rows(self, tables: Mapping[str, list[list[Any]]]) -> dict[str, Rows]:
        columns = self._content["columns"]
        return {name: [dict(zip(columns[name], row, strict=True)) for row in rows] for name, rows in tables.items()}


def worlds() -> list[World]:
    """All random histories."""
    return [World(path) for path in sorted(FOLDER.glob("world-*.json.gz"))]


# -- comparing --------------------------------------------------------------------------------------------------------


def canonical(table: str, row: Row) -> dict[str, Any]:
    """The table's columns in order; times as microseconds since 1970. Raises KeyError for a column that
    the row lacks."""
    more = ("suggested_value", "reason") if table == "quota_usage" else ()  # from `quota_suggestion`
    return {name: _plain(row[name]) for name in (*TABLES[table].names, *more)}


def digest(table: str, rows: Iterable[Row]) -> str:
    """SHA-256 in hex of the rows as sorted lines of JSON; doubles with six significant digits."""
    lines = sorted(
        json.dumps({name: _rounded(value) for name, value in canonical(table, row).items()}, ensure_ascii=False)
        for row in rows
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def differences(table: str, expected: Iterable[Row], found: Iterable[Row]) -> str:
    """What differs between two lists of rows in any order, the first of it in words; empty text if nothing does.
    Doubles may differ by `TOLERANCE`, all else by nothing."""
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
    """The doubles of rows that are the same otherwise, by what is the same, in order."""
    doubles = [column.name for column in TABLES[table].columns if column.type == "double"]
    doubles += ["suggested_value"] if table == "quota_usage" else []
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


def _plain(value: Any) -> Any:
    return (value - _EPOCH) // _MICROSECOND if isinstance(value, datetime) else value


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
