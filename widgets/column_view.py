"""Lines made of columns: the labels on top, the cells below, and what gives way where the terminal is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from widgets.cells import cell_width, clean, fit, fit_number, truncate
from widgets.columns import Column, Layout, lay_out
from widgets.line_view import LineView
from widgets.row_source import Cell, Span

SAMPLE = 200
"""How many lines are measured for a column's width."""


class ColumnView(LineView):
    """Ground of table and tree: subclasses say what stands in the cells of a line."""

    HEADER_LINES = 1

    class SortRequested(Message):
        """A column's sort key, or a click on its label."""

        def __init__(self, view: ColumnView, column: str) -> None:
            self.view = view
            self.column = column
            super().__init__()

        @property
        def control(self) -> ColumnView:
            """The view that sent this."""
            return self.view

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        empty: str = "",
        markable: bool = True,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a view with these columns."""
        super().__init__(empty=empty, markable=markable, name=name, id=id, classes=classes)
        self._columns: tuple[Column, ...] = ()
        self._sort: tuple[str, bool] | None = None
        self._put_columns(columns)

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return a line's cells, one for each column."""
        raise NotImplementedError

    # -- what an owner sees ---------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, shown or not."""
        return self._columns

    @property
    def sort(self) -> tuple[str, bool] | None:
        """The id of the column that the lines are sorted by, and whether downwards; the header shows it."""
        return self._sort

    @sort.setter
    def sort(self, sort: tuple[str, bool] | None) -> None:
        self._sort = sort
        self._painter.repaint()

    # -- lines ----------------------------------------------------------------------------------------------------

    def header(self, width: int) -> Sequence[Span] | None:
        """Return the labels of the columns shown."""
        layout = self._layout_for(width - 1)
        spans: list[Span] = [("‹" if layout.more_left else " ", "header")]
        for place in layout.placed:
            column = self._columns[place.column]
            label = clean(column.label)
            if self._sort is not None and self._sort[0] == column.id:
                # The arrow is never what is cut.
                label = truncate(label, place.width - 1) + ("▾" if self._sort[1] != column.is_most_first else "▴")
            spans.append((" " * place.gap + fit(label, place.width, column.align), "header"))
        if layout.more_right:
            spans.append((" ›", "header"))
        return spans

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return the cells of the columns shown, padded to their widths."""
        cells = self.cells_at(index)
        spans: list[Span] = []
        for place in self._layout_for(width).placed:
            if place.gap:
                spans.append((" " * place.gap, ""))
            spans += cell_spans(cells[place.column], place.width, self._columns[place.column])
        return spans

    # -- columns --------------------------------------------------------------------------------------------------

    def _put_columns(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        self._natural = [cell_width(column.label) + (column.sort_key is not None) for column in columns]
        self._pan = 0
        self._fitted: tuple[int, Layout] | None = None

    def _sample(self) -> None:
        """Widen columns to what a sample of the lines needs. They never narrow, so that refreshes don't jitter."""
        count = self.line_count()
        measured = [i for i, column in enumerate(self._columns) if column.width is None]
        self._fitted = None
        if not count or not measured:
            return
        for index in range(0, count, max(1, count // SAMPLE)):
            cells = self.cells_at(index)
            for i in measured:
                self._natural[i] = max(self._natural[i], natural_width(cells[i]))

    def _layout_for(self, width: int) -> Layout:
        if self._fitted is None or self._fitted[0] != width:
            self._fitted = (width, lay_out(self._columns, self._natural, width, self._pan))
        return self._fitted[1]

    def action_pan(self, direction: int) -> None:
        """Skip or bring back a column, where not all of them fit."""
        if direction > 0 and not self._layout_for(self.size.width - 1).more_right:
            return
        self._pan = max(0, self._pan + direction)
        self._fitted = None
        self._painter.repaint()

    # -- sorting --------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Ask for the order that belongs to a sort key."""
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


def as_spans(cell: Cell) -> list[Span]:
    """Return a cell's spans."""
    if isinstance(cell, str):
        return [(cell, "")]
    return [cell] if isinstance(cell, tuple) else cell


def natural_width(cell: Cell) -> int:
    """Return how many cells of the terminal a cell takes uncut."""
    return sum(cell_width(text) for text, _ in as_spans(cell))


def cell_spans(cell: Cell, width: int, column: Column) -> list[Span]:
    """Return a cell's spans in exactly `width` cells, the padding in a span of its own."""
    spans: list[Span] = []
    left = width
    shorten = fit_number if column.align == "right" else truncate
    for text, name in as_spans(cell):
        cut = shorten(clean(text), left)
        spans.append((cut, name))
        left -= cell_width(cut)
    padding = (" " * left, "")
    return [padding, *spans] if column.align == "right" else [*spans, padding]
