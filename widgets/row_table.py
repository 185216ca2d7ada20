"""A table over rows that somebody else holds; the cost of showing it does not depend on their number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from textual import events
from textual.message import Message

from widgets.cells import cell_width, clean, fit, truncate
from widgets.columns import Column, Layout, lay_out
from widgets.line_view import LineView
from widgets.row_source import Cell, ListRows, RowSource, Span

SAMPLE = 200
"""How many rows are measured for a column's width."""


class RowTable(LineView):
    """A table of rows by key: `set_rows` gives it another source, and cursor, marks and place stay on their keys."""

    class SortRequested(Message):
        """A column's sort key, or a click on its label."""

        def __init__(self, table: RowTable, column: str) -> None:
            self.table = table
            self.column = column
            super().__init__()

        @property
        def control(self) -> RowTable:
            """The table that sent this."""
            return self.table

    def __init__(
        self,
        columns: Sequence[Column],
        rows: RowSource | None = None,
        *,
        empty: str = "",
        markable: bool = True,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a table; see `Column` and `RowSource`."""
        super().__init__(empty=empty, markable=markable, name=name, id=id, classes=classes)
        self._columns = tuple(columns)
        self._rows: RowSource = ListRows((), lambda row: row, lambda row: row) if rows is None else rows
        self._sort: tuple[str, bool] | None = None
        self._pan = 0
        self._natural = [cell_width(column.label) for column in self._columns]
        self._fitted: tuple[int, Layout] | None = None
        self._sample()

    # -- what an owner sees ---------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, shown or not."""
        return self._columns

    @property
    def rows(self) -> RowSource:
        """The rows that are shown."""
        return self._rows

    def set_rows(self, rows: RowSource) -> None:
        """Show other rows: after a refresh, a sort, a filter."""
        held = self._hold()
        self._rows = rows
        self._sample()
        self._restore(held)

    def set_columns(self, columns: Sequence[Column], rows: RowSource) -> None:
        """Show other columns, with the rows that fill them."""
        held = self._hold()
        self._columns = tuple(columns)
        self._rows = rows
        self._pan = 0
        self._natural = [cell_width(column.label) for column in self._columns]
        self._sample()
        self._restore(held)

    @property
    def sort(self) -> tuple[str, bool] | None:
        """The column that the rows are sorted by, and whether downwards; the header shows it."""
        return self._sort

    @sort.setter
    def sort(self, sort: tuple[str, bool] | None) -> None:
        self._sort = sort
        self._repaint_changed()

    # -- lines ----------------------------------------------------------------------------------------------------

    def line_count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def key_at(self, index: int) -> Hashable:
        """Return a row's key."""
        return self._rows.key(index)

    def index_of(self, key: Hashable) -> int | None:
        """Return the place of a row."""
        return self._rows.index_of(key)

    def header(self, width: int) -> Sequence[Span] | None:
        """Return the labels of the columns shown."""
        layout = self._layout_for(width - 1)
        spans: list[Span] = [("‹" if layout.more_left else " ", "header")]
        for place in layout.placed:
            column = self._columns[place.column]
            label = clean(column.label)
            if self._sort is not None and self._sort[0] == column.id:
                label += "▾" if self._sort[1] else "▴"
            spans.append((" " * place.gap + fit(label, place.width, column.align), "header"))
        if layout.more_right:
            spans.append((" ›", "header"))
        return spans

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return the cells of the columns shown, padded to their widths."""
        cells = self._rows.cells(index)
        spans: list[Span] = []
        for place in self._layout_for(width).placed:
            column = self._columns[place.column]
            if place.gap:
                spans.append((" " * place.gap, ""))
            spans += _cell_spans(cells[place.column], place.width, column)
        return spans

    # -- columns --------------------------------------------------------------------------------------------------

    def _sample(self) -> None:
        """Widen columns to what a sample of the rows needs. They never narrow, so that refreshes don't jitter."""
        self._fitted = None
        count = len(self._rows)
        measured = [i for i, column in enumerate(self._columns) if column.width is None]
        if not count or not measured:
            return
        step = max(1, count // SAMPLE)
        for index in range(0, count, step):
            cells = self._rows.cells(index)
            for i in measured:
                self._natural[i] = max(self._natural[i], _cell_width(cells[i]))

    def _layout_for(self, width: int) -> Layout:
        if self._fitted is None or self._fitted[0] != width:
            self._fitted = (width, lay_out(self._columns, self._natural, width, self._pan))
        return self._fitted[1]

    def action_pan(self, direction: int) -> None:
        """Skip or bring back a column, where not all of them fit."""
        layout = self._layout_for(self.size.width - 1)
        if direction > 0 and not layout.more_right:
            return
        self._pan = max(0, self._pan + direction)
        self._fitted = None
        self._repaint_changed()

    # -- sorting --------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Ask for the order that belongs to a sort key."""
        column = next((column for column in self._columns if column.sort_key == event.character), None)
        if column is not None and event.character is not None:
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


def _cell_width(cell: Cell) -> int:
    if isinstance(cell, str):
        return cell_width(cell)
    if isinstance(cell, list):
        return sum(cell_width(text) for text, _ in cell)
    return cell_width(cell[0])


def _cell_spans(cell: Cell, width: int, column: Column) -> list[Span]:
    """Return a cell's spans in exactly `width` cells, the padding in a span of its own."""
    if isinstance(cell, str):
        cell = [(cell, "")]
    elif isinstance(cell, tuple):
        cell = [cell]
    spans: list[Span] = []
    left = width
    for text, name in cell:
        cut = truncate(clean(text), left)
        spans.append((cut, name))
        left -= cell_width(cut)
    padding = (" " * left, "")
    return [padding, *spans] if column.align == "right" else [*spans, padding]
