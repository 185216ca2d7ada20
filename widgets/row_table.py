"""A table over rows that somebody else holds; the cost of showing it does not depend on their number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from widgets.column_view import ColumnView
from widgets.columns import Column
from widgets.filtered_rows import RowView
from widgets.row_source import Cell, ListRows, RowSource


class RowTable(ColumnView):
    """A table of rows by key: `set_rows` gives it another source, and cursor, marks and place stay on their keys."""

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
        super().__init__(columns, empty=empty, markable=markable, name=name, id=id, classes=classes)
        self._rows: RowSource = ListRows((), lambda row: row, lambda row: row) if rows is None else rows
        self._sample()

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
        self._put_columns(columns)
        self._rows = rows
        self._sample()
        self._restore(held)

    def line_count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def key_at(self, index: int) -> Hashable:
        """Return a row's key."""
        return self._rows.key(index)

    def index_of(self, key: Hashable) -> int | None:
        """Return the place of a row."""
        return self._rows.index_of(key)

    def is_gone(self, key: Hashable) -> bool:
        """Tell whether a row is neither here nor filtered away."""
        rows = self._rows
        while isinstance(rows, RowView):
            rows = rows.source
        return rows.index_of(key) is None

    def cells_at(self, index: int) -> Sequence[Cell]:
        """Return a row's cells."""
        return self._rows.cells(index)
