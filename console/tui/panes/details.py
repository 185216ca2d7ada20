"""The layout of all tables: the list, the details of the row under its cursor, and graphs of the last half hour.

The details are drawn in the free lines below the list. On a wide screen they are next to the list, and the graphs are
below it. Columns that do not fit into the list appear in the details.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer

from console.model.config import broker_resource
from console.present.names import NOTHING
from console.present.text import Line, clean, joined, plain
from console.tui import keymap
from console.tui.navigator import Navigator
from console.tui.panes.table import TableView
from console.tui.places import Place, pane_named, view_place
from console.tui.text_lines import TextLines, clipped, folded, rule, wrap_all
from console.tui.tools import Tools
from console.tui.watch import Drawn
from widgets.cells import clean as clean_cell
from widgets.row_source import as_spans

if TYPE_CHECKING:
    from console.model.half_hour import Kind, Measure, OwnSample
    from console.present.graphs import Graph
    from console.tui.panes.view import View
    from widgets.line_view import LineView

    DrawnLines = Sequence[tuple[Line, Graph | None]]
    """The lines of a chart, each with the graph that it belongs to; None for a title or an axis."""

Row = TypeVar("Row")

NUMBER, BEGINNING = 10, 40
"""Maximum length of a value in characters that the details may contain by chance, and the number of characters by which
a longer value is recognized in the details."""
UNKNOWN = ("·", NOTHING)
"""The texts that a cell shows for an unknown value."""

GAP = 2
"""Number of blank cells between a table and the details next to it."""
LEAST_BELOW = 4
"""Minimum number of free lines below a table for showing details there, if the table gives up no lines for them."""
LEAST_GRAPHS, FEW_GRAPHS = 3, 10
"""Minimum number of lines for showing graphs below details; and the maximum number that they take from details which
need these too."""
LEAST_LEFT = 8
"""Minimum number of free lines for graphs below a table that has its details next to it."""
SIDE_BY_SIDE = 150
"""Minimum width of the screen in cells for showing details next to their table; below it, details would be too
narrow."""
DETAILS_SHARE = (40, 44)
"""Minimum and maximum width of details next to a table, in percent of the view's width."""
Takes = tuple[int, int]
"""The lines that details below a list take even if the list needs them too: maximum percent of the height, maximum
number.
"""
NONE: Takes = (0, 0)
"""The list gives up no lines for details."""
FEW: Takes = (15, 3)
"""The list gives up at most 3 lines for details, enough for two graphs."""
DETAILED: Takes = (36, 14)
"""The list gives up at most 14 lines for details, which matter as much as the list."""
EVIDENCE: Takes = (50, 18)
"""The list gives up at most 18 lines for details, which matter more than the list."""


