"""A table with the last half hour of what it is about below it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from textual.app import ComposeResult
from textual.containers import Container

from console.tui.panes.table import TableView
from console.tui.text_lines import TextLines
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.half_hour import Kind, OwnSample

Row = TypeVar("Row")
LEAST_ROWS = 12
"""Lines of the table below which it gives none of them to the drawing."""
FEW = 2
"""Lines that are drawn where there is room for no more."""


class OwnLinesView(TableView[Row]):
    """A table, and lines of the topic, group or broker that it is about, from the second sample of it on."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.own = TextLines(classes="own")

    def compose(self) -> ComposeResult:
        """Yield breadcrumbs, and the table with the lines."""
        yield self.where
        with Container(classes="with-own"):
            yield self.table
            yield self.own

    def subject(self) -> tuple[Kind, str] | None:
        """Return whose lines are drawn: a topic, a group, or a broker's id; None for none."""
        raise NotImplementedError

    def readers(self) -> Collection[str]:
        """Return the groups of which the one that is furthest behind has a line."""
        return ()

    def own_samples(self) -> Sequence[OwnSample]:
        """Return what the lines are drawn of. It is one of the view's inputs."""
        known = self.cluster.half_hour.known
        return known.own if known is not None else ()

    def draw(self) -> None:
        """Draw the table and the lines."""
        super().draw()
        self._draw_own()

    def on_line_view_highlighted(self) -> None:
        """Draw the lines of what is under the cursor now."""
        super().on_line_view_highlighted()
        self._draw_own()

    def on_resize(self) -> None:
        """Give the lines the room that there is."""
        super().on_resize()
        self._draw_own()

    def _draw_own(self) -> None:
        samples, about = self.own_samples(), self.subject()
        if not samples or about is None:
            self._show_own(0)
            return
        from console.present.overview import drawn, own_rows

        rows = own_rows(samples, *about, self.readers(), self.snapshot.rates.seconds_left)
        # Never beside the table: its columns say more than these lines, and rows that fold take twice the room.
        if len(rows) + len(self._all.source) + 1 >= self.size.height:
            rows = rows[1 : 1 + FEW] if self.size.height - FEW - 1 >= LEAST_ROWS else ()
        lines = drawn(rows, self.table.size.width or self.app.size.width)
        self._show_own(len(lines))
        self.own.set(*lines)

    def _show_own(self, count: int) -> None:
        if self.own.display != bool(count) or self.own.styles.height is None or self.own.styles.height.value != count:
            self.own.display = bool(count)
            self.own.styles.height = max(1, count)
