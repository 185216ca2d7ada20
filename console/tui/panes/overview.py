"""The last half hour at a glance: what is written, what is behind, what is out of sync, what fills, what happened."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from console.model.config import broker_resource
from console.model.half_hour import Measure, Sample
from console.present.overview import OVERVIEW, OverviewRow, columns_for, overview_rows
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.navigator import Navigator
from console.tui.panes.view import TableView, bindings
from console.tui.past import Journal
from console.tui.places import Place, pane_named
from console.tui.watch import ShownCluster
from widgets.row_table import RowTable

WHENCE = "written: growth of leaders' logs; read: by groups' commits"
ELSEWHERE = "; throttled: request logs say (kac triage --request-log, Usage with a lake)"
MARGIN = 14
"""Cells for the title and what is between."""


class OverviewView(TableView[OverviewRow]):
    """One row for each measure; Enter goes to what is measured."""

    NAME = keymap.OVERVIEW
    ENTER = "open"
    MARKS = False
    BINDINGS = bindings(keymap.OVERVIEW)
    NOUN = OVERVIEW
    COLUMNS = OVERVIEW.layout
    EMPTY = "nothing was measured yet"

    def __init__(self, cluster: ShownCluster, navigator: Navigator, journal: Journal) -> None:
        super().__init__(cluster)
        self._navigator, self._journal = navigator, journal
        self.table.folds = False

    @property
    def _samples(self) -> Sequence[Sample]:
        observations = self.cluster.triage.observations
        return observations.samples if observations is not None else ()

    def known(self) -> bool:
        """Return whether there is a sample."""
        return bool(self._samples)

    def inputs(self) -> tuple[object, ...]:
        """Return the samples, the events, and the columns that there is room for."""
        record = self._journal.events.record
        return self._samples, record.events if record is not None else (), columns_for(self.app.size.width)

    async def read(self) -> None:
        """Begin triage and the record of events, which go on when another view is shown.

        Raises:
            AdminError: no broker answered.
        """
        self._journal.events.begin()
        self.cluster.triage.begin()
        if self.known():
            await self.session.read_cluster()
        await self.cluster.triage.first()

    def rows(self) -> Sequence[OverviewRow]:
        """Return the lines."""
        columns = columns_for(self.app.size.width)
        return overview_rows(self._samples, self._journal.moments(), self.snapshot.rates.seconds_left, columns)

    def key(self, row: OverviewRow) -> Hashable:
        """Return what is measured."""
        return row.key

    def words(self, row: OverviewRow) -> str:
        """Return what is measured as text."""
        return row.title

    def in_trouble(self, row: OverviewRow) -> bool:
        """Return whether the newest value is a bad one."""
        return row.meaning in ("failed", "danger") or (row.measure is not None and row.measure.what == "behind")

    def crumbs(self) -> Line:
        """Return the title."""
        return [("overview", "strong")]

    def status(self) -> Line:
        """Return where the numbers come from, and what no broker says."""
        room = self.app.size.width - len(WHENCE) - MARGIN
        return [(WHENCE + (ELSEWHERE if room >= len(ELSEWHERE) else ""), "muted")]

    def note(self) -> Line:
        """Return what the line under the cursor is about, which its column may cut."""
        row = self.row()
        return [(clean(row.title), "muted")] if row is not None and row.measure is not None else super().note()

    def on_resize(self) -> None:
        """Draw with the columns that there is room for."""
        super().on_resize()
        self.update()

    async def on_line_view_selected(self, message: RowTable.Selected) -> None:
        """Go to what is measured."""
        message.stop()
        row = self.row()
        if row is not None:
            place, at = place_of(row.measure)
            await self._navigator.goto(place, row=at)


def place_of(measure: Measure | None) -> tuple[Place, Hashable | None]:
    """Return the place of what is measured, and the key of its row there; without a measure that of the events."""
    if measure is None:
        return pane_named(keymap.EVENTS), None
    match measure.what:
        case "behind":
            return Place(keymap.GROUP, pane_named(keymap.GROUPS).pane, measure.about), None
        case "written" | "read" | "disk":
            return pane_named(keymap.BROKERS), broker_resource(int(measure.about.split(" ")[0])).name
        case _:
            return pane_named(keymap.TOPICS), None
