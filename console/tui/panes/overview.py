"""The last half hour at a glance: writes, lag, out-of-sync replicas, disk usage and events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from console.present.overview import OVERVIEW, OverviewRow, columns_for, overview_rows
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.panes.details import place_of
from console.tui.panes.table import TableView
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.lake.reader import Tables

WHENCE = "written: growth of leaders' logs; read: by groups' commits"
BY = "throttled: kac by its answers; others: by "
ELSEWHERE = f"{BY}kac --request-log FILE, or a lake"

log = logging.getLogger(__name__)


class OverviewView(TableView[OverviewRow]):
    """One row for each measure; Enter opens the place that it measures."""

    NAME = keymap.OVERVIEW
    ENTER = "open"
    MARKS = False
    NOUN = OVERVIEW
    EMPTY = "nothing was measured yet"

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._events, self._lake = tools.journal.events, tools.lake
        self.table.folds = False

    def known(self) -> bool:
        """Return whether a sample has been taken."""
        return self.cluster.half_hour.known is not None

    def inputs(self) -> tuple[object, ...]:
        """Return the samples, the events, and the columns that fit."""
        return *self.cluster.half_hour.inputs(), columns_for(self.app.size.width)

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
        """Read the throttled clients from the lake if there is one: its reader takes memory."""
        # For a lake in an object store, only an attempt to open it shows whether it exists.
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

    def rows(self) -> Sequence[OverviewRow]:
        """Return the rows of the measures."""
        return overview_rows(self.cluster.half_hour.shown(), columns_for(self.app.size.width))

    def key(self, row: OverviewRow) -> Hashable:
        """Return the key of the measure."""
        return row.key

    def words(self, row: OverviewRow) -> str:
        """Return the measure as text."""
        return row.title

    def in_trouble(self, row: OverviewRow) -> bool:
        """Return whether the newest value is bad."""
        return row.meaning in ("failed", "danger") or (row.measure is not None and row.measure.what == "behind")

    def crumbs(self) -> Line:
        """Return the title."""
        return [("overview", "strong")]

    def status(self) -> Line:
        """Return the sources of the numbers."""
        return [(WHENCE, "muted")]

    def note(self) -> Line:
        """Return the measure under the cursor, which its column may cut; else the sources of data on throttled
        clients."""
        row = self.row()
        if row is not None and row.measure is not None:
            return [(clean(row.title), "muted")]
        return super().note() or [(self._who_is_throttled(), "muted")]

    def _who_is_throttled(self) -> str:
        """Return the sources of data on throttled clients, or the sources that would add it."""
        observations = self.cluster.triage.observations
        files = observations.last.facts.request_logs.files if observations is not None else ()
        by = [*(clean(each, 40) for each in files), *(["the lake"] if self.cluster.half_hour.usage is not None else [])]
        return BY + ", ".join(by) if by else ELSEWHERE

    def on_resize(self) -> None:
        """Draw again with the columns that fit."""
        super().on_resize()
        self.update()

    async def enter(self, row: OverviewRow) -> None:
        """Open the place that the row measures."""
        place, at = place_of(row.measure)
        await self._navigator.goto(place, row=at)
