"""The pane of `find TEXT`: the rows of all panes that contain a text; Enter goes to the row in its pane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from console.model.config import ConfigResource
from console.model.derived import same
from console.model.parts import Part, part_named
from console.present import find as present_find
from console.present.names import plural
from console.present.text import Cell, Line, clean
from console.present.topics import unread_count
from console.session.scheduler import Pace, Turns
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.panes.view import View
from console.tui.places import Place, pane_named, view_place
from console.tui.reading import start
from console.tui.tools import Tools
from widgets.line_view import LineView
from widgets.row_source import Column

if TYPE_CHECKING:
    from textual.worker import Worker

AGAIN = 5.0
"""Seconds until newly read data are searched again."""
TITLES = {"now": "Now", "acls": "ACLs"}
CALM = "what is found is in no trouble by itself"


class FindView(DetailsView[present_find.Hit]):
    """One row for each row of any pane that contains the text."""

    NAME = keymap.FIND
    PARTS = frozenset(present_find.READ)
    MARKS = False
    ENTER = "go there"
    COLUMNS = (
        Column("pane", "Pane", width=12, sort_key="P"),
        Column("name", "Row", flex=2, min_width=26, max_width=70, sort_key="N"),
        Column("shows", "", flex=2, min_width=20, priority=60),
    )

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._journal = tools.journal
        self._found: tuple[present_find.Hits, ...] = ()
        self._rows: list[present_find.Hit] = []
        self._searched: tuple[object, ...] = ()
        self._ended = False
        self._turns = Turns(Pace(AGAIN))
        self._search_worker: Worker[None] | None = None

    @property
    def text(self) -> str:
        """The text that is searched for."""
        about = self.place.about
        return about if isinstance(about, str) else ""

    def begin(self) -> None:
        """Discard the rows found for the previous text, and end its search. A poll may search for ``""``, which every
        row contains, while the pane is mounted and does not have its text yet.
        """
        super().begin()
        if self._search_worker is not None:
            self._search_worker.cancel()
        self._found, self._rows, self._searched, self._ended = (), [], (), False
        self._turns = Turns(Pace(AGAIN))

    def known(self) -> bool:
        """Return whether a row was found, or the search has ended."""
        return self._ended or bool(self._rows)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the rows found, the state of the search, and the text."""
        return self._found, self._ended, self.text

    async def read(self) -> None:
        """Search the snapshot; then read the parts of the snapshot that are missing, and search again. Raises
        AdminError.
        """
        self._search()
        session = self.session
        missing = present_find.unread(self.snapshot)
        if missing:
            reads = (
                session.poll_quotas() if each == Part.QUOTAS else session.read_whole(part_named(each))
                for each in missing
            )
            await asyncio.gather(*reads)
            self._turns.hurry()
            self._search()

    def _search(self) -> None:
        snapshot = self.snapshot
        record = self._journal.events.record
        events = record.events if record is not None else ()
        known = present_find.Known(snapshot, self.plan, events, self.cluster.triage.verdict)
        made_of = (self.text, *(getattr(snapshot, part) for part in _PARTS), self.plan, events, known.verdict)
        if same(made_of, self._searched) or not self._turns.is_due():
            return
        self._searched = made_of
        text, turns = self.text, self._turns

        async def work() -> None:
            with turns:
                await self._run(text, known)

        self._search_worker = start(self, work, group="find", name="find", exclusive=True)

    async def _run(self, text: str, known: present_find.Known) -> None:
        """Search `known` on another thread, and show the rows of each pane as soon as they are found."""
        found: list[present_find.Hits] = []
        each = present_find.find(text, known)
        while (hits := await asyncio.to_thread(next, each, None)) is not None:
            found.append(hits)
            if not self._ended:
                self._show(found)
        self._ended = True
        self._show(found)

    def _show(self, found: Sequence[present_find.Hits]) -> None:
        self._found = tuple(found)
        self._rows = [hit for hits in found for hit in hits.hits]
        self.update()

    def rows(self) -> Sequence[present_find.Hit]:
        """Return the rows found, in order of pane."""
        return self._rows

    def key(self, row: present_find.Hit) -> Hashable:
        """Return the row's key: the name of the pane, and the row's key in that pane."""
        return row.pane, row.row

    def words(self, row: present_find.Hit) -> str:
        """Return the text that the filter searches: the text of the row."""
        return f"{row.pane} {row.name} {row.shows}"

    def cells(self, row: present_find.Hit) -> list[Cell]:
        """Return the cells of a row."""
        return [(TITLES.get(row.pane, row.pane.capitalize()), "muted"), row.name, (row.shows, "muted")]

    def sort_key(self, column: str) -> Callable[[present_find.Hit], Any]:
        """Return the function that gives a row's pane or its name, depending on the column's id."""
        return (lambda hit: (hit.pane, hit.name)) if column == "pane" else (lambda hit: (hit.name, hit.pane))

    def empty_text(self) -> str:
        """Return the text of a table without rows: that the search is running, or found nothing."""
        if not self.known():
            return "looking…"
        if self.filter_text:
            return super().empty_text()
        return f"nothing contains {clean(self.text, 100)}"

    def crumbs(self) -> Line:
        """Return the breadcrumbs: the text that is searched for."""
        return [("find ", "muted"), (clean(self.text, 100), "strong")]

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the data that are not read yet, and the number of rows found."""
        count = sum(hits.total for hits in self._found)
        listed = len(self._rows)
        missing = [TITLES.get(part, part) for part in present_find.unread(self.snapshot)]
        if topics := unread_count(self.snapshot):
            missing.append(f"configs of {plural(topics, 'topic')}")
        line: Line = [(f"not read: {', '.join(missing)}  ", "changed")] if missing else []
        if not self._ended:
            line.append(("looking…  ", "muted"))
        return [*line, (f"{listed:,} of {count:,}" if listed != count else f"{count:,}", "muted")]

    def do_trouble(self) -> None:
        """Show a message that `!` (only trouble) does not apply to rows of a search."""
        self._message.say(CALM, "muted")

    def copied_of(self, row: present_find.Hit) -> str:
        """Return the text that `y` copies: the name in the row."""
        return row.name

    async def enter(self, row: present_find.Hit) -> None:
        """Show the row in its own pane."""
        place, key = place_of(row)
        await self._navigator.goto(place)
        self._put_cursor(self._navigator.view, key)

    def _put_cursor(self, view: View, key: Hashable) -> None:
        """Remove a view's filters, and move its cursor to a row. If the view does not list the row, show a message."""
        # Remove the filters that the view still has, because they could hide the row.
        if view.filter_text:
            view.take_filter("")
        if view.only_trouble:
            view.do_trouble()
        if not any(lines.move_cursor(key) for lines in view.query(LineView)):
            self._message.say(
                "the row is not listed there now: it is gone, or what the pane lists leaves it out", "muted"
            )


_PARTS = (Part.CLUSTER, Part.TOPICS, Part.CONFIGS, Part.GROUPS, Part.QUOTAS, Part.ACLS, Part.TRANSACTIONS)


def place_of(hit: present_find.Hit) -> tuple[Place, Hashable]:
    """Return the place that shows a row of the search, and the row's key there."""
    if hit.pane == "configs" and isinstance(hit.row, tuple) and isinstance(hit.row[0], ConfigResource):
        return Place(keymap.CONFIGS, pane_named(keymap.ENTITIES).pane, hit.row[0]), hit.row[1]
    if hit.pane == "transactions":
        return view_place(keymap.TRANSACTIONS), hit.row
    return pane_named(hit.pane), hit.row
