"""The data of a table: its columns, and its rows by index and by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from widgets.cells import Align, cell_width

Span: TypeAlias = tuple[str, str]
"""A text and the name of its style (see `line_view.STYLE_NAMES`; ``""`` for plain text)."""

Cell: TypeAlias = str | Span | list[Span]
"""The content of a cell: a plain text, a styled text, or several styled texts."""


def as_spans(cell: Cell) -> list[Span]:
    """Return a cell's spans."""
    if isinstance(cell, str):
        return [(cell, "")]
    return [cell] if isinstance(cell, tuple) else cell


def natural_width(cell: Cell) -> int:
    """Return the width of a cell's whole text, in terminal cells."""
    return sum(cell_width(text) for text, _ in as_spans(cell))


Row = TypeVar("Row")

LATELY = 256


class Column(NamedTuple):
    """One column of a table.

    `width` is in cells; None measures a sample of the rows. A column with `flex` takes a share of the remaining space,
    in proportion to `flex`. If not everything fits, the table omits the columns with the lowest `priority` first; it
    always keeps the first column, and `gutter` columns (state letters, without a gap after them). `sort_key` is the key
    of the keyboard that sorts by this column; None if the user can't sort by it.
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
        """Whether the first sort by this column is descending: True for a right-aligned column, whose values are
        numbers.
        """
        return self.align == "right"


class RowSource(Protocol):
    """Rows by index. A source is immutable: to show other rows, give the table another source."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def key(self, index: int) -> Hashable:
        """Return the key of the row at an index; the row has the same key in later sources."""
        ...

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the row's cells, one for each column. Called for visible rows only, so it may format."""
        ...

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of the row with this key; None if no row has it. An implementation should look the key up,
        not search all rows.
        """
        ...


class ListRows(Generic[Row]):
    """A source over any sequence of values, with a function for the key and one for the cells.

    The index of the keys is computed on first use, so that showing the rows costs nothing per row. Until then the
    latest requested keys are cached, which is enough to restore the cursor after a key press in a filter.
    """

    def __init__(
        self, rows: Sequence[Row], key: Callable[[Row], Hashable], cells: Callable[[Row], Sequence[Cell]]
    ) -> None:
        self.rows = rows
        self._key = key
        self._cells = cells
        self._places: dict[Hashable, int] | None = None
        self._lately: dict[Hashable, int] = {}

    def again(self) -> ListRows[Row]:
        """Return a new source of the same rows, whose cells are computed again. It keeps the index of the keys."""
        source = ListRows(self.rows, self._key, self._cells)
        source._places, source._lately = self._places, self._lately
        return source

    def __len__(self) -> int:
        return len(self.rows)

    def key(self, index: int) -> Hashable:
        """Return the key of the row at `index`."""
        key = self._key(self.rows[index])
        if self._places is None:
            if len(self._lately) >= LATELY:
                self._lately.clear()
            self._lately[key] = index
        return key

    def cells(self, index: int) -> Sequence[Cell]:
        """Return the cells of the row at `index`."""
        return self._cells(self.rows[index])

    def index_of(self, key: Hashable) -> int | None:
        """Return the index of `key`; None if no row has it."""
        if self._places is None:
            if key in self._lately:
                return self._lately[key]
            self._places = dict(zip(map(self._key, self.rows), range(len(self.rows)), strict=True))
        return self._places.get(key)
