"""The area below a table, or next to it on a wide screen: the details of a row, and graphs of the last half hour."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

from console.model.config import broker_resource
from console.present.text import Line, clean
from console.tui import keymap
from console.tui.navigator import Navigator
from console.tui.panes.table import TableView
from console.tui.panes.view import SIDE_BY_SIDE
from console.tui.places import Place, pane_named, view_place
from console.tui.text_lines import Below, TextLines, clipped, rule, wrap_all
from console.tui.tools import Tools
from console.tui.watch import HalfHourWatch
from widgets.row_table import RowTable

if TYPE_CHECKING:
    from console.model.half_hour import Kind, Measure, OwnSample
    from console.present.graphs import Graph

Row = TypeVar("Row")


LEAST_GRAPHS, LEAST_BELOW = 4, 8
"""Free lines from which graphs stand below the details, and below a table without details."""


def _titled(about: tuple[Kind, str], width: int) -> Line:
    """Return the line above the graphs of a subject."""
    return [(" ", ""), *rule(clean(" ".join(about)), width - 2)]


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
        return [_titled(about, width), *lines] if lines and about is not None else []

    def spare(self) -> int:
        """Return the lines that the table does not need, with all its texts folded, less a blank one."""
        return self.size.height - self.where.size.height - self.table.lines_wanted() - 1


class DetailsView(GraphedView[Row]):
    """A table, with the details of the row under the cursor below it, and below these the graphs of its subject."""

    DETAILS_AFTER: ClassVar[float] = 0.0
    """Seconds that the cursor must rest before the details follow it."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.below = Below()
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield breadcrumbs, table and details."""
        yield from super().compose()
        yield self.below

    def details(self, row: Row) -> list[Line]:
        """Return the details of a row.

        Returns:
            The first line has the title as its only span; the others are the text, which is wrapped to the width. Empty
            if the row has no details.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the table and the details."""
        super().draw()
        self._show_details()

    def on_line_view_highlighted(self) -> None:
        """Show the details of the row under the cursor once the cursor has rested there."""
        if not self.DETAILS_AFTER:
            self._show_details()
            return
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(self.DETAILS_AFTER, self._show_details)

    def on_below_resized(self) -> None:
        """Wrap the details to their new width."""
        self._show_details()

    def _show_details(self) -> None:
        row = self.row()
        details = [] if row is None else self.details(row)
        if not details:
            self.below.set()
            return
        width, height = max(20, self.below.size.width - 2), max(1, self.below.size.height)
        (title, _), *_ = details[0]
        wrapped = wrap_all(details[1 : height + 1], width, 2)
        lines: list[Line] = [[(" ", ""), *line] for line in clipped([rule(title, width), *wrapped], height)]
        if (spare := height - len(lines) - 1) >= LEAST_GRAPHS:
            lines += [[], *self.graphs(width, spare)]
        self.below.set(*lines)


EVIDENCE, OF_CLUSTER = 18, 6
"""Most lines of the details that the table gives up if it needs them itself; free lines from which graphs of the
cluster stand below those of the row's subject."""


