"""What a query answers: text to be laid out, and beside it the plain data of JSON output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from console.model.numbers import Data
    from console.model.snapshot import ReadFailure
    from console.present.columns import Columns


class Column(NamedTuple):
    """A column of a table. right: numbers, set to the right."""

    title: str
    right: bool = False


class Row(NamedTuple):
    """A row twice: as cells of text (untrusted, not cleaned yet) and as the object that JSON output shows."""

    cells: tuple[str, ...]
    data: Mapping[str, Data]


class Table(Struct, frozen=True):
    """Rows under columns. name: the key in JSON; empty: the text without rows; notes: lines below the rows;
    problems: what could not be read."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    empty: str = "none"
    notes: tuple[str, ...] = ()
    problems: tuple[ReadFailure, ...] = ()


class Detail(Struct, frozen=True):
    """One entity or one key: a title, lines of text, then tables and details of its own.

    data: its own JSON fields. parts: by their names in JSON; a tuple of details is a list there.
    """

    title: str
    data: Mapping[str, Data]
    lines: tuple[str, ...] = ()
    parts: Mapping[str, Table | tuple[Detail, ...]] | None = None
    problems: tuple[ReadFailure, ...] = ()


Result = Table | Detail
R = TypeVar("R")


def titles(columns: Columns[R]) -> tuple[Column, ...]:
    """The headings of a noun's columns in the text of `list`."""
    return tuple(Column(column.title, column.type == "number") for column in columns.of("list"))


def table_of(name: str, columns: Columns[R], rows: Iterable[R], title: str = "", empty: str = "none") -> Table:
    """Rows of a noun under its columns."""
    made = tuple(Row(columns.texts(row), columns.data(row)) for row in rows)
    return Table(name, titles(columns), made, title, empty)


def to_data(result: Result) -> dict[str, Data]:
    """The JSON object of a result, with ``errors`` for what could not be read."""
    body = _detail_data(result) if isinstance(result, Detail) else {result.name: _rows(result)}
    return {**body, "errors": [_problem(problem) for problem in result.problems]}


def _detail_data(detail: Detail) -> dict[str, Data]:
    data: dict[str, Data] = dict(detail.data)
    for name, part in (detail.parts or {}).items():
        data[name] = _rows(part) if isinstance(part, Table) else [_detail_data(item) for item in part]
    return data


def _rows(table: Table) -> list[Data]:
    return [row.data for row in table.rows]


def _problem(problem: ReadFailure) -> dict[str, Data]:
    failure = problem.failure
    return {
        "part": problem.part,
        "entity": problem.entity,
        "error": failure.name,
        "message": failure.message,
        "remedy": failure.remedy,
    }


def rows_of(result: Result) -> list[Mapping[str, Data]]:
    """A table's rows; of a detail those of its first table, or else its own fields."""
    if isinstance(result, Table):
        return [row.data for row in result.rows]
    return _detail_rows(result)


def _detail_rows(detail: Detail) -> list[Mapping[str, Data]]:
    for part in (detail.parts or {}).values():
        rows = rows_of(part) if isinstance(part, Table) else [row for item in part for row in _detail_rows(item)]
        if rows:
            return rows
    return [detail.data]
