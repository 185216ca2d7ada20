"""Results as text for a terminal or a file, aligned and harmless; the printer that writes text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct, field

from console.answers.results import Column, Detail, Result, Row, Table, to_data
from console.model.numbers import Data, json_text
from console.present.text import clean
from console.terminal import stdout
from widgets.cells import cell_width

if TYPE_CHECKING:
    from console.model.snapshot import ReadFailure


CELL_LIMIT = 200
"""Characters of a cell: one long value must not push the other columns away. JSON output has it whole."""
_GAP = "  "


def render(result: Result) -> str:
    """The result as lines, ending in a newline; never cut to a width."""
    return "".join(f"{line.rstrip()}\n" for line in _result(result))


def _result(result: Result) -> Iterator[str]:
    yield from _table(result) if isinstance(result, Table) else _detail(result)
    for problem in result.problems:
        yield f"! {problem_text(problem)}"


def problem_text(problem: ReadFailure) -> str:
    """What could not be read, why, and what to do, in a line."""
    from console.present.failures import failure_text

    what = " ".join(word for word in (problem.part.replace("_", " "), clean(problem.entity, CELL_LIMIT)) if word)
    return f"{what}: {failure_text(problem.failure)}"


def _detail(detail: Detail) -> Iterator[str]:
    yield clean(detail.title)
    for line in detail.lines:
        yield _GAP + clean(line, 6_000)
    for part in (detail.parts or {}).values():
        if isinstance(part, Table):
            yield ""
            yield from _table(part)
        else:
            for item in part:
                yield ""
                yield from _detail(item)


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield clean(table.title)
    if table.rows:
        yield from _columns(table.columns, table.rows)
    else:
        yield f"{_GAP if table.title else ''}{table.empty}"
    for note in table.notes:
        yield clean(note)


def _columns(columns: tuple[Column, ...], rows: tuple[Row, ...]) -> Iterator[str]:
    texts = [[clean(cell, CELL_LIMIT) for cell in row.cells] for row in rows]
    widths = [
        max(cell_width(column.title), *(cell_width(text[number]) for text in texts))
        for number, column in enumerate(columns)
    ]
    # A column without a title is there for letters, and only where a row has one.
    shown = [number for number, column in enumerate(columns) if column.title or widths[number]]
    for cells in [[column.title for column in columns], *texts]:
        yield _GAP.join(_cell(cells[number], widths[number], columns[number].right) for number in shown)


def _cell(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_width(text))
    return space + text if right else text + space


# Results of a command on standard output, as text or as a line of JSON each.


class Printer(Struct):
    """Prints results. output: ``text`` or ``json``."""

    output: str = "text"
    out: TextIO = field(default_factory=stdout)

    def __call__(self, result: Result) -> None:
        """Print one."""
        if self.output == "json":
            self._json(to_data(result))
        else:
            self.out.write(render(result))
            self.out.flush()

    def note(self, text: str, data: Mapping[str, Data]) -> None:
        """Print a line that is no table, or what it says as data."""
        if self.output == "json":
            self._json(data)
        else:
            self.out.write(f"{text}\n")
            self.out.flush()

    def _json(self, data: Mapping[str, Data]) -> None:

        self.out.write(json_text(data) + "\n")
        self.out.flush()
