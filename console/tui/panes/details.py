"""A table with the details of the row under the cursor below it."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.timer import Timer

from console.present.text import Line
from console.tui.panes.view import TableView
from console.tui.text_lines import Below, clipped, rule, wrap
from console.tui.watch import ShownCluster

Row = TypeVar("Row")


class DetailsView(TableView[Row]):
    """A table, and the details of the row under the cursor below it."""

    DETAILS_AFTER: ClassVar[float] = 0.0
    """Seconds that the cursor rests before the details follow it."""

    def __init__(self, cluster: ShownCluster) -> None:
        super().__init__(cluster)
        self.below = Below()
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield breadcrumbs, table and details."""
        yield from super().compose()
        yield self.below

    def details(self, row: Row) -> list[Line]:
        """Return the details of a row.

        Returns:
            The first line has the title as its only span; the others are the text, which is wrapped to the width.
            Empty where there is nothing to say.
        """
        raise NotImplementedError

    def draw(self) -> None:
        """Draw the table and the details."""
        super().draw()
        self._show_details()

    def on_line_view_highlighted(self) -> None:
        """Show the details of the row that is now under the cursor, once it has rested there."""
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
        lines = [part for line in details[1:] for part in wrap(line, width, 2)]
        self.below.set(*([(" ", ""), *line] for line in clipped([rule(title, width), *lines], height)))
