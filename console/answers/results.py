"""Results of queries: tables and details, with plain data for JSON output and aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from console.answers.table_text import Column as Column
from console.answers.table_text import table_lines
from console.model.numbers import Data, json_text
from console.present.text import clean
from console.terminal import folded, stdout, width_of

if TYPE_CHECKING:
    from console.model.snapshot import ReadFailure
    from console.present.columns import Columns


class Row(NamedTuple):
    """A row in two forms: cells of text (untrusted, not cleaned yet), and an object for JSON output.

    A row without cells appears in JSON output only; the notes of its table have its text.
    """

    cells: tuple[str, ...]
    data: Mapping[str, Data]


class Table(Struct, frozen=True):
    """A result that consists of rows under columns."""

    name: str
    """The key of the table in JSON."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    empty: str = "none"
    """The text that is shown if there are no rows."""
    notes: tuple[str, ...] = ()
    """Lines that are shown below the rows."""
    problems: tuple[ReadFailure, ...] = ()
    """The failures of reads for this table."""


class Detail(Struct, frozen=True):
    """A result about one entity or one key: a title, lines of text, and nested tables and details."""

    title: str
    data: Mapping[str, Data]
    """The JSON fields of the detail itself, without those of `parts`."""
    lines: tuple[str, ...] = ()
    parts: Mapping[str, Table | tuple[Detail, ...]] | None = None
    """The nested tables and details, by their keys in JSON; a tuple of details becomes a list."""
    problems: tuple[ReadFailure, ...] = ()


Result = Table | Detail
R = TypeVar("R")


def titles(columns: Columns[R]) -> tuple[Column, ...]:
    """Return the columns that the text of `list` shows for a noun, with their headings."""
    return tuple(Column(column.heading, column.type == "number" and not column.left) for column in columns.of("list"))


NOT_READ = "not read"
"""The text in place of rows that could not be read, so that the table does not look as if there were none."""


def row_of(columns: Columns[R], row: R) -> Row:
    """Return one row of a noun, as cells of text and as a JSON object."""
    return Row(columns.texts(row), columns.data(row))


def table_of(
    name: str,
    columns: Columns[R],
    rows: Iterable[R],
    title: str = "",
    empty: str = "none",
    problems: tuple[ReadFailure, ...] = (),
) -> Table:
    """Return rows of a noun as a table. problems: the failures of reads for it."""
    made = tuple(row_of(columns, row) for row in rows)
    return Table(name, titles(columns), made, title, empty, problems=problems)


def with_parts(result: Result, names: Collection[str]) -> Result:
    """Return a detail with only the named parts. A table is returned unchanged."""
    if isinstance(result, Table):
        return result
    return replace(result, parts={name: part for name, part in (result.parts or {}).items() if name in names})


def to_data(result: Result) -> dict[str, Data]:
    """Return the JSON object of a result; if reads failed, it has a member ``errors``."""
    body = _detail_data(result) if isinstance(result, Detail) else {result.name: _rows(result)}
    return {**body, "errors": [problem_data(problem) for problem in result.problems]}


def _detail_data(detail: Detail) -> dict[str, Data]:
    data: dict[str, Data] = dict(detail.data)
    for name, part in (detail.parts or {}).items():
        data[name] = _rows(part) if isinstance(part, Table) else [_detail_data(item) for item in part]
    return data


def _rows(table: Table) -> list[Data]:
    return [row.data for row in table.rows]


def problem_data(problem: ReadFailure) -> dict[str, Data]:
    """Return the failure of a read as a JSON object."""
    failure = problem.failure
    return {
        "part": problem.part,
        "entity": problem.entity,
        "error": failure.name,
        "message": failure.message,
        "remedy": failure.remedy,
    }


def rows_of(result: Result) -> list[Mapping[str, Data]]:
    """Return the JSON objects of a table's rows; for a detail the rows of its first table, or if it has none its own
    fields as one row.
    """
    if isinstance(result, Table):
        return [row.data for row in result.rows]
    return _detail_rows(result)


def _detail_rows(detail: Detail) -> list[Mapping[str, Data]]:
    for part in (detail.parts or {}).values():
        rows = rows_of(part) if isinstance(part, Table) else [row for item in part for row in _detail_rows(item)]
        if rows:
            return rows
    return [detail.data]


# Results as aligned text for a terminal or a file, and the printer that writes them as text or JSON.

CELL_LIMIT = 200
"""Maximum characters of a cell of text, so that one long value does not displace other columns. JSON output has the
complete value.
"""
_GAP = "  "


def render(result: Result, width: int | None = None) -> str:
    """Return the result as lines of text, ending with a line feed. width: the width of the terminal in cells, to which
    columns are fitted without cutting any text; None for no limit.
    """
    return "".join(f"{line.rstrip()}\n" for line in _result(result, width))


def _result(result: Result, width: int | None) -> Iterator[str]:
    yield from _table(result, width) if isinstance(result, Table) else _detail(result, width)
    for problem in result.problems:
        yield from folded(f"! {problem_text(problem)}", width)


def problem_text(problem: ReadFailure) -> str:
    """Return the failure of a read as one line: the part, the reason, and the remedy."""
    from console.present.failures import failure_text

    what = replace(problem, part=problem.part.replace("_", " ")).what
    return f"{clean(what, CELL_LIMIT)}: {failure_text(problem.failure)}"


def _detail(detail: Detail, width: int | None) -> Iterator[str]:
    yield from folded(clean(detail.title), width)
    for line in detail.lines:
        yield from folded(_GAP + clean(line, 6_000), width)
    for part in (detail.parts or {}).values():
        if isinstance(part, Table):
            yield ""
            yield from _table(part, width)
        else:
            for item in part:
                yield ""
                yield from _detail(item, width)


def _table(table: Table, width: int | None) -> Iterator[str]:
    if table.title:
        yield from folded(clean(table.title), width)
    texts = [[clean(each, CELL_LIMIT) for each in row.cells] for row in table.rows if row.cells]
    if texts:
        yield from table_lines(table.columns, texts, width)
    elif not table.rows and not table.problems:  # after a failed read, it is unknown whether the table is empty
        yield from folded(f"{_GAP if table.title else ''}{table.empty}", width)
    for note in table.notes:
        yield from folded(clean(note), width)


# The results of a command on standard output, as text or as one line of JSON for each.


class Printer(Struct):
    """Writes results and notes in one form of output."""

    output: str = "text"
    """The form of the output: ``text`` or ``json``."""
    out: TextIO = field(default_factory=stdout)
    seen_on: TextIO | None = None
    """The stream to the terminal on which the output is shown in the end, for its width; None if that is `out`
    itself.
    """

    def __call__(self, result: Result) -> None:
        """Write a result."""
        if self.output == "json":
            self._json(to_data(result))
        else:
            self.out.write(render(result, width_of(self.seen_on or self.out)))
            self.out.flush()

    def note(self, text: str, data: Mapping[str, Data]) -> None:
        """Write a line that belongs to no table; in JSON output write `data` instead."""
        if self.output == "json":
            self._json(data)
        else:
            self.out.write(f"{text}\n")  # not folded, as the text may be commands to copy
            self.out.flush()

    def _json(self, data: Mapping[str, Data]) -> None:

        self.out.write(json_text(data) + "\n")
        self.out.flush()
