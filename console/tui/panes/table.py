"""The base class of views that are one table: rows with a filter and an order, and a cursor that can follow new
rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult

from console.present.failures import nothing_text, unread
from console.present.text import Cell, Line, clean
from console.session.snapshot_reader import MANY
from console.tui.panes.view import View
from console.tui.reading import start
from console.tui.tools import Tools
from widgets.row_source import Column, ListRows, RowSource
from widgets.row_table import RowTable, RowView, TextSearch, parse_query

if TYPE_CHECKING:
    from textual.worker import Worker

    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.present.columns import Columns

Row = TypeVar("Row")


class AllRows(Generic[Row]):
    """All rows of a table, also those that the filter hides: looked up by key, and searched by their texts.

    source: the rows. The index of keys and the texts are built on first use, once for each sequence of rows.
    """

    def __init__(
        self,
        key: Callable[[Row], Hashable],
        cells: Callable[[Row], Sequence[Cell]],
        words: Callable[[Row], str],
    ) -> None:
        self._key, self._cells, self._words = key, cells, words
        self.source: ListRows[Row] = ListRows((), key, cells)
        self._search: TextSearch | None = None

    def take(self, rows: Sequence[Row]) -> None:
        """Set other rows. If they are the same sequence object as before, only the cells are computed again."""
        if rows is self.source.rows:
            self.source = self.source.again()  # keeps the index of the keys, and the search its texts
        else:
            self.source = ListRows(rows, self._key, self._cells)
            self._search = None

    def hits(self, text: str) -> Sequence[int]:
        """Return the indexes of the rows that match a filter. Raises BadQuery."""
        if self._search is None:
            self._search = TextSearch(map(self._words, self.source.rows))
        return self._search.hits(text)

    def row_of(self, key: Hashable | None) -> Row | None:
        """Return the row with a key; None if there is no such row."""
        index = None if key is None else self.source.index_of(key)
        return None if index is None else self.source.rows[index]


class Ordering(Generic[Row]):
    """Sorts the rows of a table. Many rows are sorted in another thread, because sorting them would block keys."""

    def __init__(self, view: View, shown: AllRows[Row], sift: Callable[[], None]) -> None:
        """Create the object; it sorts nothing yet.

        Args:
            view: the view, which runs the worker.
            shown: receives the sorted rows.
            sift: called when `shown` has other rows, to filter and show them.
        """
        self._view, self._shown, self._sift = view, shown, sift
        self._order: Callable[[], Sequence[Row]] | None = None
        self._worker: Worker[None] | None = None

    def show(self, rows: Sequence[Row]) -> None:
        """Show the rows in the given order."""
        self._order = None
        self._shown.take(rows)
        self._sift()

    def show_sorted(self, rows: Sequence[Row], key: Callable[[Row], Any], down: bool) -> None:
        """Show rows sorted by a key, in descending order if `down`. More than `MANY` rows are sorted in another thread,
        and shown when that is done.
        """
        order = partial(ordered, rows, key, down)
        if len(rows) <= MANY:
            self.show(order())
            return
        self._order = order
        self._sift()  # the filter applies at once to the present rows
        if self._worker is None or self._worker.is_finished:
            self._worker = start(self._view, self._run, group="order", name="order")

    async def _run(self) -> None:
        while (order := self._order) is not None:
            rows = await asyncio.to_thread(order)
            if self._order is order:  # no newer request has replaced this one
                self.show(rows)
                self._view.tell_where()


class NewestOnTop:
    """The rule for the cursor of a table that gets new rows on top: while the cursor is on the newest row, it moves to
    each new one.

    Attributes:
        seen: the key of the first row when that row was last visible; None if it never was.
        has_followed: whether the cursor has moved to a new row since the operator last moved it.
    """

    def __init__(self, table: RowTable, newest_first: bool) -> None:
        """Create the rule for a table.

        Args:
            newest_first: whether new rows are added on top; if False, the cursor follows no row.
        """
        self._table, self.newest_first = table, newest_first
        self.seen: Hashable | None = None
        self.has_followed = False

    def begin(self, *, newest_first: bool) -> None:
        """Reset the state, because the next rows are about another entity. newest_first: as for `__init__`."""
        self.newest_first, self.seen, self.has_followed = newest_first, None, False

    def show(self, rows: RowSource) -> None:
        """Show these rows. If the cursor was on the newest row, move it to the row that is newest now."""
        table = self._table
        follows = self.newest_first and table.sort is None and table.is_first_chosen
        before = table.cursor_key
        table.set_rows(rows)
        if follows:
            table.action_first()
            self.has_followed |= before not in (None, table.cursor_key)
        self.note_newest()

    def note_newest(self) -> None:
        """Record the first row as `seen` if it is visible."""
        if self.newest_first and len(self._table.rows) and not self._table.visible_range.start:
            self.seen = self._table.key_at(0)

    def cursor_moved(self) -> None:
        """Handle a move of the cursor. If the cursor is no longer on the first row, set `has_followed` to False. If
        the first row is visible, record it as `seen`.
        """
        self.has_followed &= self._table.cursor_index == 0
        self.note_newest()

    def unseen(self) -> Line:
        """Return ``17 newer ↑``: the number of rows above the screen that are newer than `seen`. Empty if there are
        none, or the table is not in order of time.
        """
        hidden = self._table.visible_range.start
        if not self.newest_first or not hidden or self._table.sort is not None:
            return []
        index = self._table.index_of(self.seen) if self.seen is not None else None
        count = hidden if index is None else min(index, hidden)
        return [(f"{count:,} newer ↑  ", "pending")] if count else []


class ShownRows(View, Generic[Row]):
    """The methods of a table's view about its rows. Subclasses override those that differ from the default."""

    NOUN: ClassVar[Columns[Any]]
    """The columns of a noun, such as topics or groups, with its cells and sort keys. A view without a noun defines
    `COLUMNS`, `cells` and `sort_key` itself.
    """
    COLUMNS: ClassVar[Sequence[Column]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Copy the columns of `NOUN` into the class attribute `COLUMNS`."""
        if "NOUN" in vars(cls):
            cls.COLUMNS = cls.NOUN.layout
        super().__init_subclass__(**options)

    def rows(self) -> Sequence[Row]:
        """Return all rows, before they are filtered and sorted.

        Returns:
            The same sequence object as in the last call if only cells changed. Then neither the index of keys nor the
            texts of the filter are built again, which takes long with 100,000 topics.
        """
        raise NotImplementedError

    def key(self, row: Row) -> Hashable:
        """Return the key of a row. It is unique in the table, and the row keeps it over refreshes."""
        raise NotImplementedError

    def words(self, row: Row) -> str:
        """Return the text of a row that the filter searches; by default the key."""
        return str(self.key(row))

    def shown(self) -> Callable[[Row], object]:
        """Return a function that turns one of `rows` into a row of `NOUN`, with related data from the snapshot. By
        default the function returns its argument.

        It is called for every row when the table is sorted, so it must be fast.
        """
        return _itself

    def cells(self, row: Row) -> Sequence[Cell]:
        """Return the cells of a row, one for each of `COLUMNS`."""
        return self.NOUN.cells(self.shown()(row))

    def sort_key(self, column: str) -> Callable[[Row], Any]:
        """Return the function that gives the value by which a row is sorted.

        Args:
            column: the id of a column that has a `sort_key`.
        """
        key, shown = self.NOUN.sort_key(column), self.shown()
        return key if shown is _itself else lambda row: key(shown(row))

    async def enter(self, row: Row) -> None:
        """Run the action of Enter for a row; the footer shows it as `ENTER`. No-op by default."""

    def in_trouble(self, _row: Row) -> bool:
        """Return whether the row stays with the filter `!` (only trouble)."""
        return False

    def target_of(self, _row: Row) -> ConfigResource | QuotaEntity | None:
        """Return the entity of a row; None, the default, for a row without an entity."""
        return None

    def copied_of(self, _row: Row) -> str:
        """Return the text that `y` copies for a row; ``""``, the default, to copy nothing."""
        return ""

    def key_text(self, key: Hashable) -> str:
        """Return a row's key as text for messages."""
        return clean(str(key), 120)


class TableView(ShownRows[Row]):
    """The base class of views that are one table.

    A refresh keeps the cursor and marks on their keys. `rows` may be called often, `cells` only for the rows on the
    screen, and `words` for all rows once the operator types a filter.
    """

    ROWS_ARE_PARTS: ClassVar[bool] = False
    """Whether all rows belong to one entity, such as partitions to a topic. A command that names no entity then applies
    to that entity, not to marked rows.
    """
    EMPTY: ClassVar[str] = "nothing here"
    MARKS: ClassVar[bool] = True
    """Whether the operator can mark several rows."""
    TROUBLED: ClassVar[str] = ""
    """The name of the field of `Troubles` that has the keys of rows in trouble; ``""`` to call `in_trouble` for each
    row, which takes long for 100,000 rows.
    """
    NEWEST_FIRST: ClassVar[bool] = False
    """Whether new rows are added on top. While the cursor is on the newest row, it then moves to each new one;
    otherwise the status counts the new rows above the screen.
    """

    ROW_TABLE: ClassVar[type[RowTable]] = RowTable
    """The class of the widget that shows the table."""

    def __init__(self, tools: Tools) -> None:
        self.table = self.ROW_TABLE(self.COLUMNS, empty=self.EMPTY, markable=self.MARKS)
        super().__init__(tools.cluster, self.table)
        self._navigator, self._editing, self._message = tools.navigator, tools.editing, tools.message
        self._look_back = tools.look_back
        self._all: AllRows[Row] = AllRows(self.key, self.cells, self.words)
        self._ordering: Ordering[Row] = Ordering(self, self._all, self._sift)
        self.newest = NewestOnTop(self.table, self.NEWEST_FIRST)

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs and the table."""
        yield self.where
        yield self.table

    def draw(self) -> None:
        """Sort and filter the rows, and show them; only lines that differ are painted."""
        rows = self.rows()
        if self.table.sort is None:
            self._ordering.show(rows)
        else:
            column, down = self.table.sort
            self._ordering.show_sorted(rows, self.sort_key(column), down)

    def _sift(self) -> None:
        """Show the rows that match the filter; with `!` (only trouble), only those of them that are in trouble."""
        source = self._all.source
        indexes: Sequence[int] = self._all.hits(self.filter_text) if self.filter_text else range(len(source))
        if self.only_trouble:
            # Use the keys from triage, instead of checking 100,000 rows one by one.
            if self.TROUBLED:
                keys = getattr(self.trouble.found, self.TROUBLED)
                found = {index for key in keys if (index := source.index_of(key)) is not None}
                indexes = [index for index in indexes if index in found] if self.filter_text else sorted(found)
            else:
                indexes = [index for index in indexes if self.in_trouble(source.rows[index])]
        shown = RowView(source, indexes) if self.filter_text or self.only_trouble else source
        calm = self.only_trouble and self.known() and not unread(self.snapshot, {self.NEEDS})
        self.table.empty = self.trouble.calm(self.CALM, self.filter_text) if calm else self.empty_text()
        self.newest.show(shown)

    async def on_line_view_selected(self, message: RowTable.Selected) -> None:
        """Run the action of Enter for the row under the cursor. If there is a cursor in time, replay the record from
        its time instead.
        """
        message.stop()
        if (moment := self.cluster.half_hour.moment) is not None:
            await self._look_back(moment.begins)
        elif (row := self.row()) is not None:
            await self.enter(row)

    def on_line_view_highlighted(self) -> None:
        """Update the rule for new rows after a move of the cursor."""
        if self.newest.newest_first:
            self.newest.cursor_moved()
            self.tell_where()

    def empty_text(self) -> str:
        """Return the text of a table without rows: that nothing exists, that nothing matches the filter, or that the
        data are not read yet. While `!` (only trouble) is on, the table shows `OnlyTrouble.calm` instead if the
        data are read.
        """
        filtered = f"no row passes /{clean(self.filter_text, 60)}  (Esc shows all)" if self.filter_text else ""
        empty = filtered or nothing_text(self.snapshot, self.NEEDS, self.EMPTY, self.app.size.width)
        return empty if self.known() else self.nothing_yet()

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of rows shown, and of all rows if a filter hides
        some.
        """
        if not self.known():
            return []
        shown, total = len(self.table.rows), len(self._all.source)
        return [*self.newest.unseen(), (f"{shown:,} of {total:,}" if shown != total else f"{shown:,}", "muted")]

    def row(self) -> Row | None:
        """Return the row under the cursor; None if the table is empty."""
        return self._all.row_of(self.table.cursor_key)

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity of the row under the cursor; None without rows, and for a row without an entity."""
        row = self.row()
        return None if row is None else self.target_of(row)

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """Return the entities of the marked rows; without marks, the entity of the row under the cursor."""
        if self.ROWS_ARE_PARTS:
            return super().targets()
        return [target for row in self.rows_meant() if (target := self.target_of(row)) is not None]

    def copied(self) -> str:
        """Return the text that `y` copies for the row under the cursor; ``""`` for nothing."""
        row = self.row()
        return "" if row is None else self.copied_of(row)

    def begin_command(self, command: Callable[[Row], str]) -> None:
        """Open the command bar with a command for the row under the cursor; no-op without rows. command: returns its
        text.
        """
        row = self.row()
        if row is not None:
            self._editing.begin(command(row))

    def do_edit(self) -> None:
        """Open the command bar with the command that sets a config of the marked entities, or of the entity under the
        cursor.
        """
        self._editing.begin_set(self.targets(), left_out=self.left_out())

    def rows_meant(self) -> list[Row]:
        """Return the rows to which a key applies.

        Returns:
            The marked rows that are shown, in the table's order; if no row is marked, the row under the cursor.
            `left_out` has the marked rows that are hidden.
        """
        if not self.table.marks:
            row = self.row()
            return [] if row is None else [row]
        indexes = sorted(index for key in self.table.marks if (index := self.table.index_of(key)) is not None)
        return [row for index in indexes if (row := self._all.row_of(self.table.key_at(index))) is not None]

    def left_out(self) -> list[str]:
        """Return the keys, as text, of the marked rows that the filter or another choice hides."""
        hidden = [key for key in self.table.marks if self.table.index_of(key) is None]
        return sorted(self.key_text(key) for key in hidden)

    def visible_rows(self) -> list[Row]:
        """Return the rows on the screen."""
        keys = [self.table.key_at(index) for index in self.table.visible_range]
        return [row for key in keys if (row := self._all.row_of(key)) is not None]

    def take_filter(self, text: str) -> None:
        """Show only the rows that match a filter. Raises ValueError if it is invalid."""
        wanted = text.strip()
        parse_query(wanted)
        self.filter_text = wanted
        self._sift()
        # The operator typed the filter, so another row under the cursor is expected.
        self.newest.has_followed = False
        self.tell_where()

    def begin(self) -> None:
        """Show the rows of another entity: from the first one, without filter and marks."""
        self.filter_text = ""
        self.newest.seen = None
        self.table.set_marks(())
        self.table.start_over()

    @on(RowTable.SortRequested)
    def _sort_requested(self, message: RowTable.SortRequested) -> None:
        """Sort by a column; the second request reverses the order, the third restores the view's own order."""
        message.stop()
        column, before = message.column, self.table.sort
        self.table.sort = None if before == (column, True) else (column, before == (column, False))
        self.redraw()


def _itself(row: object) -> object:
    return row


def ordered(rows: Sequence[Row], key: Callable[[Row], Any], down: bool) -> list[Row]:
    """Return rows sorted by a key, in descending order if `down`; rows with the same key keep their order.

    Only the distinct keys are sorted, because many rows have few of them, and because no other thread runs while Python
    sorts a list.
    """
    alike: dict[Any, list[Row]] = {}
    for row in rows:
        alike.setdefault(key(row), []).append(row)
    return [row for each in sorted(alike, reverse=down) for row in alike[each]]
