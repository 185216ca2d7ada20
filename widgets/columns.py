"""Columns of a table: which of them fit into a width, their widths, and the lines drawn in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message

from widgets import cells as widgets_cells
from widgets.line_view import LineView
from widgets.row_source import Cell, Column, Span, as_spans, natural_width

GAP = 2
"""Blank cells between two columns."""
MORE_SIGN = 2
"""Number of cells reserved at the right edge for the sign that some columns are not shown."""


MOST_BLANK = 24
"""Maximum number of blank cells after the longest text of a flexible column: with a wider gap, a line is hard to
follow."""
FOLDED_FROM = 8
"""Minimum width in cells of a column whose texts are folded; in a narrower column texts are cut."""
MOST_LINES = 4
"""Maximum number of screen lines that one row takes if its texts are folded."""


class Placed(NamedTuple):
    """A drawn column: its index among all columns, its width in cells, and the number of blank cells before it."""

    column: int
    width: int
    gap: int


class Layout(NamedTuple):
    """The drawn columns, in order, and whether columns to their left or right are not drawn."""

    placed: tuple[Placed, ...]
    more_left: bool
    more_right: bool


def lay_out(
    columns: Sequence[Column],
    natural: Sequence[int],
    width: int,
    pan: int = 0,
    usual: Sequence[int] | None = None,
) -> Layout:
    """Choose the columns that fit into a width, and their widths.

    Args:
        natural: for each column the width in cells of its widest measured text.
        width: the width of the table in cells.
        pan: the number of columns to skip, so that later ones fit. Gutters, and the first column that is not a gutter,
            are never skipped or counted.
        usual: for each column the width in cells that is enough for most of its texts. Space is given to columns up to
            their usual width first, and up to their natural width only if some is left. None to use `natural`.
    """
    always = _frozen(columns)
    moving = [index for index in range(len(columns)) if index not in always]
    pan = max(0, min(pan, len(moving) - 1)) if moving else 0
    wanted = sorted(always | set(moving[pan:]))
    shown = _fitting(columns, natural, wanted, always, width, in_order=pan > 0)
    if len(shown) < len(wanted):
        width -= MORE_SIGN
        shown = _fitting(columns, natural, wanted, always, width, in_order=pan > 0)
    placed = _place(columns, natural, usual or natural, shown, width)
    return Layout(placed, more_left=pan > 0, more_right=len(shown) < len(wanted))


def _fitting(
    columns: Sequence[Column],
    natural: Sequence[int],
    wanted: Sequence[int],
    always: set[int],
    width: int,
    *,
    in_order: bool,
) -> list[int]:
    """Return the indexes in `wanted` of the columns that fit into `width` cells: the first ones if `in_order`, else
    those of the highest priority. The columns in `always` are returned even if they do not fit.
    """
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
    """Return the number of blank cells before each shown column: 0 before the first column and after a gutter, else
    GAP.
    """
    return [0 if position == 0 or columns[shown[position - 1]].gutter else GAP for position in range(len(shown))]


def _needed(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int]) -> int:
    return sum(_least(columns[index], natural[index]) for index in shown) + sum(_gaps(columns, shown))


def _place(
    columns: Sequence[Column], natural: Sequence[int], usual: Sequence[int], shown: Sequence[int], width: int
) -> tuple[Placed, ...]:
    gaps = _gaps(columns, shown)
    widths = {index: _least(columns[index], natural[index]) for index in shown}
    spare = width - sum(widths.values()) - sum(gaps)
    by_priority = sorted(shown, key=lambda i: -columns[i].priority)
    for index, wanted in [*((i, usual[i]) for i in by_priority), *((i, natural[i]) for i in by_priority)]:
        column = columns[index]
        if spare <= 0 or column.width is not None:
            continue
        wanted = wanted if column.max_width is None else min(wanted, column.max_width)
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
            most = natural[index] + MOST_BLANK
            most = most if column.max_width is None else min(most, column.max_width)
            share = min(share, most - widths[index])
            if share <= 0:
                flexible.remove(index)
                continue
            widths[index] += share
            given += share
        if not given:
            break
        spare -= given
    return tuple(Placed(index, widths[index], gap) for index, gap in zip(shown, gaps, strict=True))


SAMPLE = 200
"""Number of lines that are measured to find the width of a column."""


class ColumnView(LineView):
    """The base class of table and tree: draws lines as cells in columns. A subclass provides the cells of a line."""

    HEADER_LINES = 1
    folds = True
    """Whether texts that are wider than their column continue on further screen lines, while screen lines below the
    last line are free. False for drawings, in which each line is one screen line.
    """

    class SortRequested(Message):
        """The user pressed a column's sort key, or clicked on its label."""

        def __init__(self, view: ColumnView, column: str) -> None:
            self.view = view
            self.column = column
            super().__init__()

        @property
        def control(self) -> ColumnView:
            """The view that sent this."""
            return self.view

    def __init__(self, columns: Sequence[Column], *, empty: str = "", markable: bool = True) -> None:
        """Create a view with these columns."""
        super().__init__(empty=empty, markable=markable)
        self._columns: tuple[Column, ...] = ()
        self._sort: tuple[str, bool] | None = None
        self._put_columns(columns)

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return a line's cells, one for each column. Subclasses implement it."""
        raise NotImplementedError

    # -- methods for owners ---------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, shown or not."""
        return self._columns

    @property
    def sort(self) -> tuple[str, bool] | None:
        """The column by which the lines are sorted: its id, and whether descending; None if the lines are not sorted.
        The header shows it.
        """
        return self._sort

    @sort.setter
    def sort(self, sort: tuple[str, bool] | None) -> None:
        self._sort = sort
        self._painter.repaint()

    # -- lines ----------------------------------------------------------------------------------------------------

    def header(self, width: int) -> Sequence[Span] | None:
        """Return the labels of the visible columns, with an arrow at the sorted column and a sign at each edge beyond
        which there are more columns.
        """
        layout = self._layout_for(width - 1)
        spans: list[Span] = [("‹" if layout.more_left else " ", "header")]
        for place in layout.placed:
            column = self._columns[place.column]
            label = widgets_cells.clean(column.label)
            if self._sort is not None and self._sort[0] == column.id:
                # Shorten the label first, so that the arrow is never cut off.
                label = widgets_cells.truncate(label, place.width - 1) + (
                    "▾" if self._sort[1] != column.is_most_first else "▴"
                )
            spans.append((" " * place.gap + widgets_cells.fit(label, place.width, column.align), "header"))
        if layout.more_right:
            spans.append((" ›", "header"))
        return spans

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return a line's cells in the visible columns, cut or padded to the widths of the columns."""
        cells = self.cells_at(index)
        spans: list[Span] = []
        for place in self._layout_for(width).placed:
            if place.gap:
                spans.append((" " * place.gap, ""))
            spans += cell_spans(cells[place.column], place.width, self._columns[place.column])
        return spans

    def hang(self, index: int, column: int) -> int:  # noqa: ARG002
        """Return the number of cells by which the folded rest of a cell's text is indented: the width of the cell's
        first span; 0 for no indent.
        """
        return 0

    def is_cut(self, width: int) -> bool:
        """Return whether at least one left-aligned column of `FOLDED_FROM` (8) cells or more is narrower than its
        texts, so that they are folded.
        """
        placed = self._layout_for(width).placed
        return self.folds and any(
            place.width < self._natural[place.column]
            for place in placed
            if place.width >= FOLDED_FROM and self._columns[place.column].align == "left"
        )

    def pieces(self, index: int, width: int, most: int) -> list[Sequence[Span]]:
        """Return a line's cells as at most `most` screen lines; texts that `spans` would cut continue on the next
        screen line.
        """
        cells = self.cells_at(index)
        placed = self._layout_for(width).placed
        most = min(most, MOST_LINES)
        folded = [
            _folded(cells[place.column], place.width, self._columns[place.column], most, self.hang(index, place.column))
            for place in placed
        ]
        pieces: list[Sequence[Span]] = []
        for number in range(max(map(len, folded), default=1)):
            spans: list[Span] = []
            for place, parts in zip(placed, folded, strict=True):
                if place.gap:
                    spans.append((" " * place.gap, ""))
                part = parts[number] if number < len(parts) else ""
                spans += cell_spans(part, place.width, self._columns[place.column])
            pieces.append(spans)
        return pieces

    def left_out(self, index: int) -> list[tuple[Column, Cell]]:
        """Return the cells of a line that the screen does not show in full: the cells of columns that do not fit,
        and the cells whose text is cut. Empty on a screen narrower than `FOLDED_FROM` cells, and for a line that
        does not exist.
        """
        if not 0 <= index < self.line_count() or self.size.width < FOLDED_FROM:
            return []
        widths = {place.column: place.width for place in self._layout_for(self.size.width - 1).placed}
        is_folded = any(line == index and piece for line, piece in self._on_screen)
        return [
            (column, cell)
            for number, (column, cell) in enumerate(zip(self._columns, self.cells_at(index), strict=True))
            if number not in widths or (not is_folded and natural_width(cell) > widths[number])
        ]

    # -- columns --------------------------------------------------------------------------------------------------

    def hides_columns(self, width: int) -> bool:
        """Return whether at least one column does not fit into a view of this width, in cells."""
        return lay_out(self._columns, self._natural, width - 1, 0, self._usual).more_right

    def cells_wanted(self) -> int:
        """Return the width, in cells, at which the view shows all columns with no text cut."""
        shown = range(len(self._columns))
        widths = (
            max(_least(column, natural), min(natural, column.max_width or natural))
            if column.width is None
            else column.width
            for column, natural in zip(self._columns, self._natural, strict=True)
        )
        return 1 + sum(widths) + sum(_gaps(self._columns, shown))

    def _put_columns(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._natural = [widgets_cells.cell_width(column.label) + (column.sort_key is not None) for column in columns]
        self._usual = list(self._natural)
        self._pan = 0
        self._fitted: tuple[int, Layout] | None = None

    def _sample(self) -> None:
        """Widen columns to fit the texts of a sample of the lines. Columns never become narrower, so that they do not
        move at each refresh.
        """
        count = self.line_count()
        measured = [i for i, column in enumerate(self._columns) if column.width is None]
        self._fitted = None
        if not count or not measured:
            return
        sample = [self.cells_at(index) for index in range(0, count, max(1, count // SAMPLE))]
        for i in measured:
            found = sorted(natural_width(cells[i]) for cells in sample)
            self._natural[i] = max(self._natural[i], found[-1])
            self._usual[i] = max(self._usual[i], found[len(found) * 9 // 10])

    def _layout_for(self, width: int) -> Layout:
        if self._fitted is None or self._fitted[0] != width:
            self._fitted = (width, lay_out(self._columns, self._natural, width, self._pan, self._usual))
        return self._fitted[1]

    def action_pan(self, direction: int) -> None:
        """Pan the columns.

        Args:
            direction: 1 to skip one more column on the left (no-op if all columns on the right fit); -1 to show the
                last skipped column again.
        """
        if direction > 0 and not self._layout_for(self.size.width - 1).more_right:
            return
        self._pan = max(0, self._pan + direction)
        self._fitted = None
        self._unfold()
        self._painter.repaint()

    # -- sorting --------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Post `SortRequested` if the key is the sort key of a column."""
        if event.character is None:
            return
        column = next((column for column in self._columns if column.sort_key == event.character), None)
        if column is not None:
            event.stop()
            event.prevent_default()
            self.post_message(self.SortRequested(self, column.id))

    def _header_clicked(self, x: int) -> None:
        start = 1
        for place in self._layout_for(self.size.width - 1).placed:
            start += place.gap
            if start <= x < start + place.width:
                self.post_message(self.SortRequested(self, self._columns[place.column].id))
            start += place.width


def _folded(cell: Cell, width: int, column: Column, most: int, hang: int) -> list[Cell]:
    """Return a cell in parts that fit its column, one below the other; the last part has the remainder, and may be
    wider than the column.

    Args:
        width: the width of the column in cells.
        most: maximum number of parts.
        hang: number of cells by which the parts after the first are indented: the width of the cell's first span; 0 for
            no indent.
    """
    if column.align == "right" or width - hang < FOLDED_FROM or natural_width(cell) <= width or most < 2:
        return [cell]
    cleaned = [(widgets_cells.clean(text), name) for text, name in as_spans(cell)]
    if hang:
        first, *text = cleaned
        folded = fold(text, width - hang, most)
        return [[first if number == 0 else (" " * hang, ""), *part] for number, part in enumerate(folded)]
    return [*fold(cleaned, width, most)]


def fold(spans: Sequence[Span], width: int, most: int) -> list[list[Span]]:
    """Return spans without control characters in at most `most` parts of `width` cells each. The last part has the
    remainder, and may be wider.
    """
    parts = widgets_cells.wrapped(spans, width, width)
    if len(parts) <= most:
        return parts
    rest: list[Span] = []
    for part in parts[most - 1 :]:
        if rest and not rest[-1][0].endswith(" "):  # `wrapped` drops the blank at the end of a part
            rest.append((" ", ""))
        rest += part
    return [*parts[: most - 1], rest]


def cell_spans(cell: Cell, width: int, column: Column) -> list[Span]:
    """Return a cell's spans cut or padded to exactly `width` cells; the padding is a span of its own."""
    spans: list[Span] = []
    left = width
    shorten = widgets_cells.fit_number if column.align == "right" else widgets_cells.truncate
    for text, name in as_spans(cell):
        cut = shorten(widgets_cells.clean(text), left)
        spans.append((cut, name))
        left -= widgets_cells.cell_width(cut)
    padding = (" " * left, "")
    return [padding, *spans] if column.align == "right" else [*spans, padding]
