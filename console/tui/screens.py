"""Modal screens above the panes: a text, the question before an apply, and the wait for a response before leaving."""

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
    """A scrolling text, whose lines are made for the current width, and again when the width changes."""

    def __init__(self, make: Callable[[int], Sequence[Line]]) -> None:
        super().__init__(markable=False)
        self._make = make
        self._lines: Sequence[Line] = ()
        self._made_for = -1

    @property
    def text(self) -> str:
        """The lines without styles."""
        return "\n".join(plain(line) for line in self._lines)

    def made(self, width: int) -> Sequence[Line]:
        """Return the lines of the text for a width in cells."""
        return self._make(width)

    def remake(self) -> None:
        """Make the lines again, because the content changed."""
        held = self._hold()
        self._made_for = self.size.width
        self._lines = self._make(max(20, self.size.width - 4))
        self._restore(held)

    def on_resize(self) -> None:
        """Make the lines again for the new width."""
        if self._made_for != self.size.width:
            self.remake()
        super().on_resize()

    def line_count(self) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def key_at(self, index: int) -> Hashable:
        """Return the line's index as its key."""
        return index

    def index_of(self, key: Hashable) -> int | None:
        """Return the key, which is the line's index; None if there is no such line."""
        return key if isinstance(key, int) and 0 <= key < len(self._lines) else None

    def spans(self, index: int, width: int) -> Sequence[Span]:
        """Return a line, cut to `width` cells."""
        spans: list[Span] = [(" ", "")]
        left = width - 1
        for text, meaning in self._lines[index]:
            cut = fit(text, left)
            left -= cell_width(cut)
            spans.append((cut, meaning))
        return spans

    def header(self, width: int) -> None:
        """Return None: the screen shows its title outside of this widget."""


class TextScreen(ModalScreen[None]):
    """A title and a scrolling text; Esc closes the screen."""

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
        """Yield the widgets of title, text and keys."""
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
        """Make the text again, because the content changed."""
        self._body.remake()

    def told(self, width: int) -> Sequence[Line]:
        """Return the title and the lines for a width in cells; `--plain` prints them."""
        return [[(self._title, "strong")], *self._body.made(width)]

    def action_close(self) -> None:
        """Close the screen, and return to the panes."""
        self.dismiss(None)

    def on_line_view_selected(self) -> None:
        """Close the screen on Enter."""
        self.dismiss(None)

    async def action_copy(self) -> None:
        """Copy the text to the clipboard, and show a message with the outcome."""
        from console.tui.clipboard import copy

        said, meaning = await copy(self.app, self._body.text, os.environ)
        self._keys.set([(f" {said}", meaning)])


_NAME = BarMode("name", "", remembers=False)


class Confirm(ModalScreen[bool]):
    """A question before an action. The screen's result is True if the operator agrees.

    Attributes:
        names: pairs of a description and the name that the operator still has to type, in this order; if empty, the key
            `y` agrees.
        yes: the effect of `y`, as text.
        whole: False while `complete` may still add to the question; an earlier answer takes effect only at that call.
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
            title: the question itself.
            lines: the lines below it, which explain the action.
            yes: the effect of the key `y`, as text.
            names: pairs of a description (``the context's name``) and the name to type.
            whole: False if `complete` will be called.
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
        """Yield the widget of the question, and the input line for names."""
        yield self._text
        yield self._bar

    def on_mount(self) -> None:
        """Show the question."""
        self._ask()

    def on_resize(self) -> None:
        """Wrap the question for the new width."""
        self._ask()

    def tell(self, lines: Sequence[Line]) -> None:
        """Add lines to the question. The text in the input line stays."""
        self._lines += lines
        self._write()

    def complete(self, lines: Sequence[Line], names: Sequence[tuple[str, str]]) -> None:
        """Add the last lines and names to the question, which is then `whole`. The text in the input line stays. If the
        operator has agreed before and no name is left to type, close the screen with True.
        """
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
        """Take a typed name, or show an error if it is not the expected one."""
        message.stop()
        if not self.take_name(message.text):
            self._bar.show_error(f"that is not {self.names[0][0]}")

    def take_name(self, text: str) -> bool:
        """Compare a text with the next name to type. Return False if it differs; otherwise ask for the name after it,
        or agree if there is none, and return True.
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
        """The title and the lines of the question so far; `--plain` prints them."""
        return [[(self._title, "strong")], *self._lines]

    def on_command_bar_closed(self, message: CommandBar.Closed) -> None:
        """Close the screen with False, because the operator pressed Esc in the input line."""
        message.stop()
        self.dismiss(False)

    def action_agree(self) -> None:
        """Agree, unless the question requires a typed name."""
        if not self.names:
            self._agree()

    def action_refuse(self) -> None:
        """Close the screen with False, because the operator refuses."""
        self.dismiss(False)


def _cut(lines: Sequence[Line], asked: Sequence[Line], height: int) -> list[Line]:
    """Return the lines of a question that fit above the prompt, a line with the number of those left out, and the
    prompt.

    Args:
        lines: the lines of the question, wrapped, with a blank line at the beginning and at the end.
        asked: the lines of the prompt, which are all kept.
        height: the number of lines on the screen.
    """
    room = max(3, height - len(asked))
    if len(lines) <= room:
        return [*lines, *asked]
    kept = lines[: room - 1]
    left = len(lines) - 1 - len(kept)
    more = f"  and {left:,} more {'line' if left == 1 else 'lines'}, which a taller terminal shows"
    return [*kept, [(more, "pending")], *asked]


class Waiting(ModalScreen[bool | None]):
    """A screen that waits for the responses to sent requests before the operator leaves. Its result is True to leave,
    because the responses have come or the operator does not wait for them; False to stay.
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
            going: the action after the wait, as text (``leaves``).
        """
        super().__init__()
        self._work = work
        self._going = going
        self._text = TextLines(classes="question")

    def compose(self) -> ComposeResult:
        """Yield the widget of the text."""
        yield self._text

    def on_mount(self) -> None:
        """Show the text, and update its elapsed time every second."""
        self._write()
        self.set_interval(1.0, self._write)

    def on_resize(self) -> None:
        """Wrap the text for the new width."""
        self._write()

    @property
    def told(self) -> Sequence[Line]:
        """The request whose response kac waits for, and the effect of leaving, as lines; `--plain` prints them."""
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
        """Leave without waiting for the response."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Stay in the console."""
        self.dismiss(False)
