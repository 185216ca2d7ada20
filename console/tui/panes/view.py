"""What every view is: a line that says where you are, a table or tree, and what the app asks of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from console.present.failures import nothing_text, unread
from console.present.text import Cell, Line, clean
from console.tui.keymap import keys_of
from console.tui.places import Place, parts_of
from console.tui.places import title as title_of
from console.tui.reading import SWEEP_EVERY, unread_text
from console.tui.text_lines import TextLines
from widgets.cells import cell_width
from widgets.line_view import LineView
from widgets.row_source import Column, ListRows
from widgets.row_table import RowTable, RowView, TextSearch, parse_query

if TYPE_CHECKING:
    from textual.geometry import Size
    from textual.worker import Worker

    from console.language.statements import Subject
    from console.model.changes import Target
    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.model.snapshot import ReadFailure, Snapshot
    from console.plan.edits import Edit
    from console.plan.plan import Plan
    from console.present.changed import Changed
    from console.session.session import Session
    from console.tui.panes.only_trouble import OnlyTrouble
    from console.tui.past import Journal, OpenLake
    from console.tui.reading import Contact, Reading, Swept
    from console.tui.watch import Watch

Row = TypeVar("Row")
SIDE_BY_SIDE = 150
"""Cells of a view from which on details stand beside their table: below it they would be two lines, and both empty."""


def bindings(view: str) -> list[BindingType]:
    """Textual's bindings for the keys of a view: each runs the app's one dispatcher."""
    return [Binding(key.keys, f"app.do('{key.id}')", key.label, show=False, id=key.id) for key in keys_of(view)]


class Navigation(Protocol):
    """Going from view to view (`console.tui.navigator`)."""

    async def goto(self, place: Place, *, aside: bool = False, row: Hashable | None = None) -> None:
        """Show a place, with the cursor on a row."""
        ...

    def open_resource(self, resource: ConfigResource) -> None:
        """Show an entity inside the current pane."""
        ...

    def open_target(self, target: Target | None) -> None:
        """Show what an edit is about."""
        ...


class PaneHost(Protocol):
    """What views need of the app (`console.tui.app.Console`)."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    @property
    def contact(self) -> Contact:
        """Whether the cluster answers."""
        ...

    @property
    def reading(self) -> Reading:
        """When the screen reads what."""
        ...

    @property
    def changed(self) -> Changed:
        """What changed since it was last looked at."""
        ...

    @property
    def navigator(self) -> Navigation:
        """Going to other views."""
        ...

    @property
    def journal(self) -> Journal:
        """This host's journal of the cluster."""
        ...

    @property
    def lake(self) -> OpenLake:
        """The lake."""
        ...

    @property
    def triage(self) -> Watch:
        """What is wrong with the cluster."""
        ...

    @property
    def size(self) -> Size:
        """Of the terminal, in cells."""
        ...

    def say(self, text: str, meaning: str = "") -> None:
        """Put a line on the message line."""
        ...

    def show_text(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        """Show a text above the panes; `make` returns its lines for a width."""
        ...

    def prefill(self, text: str) -> None:
        """Open the command bar with the beginning of a command."""
        ...

    def edit_entities(self, entities: Sequence[Subject], key: str = "") -> None:
        """Open the command bar to set a key of entities."""
        ...

    def stage(self, edits: Sequence[Edit], lasts_ms: int | None = None, left_out: Sequence[str] = ()) -> None:
        """Put edits into the plan and report it on the message line."""
        ...

    def start(
        self, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, name: str, exclusive: bool = False
    ) -> Worker[None]:
        """Run a coroutine function as a worker of the app."""
        ...


class View(Widget):
    """A view of the session. The app asks it to read, to show, and to carry out its keys: `do_ID` for an id."""

    NAME: ClassVar[str] = ""
    """Its name in places and in the keymap."""
    PARTS: ClassVar[frozenset[str]] = frozenset()
    """The parts of the snapshot whose failures concern it."""
    NEEDS: ClassVar[str] = ""
    """The part of the snapshot without which it has nothing to show."""
    ENTER: ClassVar[str] = ""
    """What Enter does, for the footer."""
    MORE_EVERY: ClassVar[int] = SWEEP_EVERY
    """Ticks from one `read_more` to the next; where it takes long, more."""
    CALM: ClassVar[str] = "nothing is in trouble here"
    """What is said where `!` leaves nothing."""
    OF_CLUSTER: ClassVar[bool] = True
    """Whether what it shows is old when the cluster does not answer."""

    def __init__(self, host: PaneHost) -> None:
        super().__init__(id=f"view-{self.NAME}")
        self.host = host
        self.place = Place(self.NAME, 0)
        self.where = TextLines(classes="where")
        self.only_trouble = False
        self._inputs: tuple[object, ...] = ()

    @property
    def snapshot(self) -> Snapshot:
        """What is known of the cluster."""
        return self.host.session.snapshot

    @property
    def plan(self) -> Plan:
        """What is staged."""
        return self.host.session.plan

    def answering(self) -> list[int]:
        """The ids of the brokers, without those that do not answer: a read would wait for them."""
        silent = self.host.contact.silent
        return [broker.id for broker in self.snapshot.cluster.brokers if broker.id not in silent]

    def show(self, place: Place) -> None:
        """Show a place; another entity than before starts at its top."""
        moved = place.about != self.place.about
        self.place = place
        if moved:
            self.begin()
        self.update()

    def begin(self) -> None:
        """Forget what belonged to another entity."""

    async def read(self) -> None:
        """Read what this view shows, once. Raises AdminError where the cluster is out of reach."""

    async def read_more(self) -> None:
        """Read what a view shows but need not wait for; at most a tenth of the time goes into it."""

    def known(self) -> bool:
        """Whether what it shows has been read at all."""
        return not self.NEEDS or self.NEEDS in self.snapshot.read_at

    def inputs(self) -> tuple[object, ...]:
        """What the view is made of: where all are the very same objects, nothing is drawn again."""
        raise NotImplementedError

    def draw(self) -> None:
        """Make the view from what is known."""
        raise NotImplementedError

    def update(self) -> None:
        """Draw again if anything that the view is made of is another object."""
        # An empty answer changes no data, and yet "reading…" has to go.
        contact = self.host.contact
        inputs = (*self.inputs(), self.known(), contact.lost, contact.unread, contact.silent, self.snapshot.failures)
        if len(inputs) != len(self._inputs) or any(a is not b for a, b in zip(inputs, self._inputs, strict=True)):
            self._inputs = inputs
            self.draw()
            self._dim()
        self.tell_where()

    def on_mount(self) -> None:
        """What it is made of is there now."""
        self._dim()
        self.on_resize()

    def on_resize(self) -> None:
        """Where it is wide, what is below the table stands beside it."""
        self.set_class(self.host.size.width >= SIDE_BY_SIDE, "wide")

    def _dim(self) -> None:
        """Without colours while no answer says that it is so."""
        dimmed = self.OF_CLUSTER and not self.host.contact.is_current
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
        """What is in trouble; needed once only that is shown."""
        from console.tui.panes.only_trouble import OnlyTrouble

        return OnlyTrouble(self.host.session, self.host.contact, self.host.triage)

    def do_trouble(self) -> None:
        """Show only what is in trouble, or all."""
        self.only_trouble = not self.only_trouble
        self.redraw()

    def nothing_yet(self) -> str:
        """What stands in a view that has nothing to show."""
        return unread_text(self.host.contact, bool(self.note()), self.host.size.width, self.host.session.door)

    def status(self) -> Line:
        """What stands right of the breadcrumbs: counts, the filter."""
        return []

    def age(self, what: str, swept: Swept | None) -> Line:
        """``overrides as of 09:41:07``, see `Reading.age`."""
        text = self.host.reading.age(swept, each_tick=self.MORE_EVERY == 1)
        return [(f"{what} {text}  ".lstrip(), "muted")] if text else []

    def note(self) -> Line:
        """What the message line says while there is no message: what could not be read."""
        return unread(self.snapshot, self.PARTS, self.concerns)

    def concerns(self, _failure: ReadFailure) -> bool:
        """Whether what could not be read of one of `PARTS` is something that this view shows."""
        return True

    def target(self) -> ConfigResource | QuotaEntity | None:
        """The entity that a command may leave out."""
        return None

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """The entities that a command may leave out: all that are marked, or the one under the cursor."""
        target = self.target()
        return [] if target is None else [target]

    def left_out(self) -> list[str]:
        """What is marked and not meant, because it is not shown, by name."""
        return []

    def clear_marks(self) -> None:
        """Mark nothing any more."""

    def take_focus(self) -> None:
        """Give the keys to what the view is about."""

    def has_row(self) -> bool:
        """Whether there is something under the cursor."""
        return False

    def on_list_key(self) -> bool:
        """Whether the key under the cursor holds a list."""
        return False

    def sorts(self) -> list[tuple[str, str]]:
        """The keys that sort, and the columns that they sort by."""
        return []

    def copied(self) -> str:
        """What `y` copies, ``""`` for nothing."""
        return ""

    def take_filter(self, text: str) -> None:
        """Show only rows that pass; raises ValueError for an invalid filter."""

    @property
    def filter_text(self) -> str:
        """The filter that holds now."""
        return ""

    def crumbs(self) -> Line:
        """Where this is."""
        line: Line = [(about, "strong")] if (about := title_of(self.place)) else []
        for title, is_here in parts_of(self.place):
            line += [("  " if line else "", ""), (title, "strong" if is_here else "muted")]
        return line

    def tell_where(self) -> None:
        """Write the breadcrumbs, and the status flush right."""
        left: Line = [(" ", ""), *self.crumbs()]
        left += [("  /" + clean(self.filter_text, 200), "pending")] if self.filter_text else []
        left += [("  only trouble", "pending")] if self.only_trouble else []
        right = self.status()
        space = self.host.size.width - sum(cell_width(t) for t, _ in (*left, *right)) - 1
        self.where.set([*left, (" " * max(2, space), ""), *right])


class TableView(View, Generic[Row]):
    """A view that is one table: what its rows are, in which order, and which of them a filter leaves."""

    COLUMNS: ClassVar[Sequence[Column]] = ()
    EMPTY: ClassVar[str] = "nothing here"
    MARKS: ClassVar[bool] = True
    """Whether several rows can be meant at once."""
    NEWEST_FIRST: ClassVar[bool] = False
    """Whether new rows come in on top: the cursor stays with the newest while it is on it, and what came in above the
    screen is counted."""

    def __init__(self, host: PaneHost) -> None:
        super().__init__(host)
        self.table = RowTable(self.COLUMNS, empty=self.EMPTY, markable=self.MARKS)
        self._filter = ""
        self._search: TextSearch | None = None
        self._all: ListRows[Row] = ListRows((), self.key, self.cells)
        self._sort: tuple[str, bool] | None = None
        self._newest: Hashable | None = None
        self._has_followed = False
        """Whether another row came under the cursor by itself, since it was moved last."""

    def compose(self) -> ComposeResult:
        """The breadcrumbs and the table."""
        yield self.where
        yield self.table

    def rows(self) -> Sequence[Row]:
        """All rows, before filter and order; the very same sequence where only cells differ, which spares much work."""
        raise NotImplementedError

    def key(self, row: Row) -> Hashable:
        """What identifies a row, also after a refresh."""
        raise NotImplementedError

    def words(self, row: Row) -> str:
        """What the filter looks at."""
        raise NotImplementedError

    def cells(self, row: Row) -> Sequence[Cell]:
        """A row's cells, in the order of the columns."""
        raise NotImplementedError

    def sort_key(self, column: str) -> Callable[[Row], Any]:
        """What the rows are ordered by where a column is asked for."""
        raise NotImplementedError

    def draw(self) -> None:
        """Order the rows, filter them, and give them to the table, which paints the lines that differ."""
        rows = self.rows()
        if self._sort is not None:
            column, down = self._sort
            rows = sorted(rows, key=self.sort_key(column), reverse=down)
        if rows is self._all.rows:
            self._all = self._all.again()
        else:
            self._all = ListRows(rows, self.key, self.cells)
            self._search = None
        self._sift()

    def _sift(self) -> None:
        """Show the rows that pass the filter; the texts that it searches are made once for each set of rows."""
        places: Sequence[int] = range(len(self._all.rows))
        if self._filter:
            if self._search is None:
                self._search = TextSearch(map(self.words, self._all.rows))
            places = self._search.hits(self._filter)
        if self.only_trouble:
            places = [place for place in places if self.in_trouble(self._all.rows[place])]
        shown = RowView(self._all, places) if self._filter or self.only_trouble else self._all
        calm = self.only_trouble and self.known() and not unread(self.snapshot, {self.NEEDS})
        self.table.empty = self.trouble.calm(self.CALM, self._filter) if calm else self.empty_text()
        follows = self.NEWEST_FIRST and self._sort is None and self.table.is_first_chosen
        before = self.table.cursor_key
        self.table.set_rows(shown)
        if follows:
            self.table.action_first()
            self._has_followed |= before not in (None, self.table.cursor_key)
        self._look_at_newest()

    def _look_at_newest(self) -> None:
        """Where the first row is on the screen, the newest has been seen."""
        if self.NEWEST_FIRST and len(self.table.rows) and not self.table.visible_range.start:
            self._newest = self.table.key_at(0)

    def newer(self) -> Line:
        """``17 newer ↑``: rows above the screen that came in since its first one was seen."""
        hidden = self.table.visible_range.start
        if not self.NEWEST_FIRST or not hidden or self._sort is not None:
            return []
        place = self.table.index_of(self._newest) if self._newest is not None else None
        count = hidden if place is None else min(place, hidden)
        return [(f"{count:,} newer ↑  ", "pending")] if count else []

    def on_line_view_highlighted(self) -> None:
        """Going up sees what is newer."""
        if self.NEWEST_FIRST:
            self._has_followed &= self.table.cursor_index == 0
            self._look_at_newest()
            self.tell_where()

    def in_trouble(self, _row: Row) -> bool:
        """Whether `!` leaves a row."""
        return False

    def empty_text(self) -> str:
        """What stands in an empty table."""
        filtered = f"no row passes /{clean(self._filter, 60)}  (Esc shows all)" if self._filter else ""
        empty = filtered or nothing_text(self.snapshot, self.NEEDS, self.EMPTY, self.host.size.width)
        return empty if self.known() else self.nothing_yet()

    def status(self) -> Line:
        """How many rows are shown, of how many."""
        if not self.known():
            return []
        shown, total = len(self.table.rows), len(self._all)
        return [*self.newer(), (f"{shown:,} of {total:,}" if shown != total else f"{shown:,}", "muted")]

    def row(self) -> Row | None:
        """The row under the cursor."""
        return self._row_of(self.table.cursor_key)

    def target_of(self, _row: Row) -> ConfigResource | QuotaEntity | None:
        """The entity that a row stands for."""
        return None

    def target(self) -> ConfigResource | QuotaEntity | None:
        """The entity under the cursor."""
        row = self.row()
        return None if row is None else self.target_of(row)

    def targets(self) -> list[ConfigResource | QuotaEntity]:
        """The entities that are marked, or the one under the cursor."""
        return [target for row in self.rows_meant() if (target := self.target_of(row)) is not None]

    def rows_meant(self) -> list[Row]:
        """The marked rows that are shown; without any marks the one under the cursor. See `left_out`."""
        if not self.table.marks:
            row = self.row()
            return [] if row is None else [row]
        places = sorted(index for key in self.table.marks if (index := self.table.index_of(key)) is not None)
        return [row for index in places if (row := self._row_of(self.table.key_at(index))) is not None]

    def left_out(self) -> list[str]:
        """The names of the marked rows that a filter, or the choice of what is listed, hides."""
        hidden = [key for key in self.table.marks if self.table.index_of(key) is None]
        return sorted(self.key_text(key) for key in hidden)

    def key_text(self, key: Hashable) -> str:
        """A row's key for people."""
        return clean(str(key), 120)

    def clear_marks(self) -> None:
        """What they were made for is done."""
        self.table.set_marks(())

    def visible_rows(self) -> list[Row]:
        """The rows on the screen."""
        keys = [self.table.key_at(index) for index in self.table.visible_range]
        return [row for key in keys if (row := self._row_of(key)) is not None]

    def _row_of(self, key: Hashable | None) -> Row | None:
        index = None if key is None else self._all.index_of(key)
        return None if index is None else self._all.rows[index]

    def sorts(self) -> list[tuple[str, str]]:
        """The keys that sort, and the columns that they sort by."""
        return [(column.sort_key, column.label) for column in self.table.columns if column.sort_key]

    def has_row(self) -> bool:
        """Whether there is a row under the cursor."""
        return self.table.cursor_index >= 0

    def take_focus(self) -> None:
        """The table has the keys."""
        self.table.focus()

    @property
    def filter_text(self) -> str:
        """The filter that holds now."""
        return self._filter

    def take_filter(self, text: str) -> None:
        """Show only rows that pass; raises ValueError for an invalid filter."""
        wanted = text.strip()
        parse_query(wanted)
        self._filter = wanted
        self._sift()
        # The row under the cursor is another one by the user's own hand.
        self._has_followed = False
        self.tell_where()

    def begin(self) -> None:
        """Another entity begins at its top, without the filter and the marks of the one before."""
        self._filter = ""
        self._newest = None
        self.table.set_marks(())
        self.table.begin_anew()

    @on(RowTable.SortRequested)
    def _sort_requested(self, message: RowTable.SortRequested) -> None:
        """Order by a column; once more turns it round, a third time goes back to the view's own order."""
        message.stop()
        column = message.column
        self._sort = None if self._sort == (column, True) else (column, self._sort == (column, False))
        self.table.sort = self._sort
        self.redraw()
