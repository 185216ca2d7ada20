"""A table as lines of text, with columns as wide as their cells or fitted to a terminal. Pure.

If the cells do not fit, titles and sentences are wrapped inside their columns. A name or a value without a blank is
never broken: it stays on one line, and the next cells of its row begin in their columns one line below.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import cell_width, wrapped

GAP = 2
LEAST = 6
"""Minimum width of a column of texts, in cells."""
BROKEN = 3
"""The cost of continuing a row on the next line, as a multiple of the cost of wrapping a cell."""
UNDER = 4
"""The indentation in cells of a value that has a line of its own."""


class Column(NamedTuple):
    """A column of a table of text: its title and alignment."""

    title: str
    right: bool = False
    """Whether the column is aligned to the right, as for numbers."""


def table_lines(headings: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return the lines of a table, the titles first, without trailing blanks.

    A column without a title contains marks, of a single letter each; the column is left out if no row has a mark.

    Args:
        rows: texts without control characters.
        width: the width of the terminal, in cells; None for no limit.
    """
    shown = [n for n, each in enumerate(headings) if each.title or any(row[n] for row in rows)]
    columns = [headings[n] for n in shown]
    cells = [[row[n] for n in shown] for row in rows]
    widths, gap = _widths(columns, cells, width)
    lines = _row([each.title for each in columns], columns, widths, gap, width, folds=True)
    for row in cells:
        lines += _row(row, columns, widths, gap, width, folds=False)
    return lines


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> tuple[list[int], int]:
    """Return the width of each column in cells, and the number of blanks between columns."""
    measured = [sorted(cell_width(row[n]) for row in rows) for n in range(len(columns))]
    unbroken = [sorted(max(map(cell_width, row[n].split()), default=0) for row in rows) for n in range(len(columns))]
    titles = [cell_width(each.title) for each in columns]
    widths = [max(title, cells[-1] if cells else 0) for title, cells in zip(titles, measured, strict=True)]
    room = None if width is None else width - GAP * (len(columns) - 1)
    if room is None or sum(widths) <= room:
        return widths, GAP
    # First fold titles, which costs one line; then reduce the space between columns to one blank.
    words = [max(map(cell_width, _title_words(each.title)), default=0) for each in columns]
    least = [max(word, cells[-1] if cells else 0) for word, cells in zip(words, measured, strict=True)]
    for number, wide in enumerate(least):
        widths[number] = max(wide, widths[number] - max(0, sum(widths) - room))
    if sum(widths) <= room:
        return widths, GAP
    # As a last step, make columns of texts narrower, always the one that breaks the fewest rows for the cells that are
    # gained.
    room += (GAP - 1) * (len(columns) - 1)
    while sum(widths) > room:
        gains = [
            (_cost(measured[n], unbroken[n], widths[n], narrower), n, narrower)
            for n, each in enumerate(columns)
            if not each.right
            for narrower in _narrower(measured[n], unbroken[n], widths[n], max(LEAST, words[n]))
        ]
        if not gains:
            break
        _, best, narrower = min(gains)
        widths[best] = max(narrower, widths[best] - (sum(widths) - room))
    return widths, 1


def _title_words(title: str) -> list[str]:
    return title.replace("-", "- ").split()


def _narrower(measured: Sequence[int], unbroken: Sequence[int], width: int, least: int) -> set[int]:
    """Return the next smaller widths to try for a column: the greatest width of a cell below the present width, the
    greatest width of a longest word below it, and the minimum. Widths between these wrap or break no further cell.
    Empty if the column has the minimum width.

    Args:
        measured: the width of each cell.
        unbroken: the width of the longest word of each cell.
        width: the present width of the column.
        least: the minimum width of the column; it replaces any smaller result.
    """
    below = {each[place - 1] for each in (measured, unbroken) if (place := bisect_right(each, width - 1))}
    return {narrower for each in (*below, least) if (narrower := max(least, each)) < width}


def _cost(measured: Sequence[int], unbroken: Sequence[int], width: int, narrower: int) -> float:
    """Return the cost of making a column narrower, per cell of width gained. A wrapped cell costs less than a row that
    is continued on the next line.
    """
    folded, broken = (len(each) - bisect_right(each, narrower) for each in (measured, unbroken))
    return (folded + BROKEN * broken) / (width - narrower)


def _row(
    cells: Sequence[str],
    columns: Sequence[Column],
    widths: Sequence[int],
    gap: int,
    width: int | None,
    *,
    folds: bool,
) -> list[str]:
    """Return a row as one or more lines.

    Args:
        folds: whether the cells are titles, which may also be broken after a hyphen.
    """
    lines: list[str] = []
    at = start = 0

    def put(line: int, left: int, text: str) -> None:
        while len(lines) <= line:
            lines.append("")
        lines[line] += " " * (left - cell_width(lines[line])) + text

    for text, column, wide in zip(cells, columns, widths, strict=True):
        taken = cell_width(text)
        if taken <= wide:
            put(at, start + (wide - taken if column.right else 0), text)
        elif folds or (" " in text and max(map(cell_width, text.split())) <= wide):
            words = " ".join(_title_words(text)) if folds else text
            for number, part in enumerate(_folded(words, wide)):
                put(at + number, start + (wide - cell_width(part) if column.right else 0), part)
        elif width is None or start + taken <= width:
            put(at, start, text)
            at += 1
        else:
            at, left = len(lines), min(start, UNDER)
            room = width - left
            breaks = max(map(cell_width, text.split(" "))) <= room
            for part in _folded(text, room) if breaks else [text]:
                put(at, left, part)
                at += 1
        start += wide + gap
    return [line.rstrip() for line in lines] or [""]


def _folded(text: str, width: int) -> list[str]:
    return ["".join(part for part, _ in piece).rstrip() for piece in wrapped([(text, "")], width, width)]
