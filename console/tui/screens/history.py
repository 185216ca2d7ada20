"""The changes that were applied: a line for each edit, the latest first. Enter chooses a change to take back."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.commands.results import Table
from console.present.sanitize import cell_width, clean, fit
from console.present.spans import Line, Span
from console.tui.text_lines import TextLines
from widgets.line_view import LineView


class HistoryLine(NamedTuple):
    """An edit: the number of its change, and the line."""

    change: int
    line: Line


def history_lines(table: Table) -> list[HistoryLine]:
    """From the table of the journal: what changed stands first, since lines are cut to the screen."""
    made = []
    for row in table.rows:
        number, when, who, entity, key, was, became, state = (clean(cell, 200) for cell in row.cells)
        letter, meaning = _letter(state)
        line: Line = [
            (f"{number:>4} ", "strong"),
            (f"{letter} ", meaning),
            (f"{when[5:16]}  ", "muted"),
            (f"{entity} {key}".rstrip(), ""),
            (f"  {was} → {became}  ", ""),
            (f"{state}  ", meaning),
            (who, "muted"),
        ]
        made.append(HistoryLine(int(number), line))
    return made


def _letter(state: str) -> tuple[str, str]:
    """A sign for how an edit stands, so that it is not told by colour alone."""
    if state.startswith("applied"):
        return ("↶", "muted") if "taken back" in state else ("✓", "ok")
    return ("?", "failed") if state.startswith(("un", "under")) else ("✗", "failed")


class HistoryView(LineView):
    """The lines."""

    def __init__(self, lines: Sequence[HistoryLine]) -> None:
        super().__init__(markable=False, empty="no changes in the journal")
        self._lines = lines

    def change_at(self, index: int) -> int | None:
        """The change that a line belongs to."""
        return self._lines[index].change if 0 <= index < len(self._lines) else None

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
        for text, meaning in self._lines[index].line:
            cut = fit(text, left)
            left -= cell_width(cut)
            spans.append((cut, meaning))
        return spans

    def header(self, width: int) -> None:
        """None: the screen around it has a title."""


class HistoryScreen(ModalScreen[int | None]):
    """The list above the panes; gives the number of the change that is to be taken back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close", show=False)]

    def __init__(self, lines: Sequence[HistoryLine], problems: Sequence[Line]) -> None:
        super().__init__()
        self._body = HistoryView(lines)
        self._head = TextLines(classes="screen-title")
        self._keys = TextLines(classes="screen-keys")
        self._problems = list(problems)

    def compose(self) -> ComposeResult:
        """Title, lines, keys."""
        yield self._head
        yield self._body
        yield self._keys

    def on_mount(self) -> None:
        """Show it."""
        title: Line = [(" changes applied from this host", "strong")]
        for problem in self._problems[:1]:
            title += [("  ", ""), *problem]
        self._head.set(title)
        self._keys.set(
            [
                (" ⏎", "strong"),
                (" stage the opposite of the change  ", "muted"),
                ("Esc", "strong"),
                (" back  ", "muted"),
                ("j k", "strong"),
                (" move", "muted"),
            ]
        )
        self._body.focus()

    def on_line_view_selected(self, message: LineView.Selected) -> None:
        """Enter: this change."""
        message.stop()
        self.dismiss(self._body.change_at(message.index))

    def action_close(self) -> None:
        """Back to the panes."""
        self.dismiss(None)
