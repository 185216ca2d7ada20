"""What every view is: a line that says where you are, a table or tree, and what the app asks of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from console.model.parts import part_named
from console.present.failures import nothing_text, unread
from console.present.text import Cell, Line, clean
from console.session.snapshot_reader import MANY
from console.tui.keymap import keys_of
from console.tui.places import Place, parts_of
from console.tui.places import title as title_of
from console.tui.reading import SLOW_EVERY, start, unread_text
from console.tui.text_lines import TextLines
from widgets.cells import cell_width
from widgets.line_view import LineView
from widgets.row_source import Column, ListRows, RowSource
from widgets.row_table import RowTable, RowView, TextSearch, parse_query

if TYPE_CHECKING:
    from datetime import datetime

    from textual.worker import Worker

    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.model.snapshot import ReadFailure, Snapshot
    from console.plan.plan import Plan
    from console.present.columns import Columns
    from console.session.session import Session
    from console.tui.panes.only_trouble import OnlyTrouble
    from console.tui.watch import ShownCluster

Row = TypeVar("Row")
SIDE_BY_SIDE = 150
"""Cells of a view from which on details stand beside their table: below it they would be two lines, and both empty."""


def bindings(view: str) -> list[BindingType]:
    """Return Textual's bindings for the keys of a view. All run one action of the app, `action_do`, with the
    key's id.
    """
    return [Binding(key.keys, f"app.do('{key.id}')", key.label, show=False, id=key.id) for key in keys_of(view)]


class View(Widget):
    """A view of the session. Its keys call the method ``do_ID``, for an action's id.

    The app calls `show` when a place is visited, `read` on every tick, `read_more` less often, and `update` whenever
    the snapshot, the plan or the contact changed. Subclasses override `inputs` and `draw`; `update` draws only when one
    of the inputs is another object.
    """

    NAME: ClassVar[str] = ""
    """Its name in places and in the keymap."""
    PARTS: ClassVar[frozenset[str]] = frozenset()
    """The parts of the snapshot whose failures concern it; empty: the one that it needs."""
    NEEDS: ClassVar[str] = ""
    """The part of the snapshot without which it has nothing to show."""
    ENTER: ClassVar[str] = ""
    """What Enter does, for the footer."""
    MORE_EVERY: ClassVar[int] = SLOW_EVERY
    """Ticks from one `read_more` to the next; where it takes long, more."""
    CALM: ClassVar[str] = "nothing is in trouble here"
    """What is said where `!` leaves nothing."""
    OF_CLUSTER: ClassVar[bool] = True
    """Whether what it shows is old when the cluster does not answer."""

    def __init__(self, cluster: ShownCluster, lines: LineView) -> None:
        """Create it.

        Args:
            lines: the widget that shows its rows, with the cursor, which gets the focus.
        """
        super().__init__(id=f"view-{self.NAME}")
        self.cluster = cluster
        self.lines = lines
        self.place = Place(self.NAME, 0)
        self.receivers: tuple[object, ...] = (self,)
        """What has the methods of its keys."""
        self.where = TextLines(classes="where")
        self.only_trouble = False
        self.filter_text = ""
        """The current filter (`take_filter`)."""
        self._inputs: tuple[object, ...] = ()

    @property
    def session(self) -> Session:
        """The session that is shown."""
        return self.cluster.session

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot of the cluster."""
        return self.session.snapshot

    @property
    def plan(self) -> Plan:
        """The plan of staged edits."""
        return self.session.plan

    def show(self, place: Place) -> None:
        """Show a place. If it is about another entity than the last one, the view starts at its top.

        Args:
            place: of this view's name. The cluster need not have been read for it yet.
        """
        moved = place.about != self.place.about
        self.place = place
        if moved:
            self.begin()
        self.update()

    def begin(self) -> None:
        """Discard the state of the entity shown before: its filter, marks, rows kept for painting."""

    async def read(self) -> None:
        """Read from the brokers what this view shows: by default the part that it needs. Called on every tick while the
        view is visible.

        Results go into the session's snapshot, which leads to `update`; nothing is drawn here.

        Raises:
            AdminError: no broker answered, or the request failed.
        """
        if self.NEEDS:
            await self.session.read_whole(part_named(self.NEEDS))

    async def read_more(self) -> None:
        """Read what the view shows but does not wait for, such as the lag of all groups.

        Called every `MORE_EVERY` ticks while the view is visible, but pauses so that it takes at most a tenth of the
        time.

        Raises:
            AdminError: as `read`; it is only logged.
        """

    def known(self) -> bool:
        """Return whether what the view shows has been read at least once."""
        return not self.NEEDS or self.NEEDS in self.snapshot.read_at

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the view is drawn from.

        Returns:
            The same number of objects each time. They are compared by identity: if all are the same objects, nothing is
            drawn.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the view from what is known. Called by `update` only, and without reads."""
        raise NotImplementedError

    def update(self) -> None:
        """Draw again if one of the inputs is another object, and write the breadcrumbs."""
        # An empty answer changes no data, and yet "reading…" has to go.
        contact = self.cluster.contact
        inputs = (*self.inputs(), self.known(), contact.lost, contact.unread, contact.silent, self.snapshot.failures)
        # By identity: a snapshot may be large, and the parts that a read did not change are the same objects.
        if len(inputs) != len(self._inputs) or any(a is not b for a, b in zip(inputs, self._inputs, strict=True)):
            self._inputs = inputs
            self.draw()
            self._dim()
        self.tell_where()

    def on_mount(self) -> None:
        """Apply colours and layout, now that the widgets exist."""
        self._dim()
        self.on_resize()

    def on_resize(self) -> None:
        """Put the details beside the table on a wide screen, below it on a narrow one."""
        self.set_class(self.app.size.width >= SIDE_BY_SIDE, "wide")

    def _dim(self) -> None:
        """Take the colours away while the cluster does not answer, and give them back when it does."""
        dimmed = self.OF_CLUSTER and not self.cluster.contact.is_current
        for text in self.query(TextLines):
            text.dim(dimmed)
        for lines in self.query(LineView):
            lines.dim(dimmed)

    def redraw(self) -> None:
        """Draw from the same data with another filter, order or entity."""
        self._inputs = ()
        self.update()

    @cached_property
    def trouble(self) -> OnlyTrouble:
        """What is in trouble, for `do_trouble`. Created when that is first used."""
        from console.tui.panes.only_trouble import OnlyTrouble

        return OnlyTrouble(self, self.cluster, self.redraw)

    def do_trouble(self) -> None:
        """Show only what is in trouble, or all again."""
        self.only_trouble = not self.only_trouble
        self.redraw()

    def nothing_yet(self) -> str:
        """Return the text of a view that has nothing to show yet: that it is being read, or why it can't be."""
        return unread_text(self.cluster.contact, bool(self.note()), self.app.size.width, self.session.front_end)

    def status(self) -> Line:
        """Return the text to the right of the breadcrumbs: counts, ages."""
        return []

    def age(self, what: str, at: datetime | None) -> Line:
        """Return ``overrides as of 09:41:07`` for what is old, as `Reading.age` decides; else an empty line.

        Args:
            what: its name.
            at: when it was read, UTC; None if it was not yet.
        """
        text = self.cluster.reading.age(at, self.MORE_EVERY)
        return [(f"{what} {text}  ".lstrip(), "muted")] if text else []

    def configs_age(self) -> Line:
        """Return when the overrides of all topics and other entities were read, if that is long ago."""
        return self.age("overrides", self.cluster.reading.reads.configs_since)

    def note(self) -> Line:
        """Return the text of the message line while there is no message: what could not be read."""
        return unread(self.snapshot, self.PARTS or {self.NEEDS}, self.concerns)

    def concerns(self, _failure: ReadFailure) -> bool:
        """Return whether a failure to read one of `PARTS` affects what this view shows."""
        return True

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity that a command without one applies to, None if there is none."""
        return None

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """Return the entities that a command without one applies to: all marked ones, or the one under the cursor."""
        target = self.target()
        return [] if target is None else [target]

    def left_out(self) -> list[str]:
        """Return the names of marked rows that a command does not apply to, because they are hidden."""
        return []

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text on a screen above the panes.

        Args:
            make: returns the lines for a width in cells; called again when the width changes.
        """
        from console.tui.screens import TextScreen

        self.app.push_screen(TextScreen(title, make))

    def on_list_key(self) -> bool:
        """Return whether the config key under the cursor has a list as its value, to which items can be added."""
        return False

    def copied(self) -> str:
        """Return the text that `y` copies, ``""`` for nothing."""
        return ""

    def take_filter(self, text: str) -> None:
        """Show only the rows that match a filter.

        Args:
            text: words that all have to occur, ``/regex``, or either negated by ``!`` (`widgets.row_table`); ``""``
                shows all.

        Raises:
            ValueError: the filter is invalid; the message says where.
        """

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the entity, and the sections between which the tab key goes."""
        line: Line = [(about, "strong")] if (about := title_of(self.place)) else []
        for view, title in parts_of(self.place):
            line += [("  " if line else "", ""), (title, "strong" if view == self.place.view else "muted")]
        return line

    def tell_where(self) -> None:
        """Write the breadcrumbs, and the status flush right."""
        left: Line = [(" ", ""), *self.crumbs()]
        left += [("  /" + clean(self.filter_text, 200), "pending")] if self.filter_text else []
        left += [("  only trouble", "pending")] if self.only_trouble else []
        right = self.status()
        space = self.app.size.width - sum(cell_width(t) for t, _ in (*left, *right)) - 1
        self.where.set([*left, (" " * max(2, space), ""), *right])


class AllRows(Generic[Row]):
    """The rows of a table before its filter: by key, and as the texts that the filter searches.

    source: the rows. Index and texts are made once for each sequence of rows, when they are first asked for.
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
        """Take other rows, or the same ones with other cells."""
        if rows is self.source.rows:
            self.source = self.source.again()  # keeps the index of the keys; the search keeps its texts
        else:
            self.source = ListRows(rows, self._key, self._cells)
            self._search = None

    def hits(self, text: str) -> Sequence[int]:
        """Return the indexes of the rows that match a filter. Raises BadQuery."""
        if self._search is None:
            self._search = TextSearch(map(self._words, self.source.rows))
        return self._search.hits(text)

    def row_of(self, key: Hashable | None) -> Row | None:
        """Return the row with a key, None if there is none."""
        index = None if key is None else self.source.index_of(key)
        return None if index is None else self.source.rows[index]


