"""A table with the last half hour of its topic, group or broker below it."""

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
"""Number of table lines below which the table gives up none of them for the drawing."""
FEW = 2
"""Number of lines drawn if more do not fit."""


class OwnLinesView(TableView[Row]):
    """A table with lines about its topic, group or broker, from the second sample on."""

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
        """Return the subject of the lines: a topic, a group, or a broker's id; None: draw no lines."""
        raise NotImplementedError

    def readers(self) -> Collection[str]:
        """Return the reading groups; the one with the highest lag gets a line."""
        return ()

    def own_samples(self) -> Sequence[OwnSample]:
        """Return the samples of the lines, one of the view's inputs."""
        known = self.cluster.half_hour.known
        return known.own if known is not None else ()

    def draw(self) -> None:
        """Draw the table and the lines."""
        super().draw()
        self._draw_own()

    def on_line_view_highlighted(self) -> None:
        """Draw the lines of the row under the cursor."""
        super().on_line_view_highlighted()
        self._draw_own()

    def on_resize(self) -> None:
        """Fit the lines to the new size."""
        super().on_resize()
        self._draw_own()

    def _draw_own(self) -> None:
        samples, about = self.own_samples(), self.subject()
        if not samples or about is None:
            self._show_own(0)
            return
        from console.present.overview import drawn, own_rows

        rows = own_rows(samples, *about, self.readers(), self.snapshot.rates.seconds_left)
        # Never next to the table: its columns have more information than these lines, and folded rows take twice the
        # height.
        if len(rows) + len(self._all.source) + 1 >= self.size.height:
            rows = rows[1 : 1 + FEW] if self.size.height - FEW - 1 >= LEAST_ROWS else ()
        lines = drawn(rows, self.table.size.width or self.app.size.width)
        self._show_own(len(lines))
        self.own.set(*lines)

    def _show_own(self, count: int) -> None:
        if self.own.display != bool(count) or self.own.styles.height is None or self.own.styles.height.value != count:
            self.own.display = bool(count)
            self.own.styles.height = max(1, count)
