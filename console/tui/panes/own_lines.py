"""A table with graphs of the last half hour of its topic, group or broker: below it, or next to it."""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Container

from console.tui.panes.details import GraphedView
from console.tui.text_lines import TextLines
from console.tui.tools import Tools

Row = TypeVar("Row")
SHARE = 42
"""Width of the graphs next to the table, in percent, as in the style sheet."""
LEAST_ROWS = 12
"""Number of table lines below which the table gives up none of them for the graphs."""
FEW = 3
"""Number of lines drawn if more do not fit: the axis and two graphs."""


class OwnLinesView(GraphedView[Row]):
    """A table with graphs below it, or next to it if it leaves no lines free on a wide screen."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.own = TextLines(classes="own")
        self._both = Container(classes="with-own")

    def compose(self) -> ComposeResult:
        """Yield breadcrumbs, and the table with the graphs."""
        yield self.where
        with self._both:
            yield self.table
            yield self.own

    def draw(self) -> None:
        """Draw the table and the graphs."""
        super().draw()
        self._draw_own()

    def on_line_view_highlighted(self) -> None:
        """Draw the graphs of the row under the cursor."""
        super().on_line_view_highlighted()
        self._draw_own()

    def on_resize(self) -> None:
        """Fit the graphs to the new size."""
        super().on_resize()
        self._draw_own()

    def _draw_own(self) -> None:
        spare = self.spare()
        is_beside = spare < FEW and self.has_class("wide")
        width = self.size.width * SHARE // 100 if is_beside else self.size.width
        if is_beside:
            lines = self.titled_graphs(width, self.size.height - self.where.size.height)
        elif spare > FEW:
            lines = self.titled_graphs(width, spare)
        else:
            lines = self.graphs(width, FEW if self.size.height - FEW >= LEAST_ROWS else 0)
        self.own.display = bool(lines)
        if is_beside:
            self.own.styles.clear_rule("height")
        else:
            self.own.styles.height = max(1, len(lines))
        self._both.set_class(is_beside, "side")
        self.own.set(*lines)
