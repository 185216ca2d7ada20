"""Lines of text to read: scrolled like every other view, wrapped by whoever made them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from console.present.text import Line, Span, fit, plain
from widgets.cells import cell_width
from widgets.line_view import LineView


class TextView(LineView):
    """Lines made for the width at hand; made anew when that changes."""

    def __init__(self, make: Callable[[int], Sequence[Line]]) -> None:
        super().__init__(markable=False)
        self._make = make
        self._lines: Sequence[Line] = ()
        self._made_for = -1

    @property
    def text(self) -> str:
        """All of it, plain."""
        return "\n".join(plain(line) for line in self._lines)

    def remake(self) -> None:
        """Make the lines again: what they tell of changed."""
        held = self._hold()
        self._made_for = self.size.width
        self._lines = self._make(max(20, self.size.width - 4))
        self._restore(held)

    def on_resize(self) -> None:
        """Wrap anew."""
        if self._made_for != self.size.width:
            self.remake()
        super().on_resize()

    def line_count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def key_at(self, index: int) -> Hashable:
        """The line's number."""
        return index

    def index_of(self, key: Hashable) -> int | None:
        """The same."""
        return key if isinstance(key, int) and 0 <= key < len(self._lines) else None

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """A line, cut to the width."""
        spans: list[Span] = [(" ", "")]
        left = width - 1
        for text, meaning in self._lines[index]:
            cut = fit(text, left)
            left -= cell_width(cut)
            spans.append((cut, meaning))
        return spans

    def header(self, width: int) -> None:
        """None: the screen around it has a title."""
