"""What a view of lines tells its owner. Handlers are named `on_line_view_…` for table, tree and diff alike."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from widgets.line_view import LineView


class LineMessage(Message, namespace="line_view"):
    """A message about one line: `key` is None when there is no line."""

    def __init__(self, view: LineView, key: Hashable | None, index: int) -> None:
        self.view = view
        self.key = key
        self.index = index
        super().__init__()

    @property
    def control(self) -> LineView:
        """The view that sent this."""
        return self.view


class Highlighted(LineMessage, namespace="line_view"):
    """The cursor came to rest on another key."""

    def can_replace(self, message: Message) -> bool:
        """Only the last of several in a row counts."""
        return isinstance(message, Highlighted) and message.view is self.view


class Selected(LineMessage, namespace="line_view"):
    """Enter or a double click on a line."""


class MarksChanged(Message, namespace="line_view"):
    """Lines were marked or unmarked; `marks` are the keys that are marked now."""

    def __init__(self, view: LineView, marks: frozenset[Hashable]) -> None:
        self.view = view
        self.marks = marks
        super().__init__()

    @property
    def control(self) -> LineView:
        """The view that sent this."""
        return self.view
