"""Differences as tables."""

from __future__ import annotations

from collections.abc import Sequence

from console.answers.results import Column, Row, Table
from console.files.comparing import BrokerRow, Difference
from console.files.wanted import HIDDEN, Value
from console.model.config import ConfigEntry, ConfigSet
from console.present import names

NONE = "–"
ALIKE = "they are alike"
ODD = "!"


def difference_table(found: Sequence[Difference], left: str, right: str) -> Table:
    """A row for each key that is not alike. left, right: what the sides are called."""
    rows = tuple(
        Row(
            (names.target(each.entity), each.key, _shown(each.left), _shown(each.right)),
            {
                "entity": names.target(each.entity),
                "key": each.key,
                "left": _data(each.left),
                "right": _data(each.right),
            },
        )
        for each in found
    )
    columns = (Column("Entity"), Column("Key"), Column(left), Column(right))
    return Table("differences", columns, rows, empty=ALIKE)


def entity_table(left: ConfigSet, right: ConfigSet, left_name: str, right_name: str) -> Table:
    """The keys in which two entities differ, by what counts for each, with where it comes from."""
    rows = []
    for key in sorted({entry.name for entries in (left, right) for entry in entries}):
        mine, theirs = left.get(key), right.get(key)
        if _effective(mine) != _effective(theirs):
            cells = (key, _with_source(mine), _with_source(theirs))
            rows.append(Row(cells, {"key": key, "left": _entry_data(mine), "right": _entry_data(theirs)}))
    return Table("differences", (Column("Key"), Column(left_name), Column(right_name)), tuple(rows), empty=ALIKE)


def broker_table(rows: Sequence[BrokerRow], brokers: Sequence[int]) -> Table:
    """Key × broker, the odd ones out marked."""
    table = []
    for row in rows:
        cells = tuple(f"{ODD} {_shown(row.values[b])}" if b in row.odd else _shown(row.values[b]) for b in brokers)
        data = {str(broker): _data(row.values[broker]) for broker in brokers}
        table.append(Row((row.key, *cells), {"key": row.key, "values": data, "odd": sorted(row.odd)}))
    columns = (Column("Key"), *(Column(f"broker {broker}") for broker in brokers))
    notes = (f"{ODD} has another value than most",) if any(row.odd for row in rows) else ()
    return Table("differences", columns, tuple(table), empty=ALIKE, notes=notes)


def _shown(value: Value | None) -> str:
    return NONE if value is None else names.HIDDEN if value is HIDDEN else str(value) or '""'


def _data(value: Value | None) -> str | None:
    return None if value is None else "hidden" if value is HIDDEN else str(value)


def _effective(entry: ConfigEntry | None) -> tuple[str | None, bool] | None:
    return None if entry is None else (entry.value, entry.sensitive)


def _with_source(entry: ConfigEntry | None) -> str:
    if entry is None:
        return NONE
    return f"{_shown(HIDDEN if entry.hidden else entry.value)} ({names.source(entry.source)})"


def _entry_data(entry: ConfigEntry | None) -> dict[str, str | None] | None:
    return None if entry is None else {"value": entry.value, "source": entry.source.name}
