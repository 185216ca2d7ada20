"""A few lines of styled text, of which only the lines that changed are painted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from math import ceil

from rich.style import Style
from textual import events
from textual.color import Color
from textual.message import Message
from textual.theme import Theme

from console.present.text import Line, fit, joined, plain
from widgets.cells import cell_width, wrapped
from widgets.line_painting import Line as PaintedLine
from widgets.line_painting import LinePainter, Painted

FOLD_GAP, FOLDED_FROM = 4, 6
"""Number of blank cells between the parts of a table that is folded into columns, and the minimum number of rows for
folding it."""
_BETWEEN = (" " * FOLD_GAP, "")
MESSAGE_LINES = 3
MOST_HEARD = 20
_BOLD = frozenset({"pending", "failed", "danger", "strong", "stale", "reverse"})


class TextLines(Painted):
    """Lines of styled text, as many as the widget is high; lines that are too wide are cut."""

    DEFAULT_CSS = """
    TextLines {
        height: 1;
        width: 1fr;
    }
    """

    class Pressed(Message):
        """The user clicked on the text at cell `x` of line `y`."""

        def __init__(self, lines: TextLines, x: int, y: int) -> None:
            self.lines = lines
            self.x = x
            self.y = y
            super().__init__()

        @property
        def control(self) -> TextLines:
            """The widget that was clicked."""
            return self.lines

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        """Create the widget without lines."""
        super().__init__(id=id, classes=classes)
        self._lines: tuple[Line, ...] = ()
        self._painter = LinePainter(self, self._line_at, "text")

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that the widget shows."""
        return self._lines

    def set(self, *lines: Line) -> None:
        """Show these lines instead. Only the lines that differ are painted."""
        if lines != self._lines:
            self._lines = lines
            self._painter.repaint()

    def dim(self, dimmed: bool) -> None:
        """Draw the text without its colours (True), as a sign that it may be out of date, or with them again
        (False).
        """
        self._painter.dim(dimmed)

    def piece_at(self, x: int) -> int | None:
        """Return the index of the span at cell `x` of the first line; None after its end."""
        left = 0
        for index, (text, _) in enumerate(self._lines[0] if self._lines else ()):
            left += cell_width(text)
            if x < left:
                return index
        return None

    def text_at(self, x: int) -> str:
        """Return the text of the span at cell `x` of the first line; ``""`` after its end."""
        piece = self.piece_at(x)
        return "" if piece is None else self._lines[0][piece][0]

    def on_mount(self) -> None:
        """Subscribe to changes of the theme, after which the styles are computed again."""
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _theme: Theme) -> None:
        self._painter.forget_styles()
        self.refresh()

    def on_show(self) -> None:
        """Paint the lines that were set while the widget was hidden or had no size."""
        self._painter.repaint()

    def on_click(self, event: events.Click) -> None:
        """Post `Pressed` with the position of the click."""
        event.stop()
        self.post_message(self.Pressed(self, event.x, event.y))

    def get_component_rich_style(
        self,
        *names: str,
        partial: bool = False,  # noqa: ARG002
        default: Style | None = None,  # noqa: ARG002
    ) -> Style:
        """Return the style of a meaning, directly from the theme.

        Textual's own way, a dozen component classes for each of these widgets, would take longer than the rest of the
        first screen.
        """
        meaning = names[0].partition("--")[2]
        return style_of(self.app.theme_variables, "muted" if self._painter.dimmed else meaning)

    def _line_at(self, y: int) -> PaintedLine:
        left = self.size.width
        spans = []
        for text, meaning in self._lines[y] if y < len(self._lines) else ():
            cut = fit(text, left)
            left -= cell_width(cut)
            spans.append((cut, meaning))
        return PaintedLine(tuple(spans))


