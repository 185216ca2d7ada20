"""Something to read above the panes: the details of a key, the answer to a query, help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.present.text import Line, clean
from console.tui.text_lines import TextLines
from console.tui.text_view import TextView


class TextScreen(ModalScreen[None]):
    """A title and lines to scroll through; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", show=False),
        Binding("y", "copy", "Copy", show=False),
    ]

    def __init__(self, title: str, make: Callable[[int], Sequence[Line]]) -> None:
        super().__init__()
        self._title = clean(title, 200)
        self._body = TextView(make)
        self._head = TextLines(classes="screen-title")
        self._keys = TextLines(classes="screen-keys")

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        yield self._head
        yield self._body
        yield self._keys

    def on_mount(self) -> None:
        """Show it."""
        self._head.set([(f" {self._title}", "strong")])
        self._keys.set(
            [
                (" Esc", "strong"),
                (" back  ", "muted"),
                ("j k", "strong"),
                (" scroll  ", "muted"),
                ("y", "strong"),
                (" copy", "muted"),
            ]
        )
        self._body.focus()

    def remake(self) -> None:
        """What it tells of changed."""
        self._body.remake()

    def action_close(self) -> None:
        """Back to the panes."""
        self.dismiss(None)

    def on_line_view_selected(self) -> None:
        """Enter closes too."""
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy the text through the terminal."""
        self.app.copy_to_clipboard(self._body.text)