class Ordering(Generic[Row]):
    """Puts rows in order for a table: many of them in another thread, since that would hold up keys."""

    def __init__(self, view: View, shown: AllRows[Row], sift: Callable[[], None]) -> None:
        """Create it.

        Args:
            shown: takes the rows.
            sift: shows them.
        """
        self._view, self._shown, self._sift = view, shown, sift
        self._order: Callable[[], Sequence[Row]] | None = None
        self._worker: Worker[None] | None = None

    def show(self, rows: Sequence[Row]) -> None:
        """Show rows as they are."""
        self._order = None
        self._shown.take(rows)
        self._sift()

    def show_sorted(self, rows: Sequence[Row], key: Callable[[Row], Any], down: bool) -> None:
        """Show rows in the order of a key, many of them a moment later."""
        order = partial(ordered, rows, key, down)
        if len(rows) <= MANY:
            self.show(order())
            return
        self._order = order
        self._sift()  # the filter holds at once, of the rows that are shown
        if self._worker is None or self._worker.is_finished:
            self._worker = start(self._view, self._run, group="order", name="order")

    async def _run(self) -> None:
        while (order := self._order) is not None:
            rows = await asyncio.to_thread(order)
            if self._order is order:  # no other rows are wanted meanwhile
                self.show(rows)
                self._view.tell_where()


