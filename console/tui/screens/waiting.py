"""Leaving while a change is on its way: what is waited for, since when, and what a second key does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.commands.session import Session
from console.present.text import Line, clean
from console.tui.text_lines import TextLines, wrap


class Waiting(ModalScreen[bool | None]):
    """Waits for what was sent. True: leave without its answer; False: stay."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c,ctrl+d", "leave", "Leave", show=False, priority=True),
        Binding("escape", "stay", "Stay", show=False),
    ]

    def __init__(self, session: Session, going: str) -> None:
        """going: what happens once the answer is there (``leaves``)."""
        super().__init__()
        self._session = session
        self._going = going
        self._text = TextLines(classes="question")

    def compose(self) -> ComposeResult:
        """What is waited for."""
        yield self._text

    def on_mount(self) -> None:
        """The seconds go on."""
        self._write()
        self.set_interval(1.0, self._write)

    def on_resize(self) -> None:
        """The lines are wrapped to the width."""
        self._write()

    def _write(self) -> None:
        flying = self._session.in_flight
        if flying is not None:
            what, without = flying.waiting(datetime.now(UTC)), "without the answer: the outcome is unknown then"
        elif self._session.committed:
            what, without = "what was sent is answered; what it touched is described again", "at once"
        else:
            what, without = "the plan is read and checked; nothing was sent yet", "and sends nothing"
        then = f"kac {self._going} when it is over."
        keys: Line = [
            ("q", "strong"),
            (f" {self._going} {without}   ", ""),
            ("Esc", "strong"),
            (" stays", ""),
        ]
        width = max(20, self.size.width - 2)
        body: list[Line] = [
            [("  An apply is under way.", "strong")],
            [("  " + clean(what, 400), "pending")],
            [("  " + then, "")],
            [("  ", ""), *keys],
        ]
        shown: list[Line] = [[("", "")], *(part for line in body for part in wrap(line, width, indent=2))]
        self._text.styles.height = len(shown)
        self._text.set(*shown)

    def action_leave(self) -> None:
        """Do not wait."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Go on in the console."""
        self.dismiss(False)
