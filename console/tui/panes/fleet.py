"""The pane of all contexts at once: a row for each cluster, the worst first. kac reads the clusters of other contexts
only while the pane is visible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.language.verbs.go import UseContext
from console.model.derived import Derived
from console.present import fleet as present_fleet
from console.present.names import plural
from console.present.text import Line, clean
from console.session import fleet as session_fleet
from console.tui import keymap
from console.tui.panes.details import DETAILED, DetailsView
from console.tui.places import pane_named
from console.tui.reading import start
from console.tui.tools import Tools

if TYPE_CHECKING:
    from textual.worker import Worker


class FleetView(DetailsView[present_fleet.FleetRow]):
    """One row for each context; Enter opens it. The row of this console's own cluster has the verdict of the pane
    Now.
    """

    NAME = keymap.FLEET
    TITLE = "fleet"
    ENTER = "open"
    MARKS = False
    TAKES = DETAILED
    DETAILS_AFTER = 0.0
    NOUN = present_fleet.FLEET
    EMPTY = "no contexts are configured: kac contexts add NAME -b HOST:PORT"
    CALM = "every cluster that was read is healthy"
    OF_CLUSTER = False

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.table.folds = False  # the details have the whole text
        self._contexts, self._execute = tools.contexts, tools.execute
        self._fleet = session_fleet.Fleet(self.update)
        self._is_open = False
        self._leaving: Worker[None] | None = None
        self._own: Derived[present_fleet.Health | None] = Derived(None)

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the rows of the other clusters, and the data of this cluster's
        row.
        """
        triage, known = self.cluster.triage, self.snapshot
        return self._fleet.rows, triage.verdict, triage.muted, known.topics, known.lags, known.lag_trends

    async def read(self) -> None:
        """Begin the reads of other clusters that are due, and read this console's cluster. Raises AdminError if this
        console's cluster does not answer.
        """
        if self._leaving is None or self._leaving.is_finished:
            if not self._is_open:
                self._is_open = True
                contexts = await asyncio.to_thread(self._contexts.all)
                if not self._is_open:  # the operator left the pane meanwhile
                    return
                self._fleet.take([each for each in contexts if each.name != self.session.context.name])
                self.update()
            self._fleet.step()
        self.cluster.triage.begin()
        await self.session.read_cluster()

    def on_hide(self) -> None:
        """Close the clients of the other clusters."""
        if self._is_open:
            self._is_open = False
            self._leaving = start(self.app, self._fleet.leave, group="fleet", name="fleet")

    async def on_unmount(self) -> None:
        """Close the clients when the console ends."""
        await self._fleet.leave()

    def rows(self) -> Sequence[present_fleet.FleetRow]:
        """Return the contexts, the worst cluster first."""
        return present_fleet.worst_first((self._this(), *self._fleet.rows.values()))

    def _this(self) -> present_fleet.FleetRow:
        """Return the row of this console's cluster."""
        context, triage, known, contact = self.session.context, self.cluster.triage, self.snapshot, self.cluster.contact
        verdict, health = triage.verdict, None
        if verdict is not None:
            made_of = (verdict.causes, verdict.unexplained, verdict.unread, triage.muted, known.cluster, known.topics)
            make = partial(present_fleet.health, verdict, known, triage.muted)
            health = self._own.of((*made_of, known.lags, known.lag_trends), make)
        return present_fleet.FleetRow(
            context.name,
            context.origin,
            health,
            contact.lost,
            contact.answered_at if contact.lost else None,
            is_refused=contact.final,
            is_shown=True,
        )

    def key(self, row: present_fleet.FleetRow) -> Hashable:
        """Return the row's key: the context's name."""
        return row.name

    def words(self, row: present_fleet.FleetRow) -> str:
        """Return the text that the filter searches: the name, the verdict and the worst cause."""
        return f"{row.name} {row.verdict} {row.cause}"

    def in_trouble(self, row: present_fleet.FleetRow) -> bool:
        """Return True unless the cluster is known to be healthy."""
        return not row.is_healthy

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the seconds between two reads of a cluster, and the number of
        contexts that are not healthy.
        """
        rows = self._all.source.rows
        bad = sum(not row.is_healthy for row in rows)
        return [
            (f"each read every {session_fleet.PACE.every:g} s  ", "muted"),
            (
                f"{bad:,} of {plural(len(rows), 'cluster')} not healthy" if bad else plural(len(rows), "cluster"),
                "muted",
            ),
        ]

    def details(self, row: present_fleet.FleetRow) -> list[Line]:
        """Return the context and its verdict as title, then the causes of the cluster's troubles."""
        return [[(f"{clean(row.name, 100)}: {row.verdict}", "")], *present_fleet.fleet_lines(row)]

    def copied_of(self, row: present_fleet.FleetRow) -> str:
        """Return the text that `y` copies: the context's name."""
        return row.name

    async def enter(self, row: present_fleet.FleetRow) -> None:
        """Switch to the context; for the context of this console, show the pane Now."""
        if row.is_shown:
            await self._navigator.goto(pane_named(keymap.NOW))
            return
        context = UseContext(row.name)

        async def switch() -> None:
            await self._execute([context])

        start(self.app, switch, group="command", name="command")