class NewestOnTop:
    """The cursor of a table in which new rows come in on top: it stays with the newest while it is on it.

    seen: the key of the first row when it was last on the screen. has_followed: whether another row came under the
    cursor by itself, since it was moved last.
    """

    def __init__(self, table: RowTable, newest_first: bool) -> None:
        """Create it.

        Args:
            newest_first: False where new rows come in anywhere: then rows are shown, and nothing is followed.
        """
        self._table, self._newest_first = table, newest_first
        self.seen: Hashable | None = None
        self.has_followed = False

    def show(self, rows: RowSource) -> None:
        """Show other rows."""
        table = self._table
        follows = self._newest_first and table.sort is None and table.is_first_chosen
        before = table.cursor_key
        table.set_rows(rows)
        if follows:
            table.action_first()
            self.has_followed |= before not in (None, table.cursor_key)
        self.note_newest()

    def note_newest(self) -> None:
        """Remember the first row as seen if it is on the screen."""
        if self._newest_first and len(self._table.rows) and not self._table.visible_range.start:
            self.seen = self._table.key_at(0)

    def cursor_moved(self) -> None:
        """Count the newest rows as seen once the operator moves up to them."""
        self.has_followed &= self._table.cursor_index == 0
        self.note_newest()

    def unseen(self) -> Line:
        """Return ``17 newer ↑``: the number of rows above the screen that are newer than the last seen first row."""
        hidden = self._table.visible_range.start
        if not self._newest_first or not hidden or self._table.sort is not None:
            return []
        index = self._table.index_of(self.seen) if self.seen is not None else None
        count = hidden if index is None else min(index, hidden)
        return [(f"{count:,} newer ↑  ", "pending")] if count else []


