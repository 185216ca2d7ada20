"""The pane of graphs of the last half hour: writes, lag, out-of-sync replicas, disk usage and changes, with a cursor in
time (a marked column).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from console.present import graphs
from console.present.overview import overview_chart
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import GraphedView, place_of
from console.tui.tools import Tools
from widgets.line_view import LineView
from widgets.row_source import Cell, Column, Span
from widgets.row_table import RowTable

if TYPE_CHECKING:
    from textual.binding import BindingType

    from console.lake.reader import Tables

WHENCE = "written: growth of leaders' logs; read: by groups' commits"
BY = "throttled: kac by its answers; others: by "
ELSEWHERE = f"{BY}kac --request-log FILE, or a lake"

log = logging.getLogger(__name__)


CHANGES = graphs.Graph("changes", "changes", "changes", {})
"""The row in which marks show when something changed."""


class GraphTable(RowTable, inherit_bindings=False):
    """A table below a time axis, with a row for each graph. A row is one to six lines high, as many as the screen has
    space for.
    """

    # Left and right move the cursor in time instead of panning.
    BINDINGS: ClassVar[list[BindingType]] = [
        *(each for each in LineView.BINDINGS if "pan(" not in str(each)),
        Binding("left,h", "app.do('earlier')", "Earlier", show=False),
        Binding("right,l", "app.do('later')", "Later", show=False),
    ]
    chart: graphs.Chart | None = None
    """The drawn graphs; None before the first sample."""
    moment: int | None = None
    """The index of the column that the cursor in time marks; None without a cursor in time."""

    def header(self, width: int) -> Sequence[Span] | None:
        """Return the time axis of the chart; None without a chart."""
        return [(" ", ""), *graphs.axis_line(self.chart, width, self.moment)] if self.chart is not None else None

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return a graph as one line; without a chart, the sentence in its place."""
        if self.chart is None:
            return super().spans(index, width)
        return self.pieces(index, width, 1)[0]

    def is_cut(self, width: int) -> bool:
        """Return whether rows can use more lines: graphs can always, sentences if they are wider than `width`."""
        return self.chart is not None or super().is_cut(width)

    def pieces(self, index: int, width: int, most: int) -> list[Sequence[Span]]:
        """Return a graph as at most `most` lines of `width` cells."""
        chart, key = self.chart, self.key_at(index)
        if chart is None:
            return super().pieces(index, width, most)
        if key == CHANGES.key:
            return [graphs.changes_line(chart, width + 1, self.moment)]
        # The rows may still be those of the chart before: return an empty line for a graph that the new chart lacks.
        at = next((at for at, each in enumerate(chart.graphs) if each.key == key), None)
        if at is None:
            return [()]
        lines = graphs.heights(chart.graphs, self._page - 1)[at]
        return [*graphs.graph_lines(chart, chart.graphs[at], min(lines, most), width + 1, self.moment)]