def arranged(view: View, lines: LineView, below: TextLines, takes: Takes) -> tuple[int, int]:
    """Place the details next to the list or below it, and set their size.

    They are next to the list only on a screen of at least `SIDE_BY_SIDE` cells, and only if one of these holds: the
    list still shows all of its columns; or fewer than `LEAST_BELOW` lines are free below the list, and the list may
    lose columns (its `KEEPS_COLUMNS` is False).

    Args:
        view: the view. It gets the class ``wide`` if the details are next to the list.
        lines: the list.
        below: the widget of the details.
        takes: the lines that details below the list take from it.

    Returns:
        Width and height of the details, in cells. Next to an empty list there are no details: the width is negative.
    """
    width, styles = view.size.width, below.styles
    height = view.size.height - view.where.size.height
    tour = sum(each.size.height for each in view.query(".tour") if each.display)
    spare = height - tour - lines.lines_wanted(width) - 1
    least, most = (width * percent // 100 for percent in DETAILS_SHARE)
    is_wide = view.app.size.width >= SIDE_BY_SIDE
    is_full = spare < LEAST_BELOW and not lines.KEEPS_COLUMNS
    is_beside = is_wide and (is_full or not lines.hides_columns(width - least - GAP))
    view.set_class(is_beside, "wide")
    if is_beside and not lines.line_count():
        return -GAP, height
    if is_beside:
        cells = max(least, min(most, width - lines.cells_wanted() - GAP))
        styles.width, styles.height = cells, "1fr"
        return cells, height
    percent, most_lines = takes
    found = max(min(most_lines, view.size.height * percent // 100), spare if spare >= LEAST_BELOW else 0)
    styles.width, styles.height = "1fr", max(1, found)
    return width, found


class TimeCursor:
    """The keys that move the cursor in time, which marks one column in all graphs of a view.

    Only the visible place has a cursor in time. When the operator has gone to another place, the first key puts the
    cursor on the same time as in the place before.
    """

    def __init__(self, view: GraphedView[Any], tools: Tools) -> None:
        self._view, self._tools = view, tools

    def do_earlier(self) -> None:
        """Move the cursor in time a column to the left. If there is none, put it where it was in the place before,
        or else on the column before the newest.
        """
        self._move(-1)

    def do_later(self) -> None:
        """Move the cursor in time a column to the right. If there is none, put it where it was in the place before,
        or else on the newest column.
        """
        self._move(1)

    def _move(self, step: int) -> None:
        from console.present.graphs import Moment

        half_hour = self._tools.cluster.half_hour
        seconds, newest = min(self._view.column_seconds, default=0), half_hour.newest
        if not seconds or newest is None:
            self._tools.message.say(half_hour.no_graphs, "muted")
            return
        before, left = half_hour.moment, half_hour.left_at
        if before is None and left is not None:
            half_hour.moment = left.moved(0, seconds, newest)
        else:
            half_hour.moment = (before or Moment(newest, seconds)).moved(step, seconds, newest)
        self._view.update()
        self._tools.message.forget()

    async def do_back(self) -> None:
        """Remove the cursor in time. If there is none, go back to the previous place."""
        half_hour = self._tools.cluster.half_hour
        if half_hour.moment is None:
            await self._tools.navigator.do_back()
            return
        half_hour.moment = half_hour.left_at = None
        self._view.update()
        self._tools.message.write()


class GraphedView(TableView[Row]):
    """A table with graphs of the topic, group or broker under its cursor, once there are two samples. The keys of
    `TimeCursor` mark a column in them.

    column_seconds: for each chart on the screen, the number of seconds that one of its columns covers.
    """

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.column_seconds: list[int] = []
        self.receivers = (self, TimeCursor(self, tools))

    def subject(self) -> tuple[Kind, str] | None:
        """Return the kind and the name of the topic, group or broker whose graphs are drawn; None, the default, to draw
        no graphs.
        """
        return None

    def readers(self) -> Collection[str]:
        """Return the names of the groups that read the topic of `subject`; empty by default. The one with the highest
        lag gets a graph.
        """
        return ()

    def own_samples(self) -> Sequence[OwnSample]:
        """Return the samples of topics, groups and brokers; empty before the first. A view with graphs is redrawn when
        they change.
        """
        known = self.cluster.half_hour.known
        return known.own if known is not None else ()

    def drawn(self, found: Drawn) -> DrawnLines:
        """Return the lines of a chart, and add the seconds of its columns to `column_seconds`."""
        if found.seconds:
            self.column_seconds.append(found.seconds)
        return found.lines

    def own_chart(self, width: int, room: int) -> Drawn:
        """Return the chart of `subject`, at most `room` lines of `width` cells; no lines without a subject or
        samples.
        """
        about = self.subject()
        if about is None or not self.own_samples():
            return Drawn()
        return self.cluster.half_hour.own(*about, width, room, self.readers())

    def own_graphs(self, width: int, room: int) -> DrawnLines:
        """Return the lines of `own_chart`, to be shown on the screen, and add the seconds of its columns to
        `column_seconds`.
        """
        return self.drawn(self.own_chart(width, room))


def titled(about: tuple[Kind, str], width: int) -> Line:
    """Return the heading above the graphs of a topic, group or broker, `width` cells wide."""
    return [(" ", ""), *rule(clean(" ".join(about)), width - 2)]


class Graphs:
    """The graphs of a view with details. They are below the table if the details are next to it, else below the
    details.
    """

    def __init__(self, view: DetailsView[Any]) -> None:
        self._view = view

    def left(self, width: int, height: int) -> DrawnLines:
        """Return the graphs below a table that has its details next to it; empty if fewer than `LEAST_LEFT` lines are
        free there.

        Args:
            width: the width of the table, in cells.
            height: the height of the table and the graphs, in lines.
        """
        view = self._view
        about, room = view.subject(), height - view.table.lines_wanted(width) - 1
        found = view.own_graphs(width, room - 1) if room >= LEAST_LEFT else ()
        return [*([(titled(about, width), None)] if about is not None else []), *found] if found else ()

    def below(self, width: int, room: int) -> Sequence[Line]:
        """Return the graphs below the details, at most `room` lines of `width` cells; empty if they are drawn below the
        table.
        """
        view = self._view
        return [] if view.is_left_drawn else [line for line, _ in view.own_graphs(width, room)]


class Left(Vertical):
    """The left side of a view: the table, and the graphs below it if the details are next to it. A click on a graph
    opens the place of the data that it shows.
    """

    def __init__(self, view: DetailsView[Row], navigator: Navigator) -> None:
        super().__init__()
        self._view, self._navigator = view, navigator
        self._lines = TextLines(classes="half-hour")
        self._graphs: Sequence[Graph | None] = ()

    def compose(self) -> ComposeResult:
        """Yield the table, and the widget of the graphs."""
        yield self._view.table
        yield self._lines

    def draw(self, width: int, height: int) -> bool:
        """Draw the graphs; return whether there are any.

        Args:
            width: the width of the table, in cells.
            height: the height of the table and the graphs, in lines; 0 to draw no graphs.
        """
        found = self._view.graphs.left(width, height) if height else ()
        self._graphs = [graph for _, graph in found]
        # Set only the height of the graphs: the layout gives the table the remaining height.
        if len(found) != len(self._lines.lines):
            self._lines.display = bool(found)
            self._lines.styles.height = max(1, len(found))
        self._lines.set(*(line for line, _ in found))
        return bool(found)

    @on(TextLines.Pressed, ".half-hour")
    async def _line_pressed(self, message: TextLines.Pressed) -> None:
        """Show the place of the data in the clicked graph; for a click on a line without a graph, the overview of all
        graphs.
        """
        message.stop()
        graph = self._graphs[message.y] if message.y < len(self._graphs) else None
        measure = graph.measure if graph is not None else None
        place, at = place_of(measure) if measure is not None else (view_place(keymap.OVERVIEW), None)
        await self._navigator.goto(place, row=at)


class DetailsView(GraphedView[Row]):
    """A table with the details of the row under its cursor, and graphs of the row's topic, group or broker.

    Details use only data already read: moving the cursor sends no request.
    """

    DETAILS_AFTER: ClassVar[float] = 0.12
    """Seconds without a move of the cursor after which the details follow it, so that they are not drawn for each row
    while a key is held down.
    """
    TAKES: ClassVar[Takes] = NONE
    GRAPHS: ClassVar[type[Graphs]] = Graphs

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.below = TextLines(classes="details")
        self.room = (20, 1)
        """The width and height of the details in cells."""
        self._left = Left(self, tools.navigator)
        self.is_left_drawn = False
        """Whether graphs are shown below the table."""
        self.graphs = self.GRAPHS(self)
        self._moved_at = -inf
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield the breadcrumbs, the table and the widget of the details."""
        yield self.where
        yield self._left
        yield self.below

    # -- methods of each pane ------------------------------------------------------------------------------------------

    def details(self, row: Row) -> list[Line]:
        """Return the details of a row. A subclass may return only the title, if there is nothing to say beyond the
        row's cells (the default), or an empty list, to show no details.

        Returns:
            The first line has the title as its only span; the others are the text, which the caller wraps.
        """
        return [[(self.key_text(self.key(row)), "")]]

    # -- layout --------------------------------------------------------------------------------------------------------

    @property
    def text_width(self) -> int:
        """The width of a line of the details, in cells."""
        return max(20, self.room[0] - 2)

    def draw(self) -> None:
        """Draw the table, the details and the graphs."""
        super().draw()
        self._show_details()

    def on_resize(self) -> None:
        """Set the places and sizes of table, details and graphs."""
        self._show_details()

    def on_line_view_highlighted(self) -> None:
        """Show the details of the row under the cursor. If the cursor moved before within the last `DETAILS_AFTER`
        seconds, wait until it has not moved for that time.
        """
        before, self._moved_at = self._moved_at, monotonic()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._moved_at - before >= self.DETAILS_AFTER:
            self._show_details()
        else:
            self._timer = self.set_timer(self.DETAILS_AFTER, self._show_details)

    def _show_details(self) -> None:
        """Place and draw the details and the graphs."""
        self.room = width, height = arranged(self, self.table, self.below, self.TAKES)
        self.column_seconds = []
        is_beside, row = self.has_class("wide"), self.row()
        self.is_left_drawn = self._left.draw(self.size.width - width - GAP, height if is_beside else 0)
        lines = self._lines(row) if row is not None and height > 1 else []
        self.below.display = row is not None and (is_beside or bool(lines))
        self.below.set(*lines)

    def _lines(self, row: Row) -> Sequence[Line]:
        """Return the lines below or next to the table, as many as fit: details, values that the table leaves out,
        graphs. In less than `LEAST_BELOW` lines, return only graphs if there are any.
        """
        (width, height), text_width = self.room, self.text_width
        if height < LEAST_BELOW and (few := self.own_graphs(width, height)):
            return [line for line, _ in few]
        title, *found = self.details(row) or [[]]
        found = [*self._unshown(" ".join(map(plain, (title, *found)))), *found]
        about, heading = self.subject(), plain(title)
        is_titled = about is not None and heading not in (about[1], " ".join(about))
        # Leave lines for graphs with a height of one line each, before the details take all of them.
        shares = self.TAKES in (NONE, FEW) and not self.is_left_drawn and bool(self.own_chart(width, height).lines)
        least = min(height // 2, FEW_GRAPHS) if shares else 0
        found = folded(found, text_width, max(1, height - 1 - least))
        text = wrap_all(found[:height], text_width, 2)
        kept = len(clipped(text, max(1, height - 1 - least))) if text else 0
        spare = height - (kept + 2 if kept else 1) - is_titled
        graphs: Sequence[Line] = self.graphs.below(width, spare) if spare >= LEAST_GRAPHS else ()
        if not graphs:
            if not text:
                return ()
            return [[(" ", ""), *line] for line in clipped([rule(heading, text_width), *text], height)]
        if is_titled and about is not None:
            graphs = [titled(about, width), *graphs]
        shown = [[(" ", ""), *line] for line in (rule(heading, text_width), *clipped(text, kept))]
        if not text and is_titled:
            return graphs
        return [*shown, *([[]] if text else []), *graphs]

    def _unshown(self, told: str) -> list[Line]:
        """Return a line with the values of the row under the cursor that the table leaves out, each with its column's
        label; empty if there are none.

        Args:
            told: the text of the details; a value that it contains is not repeated.
        """
        line: Line = []
        for column, cell in self.table.left_out(self.table.cursor_index):
            text = clean_cell(plain(as_spans(cell))).strip()
            if text not in ("", *UNKNOWN) and (len(text) <= NUMBER or text[:BEGINNING] not in told):
                line += [("   " if line else "", ""), (f"{clean_cell(column.label or column.id)} ", "muted")]
                line += [(clean_cell(text), name) for text, name in as_spans(cell)]
        return [joined(line)] if line else []


def place_of(measure: Measure | None) -> tuple[Place, Hashable | None]:
    """Return the place that shows the data of a measure; for None, the place of the events.

    Returns:
        The place, and the key of the row there that is about the measure; None as key if no single row is.
    """
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
