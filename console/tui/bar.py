"""The command bar of the console: commands and filters, their history, and where both go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from widgets.command_bar import COMMAND, FILTER, CommandBar
from widgets.filtered_rows import BadQuery

if TYPE_CHECKING:
    from console.tui.app import Console


class Bar:
    """Opens the line in one of its modes and hands on what was entered."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self.line = CommandBar(id="bar")
        self._filter_before = ""

    def command(self, text: str) -> None:
        """Type a command, beginning with `text`."""
        self.line.open(COMMAND, text)

    def filter(self, text: str) -> None:
        """Type a filter, beginning with the one that holds."""
        self._filter_before = text
        self.line.open(FILTER, text)

    def changed(self, message: CommandBar.Changed) -> None:
        """A filter holds while it is typed; one that is no pattern yet changes nothing."""
        if message.mode == FILTER.name:
            try:
                self._app.view.take_filter(message.text)
            except BadQuery:
                return

    def closed(self, message: CommandBar.Closed) -> None:
        """Esc: the filter from before holds again."""
        if message.mode == FILTER.name:
            self._app.view.take_filter(self._filter_before)

    def submitted(self, message: CommandBar.Submitted) -> None:
        """Enter."""
        if message.mode == FILTER.name:
            try:
                self._app.view.take_filter(message.text)
            except BadQuery as error:
                self.line.show_error(str(error))
                return
            self.line.close()