class TableView(View, Generic[Row]):
    """A view that is one table. Subclasses say what its rows, their keys and their cells are.

    A refresh keeps the cursor and marks on their keys. `rows` may be called often; `cells` only for the rows on the
    screen, `words` for all rows once a filter is typed.
    """

    COLUMNS: ClassVar[Sequence[Column]] = ()
    NOUN: ClassVar[Columns[Any]]
    """Whose columns are shown; views without one have `cells`, and `sort_key`."""
    ROWS_ARE_PARTS: ClassVar[bool] = False
    """Whether the rows are parts of the one entity that the view is about, to which commands apply."""
    EMPTY: ClassVar[str] = "nothing here"
    MARKS: ClassVar[bool] = True
    """Whether several rows can be meant at once."""
    TROUBLED: ClassVar[str] = ""
    """The part of `Troubles` that has the keys of the rows that stay when only trouble is shown (`!`); ``""`` where
    `in_trouble` says it of each row, which takes long for 100,000."""
    NEWEST_FIRST: ClassVar[bool] = False
    """Whether new rows come in on top: the cursor stays with the newest while it is on it, and what came in above the
    screen is counted."""

    def __init__(self, cluster: ShownCluster) -> None:
        self.table = RowTable(self.COLUMNS, empty=self.EMPTY, markable=self.MARKS)
        super().__init__(cluster, self.table)
        self._all: AllRows[Row] = AllRows(self.key, self.cells, self.words)
        self._ordering: Ordering[Row] = Ordering(self, self._all, self._sift)
        self.newest = NewestOnTop(self.table, self.NEWEST_FIRST)

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs and the table."""
        yield self.where
        yield self.table

    def rows(self) -> Sequence[Row]:
        """Return all rows, before filter and order.

        Returns:
            The same sequence object as the last time if only cells changed: then keys are not indexed again, nor texts
            prepared for the filter, which takes long with 100,000 topics.
        """
        raise NotImplementedError

    def key(self, row: Row) -> Hashable:
        """Return what identifies a row: unique in the table, and the same after a refresh."""
        raise NotImplementedError

    def words(self, row: Row) -> str:
        """Return the text that the filter searches."""
        raise NotImplementedError

    def shown(self) -> Callable[[Row], object]:
        """Return the function that makes the noun's row of one of `rows`, from what is known beside all of them.

        Returns:
            A function that is called for each row of a large table. Where the rows are the noun's own, it returns its
            argument.
        """
        return _itself

    def cells(self, row: Row) -> Sequence[Cell]:
        """Return the cells of a row, one for each of `COLUMNS`."""
        return self.NOUN.cells(self.shown()(row))

    def sort_key(self, column: str) -> Callable[[Row], Any]:
        """Return the function that gives a row's sort key.

        Args:
            column: the id of a column that has a `sort_key`.
        """
        key, shown = self.NOUN.sort_key(column), self.shown()
        return key if shown is _itself else lambda row: key(shown(row))

    def draw(self) -> None:
        """Sort and filter the rows, and give them to the table, which paints the lines that differ."""
        rows = self.rows()
        if self.table.sort is None:
            self._ordering.show(rows)
        else:
            column, down = self.table.sort
            self._ordering.show_sorted(rows, self.sort_key(column), down)

    def _sift(self) -> None:
        """Show the rows that match the filter, and of these only those in trouble where that is wanted."""
        source = self._all.source
        indexes: Sequence[int] = self._all.hits(self.filter_text) if self.filter_text else range(len(source))
        if self.only_trouble:
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

    def on_line_view_highlighted(self) -> None:
        """Count the newest rows as seen once the operator moves up to them."""
        if self.NEWEST_FIRST:
            self.newest.cursor_moved()
            self.tell_where()

    def in_trouble(self, _row: Row) -> bool:
        """Return whether a row stays when only trouble is shown (`!`)."""
        return False

    def empty_text(self) -> str:
        """Return the text of a table without rows."""
        filtered = f"no row passes /{clean(self.filter_text, 60)}  (Esc shows all)" if self.filter_text else ""
        empty = filtered or nothing_text(self.snapshot, self.NEEDS, self.EMPTY, self.app.size.width)
        return empty if self.known() else self.nothing_yet()

    def status(self) -> Line:
        """Return the number of rows shown, and of all rows if a filter hides some."""
        if not self.known():
            return []
        shown, total = len(self.table.rows), len(self._all.source)
        return [*self.newest.unseen(), (f"{shown:,} of {total:,}" if shown != total else f"{shown:,}", "muted")]

    def row(self) -> Row | None:
        """Return the row under the cursor, None if there is none."""
        return self._all.row_of(self.table.cursor_key)

    def target_of(self, _row: Row) -> ConfigResource | QuotaEntity | None:
        """Return the entity of a row, None if its rows have none."""
        return None

    def target(self) -> ConfigResource | QuotaEntity | None:
        """Return the entity under the cursor."""
        row = self.row()
        return None if row is None else self.target_of(row)

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """Return the entities of the marked rows, or the one under the cursor."""
        if self.ROWS_ARE_PARTS:
            return super().targets()
        return [target for row in self.rows_meant() if (target := self.target_of(row)) is not None]

    def rows_meant(self) -> list[Row]:
        """Return the rows that a key applies to.

        Returns:
            The marked rows that are shown, in the table's order; without any marks, the row under the cursor.
            `left_out` has the hidden ones.
        """
        if not self.table.marks:
            row = self.row()
            return [] if row is None else [row]
        indexes = sorted(index for key in self.table.marks if (index := self.table.index_of(key)) is not None)
        return [row for index in indexes if (row := self._all.row_of(self.table.key_at(index))) is not None]

    def left_out(self) -> list[str]:
        """Return the names of the marked rows that a filter, or the choice of what is listed, hides."""
        hidden = [key for key in self.table.marks if self.table.index_of(key) is None]
        return sorted(self.key_text(key) for key in hidden)

    def key_text(self, key: Hashable) -> str:
        """Return a row's key as text for messages."""
        return clean(str(key), 120)

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
        # The row under the cursor is another one by the user's own hand.
        self.newest.has_followed = False
        self.tell_where()

    def begin(self) -> None:
        """Show another entity from its top, without the filter and marks of the one before."""
        self.filter_text = ""
        self.newest.seen = None
        self.table.set_marks(())
        self.table.start_over()

    @on(RowTable.SortRequested)
    def _sort_requested(self, message: RowTable.SortRequested) -> None:
        """Sort by a column; again reverses the order, a third time restores the view's own."""
        message.stop()
        column, before = message.column, self.table.sort
        self.table.sort = None if before == (column, True) else (column, before == (column, False))
        self.redraw()


def _itself(row: object) -> object:
    return row


def ordered(rows: Sequence[Row], key: Callable[[Row], Any], down: bool) -> list[Row]:
    """Return rows in the order of a key, those with the same key in the order that they have.

    Only different keys are sorted: many rows have few of them, and while a list is sorted no other thread runs.
    """
    alike: dict[Any, list[Row]] = {}
    for row in rows:
        alike.setdefault(key(row), []).append(row)
    return [row for each in sorted(alike, reverse=down) for row in alike[each]]
