"""Questions before something that can't be taken back. Enter alone never answers one with yes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.present.text import Line, clean
from console.tui.text_lines import TextLines, wrap
from widgets.command_bar import BarMode, CommandBar

_NAME = BarMode("name", "", remembers=False)


class Confirm(ModalScreen[bool]):
    """Says what will happen and asks.

    names: what has to be typed, one after the other; where there are none, the key `y` is the answer. whole: False
    where more may come to be asked (`complete`): what is answered before that counts, and nothing is done until it has
    come.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,n,ctrl+c", "refuse", "No", show=False),
        Binding("y", "agree", "Yes", show=False),
    ]

    def __init__(
        self, title: str, lines: Sequence[Line], yes: str, names: Sequence[tuple[str, str]] = (), *, whole: bool = True
    ) -> None:
        """names: pairs of what is asked for (``the context's name``) and the name itself."""
        super().__init__()
        self._title = title
        self._lines = list(lines)
        self._yes = yes
        self._names = list(names)
        self._whole = whole
        self._agreed = False
        self._text = TextLines(classes="question")
        self._bar = CommandBar(classes="answer")

    def compose(self) -> ComposeResult:
        """The question, and a line to type in where a name is asked for."""
        yield self._text
        yield self._bar

    def on_mount(self) -> None:
        """Ask."""
        self._ask()

    def on_resize(self) -> None:
        """The question is wrapped to the width."""
        self._ask()

    def tell(self, lines: Sequence[Line]) -> None:
        """Say more, which came to be known while it is asked; what was typed stays."""
        self._lines += lines
        self._write()

    def complete(self, lines: Sequence[Line], names: Sequence[tuple[str, str]]) -> None:
        """All that is asked is known now; what was typed stays."""
        self._whole = True
        self._lines += lines
        begun = bool(self._names)
        self._names += names
        if self._agreed and not self._names:
            self.dismiss(True)
        elif begun:
            self._write()
        else:
            self._ask()

    def _agree(self) -> None:
        if self._whole:
            self.dismiss(True)
        else:
            self._agreed = True
            self._write()

    def _ask(self) -> None:
        self._write()
        self._bar.display = bool(self._names)
        if self._names:
            self._bar.open(_NAME, prompt="name:")

    def _write(self) -> None:
        lines: list[Line] = [
            [("", "")],
            [(f"  {self._title}", "strong")],
            *([("  ", ""), *line] for line in self._lines),
            [("", "")],
        ]
        if self._agreed and not self._names:
            lines.append([("  what the plan means is read…   ", "muted"), ("Esc", "strong"), (" goes back", "")])
        elif self._names:
            what, name = self._names[0]
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
            lines.append([("  y", "strong"), (f" {self._yes}   ", ""), ("Esc", "strong"), (" goes back", "")])
        shown = [*lines[:-1], *wrap(lines[-1], max(20, self.size.width - 2), indent=4)]
        self._text.styles.height = len(shown)
        self._text.set(*shown)

    def on_command_bar_submitted(self, message: CommandBar.Submitted) -> None:
        """A name was typed: the next one, or done."""
        message.stop()
        what, name = self._names[0]
        if message.text.strip() != name:
            self._bar.show_error(f"that is not {what}")
            return
        self._names.pop(0)
        if not self._names:
            self._agree()
        self._ask()

    def on_command_bar_closed(self, message: CommandBar.Closed) -> None:
        """Esc in the line."""
        message.stop()
        self.dismiss(False)

    def action_agree(self) -> None:
        """Only where no name is asked for."""
        if not self._names:
            self._agree()

    def action_refuse(self) -> None:
        """Nothing is done."""
        self.dismiss(False)
