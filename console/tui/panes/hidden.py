"""Contents of records that a context hides until the operator shows them, in one view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.contexts.context import HIDDEN

if TYPE_CHECKING:
    from console.tui.panes.view import View
    from console.tui.text_lines import MessageLine


class HiddenContents:
    """A receiver of the key that shows contents.

    Attributes:
        are_shown: whether the operator shows them; a view hides them again when it begins.
    """

    def __init__(self, view: View, message: MessageLine) -> None:
        self._view, self._message = view, message
        self.are_shown = False

    def do_reveal(self) -> None:
        """Show hidden contents, or hide them again; in a context that hides none, only say so."""
        if self._view.session.context.records != HIDDEN:
            self._message.say("nothing is hidden in this context", "muted")
            return
        self.are_shown = not self.are_shown
        self._view.redraw()
