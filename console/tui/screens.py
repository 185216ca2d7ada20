"""Modal screens above the panes: a text, the question before an apply, and the wait for an answer before leaving."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.present.text import Line, Span, clean, fit, plain
from console.session.session import Work
from console.tui.text_lines import TextLines, wrap, wrap_all
from widgets.cells import cell_width
from widgets.command_bar import BarMode, CommandBar
from widgets.line_view import LineView


class TextView(LineView):
    """Lines rendered for the current width; rendered again when the width changes."""

    def __init__(self, make: Callable[[int], Sequence[Line]]) -> None:
        super().__init__(markable=False)
        self._make = make
        self._lines: Sequence[Line] = ()
        self._made_for = -1

    @property
    def text(self) -> str:
        """The lines as plain text."""
        return "\n".join(plain(line) for line in self._lines)

    def made(self, width: int) -> Sequence[Line]:
        """Return the lines for a width in cells."""
        return self._make(width)

    def remake(self) -> None:
        """Render the lines again because their content changed."""
        held = self._hold()
        self._made_for = self.size.width
        self._lines = self._make(max(20, self.size.width - 4))
        self._restore(held)

    def on_resize(self) -> None:
        """Wrap the lines again."""
        if self._made_for != self.size.width:
            self.remake()
        super().on_resize()

    def line_count(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def key_at(self, index: int) -> Hashable:
        """Return the line's number as its key."""
        return index

    def index_of(self, key: Hashable) -> int | None:
        """Return the line's number, which is its key; None if there is no such line."""
        return key if isinstance(key, int) and 0 <= key < len(self._lines) else None

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return a line cut to a width in cells."""
        spans: list[Span] = [(" ", "")]
        left = width - 1
        for text, meaning in self._lines[index]:
            cut = fit(text, left)
            left -= cell_width(cut)
            spans.append((cut, meaning))
        return spans

    def header(self, width: int) -> None:
        """Return None: the screen has its own title."""


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
        """Yield title, text and keys."""
        yield self._head
        yield self._body
        yield self._keys

    def on_mount(self) -> None:
        """Write the title and the keys, and focus the text."""
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
        """Render the text again because its content changed."""
        self._body.remake()

    def told(self, width: int) -> Sequence[Line]:
        """Return the title and the lines for a width in cells, for a front end that does not draw them."""
        return [[(self._title, "strong")], *self._body.made(width)]

    def action_close(self) -> None:
        """Return to the panes."""
        self.dismiss(None)

    def on_line_view_selected(self) -> None:
        """Close the screen on Enter."""
        self.dismiss(None)

    async def action_copy(self) -> None:
        """Copy the text, and show the outcome."""
        from console.tui.clipboard import copy

        said, meaning = await copy(self.app, self._body.text, os.environ)
        self._keys.set([(f" {said}", meaning)])


_NAME = BarMode("name", "", remembers=False)


class Confirm(ModalScreen[bool]):
    """Explains an action and asks for confirmation.

    Attributes:
        names: the names to type, in this order; if empty, the key `y` confirms.
        yes: the effect of `y`.
        whole: False if `complete` may still add to the question; an answer given before then takes effect only at that
            call.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,ctrl+c", "refuse", "No", show=False),
        Binding("y", "agree", "Yes", show=False),
    ]

    def __init__(
        self, title: str, lines: Sequence[Line], yes: str, names: Sequence[tuple[str, str]] = (), *, whole: bool = True
    ) -> None:
        """Create the question.

        Args:
            yes: the effect of the key `y`, as text.
            names: pairs of a description (``the context's name``) and the name to type.
        """
        super().__init__()
        self._title = title
        self._lines = list(lines)
        self.yes = yes
        self.names = list(names)
        self.whole = whole
        self._agreed = False
        self._text = TextLines(classes="question")
        self._bar = CommandBar(classes="answer")

    def compose(self) -> ComposeResult:
        """Yield the question and the input line for names."""
        yield self._text
        yield self._bar

    def on_mount(self) -> None:
        """Show the question."""
        self._ask()

    def on_resize(self) -> None:
        """Wrap the question to the new width."""
        self._ask()

    def tell(self, lines: Sequence[Line]) -> None:
        """Add lines to the question; the input line keeps its text."""
        self._lines += lines
        self._write()

    def complete(self, lines: Sequence[Line], names: Sequence[tuple[str, str]]) -> None:
        """Add the last lines and names to the question; the input line keeps its text. An earlier answer takes
        effect."""
        self.whole = True
        self._lines += lines
        begun = bool(self.names)
        self.names += names
        if self._agreed and not self.names:
            self.dismiss(True)
        elif begun:
            self._write()
        else:
            self._ask()

    def _agree(self) -> None:
        if self.whole:
            self.dismiss(True)
        else:
            self._agreed = True
            self._write()

    def _ask(self) -> None:
        self._write()
        self._bar.display = bool(self.names)
        if self.names:
            self._bar.open(_NAME, prompt="name:")

    def _write(self) -> None:
        lines: list[Line] = [
            [("", "")],
            [(f"  {self._title}", "strong")],
            *([("  ", ""), *line] for line in self._lines),
            [("", "")],
        ]
        if self._agreed and not self.names:
            lines.append([("  what the plan means is read…   ", "muted"), ("Esc", "strong"), (" goes back", "")])
        elif self.names:
            what, name = self.names[0]
            lines.append(
                [
                    ("  Type ", ""),
                    (clean(name, 250), "strong"),
                    (f", {what}, and Enter. ", ""),
                    ("Esc", "strong"),
                    (" goes back.", ""),
                ]
            )
        else:
            lines.append([("  y", "strong"), (f" {self.yes}   ", ""), ("Esc", "strong"), (" goes back", "")])
        width, height = max(20, self.size.width - 2), self.size.height - 2
        shown = wrap_all(lines, width, 4)
        if len(shown) > height:  # keep the prompt on the screen
            shown = _cut(lines[:-1], wrap(lines[-1], width, indent=4), height)
        self._text.styles.height = len(shown)
        self._text.set(*shown)

    def on_command_bar_submitted(self, message: CommandBar.Submitted) -> None:
        """Check a typed name; ask for the next one, or take the answer."""
        message.stop()
        if not self.take_name(message.text):
            self._bar.show_error(f"that is not {self.names[0][0]}")

    def take_name(self, text: str) -> bool:
        """Take the next name; ask for the one after it, or take the answer. Return whether the text was the expected
        name.
        """
        if text.strip() != self.names[0][1]:
            return False
        self.names.pop(0)
        if not self.names:
            self._agree()
        self._ask()
        return True

    @property
    def told(self) -> Sequence[Line]:
        """The question so far, for a front end that does not draw it."""
        return [[(self._title, "strong")], *self._lines]

    def on_command_bar_closed(self, message: CommandBar.Closed) -> None:
        """Answer the question with "no" when the operator leaves the input line with Esc."""
        message.stop()
        self.dismiss(False)

    def action_agree(self) -> None:
        """Answer the question with "yes", unless it requires a name."""
        if not self.names:
            self._agree()

    def action_refuse(self) -> None:
        """Answer the question with "no"."""
        self.dismiss(False)


