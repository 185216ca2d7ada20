"""A table with graphs of the last half hour of its topic, group or broker: below it, or next to it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, TypeVar

from textual.app import ComposeResult
from textual.containers import Container

from console.present.text import Line, clean
from console.tui.panes.table import TableView
from console.tui.text_lines import TextLines, rule
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.model.half_hour import Kind, OwnSample

Row = TypeVar("Row")
SHARE = 42
"""Width of the graphs next to the table, in percent."""
LEAST_ROWS = 12
"""Number of table lines below which the table gives up none of them for the graphs."""
FEW = 3
"""Number of lines drawn if more do not fit: the axis and two graphs."""


class GraphedView(TableView[Row]):
    """A table with a place for graphs of the topic, group or broker under its cursor, from the second sample on."""

    def subject(self) -> tuple[Kind, str] | None:
        """Return the subject of the graphs: a topic, a group, or a broker's id; None: draw no graphs."""
        return None

    def readers(self) -> Collection[str]:
        """Return the reading groups; the one with the highest lag gets a graph."""
        return ()

    def own_samples(self) -> Sequence[OwnSample]:
        """Return the samples of the graphs, one of the inputs of a view with a subject."""
        known = self.cluster.half_hour.known
        return known.own if known is not None else ()

    def graphs(self, width: int, room: int) -> list[Line]:
        """Return the lines of the graphs, at most `room`; empty before the second sample."""
        about, half_hour = self.subject(), self.cluster.half_hour
        if about is None or not self.own_samples():
            return []
        from console.present.graphs import laid_out

        chart = half_hour.own_chart(*about, width, self.readers())
        return [line for line, _ in laid_out(chart, room, width)] if chart is not None else []

    def titled_graphs(self, width: int, room: int) -> list[Line]:
        """Return the graphs below a line with the name of their subject."""
        about = self.subject()
        lines = self.graphs(width, room - 1)
        return [[(" ", ""), *rule(clean(" ".join(about)), width - 2)], *lines] if lines and about is not None else []

    def spare(self) -> int:
        """Return the lines that the table does not need, with all its texts folded, less a blank one."""
        return self.size.height - self.where.size.height - self.table.lines_wanted() - 1


class OwnLinesView(GraphedView[Row]):
    """A table with graphs below it, or next to it if it leaves no lines free on a wide screen."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.own = TextLines(classes="own")

    def compose(self) -> ComposeResult:
        """Yield breadcrumbs, and the table with the graphs."""
        yield self.where
        with Container(classes="with-own"):
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
        self.own.styles.height = "1fr" if is_beside else max(1, len(lines))
        self.own.styles.width = f"{SHARE}%" if is_beside else "1fr"
        self.query_one(".with-own").styles.layout = "horizontal" if is_beside else "vertical"
        self.own.set(*lines)