class MessageLine(TextLines):
    """The line that shows the last message, until the operator moves the cursor or goes to another place; without a
    message, a note. At most `MESSAGE_LINES` lines.
    """

    def __init__(self, note: Callable[[], Line], keys_seen: Callable[[], int]) -> None:
        """Create the line without a message.

        Args:
            note: returns the text to show while there is no message.
            keys_seen: returns the number of keys that the operator has pressed so far.
        """
        super().__init__(id="message")
        self._note, self._keys_seen = note, keys_seen
        self._said: Line = []
        self._said_at = 0
        self.heard: list[str] = []
        """The messages that a front end without a screen has yet to take; the latest `MOST_HEARD`."""

    def say(self, text: str, meaning: str = "", *, is_progress: bool = False) -> None:
        """Show a message, until it is cleared or replaced.

        Args:
            text: the message, without markup.
            meaning: the meaning that sets its colour: ``failed``, ``pending``, ``muted``, or ``""`` for plain.
            is_progress: whether the text only reports a count of finished work, which `--plain` does not print.
        """
        self._said = [(text, meaning)]
        if not is_progress:
            self.heard = [*self.heard[1 - MOST_HEARD :], text]
        self._said_at = self._keys_seen()
        self.write()

    def forget(self, *, moved: bool = False) -> None:
        """Clear the message.

        Args:
            moved: whether the cursor moved. The message is then cleared only if it is older than the last key: a
                refresh that removes the row under the cursor also moves the cursor, and must not clear a message.
        """
        if not moved or self._keys_seen() > self._said_at:
            self._said = []
            self.write()

    def write(self) -> None:
        """Show the message; if there is none, the note; in at most `MESSAGE_LINES` lines."""
        lines = wrap(self._said or self._note(), max(20, self.app.size.width - 2))[:MESSAGE_LINES]
        if self.size.height != len(lines):
            self.styles.height = len(lines)
        self.set(*([(" ", ""), *part] for part in lines))


def style_of(variables: Mapping[str, str], meaning: str) -> Style:
    """Return the style of a meaning in a theme: its colour, and bold for the important meanings. variables: the theme's
    variables.
    """
    name = {"header": "heading"}.get(meaning, meaning)
    named = variables.get(f"{name}-text-style", "bold" if meaning in _BOLD else "none")
    return Style(
        color=Color.parse(variables[name]).rich_color if name in variables else None,
        bold=True if named == "bold" or meaning == "stale" else None,
        reverse=True if named == "reverse" or meaning == "reverse" else None,
    )


def clipped(lines: Sequence[Line], count: int) -> tuple[Line, ...]:
    """Return the first `count` lines; if there are more, the last of them ends in ``…``.

    Args:
        count: the number of free lines; it may be negative before a view has its size, and the result is then empty.
    """
    if len(lines) <= count:
        return tuple(lines)
    if count < 1:
        return ()
    return (*lines[: count - 1], [*lines[count - 1], (" …", "muted")])


def folded(lines: Sequence[Line], width: int, most: int) -> list[Line]:
    """Return the lines in at most `most` lines if possible: rows of a table are placed next to each other, two or more
    in a line of `width` cells. Rows of a table are recognized by their equal width, as `in_columns` makes them.
    """
    runs = [(cells, list(some)) for cells, some in groupby(lines, lambda line: cell_width(plain(line)))]
    cells, rows = max(runs, key=lambda run: len(run[1]), default=(0, []))
    spare = most - (len(lines) - len(rows))
    fitting = (width + FOLD_GAP) // (cells + FOLD_GAP)
    if len(lines) <= most or len(rows) < FOLDED_FROM or not cells or fitting < 2:
        return list(lines)
    columns = min(fitting, ceil(len(rows) / max(1, spare)))
    found: list[Line] = []
    for _, run in runs:
        if run is rows:
            parts = (run[at : at + columns] for at in range(0, len(run), columns))
            found += [joined([*first, *(s for each in rest for s in (_BETWEEN, *each))]) for first, *rest in parts]
        else:
            found += run
    return found


def rule(title: str, width: int) -> Line:
    """Return the heading of a section, `width` cells wide: ``── title ─────…``."""
    text = fit(title, max(0, width - 6)).rstrip()
    return [("── ", "muted"), (text, "strong"), (" " + "─" * max(0, width - 4 - cell_width(text)), "muted")]


def wrap_all(lines: Iterable[Line], width: int, indent: int) -> list[Line]:
    """Return all lines, each wrapped as by `wrap`."""
    return [part for line in lines for part in wrap(line, width, indent)]


def wrap(line: Line, width: int, indent: int = 0) -> list[Line]:
    """Return a line in pieces of at most `width` cells (two at least), broken at blanks if possible.

    Args:
        indent: number of blanks before all but the first piece; fewer if they would take more than half of the width.
    """
    width = max(width, 2)
    indent = indent if indent <= width // 2 and width - indent >= 2 else 0
    first, *rest = wrapped(line, width, width - indent)
    return [joined(first), *(joined([(" " * indent, ""), *part] if indent else part) for part in rest)]
