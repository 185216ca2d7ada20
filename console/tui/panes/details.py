"""The area below a table, or next to it on a wide screen: the details of a row, and the last half hour."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.timer import Timer
from textual.widget import Widget

from console.model.config import broker_resource
from console.present.text import Line
from console.tui import keymap
from console.tui.navigator import Navigator
from console.tui.panes.table import TableView
from console.tui.panes.view import SIDE_BY_SIDE
from console.tui.places import Place, pane_named, view_place
from console.tui.text_lines import Below, TextLines, clipped, rule, wrap_all
from console.tui.tools import Tools
from console.tui.watch import HalfHourWatch

if TYPE_CHECKING:
    from console.model.half_hour import Measure
    from console.present.overview import OverviewRow

Row = TypeVar("Row")


class DetailsView(TableView[Row]):
    """A table, with the details of the row under the cursor below it."""

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
        lines = wrap_all(details[1 : height + 1], width, 2)
        self.below.set(*([(" ", ""), *line] for line in clipped([rule(title, width), *lines], height)))


class BesideView(DetailsView[Row]):
    """A table whose details open on Enter; a wide screen also shows them next to the table.

    They use only data already read, once the cursor rests: moving the cursor sends no request.
    """

    DETAILS_AFTER = 0.12

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self.below.add_class("beside")
        self.below.display = False

    def on_resize(self) -> None:
        """Show the details if they are next to the table."""
        super().on_resize()
        self.below.display = self.has_class("wide")

    def _show_details(self) -> None:
        if self.below.display:
            super()._show_details()


SHARE = 60
"""Maximum height of the last half hour, in percent."""


class OverHalfHour(Vertical):
    """A widget above the last half hour, which wide screens draw; a click on a line opens the place it measures."""

    def __init__(self, above: Widget, half_hour: HalfHourWatch, navigator: Navigator) -> None:
        super().__init__()
        self._above, self._half_hour, self._navigator = above, half_hour, navigator
        self._lines = TextLines(classes="half-hour")
        self._rows: Sequence[OverviewRow] = ()

    def compose(self) -> ComposeResult:
        """Yield the widget and the lines."""
        yield self._above
        yield self._lines

    @property
    def _is_drawn(self) -> bool:
        return self._half_hour.known is not None and self.app.size.width >= SIDE_BY_SIDE

    def inputs(self) -> tuple[object, ...]:
        """Return the inputs of the lines, the same objects until one changes; empty if the lines are not drawn."""
        return self._half_hour.inputs() if self._is_drawn else ()

    def draw(self) -> None:
        """Draw the lines that differ."""
        lines: list[Line] = []
        if self._is_drawn:
            from console.present.overview import columns_beside, drawn, overview_rows

            if columns := columns_beside(self.size.width):
                room = max(1, self.size.height * SHARE // 100)
                self._rows = overview_rows(self._half_hour.shown(), columns, room)
                lines = drawn(self._rows, self.size.width)
        # The table gets the remaining height.
        if len(lines) != len(self._lines.lines):
            self._lines.display = bool(lines)
            self._lines.styles.height = max(1, len(lines))
        self._lines.set(*lines)

    def on_resize(self) -> None:
        """Draw again with the columns that fit."""
        self.draw()

    @on(TextLines.Pressed, ".half-hour")
    async def _line_pressed(self, message: TextLines.Pressed) -> None:
        """Go to the place that the clicked line measures."""
        from console.present.overview import MORE

        message.stop()
        if message.y < len(self._rows):
            if self._rows[message.y].key == MORE:
                await self._navigator.goto(view_place(keymap.OVERVIEW))
                return
            place, at = place_of(self._rows[message.y].measure)
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
