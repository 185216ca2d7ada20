"""The key that shows the contents of records in one view, if the context hides them at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.contexts.context import HIDDEN

if TYPE_CHECKING:
    from console.tui.panes.view import View
    from console.tui.text_lines import MessageLine


class HiddenContents:
    """The receiver of the key that shows contents.

    Attributes:
        are_shown: whether the operator has shown the contents; a view resets this when it shows another entity.
    """

    def __init__(self, view: View, message: MessageLine) -> None:
        self._view, self._message = view, message
        self.are_shown = False

    def do_reveal(self) -> None:
        """Show the contents, or hide them again. In a context that does not hide contents, only show a message."""
        if self._view.session.context.records != HIDDEN:
            self._message.say("nothing is hidden in this context", "muted")
            return
        self.are_shown = not self.are_shown
        self._view.redraw()