class EvidenceView(DetailsView[Row]):
    """A table whose details take all lines that it leaves free; the last ones have graphs of the cluster."""

    def draw(self) -> None:
        """Draw the table and the details in their lines."""
        super().draw()
        self._place_below()

    def on_resize(self) -> None:
        """Give the details their lines."""
        super().on_resize()
        self._place_below()

    def _place_below(self) -> None:
        styles = self.below.styles
        if self.has_class("wide"):
            styles.clear_rule("height")
            styles.clear_rule("max_height")
            return
        tour = sum(lines.size.height for lines in self.query(".tour").results(TextLines) if lines.display)
        height = max(min(EVIDENCE, self.size.height // 2), self.spare() - tour)
        if styles.height is None or styles.height.value != height:
            styles.height = styles.max_height = height

    def graphs(self, width: int, room: int) -> list[Line]:
        """Return the graphs of the row's subject below its name, and below them those of the cluster unless they are on
        the left. The details name the cause, which may have another subject."""
        about = self.subject()
        found = super().graphs(width, room - 1)
        if found and about is not None:
            found = [_titled(about, width), *found]
        left = room - len(found) - 1
        if self.has_class("wide") or left < OF_CLUSTER:
            return found
        of_cluster = [line for line, _ in self.cluster.half_hour.laid_out(width, left)]
        return [*found, *([[]] if found else []), *of_cluster]


class BesideView(DetailsView[Row]):
    """A table whose details open on Enter; a wide screen also shows them next to the table, and a narrow one the graphs
    of the row's subject in the lines that the table leaves free.

    They use only data already read, once the cursor rests: moving the cursor sends no request.
    """

    DETAILS_AFTER = 0.12

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.below.add_class("beside")
        self.below.display = False

    def on_resize(self) -> None:
        """Put the details next to the table, or the graphs below it."""
        super().on_resize()
        self._show_details()

    def _show_details(self) -> None:
        styles = self.below.styles
        if self.has_class("wide"):
            styles.clear_rule("height")
            styles.clear_rule("max_height")
            self.below.display = True
            super()._show_details()
            return
        spare = self.spare()
        lines = self.titled_graphs(self.size.width, spare) if spare >= LEAST_BELOW else []
        self.below.display = bool(lines)
        styles.height = styles.max_height = max(1, len(lines))
        self.below.set(*lines)


SHARE = 60
"""Height of the last half hour that the table gives up, in percent; it gets more if the table leaves more free."""


class OverHalfHour(Vertical):
    """A table above the last half hour, which wide screens draw; a click on a graph opens the place it measures."""

    def __init__(self, above: RowTable, half_hour: HalfHourWatch, navigator: Navigator) -> None:
        super().__init__()
        self._above, self._half_hour, self._navigator = above, half_hour, navigator
        self._lines = TextLines(classes="half-hour")
        self._graphs: Sequence[Graph | None] = ()

    def compose(self) -> ComposeResult:
        """Yield the table and the lines."""
        yield self._above
        yield self._lines

    @property
    def _is_drawn(self) -> bool:
        return self._half_hour.known is not None and self.app.size.width >= SIDE_BY_SIDE

    def draw(self) -> None:
        """Draw the lines that differ."""
        width, height = self.size
        room = max(height * SHARE // 100, height - self._above.lines_wanted()) - 1
        found = self._half_hour.laid_out(width, room) if self._is_drawn else ()
        self._graphs = [graph for _, graph in found]
        # The table gets the remaining height.
        if len(found) != len(self._lines.lines):
            self._lines.display = bool(found)
            self._lines.styles.height = max(1, len(found))
        self._lines.set(*(line for line, _ in found))

    def on_resize(self) -> None:
        """Draw again with the columns that fit."""
        self.draw()

    @on(TextLines.Pressed, ".half-hour")
    async def _line_pressed(self, message: TextLines.Pressed) -> None:
        """Go to the place that the clicked graph measures; without a graph, to all of them."""
        message.stop()
        graph = self._graphs[message.y] if message.y < len(self._graphs) else None
        place, at = place_of(graph.measure) if graph is not None else (view_place(keymap.OVERVIEW), None)
        await self._navigator.goto(place, row=at)


def place_of(measure: Measure | None) -> tuple[Place, Hashable | None]:
    """Return the place of a measure, and the key of its row there; without a measure, the place of the events."""
    if measure is None:
        return pane_named(keymap.EVENTS), None
    match measure.what:
        case "behind":
            return Place(keymap.GROUP, pane_named(keymap.GROUPS).pane, measure.about), None
        case "written" | "read" | "disk":
            return pane_named(keymap.BROKERS), broker_resource(int(measure.about.split(" ")[0])).name
        case "throttled":
            return pane_named(keymap.QUOTAS), None
        case _:
            return pane_named(keymap.TOPICS), None