class OverviewView(GraphedView[graphs.Graph]):
    """One row for each measure with its graph; Enter opens the place of the measure's data."""

    NAME = keymap.OVERVIEW
    TITLE = "overview"
    ENTER = "open"
    MARKS = False
    COLUMNS = (Column("what", "", flex=1),)
    EMPTY = "nothing was measured yet"
    ROW_TABLE = GraphTable
    table: GraphTable

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._journal, self._events, self._lake = tools.journal, tools.journal.events, tools.lake

    def known(self) -> bool:
        """Return whether a sample has been taken."""
        return self.cluster.half_hour.known is not None

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the samples, the events and the width."""
        return *self.cluster.half_hour.inputs(), self.app.size.width

    async def read(self) -> None:
        """Start triage and the recording of events, which continue when another view is shown.

        Raises:
            AdminError: no broker answered.
        """
        self._events.begin()
        self.cluster.half_hour.begin()
        self.cluster.triage.begin()
        if self.known():
            await self.session.read_cluster()
        await self.cluster.triage.first()

    async def read_more(self) -> None:
        """Read the throttled clients from the lake, if there is one. Only this view reads them, because the lake's
        reader takes memory.
        """
        # A lake in an object store has to be opened to find out whether it exists.
        where = self._lake.where
        if "://" not in where and not await asyncio.to_thread(Path(where).is_dir):
            return
        if (found := await asyncio.to_thread(self._throttled, await self._lake.tables())) is not None:
            self.cluster.half_hour.learn_usage(found)

    def _throttled(self, tables: Tables | None) -> Mapping[str, Mapping[int, float]] | None:
        if tables is None:
            return None
        from console.lake.files import LakeError
        from console.lake.reader import throttled_minutes
        from console.model.half_hour import EVERY, SLOTS
        from console.present.lake import usage_by_minute

        cluster = self.snapshot.cluster.cluster_id or ""
        since = self.session.clock.now() - timedelta(seconds=EVERY * SLOTS)
        try:
            return usage_by_minute(throttled_minutes(tables, cluster, since))
        except LakeError as error:
            log.info("who is throttled: %s", error)
            return None

    def draw(self) -> None:
        """Draw the chart, with the cursor in time if its column is still in the chart."""
        table, half_hour = self.table, self.cluster.half_hour
        chart = overview_chart(half_hour.shown(), self.app.size.width) if not half_hour.in_words else None
        table.chart = chart
        table.moment = half_hour.moment.column(chart.axis) if chart is not None and half_hour.moment else None
        self.column_seconds = [chart.axis.seconds] if chart is not None else []
        super().draw()

    def rows(self) -> Sequence[graphs.Graph]:
        """Return the row of changes, then the graphs; over a slow link, a row for each sentence that replaces a
        graph.
        """
        if self.cluster.half_hour.in_words:
            told = self.cluster.half_hour.sentences(None)
            return [graphs.Graph(" ".join(each), told[each].text, each.what, {}, measure=each) for each in told]
        return [CHANGES, *self.table.chart.graphs] if self.table.chart is not None else []

    def key(self, row: graphs.Graph) -> Hashable:
        """Return the row's key: that of the measure."""
        return row.key

    def cells(self, row: graphs.Graph) -> Sequence[Cell]:
        """Return the title as the only cell; the table itself draws the graph."""
        return [clean(row.title)]

    def words(self, row: graphs.Graph) -> str:
        """Return the text that the filter searches: the measure as text."""
        return row.title

    def in_trouble(self, row: graphs.Graph) -> bool:
        """Return whether the newest value is bad. True for each graph of a group's lag, as only groups with a lag are
        shown.
        """
        newest = row.values.get(self.table.chart.axis.last) if self.table.chart is not None else None
        return row.what == "behind" or graphs.meaning(row.what, newest) in ("failed", "danger")

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the sources of the numbers."""
        return [(WHENCE, "muted")]

    def note(self) -> Line:
        """Return the text for the message line: the whole name of the measure under the cursor; for throttled clients,
        the sources of these data.
        """
        row = self.row()
        if row is not None and row.measure is not None:
            return [(clean(row.title), "muted")]
        return super().note() or [(self._who_is_throttled(), "muted")]

    def _who_is_throttled(self) -> str:
        """Return the sources from which kac has data on throttled clients; if it has none, the sources that would
        give them.
        """
        observations = self.cluster.triage.observations
        files = observations.last.facts.request_logs.files if observations is not None else ()
        by = [*(clean(each, 40) for each in files), *(["the lake"] if self.cluster.half_hour.usage is not None else [])]
        return BY + ", ".join(by) if by else ELSEWHERE

    def on_resize(self) -> None:
        """Draw the chart again, with as many columns as fit."""
        self.update()

    async def enter(self, row: graphs.Graph) -> None:
        """Show the place of the row's measure."""
        place, at = place_of(row.measure)
        await self._navigator.goto(place, row=at)