def _cut(lines: Sequence[Line], asked: Sequence[Line], height: int) -> list[Line]:
    """Return the lines of a question that fit above the prompt, one row each, and the number of lines left out.

    Args:
        lines: the question, with a blank line at its beginning and end.
    """
    room = max(3, height - len(asked))
    if len(lines) <= room:
        return [*lines, *asked]
    kept = lines[: room - 1]
    left = len(lines) - 1 - len(kept)
    more = f"  and {left:,} more {'line' if left == 1 else 'lines'}, which a taller terminal shows"
    return [*kept, [(more, "pending")], *asked]


class Waiting(ModalScreen[bool | None]):
    """Waits for the responses to sent requests. Its result is True to leave, without the responses or after the last
    one; False to stay.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c,ctrl+d", "leave", "Leave", show=False, priority=True),
        Binding("escape", "stay", "Stay", show=False),
    ]

    def __init__(self, work: Work, going: str) -> None:
        """Create the screen.

        Args:
            work: the apply under way.
            going: the action that follows the answer, as text (``leaves``).
        """
        super().__init__()
        self._work = work
        self._going = going
        self._text = TextLines(classes="question")

    def compose(self) -> ComposeResult:
        """Yield the widget with the text."""
        yield self._text

    def on_mount(self) -> None:
        """Update the text every second with the elapsed time."""
        self._write()
        self.set_interval(1.0, self._write)

    def on_resize(self) -> None:
        """Wrap the lines to the new width."""
        self._write()

    @property
    def told(self) -> Sequence[Line]:
        """The event that kac waits for, and the effect of leaving."""
        flying = self._work.in_flight
        if flying is not None:
            what, without = flying.waiting(datetime.now(UTC)), "without the answer: the outcome is unknown then"
        elif self._work.committed:
            what, without = "what was sent is answered; what it touched is described again", "at once"
        else:
            what, without = "the plan is read and checked; nothing was sent yet", "and sends nothing"
        return [
            [("  An apply is under way.", "strong")],
            [("  " + clean(what, 400), "pending")],
            [(f"  kac {self._going} when it is over.", "")],
            [("  q", "strong"), (f" {self._going} {without}   ", ""), ("Esc", "strong"), (" stays", "")],
        ]

    def _write(self) -> None:
        width = max(20, self.size.width - 2)
        shown: list[Line] = [[("", "")], *wrap_all(self.told, width, 2)]
        self._text.styles.height = len(shown)
        self._text.set(*shown)

    def action_leave(self) -> None:
        """Leave without the answer."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Stay in the console."""
        self.dismiss(False)
