"""A table with the details of the row under the cursor below it."""

from __future__ import annotations

from typing import TypeVar

from textual.app import ComposeResult

from console.present.text import Line
from console.tui.panes.view import PaneHost, TableView
from console.tui.text_lines import Below, clipped, rule, wrap

Row = TypeVar("Row")


class DetailsView(TableView[Row]):
    """A table, and below it what is to know of the row under the cursor."""

    def __init__(self, host: PaneHost) -> None:
        super().__init__(host)
        self.below = Below()

    def compose(self) -> ComposeResult:
        """Breadcrumbs, table, details."""
        yield from super().compose()
        yield self.below

    def details(self, row: Row) -> list[Line]:
        """A title's text as the first line, then what is to know of a row."""
        raise NotImplementedError

    def draw(self) -> None:
        """The table and the details."""
        super().draw()
        self._show_details()

    def on_line_view_highlighted(self) -> None:
        """The details of the row under the cursor."""
        self._show_details()

    def on_below_resized(self) -> None:
        """The details have another size."""
        self._show_details()

    def _show_details(self) -> None:
        row = self.row()
        if row is None:
            self.below.set()
            return
        width, height = max(20, self.below.size.width - 2), max(1, self.below.size.height)
        (title, _), *_ = (told := self.details(row))[0]
        lines = [part for line in told[1:] for part in wrap(line, width, 2)]
        self.below.set(*([(" ", ""), *line] for line in clipped([rule(title, width), *lines], height)))
