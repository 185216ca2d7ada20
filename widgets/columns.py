"""What columns a table has, and which of them fit where. Pure decisions, no drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from widgets.cells import Align

GAP = 2
"""Blank cells between two columns."""
MORE_SIGN = 2
"""Cells kept free at the right edge for the sign that there are more columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    `width` is in cells; None measures a sample of the rows. A column with `flex` takes a share of what is left over.
    Where not everything fits, columns go in order of rising `priority`; the first column, and `gutter` columns
    (state letters, with no gap behind them), always stay. `sort_key` is the key that asks to sort by this column.
    """

    id: str
    label: str = ""
    width: int | None = None
    min_width: int = 3
    max_width: int | None = None
    flex: int = 0
    align: Align = "left"
    priority: int = 50
    sort_key: str | None = None
    gutter: bool = False

    @property
    def is_most_first(self) -> bool:
        """Whether its own order is the largest first: that of numbers."""
        return self.align == "right"


class Placed(NamedTuple):
    """Where a column is drawn: its index among all columns, its width, and the blank cells before it."""

    column: int
    width: int
    gap: int


class Layout(NamedTuple):
    """The columns drawn, in order, and whether columns are missing on either side."""

    placed: tuple[Placed, ...]
    more_left: bool
    more_right: bool


def lay_out(columns: Sequence[Column], natural: Sequence[int], width: int, pan: int = 0) -> Layout:
    """Choose and size the columns for `width` cells.

    `natural` gives each column's measured width. `pan` skips that many of the columns that may move (all but gutters
    and the first one) and then shows what follows in order, so that columns dropped at rest can be reached.
    """
    always = _frozen(columns)
    moving = [index for index in range(len(columns)) if index not in always]
    pan = max(0, min(pan, len(moving) - 1)) if moving else 0
    wanted = sorted(always | set(moving[pan:]))
    shown = _fitting(columns, natural, wanted, always, width, in_order=pan > 0)
    if len(shown) < len(wanted):
        width -= MORE_SIGN
        shown = _fitting(columns, natural, wanted, always, width, in_order=pan > 0)
    return Layout(_place(columns, natural, shown, width), more_left=pan > 0, more_right=len(shown) < len(wanted))


def _fitting(
    columns: Sequence[Column],
    natural: Sequence[int],
    wanted: Sequence[int],
    always: set[int],
    width: int,
    *,
    in_order: bool,
) -> list[int]:
    """Return the columns of `wanted` that fit: with `in_order` the first ones, or else the most important ones."""
    shown = list(wanted)
    while len(shown) > len(always) and _needed(columns, natural, shown) > width:
        movable = [index for index in shown if index not in always]
        shown.remove(movable[-1] if in_order else min(movable, key=lambda index: (columns[index].priority, -index)))
    return shown


def _frozen(columns: Sequence[Column]) -> set[int]:
    frozen = {index for index, column in enumerate(columns) if column.gutter}
    first = next((index for index, column in enumerate(columns) if not column.gutter), None)
    return frozen if first is None else frozen | {first}


def _least(column: Column, natural: int) -> int:
    if column.width is not None:
        return column.width
    return max(1, min(column.min_width, natural) if not column.flex else column.min_width)


def _gaps(columns: Sequence[Column], shown: Sequence[int]) -> list[int]:
    """No gap before the first column nor between a gutter and what it belongs to."""
    return [0 if position == 0 or columns[shown[position - 1]].gutter else GAP for position in range(len(shown))]


def _needed(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int]) -> int:
    return sum(_least(columns[index], natural[index]) for index in shown) + sum(_gaps(columns, shown))


def _place(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int], width: int) -> tuple[Placed, ...]:
    gaps = _gaps(columns, shown)
    widths = {index: _least(columns[index], natural[index]) for index in shown}
    spare = width - sum(widths.values()) - sum(gaps)
    for index in sorted(shown, key=lambda i: -columns[i].priority):
        column = columns[index]
        if spare <= 0 or column.width is not None:
            continue
        wanted = natural[index] if column.max_width is None else min(natural[index], column.max_width)
        more = max(0, min(spare, wanted - widths[index]))
        widths[index] += more
        spare -= more
    flexible = [index for index in shown if columns[index].flex]
    while spare > 0 and flexible:
        total = sum(columns[index].flex for index in flexible)
        given = 0
        for index in list(flexible):
            column = columns[index]
            share = min(spare - given, max(1, spare * column.flex // total))
            if column.max_width is not None:
                share = min(share, column.max_width - widths[index])
                if share <= 0:
                    flexible.remove(index)
                    continue
            widths[index] += share
            given += share
        if not given:
            break
        spare -= given
    return tuple(Placed(index, widths[index], gap) for index, gap in zip(shown, gaps, strict=True))
