"""The pane of the flows of MirrorMaker 2 to this cluster."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress

from console.admin.errors import AdminError
from console.model.parts import Part
from console.present import mirrors
from console.present.columns import clock
from console.present.names import plural
from console.present.text import Line, clean
from console.session.connector_reads import read_mirrored_ends
from console.tui import keymap
from console.tui.panes.details import DetailsView
from console.tui.text_lines import wrap_all


class MirrorsView(DetailsView[mirrors.MirrorRow]):
    """One row for each flow (source cluster → this cluster); Enter shows the groups whose offsets it translates. kac
    reads the flows' heartbeats and checkpoints while the view is visible.
    """

    NAME = keymap.MIRRORS
    PARTS = frozenset({Part.MIRRORS, Part.TOPICS})
    NEEDS = Part.MIRRORS
    ENTER = "groups"
    CALM = "the heartbeats of all flows come"
    NOUN = mirrors.MIRRORS
    EMPTY = mirrors.EMPTY
    MARKS = False

    def inputs(self) -> tuple[object, ...]:
        """Return the values that the pane is drawn from: the flows with the time of their read, and the data of their
        details.
        """
        known = self.snapshot
        return known.mirrors, known.read_at.get(Part.MIRRORS), known.log_ranges, known.connect

    async def read(self) -> None:
        """Read the heartbeats and checkpoints of the flows; before that the topics, if they were not read yet."""
        if Part.TOPICS not in self.snapshot.read_at:
            await self.session.read_topics()
        await super().read()

    async def read_more(self) -> None:
        """Read the topics, since MirrorMaker may have created new ones, and the end offsets of the mirrored topics."""
        session = self.session
        await session.read_topics()
        await session.keep(read_mirrored_ends(session.client, self.snapshot))

    def rows(self) -> Sequence[mirrors.MirrorRow]:
        """Return the flows in order of name."""
        return [*mirrors.mirror_rows(self.snapshot)]

    def key(self, row: mirrors.MirrorRow) -> Hashable:
        """Return the row's key: the name of the flow."""
        return row.flow.name

    def words(self, row: mirrors.MirrorRow) -> str:
        """Return the text that the filter searches: the name, the state, the connectors, the groups and the topics."""
        flow = row.flow
        return " ".join((flow.name, row.state, *flow.connectors, *flow.groups, *flow.topics))

    def in_trouble(self, row: mirrors.MirrorRow) -> bool:
        """Return whether the flow's heartbeats have stopped."""
        return row.state == mirrors.SILENT

    def status(self) -> Line:
        """Return the text right of the breadcrumbs: the number of flows without heartbeats, the number of flows, and
        the time of the read; empty before the first read.
        """
        if not self.known():
            return []
        silent = sum(map(self.in_trouble, self.rows()))
        line: Line = [(f"{plural(silent, 'flow')} silent  ", "failed")] if silent else []
        return [*line, *super().status(), (f"  at {clock(self.snapshot.read_at.get(Part.MIRRORS))}", "muted")]

    def details(self, row: mirrors.MirrorRow) -> list[Line]:
        """Return the details of the flow."""
        return [[(_title(row), "")], *mirrors.mirror_lines(row, self.snapshot)]

    async def enter(self, row: mirrors.MirrorRow) -> None:
        """Show the details of the flow on a screen above the panes, with the number of records after each
        checkpoint.
        """
        with suppress(AdminError):  # without an answer the details omit these records
            await self.session.keep(read_mirrored_ends(self.session.client, self.snapshot))
        lines = mirrors.mirror_lines(row, self.snapshot)
        self.show_text(_title(row), lambda width: wrap_all(lines, width, 2))

    def copied_of(self, row: mirrors.MirrorRow) -> str:
        """Return the text that `y` copies: the name of the flow."""
        return row.flow.name


def _title(row: mirrors.MirrorRow) -> str:
    return f"mirror {clean(row.flow.name, 100)}"
