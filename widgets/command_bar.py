"""The command bar: one line for commands, filters and secrets, with its candidates or an error below it.

Measured in 80 × 24 cells, a key typed with candidates below: 34 bytes to the terminal (median; 105 at most), 49 (138)
with Textual's Input, suggester and OptionList on the same driver, 2,000 (4,000) on Textual's own. Ours stays for what
Input has not: colours of the language, errors under their column, secrets, history by what a line begins with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from widgets.cells import cell_width, clean, fit, truncate
from widgets.line_editor import LineEditor, LineHistory
from widgets.line_painting import Line, LinePainter
from widgets.row_source import Span

ROWS = 6
"""Number of candidates that are shown at once."""


class Candidate(NamedTuple):
    """One completion: `text` replaces `start` to `end`. `meta` is shown beside it, `help` on a line below."""

    start: int
    end: int
    text: str
    display: str = ""
    meta: str = ""
    help: str = ""


class Completion(NamedTuple):
    """The candidates for a text, and which of them is put in already (-1: none)."""

    base: LineEditor
    candidates: Sequence[Candidate] = ()
    chosen: int = -1


def candidate_lines(completion: Completion, column: int, width: int) -> list[Line]:
    """Return a window of the candidates with what is beside each, and the help of the chosen (or first) one.

    `column` is the cell under which they stand, where they fit there.
    """
    _, candidates, chosen = completion
    first = max(0, min(chosen - ROWS + 1, len(candidates) - ROWS)) if chosen >= ROWS else 0
    shown = candidates[first : first + ROWS]
    names = [clean(candidate.display or candidate.text) for candidate in shown]
    metas = [clean(candidate.meta) for candidate in shown]
    wide = min(max(map(cell_width, names)), width - 4)
    meta_wide = min(max(map(cell_width, metas)), max(0, width - wide - 6))
    column = max(1, min(column, width - wide - meta_wide - 4))
    lines: list[Line] = []
    for number, (name, meta) in enumerate(zip(names, metas, strict=True), first):
        is_chosen = number == chosen
        style = "chosen" if is_chosen else ""
        spans: list[Span] = [(" " * (column - 1), ""), (">" if is_chosen else " ", style), (fit(name, wide), style)]
        if meta_wide:
            spans.append(("  " + fit(meta, meta_wide), style or "meta"))
        lines.append(Line((*spans, (" ", style))))
    more = f"{max(0, chosen) + 1}/{len(candidates)}" if len(candidates) > ROWS else ""
    text = truncate(clean(candidates[max(0, chosen)].help), width - 4 - len(more))
    if text or more:
        gap = " " * (width - 3 - cell_width(text) - len(more))
        lines.append(Line((("  " + text + gap + more, "help"),)))
    return lines


def error_lines(message: str, column: int | None, width: int) -> list[Line]:
    """Return `message` with a caret at cell `column`: beside the caret if it fits, else on a line below."""
    text = clean(message)
    told = Line(((" " + truncate(text, width - 2), "error"),))
    if column is None:
        return [told]
    place = max(1, min(column, width - 2))
    if place + 2 + cell_width(text) < width:
        return [Line(((" " * place + "^ " + text, "error"),))]
    if cell_width(text) + 2 < place:
        return [Line(((" " * (place - 1 - cell_width(text)) + text + " ^", "error"),))]
    return [Line(((" " * place + "^", "error"),)), told]


HIGHLIGHTS = ("keyword", "name", "key", "value", "operator", "string", "number", "comment", "wrong")
"""The names a highlighter may give; each is a component class `bar--NAME`."""

MASK = "•"


class BarMode(NamedTuple):
    """The purpose of the line."""

    name: str
    prompt: str
    completes: bool = False
    remembers: bool = True
    masked: bool = False


COMMAND = BarMode("command", ":", completes=True)
FILTER = BarMode("filter", "/")
SECRET = BarMode("secret", "", remembers=False, masked=True)


Highlighter = Callable[[str], Iterable[tuple[int, int, str]]]
Completer = Callable[[str, int], Sequence[Candidate]]


class CommandBar(Widget, can_focus=True):
    """A line for commands, filters and secrets, hidden until `open`.

    It posts `Changed` with every change, `Submitted` on Enter and `Closed` on Esc. After Enter it stays open, so that
    its owner can show an error in it, or closes it.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"bar--{name}" for name in HIGHLIGHTS),
        "bar--prompt",
        "bar--cursor",
        "bar--candidate",
        "bar--meta",
        "bar--chosen",
        "bar--help",
        "bar--error",
    }

    DEFAULT_CSS = """
    CommandBar {
        width: 1fr;
        height: auto;
        display: none;
        background: $panel;
        color: $foreground;
        & > .bar--prompt { color: $pending; text-style: bold; }
        & > .bar--cursor { text-style: reverse; }
        & > .bar--keyword { text-style: bold; }
        & > .bar--name { color: $name; }
        & > .bar--key { color: $override; }
        & > .bar--value { color: $value; }
        & > .bar--string { color: $value; }
        & > .bar--number { color: $value; }
        & > .bar--operator { color: $muted; }
        & > .bar--comment { color: $muted; text-style: $muted-text-style; }
        & > .bar--wrong { color: $failed; text-style: underline; }
        & > .bar--meta { color: $muted; text-style: $muted-text-style; }
        & > .bar--chosen {
            color: $cursor-foreground;
            background: $cursor-background;
            text-style: $cursor-text-style;
        }
        & > .bar--help { color: $muted; text-style: $muted-text-style; }
        & > .bar--error { color: $failed; text-style: bold; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Run", show=False, id="bar.submit"),
        Binding("escape", "dismiss", "Close", show=False, id="bar.close"),
        Binding("tab", "complete(1)", "Complete", show=False, id="bar.complete"),
        Binding("shift+tab", "complete(-1)", "Complete backwards", show=False, id="bar.complete-back"),
        Binding("up", "recall(-1)", "Older", show=False, id="bar.older"),
        Binding("down", "recall(1)", "Newer", show=False, id="bar.newer"),
        Binding("left,ctrl+b", "edit('left')", "Left", show=False, id="bar.left"),
        Binding("right,ctrl+f", "right_or_accept", "Right, accept", show=False, id="bar.right"),
        Binding("home,ctrl+a", "edit('home')", "Start", show=False, id="bar.home"),
        Binding("end,ctrl+e", "edit('end')", "End", show=False, id="bar.end"),
        Binding("alt+b,ctrl+left,alt+left", "edit('word_left')", "Word left", show=False, id="bar.word-left"),
        Binding("alt+f,ctrl+right,alt+right", "edit('word_right')", "Word right", show=False, id="bar.word-right"),
        Binding("backspace,ctrl+h", "edit('delete_left')", "Delete left", show=False, id="bar.delete-left"),
        Binding("delete,ctrl+d", "edit('delete_right')", "Delete right", show=False, id="bar.delete-right"),
        Binding("ctrl+w", "edit('delete_blank_word_left')", "Delete word", show=False, id="bar.delete-word"),
        Binding("alt+backspace", "edit('delete_word_left')", "Delete word", show=False, id="bar.delete-word-left"),
        Binding("alt+d", "edit('delete_word_right')", "Delete word right", show=False, id="bar.delete-word-right"),
        Binding("ctrl+u", "edit('delete_to_start')", "Delete to start", show=False, id="bar.delete-to-start"),
        Binding("ctrl+k", "edit('delete_to_end')", "Delete to end", show=False, id="bar.delete-to-end"),
    ]

    class BarMessage(Message):
        """A message about the line; `mode` is a mode's name."""

        def __init__(self, bar: CommandBar, mode: str, text: str) -> None:
            self.bar = bar
            self.mode = mode
            self.text = text
            super().__init__()

        @property
        def control(self) -> CommandBar:
            """The bar that sent this."""
            return self.bar

    class Submitted(BarMessage):
        """Enter. The bar stays open: close it, or show an error in it."""

    class Changed(BarMessage):
        """The text changed (never sent for a masked one)."""

        def can_replace(self, message: Message) -> bool:
            """Return whether the message before may be dropped: only the last of several counts."""
            return isinstance(message, CommandBar.Changed) and message.bar is self.bar

    class Closed(BarMessage):
        """Escape; `text` is what was left in the line (empty for a masked one)."""

    def __init__(
        self,
        *,
        highlight: Highlighter | None = None,
        complete: Completer | None = None,
        histories: Mapping[str, Sequence[str]] | None = None,
        remember: Callable[[str], str] = str,
        upward: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a closed bar.

        Args:
            highlight: returns start, end (exclusive, in characters) and a name of `HIGHLIGHTS` for each coloured piece
                of a text.
            complete: returns the candidates for a text and the cursor's index in it.
            histories: mode's name -> its entries, the oldest first.
            remember: returns the form of an entry that goes into the history, without secrets.
            upward: draw the candidates above the line.
        """
        super().__init__(name=name, id=id, classes=classes)
        self._highlight = highlight
        self._complete = complete
        self._histories = {mode: LineHistory(entries) for mode, entries in (histories or {}).items()}
        self._remember = remember
        self._upward = upward
        self._mode = COMMAND
        self._prompt = ""
        self._editor = LineEditor()
        self._completion = Completion(self._editor)
        self._error: tuple[str, int | None] | None = None
        self._shift = 0
        self._height = 1
        self._focus_before: Widget | None = None
        self._painter = LinePainter(self, self._line_at, "bar")

    # -- what an owner sees ---------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the bar is shown."""
        return bool(self.display)

    @property
    def mode(self) -> BarMode:
        """The purpose of the line."""
        return self._mode

    @property
    def text(self) -> str:
        """The text of the line."""
        return self._editor.text

    def history(self, mode: str) -> tuple[str, ...]:
        """Return the entries of a mode, the oldest first."""
        return self._histories[mode].entries if mode in self._histories else ()

    def open(self, mode: BarMode = COMMAND, text: str = "", *, prompt: str | None = None) -> None:
        """Show the line, and take the focus.

        Args:
            text: of the line; the cursor is at its end.
            prompt: instead of the mode's own.
        """
        self._mode = mode
        self._prompt = clean(mode.prompt if prompt is None else prompt)
        self._shift = 0
        if not self.is_open:
            self._focus_before = self.screen.focused
        self.display = True
        self._put(LineEditor.at_end(_one_line(text, " ")), tell=False)
        self.focus(scroll_visible=False)

    def close(self) -> None:
        """Hide the line, discard its text, and give the focus back to the widget that had it."""
        had_focus = self.has_focus
        self.display = False
        self._put(LineEditor(), tell=False)
        before, self._focus_before = self._focus_before, None
        if had_focus and before is not None and before.is_attached:
            before.focus(scroll_visible=False)

    def show_error(self, message: str, column: int | None = None) -> None:
        """Show an error below the line until the text changes.

        Args:
            column: index into the text, under which there is a caret; None for no caret.
        """
        self._error = (message, column)
        self._redraw()

    def recomplete(self) -> None:
        """Compute the candidates again, unless one is inserted: what they come from has been read."""
        if self.is_open and self._completion.chosen < 0:
            self._completion = Completion(self._editor, self._candidates())
            self._redraw()

    # -- editing --------------------------------------------------------------------------------------------------

    def _put(self, editor: LineEditor, *, tell: bool = True, complete: bool = True) -> None:
        """Show an edited line, with its candidates and colours."""
        changed = editor.text != self._editor.text
        self._editor = editor
        if changed or not tell:
            self._error = None
            if self._mode.name in self._histories and complete:
                self._histories[self._mode.name].stop()
        if complete:
            self._completion = Completion(editor, self._candidates() if self.is_open else ())
        if changed and tell and not self._mode.masked:
            self.post_message(self.Changed(self, self._mode.name, editor.text))
        self._redraw()

    def _candidates(self) -> Sequence[Candidate]:
        if self._complete is None or not self._mode.completes:
            return ()
        return self._complete(self._editor.text, self._editor.cursor)

    def action_edit(self, what: str) -> None:
        """Run a move or deletion of `LineEditor`, by its name."""
        move: Callable[[], LineEditor] = getattr(self._editor, what)
        self._put(move())

    def on_key(self, event: events.Key) -> None:
        """Insert a printable character."""
        if event.is_printable and event.character is not None:
            event.stop()
            event.prevent_default()
            self._put(self._editor.insert(event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Insert a pasted text as one line."""
        event.stop()
        self._put(self._editor.insert(_one_line(event.text, "; " if self._mode.completes else " ")))

    def action_submit(self) -> None:
        """Post the text, and add it to the history."""
        text = self._editor.text
        if self._mode.remembers:
            self._histories.setdefault(self._mode.name, LineHistory()).add(self._remember(text))
        if self._mode.masked:
            self._put(LineEditor())
        else:
            self._completion = Completion(self._editor)
            self._redraw()
        self.post_message(self.Submitted(self, self._mode.name, text))

    def action_dismiss(self) -> None:
        """Undo a completion; without one close the bar."""
        if self._completion.chosen >= 0:
            self._put(self._completion.base)
            return
        text = "" if self._mode.masked else self._editor.text
        self.close()
        self.post_message(self.Closed(self, self._mode.name, text))

    # -- completing and recalling ---------------------------------------------------------------------------------

    def action_complete(self, step: int) -> None:
        """Insert the next candidate, with step -1 the previous one; a single one is accepted at once."""
        base, candidates, chosen = self._completion
        if not candidates:
            return
        if len(candidates) == 1:
            self._put(_completed(base, candidates[0]))
            return
        first = 0 if step > 0 else len(candidates) - 1
        chosen = first if chosen < 0 else (chosen + step) % len(candidates)
        self._completion = Completion(base, candidates, chosen)
        self._put(_completed(base, candidates[chosen]), complete=False)

    def action_right_or_accept(self) -> None:
        """Move right; at the end accept the candidate that is inserted, or else the first."""
        if self._editor.cursor < len(self._editor.text):
            self._put(self._editor.right())
        elif self._completion.candidates:
            base, candidates, chosen = self._completion
            self._put(_completed(base, candidates[max(0, chosen)]))

    def action_recall(self, direction: int) -> None:
        """Insert an older (-1) or newer (1) entry that begins as the line does."""
        history = self._histories.get(self._mode.name)
        if history is None or not self._mode.remembers:
            return
        found = history.older(self._editor.text) if direction < 0 else history.newer(self._editor.text)
        if found is not None:
            self._completion = Completion(LineEditor.at_end(found))
            self._put(LineEditor.at_end(found), complete=False)

    # -- drawing --------------------------------------------------------------------------------------------------

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return how many lines the bar takes now."""
        return self._height

    def notify_style_update(self) -> None:
        """Forget the computed styles: the theme changed."""
        super().notify_style_update()
        self._painter.forget_styles()

    def _redraw(self) -> None:
        height = len(self._lines())
        if height != self._height:
            self._height = height
            self.refresh(layout=True)
        self._painter.repaint()

    def render_line(self, y: int) -> Strip:
        """Draw one row of the bar."""
        return self._painter.strip(y)

    def _line_at(self, y: int) -> Line:
        lines = self._lines()
        return lines[y] if y < len(lines) else Line(())

    def _lines(self) -> list[Line]:
        width = max(self.size.width or self.app.size.width, 20)
        below = self._below(width)
        return [*reversed(below), self._input_line(width)] if self._upward else [self._input_line(width), *below]

    def _input_line(self, width: int) -> Line:
        text, cursor = self._editor
        shown = MASK * len(text) if self._mode.masked else text
        names = [""] * (len(shown) + 1)
        if self._highlight is not None and self._mode.completes:
            for start, end, name in self._highlight(text):
                for index in range(max(0, start), min(end, len(shown))):
                    names[index] = name
        if self.has_focus:
            names[cursor] = f"{names[cursor]} cursor".strip()
        prompt = f" {self._prompt} " if self._prompt else " "
        room = max(1, width - cell_width(prompt) - 1)
        self._shift = _shifted(shown, cursor, room, self._shift)
        spans: list[Span] = [(prompt, "prompt")]
        left = room + 1
        for char, name in zip(shown[self._shift :] + " ", names[self._shift :], strict=True):
            left -= cell_width(char)
            if left < 0:
                break
            spans.append((char, name))
        if self.has_focus:
            x = cell_width(prompt) + cell_width(shown[self._shift : cursor])
            self.app.cursor_position = Offset(
                self.region.x + x, self.region.bottom - 1 if self._upward else self.region.y
            )
        return Line(tuple(spans))

    def _column(self, index: int) -> int:
        """Return the cell of a character of the text."""
        prompt = f" {self._prompt} " if self._prompt else " "
        return cell_width(prompt) + cell_width(self._editor.text[self._shift : index])

    def _below(self, width: int) -> list[Line]:
        if self._error is not None:
            message, index = self._error
            return error_lines(message, None if index is None else self._column(index), width)
        if not self._completion.candidates:
            return []
        return candidate_lines(self._completion, self._column(self._completion.candidates[0].start), width)


def _completed(base: LineEditor, candidate: Candidate) -> LineEditor:
    return base.replace(candidate.start, candidate.end, candidate.text)


def _one_line(text: str, between: str) -> str:
    """Return `text` as one line, with line ends replaced and unprintable characters removed."""
    first, *others = re.split(r"[\r\n]++", text.strip("\r\n"))
    if others:
        *within, last = others
        first = between.join(
            (first.rstrip(), *(stripped for line in within if (stripped := line.strip())), last.lstrip())
        )
    joined = first
    return "".join(char if char.isprintable() else " " if char == "\t" else "" for char in joined)


def _shifted(text: str, cursor: int, room: int, shift: int) -> int:
    """Return the index of the first character shown, so that the cursor is seen."""
    shift = min(shift, cursor)
    while shift < cursor and cell_width(text[shift:cursor]) > room:
        shift += 1
    return shift
