"""The command bar: one line for commands, filters and secrets, with its candidates or an error below it.

The line is Textual's Input, which provides cursor, selection, words, clipboard, scrolling and dots. This module adds
lists of candidates, errors below their column, and history by prefix. Input's suggester is not used: it shows one
candidate, the first of the list, and computes it in a worker at each key.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.highlighter import Highlighter
from rich.text import Text
from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget
from textual.widgets import Input

from widgets.cells import cell_width, clean, fit, truncate
from widgets.line_painting import Line, LinePainter, Painted
from widgets.row_source import Span

ROWS = 6
"""Number of candidates that are shown at the same time."""
SHORTEST = 20
"""Minimum number of cells that stay for the text: a prompt that would leave fewer is cut."""


class Candidate(NamedTuple):
    """One completion: `text` replaces `start` to `end`. `meta` is shown next to it, `help` on a line below."""

    start: int
    end: int
    text: str
    display: str = ""
    meta: str = ""
    help: str = ""


class Typed(NamedTuple):
    """A text, and the index of the character under the cursor (the text's length if the cursor is at the end)."""

    text: str = ""
    cursor: int = 0

    def completed(self, candidate: Candidate) -> Typed:
        """Return the text with a candidate inserted, and the cursor after it."""
        before = self.text[: candidate.start] + candidate.text
        return Typed(before + self.text[candidate.end :], len(before))


class Completion(NamedTuple):
    """The candidates for a text, and the index of the inserted candidate; -1 if none is inserted."""

    base: Typed = Typed()
    candidates: Sequence[Candidate] = ()
    chosen: int = -1


def candidate_lines(completion: Completion, column: int, width: int) -> list[Line]:
    """Return the lines of at most ROWS candidates, each with its `meta`, and a line with the help of the inserted
    candidate, or of the first one if none is inserted.

    Args:
        completion: the candidates, and the index of the inserted one.
        column: cell below which the candidates are drawn, if they fit there.
        width: the width of the bar in cells.
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
    """Return the lines of an error: a caret at cell `column`, and the message next to it if it fits, else on a line
    below. With None as column there is no caret.
    """
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
"""The names of styles that a highlighter may return; each is a component class `bar--NAME`."""


class BarMode(NamedTuple):
    """A mode of the bar: command, filter or secret, for example. ends_when_left: whether a click outside of the bar
    acts as Enter, since the text already takes effect while it is typed.
    """

    name: str
    prompt: str
    completes: bool = False
    remembers: bool = True
    masked: bool = False
    ends_when_left: bool = False


COMMAND = BarMode("command", ":", completes=True)
FILTER = BarMode("filter", "/", ends_when_left=True)
SECRET = BarMode("secret", "", remembers=False, masked=True)


Highlight = Callable[[str], Iterable[tuple[int, int, str]]]
Completer = Callable[[str, int], Sequence[Candidate]]


REMEMBERED = 1000
"""Maximum number of history entries that are kept for a mode."""


class LineHistory:
    """The entries of a history, the oldest first, and, while the user recalls entries, the text that was typed
    before.
    """

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self._entries = list(entries[-REMEMBERED:])
        self._typed: str | None = None
        self._place = 0

    @property
    def entries(self) -> tuple[str, ...]:
        """All entries, the oldest first."""
        return tuple(self._entries)

    def add(self, text: str) -> None:
        """Append `text`, unless it is blank or equals the newest entry, and stop recalling."""
        self.stop()
        if text.strip() and self._entries[-1:] != [text]:
            self._entries.append(text)
            del self._entries[:-REMEMBERED]

    def stop(self) -> None:
        """Stop recalling: the next recall starts from the newest entry."""
        self._typed = None

    def older(self, typed: str) -> str | None:
        """Return the next older entry that starts with the text typed before recalling, and differs from the shown
        text; None if there is no such entry. typed: the shown text.
        """
        if self._typed is None:
            self._typed, self._place = typed, len(self._entries)
        for place in range(self._place - 1, -1, -1):
            if self._fits(place, typed):
                self._place = place
                return self._entries[place]
        return None

    def newer(self, typed: str) -> str | None:
        """Return the next newer entry that starts with the text typed before recalling, and differs from the shown
        text. After the newest entry, return the text typed before; return None if the user is not recalling. typed:
        the shown text.
        """
        if self._typed is None:
            return None
        for place in range(self._place + 1, len(self._entries)):
            if self._fits(place, typed):
                self._place = place
                return self._entries[place]
        typed_first, self._typed = self._typed, None
        return typed_first

    def _fits(self, place: int, shown: str) -> bool:
        entry = self._entries[place]
        return self._typed is not None and entry.startswith(self._typed) and entry != shown


class BarInput(Input):
    """Textual's Input with additional keys of a shell. A paste becomes one line; text that is shown as dots can't be
    copied.

    It does not set the mouse pointer: terminals without Kitty's protocol for it may print the sequence.
    """

    DEFAULT_CSS = """
    BarInput {
        width: 1fr;
        pointer: default;
        background: $panel;
        color: $foreground;
        &:focus { background-tint: $panel 0%; }
        &:ansi { background: $panel; color: $foreground; }
        & > .input--cursor, &:ansi > .input--cursor {
            color: $foreground;
            background: $panel;
            text-style: reverse;
        }
        & > .input--selection {
            color: $cursor-foreground;
            background: $cursor-background;
            text-style: $cursor-text-style;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+b", "cursor_left", "Left", show=False),
        Binding("ctrl+f", "cursor_right", "Right", show=False),
        Binding("alt+b,alt+left", "cursor_left_word", "Word left", show=False),
        Binding("alt+f,alt+right", "cursor_right_word", "Word right", show=False),
        Binding("ctrl+h", "delete_left", "Delete left", show=False),
        Binding("alt+backspace", "delete_left_word", "Delete word left", show=False),
        Binding("alt+d", "delete_right_word", "Delete word right", show=False),
        Binding("ctrl+w", "delete_to_blank", "Delete to the last blank", show=False),
    ]

    def __init__(self) -> None:
        """Create an empty line. Its cursor does not blink, so that an idle line writes no bytes."""
        super().__init__(compact=True, select_on_focus=False, validate_on=())
        self.cursor_blink = False
        self.between = " "
        """The text that replaces line ends in a paste."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action may run: False for copy and cut while the text is shown as dots."""
        return super().check_action(action, parameters) and not (self.password and action in ("copy", "cut"))

    def on_resize(self) -> None:
        """Keep the cursor in view, which Input does only when the cursor moves."""
        cursor = self.cursor_screen_offset - self.content_region.offset + self.scroll_offset
        self.scroll_to_region(Region(*cursor, 1, 1), force=True, animate=False, immediate=True)

    def on_paste(self, event: events.Paste) -> None:
        """Insert all lines of a pasted text as one line. Input would insert only the first line."""
        event.stop()
        event.prevent_default()
        self._insert(event.text)

    def action_paste(self) -> None:
        """Insert the app's own clipboard as one line; its text may come from the cluster."""
        self._insert(self.app.clipboard)

    def _insert(self, text: str) -> None:
        self.replace(one_line(text, self.between), *self.selection)

    def action_cursor_right(self, select: bool = False) -> None:
        """Move the cursor right. At the end of the text raise SkipAction, so that the bar handles the key."""
        if self.cursor_at_end and self.selection.is_empty and not select:
            raise SkipAction
        super().action_cursor_right(select)

    def action_delete_to_blank(self) -> None:
        """Delete the word before the cursor, up to the last blank, as a shell's Ctrl-W does."""
        if self.password or not self.selection.is_empty:
            self.action_delete_left_word()
            return
        before = self.value[: self.cursor_position].rstrip()
        self.delete(before.rfind(" ") + 1, self.cursor_position)


class _Colors(Highlighter):
    """Colours parts of the line in the styles of the bar's component classes."""

    def __init__(self, bar: CommandBar, highlight: Highlight) -> None:
        self._bar = bar
        self._highlight = highlight

    def highlight(self, text: Text) -> None:
        """Apply to each coloured part of the text its style."""
        for start, end, name in self._highlight(text.plain):
            text.stylize(self._bar.get_component_rich_style(f"bar--{name}", partial=True), start, end)


class BarRows(Painted):
    """The rows of the bar: the row with the prompt, and the rows below it with candidates or an error."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *(f"bar--{name}" for name in HIGHLIGHTS),
        "bar--prompt",
        "bar--meta",
        "bar--chosen",
        "bar--help",
        "bar--error",
    }

    DEFAULT_CSS = """
    BarRows {
        width: 1fr;
        height: auto;
        display: none;
        background: $panel;
        color: $foreground;
        & > .bar--prompt { color: $pending; text-style: bold; }
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
        & > .bar--error { color: $failed; text-style: $failed-text-style; }
    }
    """

    def __init__(self, *, id: str | None, classes: str | None) -> None:
        """Create the widget with an empty row."""
        super().__init__(id=id, classes=classes)
        self._rows = [Line(())]
        self._painter = LinePainter(self, self._row_at, "bar")

    def show_rows(self, rows: list[Line]) -> None:
        """Show these rows, and set the widget's height to their number."""
        before, self._rows = len(self._rows), rows
        if len(rows) != before:
            self.refresh(layout=True)
        self._painter.repaint()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        """Return the number of rows."""
        return len(self._rows)

    def _row_at(self, y: int) -> Line:
        return self._rows[y] if y < len(self._rows) else Line(())


class CommandBar(BarRows):
    """A line for commands, filters and secrets, hidden until `open`.

    It posts `Changed` with every change, `Submitted` on Enter and `Closed` on Esc. After Enter it stays open, so that
    its owner can show an error in it, or close it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", show=False),
        Binding("tab", "complete(1)", "Complete", show=False),
        Binding("shift+tab", "complete(-1)", "Complete backwards", show=False),
        Binding("right,ctrl+f", "accept", "Accept", show=False),
        Binding("up", "recall(-1)", "Older", show=False),
        Binding("down", "recall(1)", "Newer", show=False),
    ]

    class BarMessage(Message):
        """A message about the bar's line; `mode` is the name of the bar's mode."""

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
        """The user pressed Enter. The bar stays open until its owner closes it."""

    class Changed(BarMessage):
        """The text changed. The bar does not send this in a mode that shows dots."""

        def can_replace(self, message: Message) -> bool:
            """Return whether this message replaces an unhandled earlier one: True for a change of the same bar."""
            return isinstance(message, CommandBar.Changed) and message.bar is self.bar

    class Closed(BarMessage):
        """The user pressed Escape. `text` is the text that the line had; ``""`` in a mode that shows dots."""

    def __init__(
        self,
        *,
        highlight: Highlight | None = None,
        complete: Completer | None = None,
        histories: Mapping[str, Sequence[str]] | None = None,
        remember: Callable[[str], str] = str,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a closed bar.

        Args:
            highlight: returns start, end (exclusive, in characters) and a name of `HIGHLIGHTS` for each coloured part
                of a text; None to colour nothing.
            complete: returns the candidates for a text and the cursor's index in it; None for no completion.
            histories: a mode's name -> its entries, the oldest first; None for empty histories.
            remember: given a submitted text, returns the entry that the history gets: the text without its secrets.
            id, classes: the widget's id and CSS classes; None to set none.
        """
        super().__init__(id=id, classes=classes)
        self._colors = _Colors(self, highlight) if highlight is not None else None
        self._complete = complete
        kept = {mode: LineHistory(entries) for mode, entries in (histories or {}).items()}
        self._histories = defaultdict(LineHistory, kept)
        self._remember = remember
        self._mode = COMMAND
        self._prompt = ""
        self._input = BarInput()
        self._typed = Typed()
        self._completion = Completion()
        self._error: tuple[str, int | None] | None = None
        self._focus_before: Widget | None = None

    def compose(self) -> ComposeResult:
        """Yield the Input of the line; the bar itself draws the prompt and the rows below."""
        yield self._input

    def on_mount(self) -> None:
        """Watch the line's cursor and horizontal scroll position; when one changes, redraw the bar."""

        def moved() -> None:
            self.call_later(self._follow)  # Input may set its text before or after its cursor

        def recolored(_theme: Theme) -> None:
            self.notify_style_update()
            self._input.refresh()  # the input's background may be the same in both themes

        self.app.theme_changed_signal.subscribe(self, recolored)
        self.watch(self._input, "selection", moved, init=False)
        self.watch(self._input, "scroll_x", self._redraw, init=False)

    # -- methods for owners ---------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the bar is shown."""
        return bool(self.display)

    @property
    def mode(self) -> BarMode:
        """The mode that the bar was last opened in."""
        return self._mode

    @property
    def text(self) -> str:
        """The text of the line, including a secret."""
        return self._input.value

    def history(self, mode: str) -> tuple[str, ...]:
        """Return the history entries of the mode with this name, the oldest first."""
        return self._histories[mode].entries

    def open(self, mode: BarMode = COMMAND, text: str = "", *, prompt: str | None = None) -> None:
        """Show the line in a mode, and give it the focus.

        Args:
            text: initial text of the line; the cursor is at its end.
            prompt: the prompt of the line; None for the mode's own.
        """
        self._mode = mode
        self._prompt = clean(mode.prompt if prompt is None else prompt)
        self._input.password = mode.masked
        self._input.highlighter = self._colors if mode.completes else None
        self._input.between = "; " if mode.completes else " "
        if not self.is_open:
            self._focus_before = self.screen.focused
        self.display = True
        self._show(one_line(text, " "))
        self._input.focus(scroll_visible=False)

    def close(self) -> None:
        """Hide the line, discard its text, and give the focus back to the widget that had it."""
        had_focus = self._input.has_focus
        self.display = False
        self._show("")
        before, self._focus_before = self._focus_before, None
        if had_focus and before is not None and before.is_attached:
            before.focus(scroll_visible=False)

    def show_error(self, message: str, column: int | None = None) -> None:
        """Show an error below the line until the text changes.

        Args:
            column: index into the text below which the caret is drawn; None for no caret.
        """
        self._error = (message, column)
        self._redraw()

    def recomplete(self) -> None:
        """Compute the candidates again, after data that they come from was read. No-op while a candidate is inserted or
        the bar is closed.
        """
        if self.is_open and self._completion.chosen < 0:
            self._completion = Completion(self._typed, self._candidates())
            self._redraw()

    # -- messages of the line -------------------------------------------------------------------------------------

    @on(Input.Changed)
    @on(Input.Blurred)
    def _line_told(self, message: Input.Changed | Input.Blurred) -> None:
        """Update the bar after a change of the line, and stop the line's message, as its text may be a secret.

        If the line lost the focus to another widget while the bar is open, give the focus back, because keys typed
        after a click outside of the bar could stage edits. In a mode that ends when left, such a click then acts as
        Enter.
        """
        message.stop()
        self._follow()
        if isinstance(message, Input.Blurred) and self.is_open and self.screen.focused not in (None, self._input):
            self._input.focus(scroll_visible=False)
            if self._mode.ends_when_left:
                self._input.post_message(Input.Submitted(self._input, self.text))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Post the text as `Submitted`, and add it to the history if the mode has one. Empty a line that shows dots."""
        message.stop()
        text = message.value
        if self._mode.remembers:
            self._histories[self._mode.name].add(self._remember(text))
        if self._mode.masked:
            self._show("")
        else:
            self._completion = Completion(self._typed)
            self._redraw()
        self.post_message(self.Submitted(self, self._mode.name, text))

    def _follow(self) -> None:
        """Update the bar if the text or the cursor of the line has changed since the last call. No-op while the bar is
        closed.
        """
        typed = Typed(self._input.value, self._input.cursor_position)
        if self.is_open and typed != self._typed:
            self._take(typed)

    def _put(self, typed: Typed, completion: Completion | None = None) -> None:
        """Set the text and the cursor of the line, and update the bar as if the user had typed it."""
        self._input.value, self._input.cursor_position = typed
        self._take(typed, completion)

    def _take(self, typed: Typed, completion: Completion | None = None) -> None:
        """Update the bar for a text, and post `Changed` if the text changed, unless the mode shows dots.

        Args:
            completion: the completion that inserted the text; None to compute the candidates.
        """
        if typed.text != self._typed.text:
            self._error = None
            if completion is None:
                self._histories[self._mode.name].stop()
            if not self._mode.masked:
                self.post_message(self.Changed(self, self._mode.name, typed.text))
        self._typed = typed
        self._completion = completion or Completion(typed, self._candidates())
        self._redraw()

    def _show(self, text: str) -> None:
        """Set the initial text, without posting `Changed`."""
        self._typed = Typed(text, len(text))
        self._input.value, self._input.cursor_position = self._typed
        self._error = None
        self._histories[self._mode.name].stop()
        self._completion = Completion(self._typed, self._candidates() if self.is_open else ())
        self._redraw()

    def _candidates(self) -> Sequence[Candidate]:
        if self._complete is None or not self._mode.completes:
            return ()
        return self._complete(*self._typed)

    # -- keys in addition to Input's ------------------------------------------------------------------------------

    def action_dismiss(self) -> None:
        """Undo the insertion of a candidate; if no candidate is inserted, close the bar."""
        if self._completion.chosen >= 0:
            self._put(self._completion.base)
            return
        text = "" if self._mode.masked else self.text
        self.close()
        self.post_message(self.Closed(self, self._mode.name, text))

    def action_complete(self, step: int) -> None:
        """Insert the next candidate (step 1) or the previous one (-1) in place of the inserted one. If there is only
        one candidate, insert it and compute the candidates again. No-op without candidates.
        """
        base, candidates, chosen = self._completion
        if not candidates:
            return
        if len(candidates) == 1:
            self._put(base.completed(candidates[0]))
            return
        first = 0 if step > 0 else len(candidates) - 1
        chosen = first if chosen < 0 else (chosen + step) % len(candidates)
        self._put(base.completed(candidates[chosen]), Completion(base, candidates, chosen))

    def action_accept(self) -> None:
        """Keep the inserted candidate, or insert the first one, and compute the candidates again. No-op without
        candidates.
        """
        base, candidates, chosen = self._completion
        if candidates:
            self._put(base.completed(candidates[max(0, chosen)]))

    def action_recall(self, direction: int) -> None:
        """Replace the line by the next older (-1) or newer (1) history entry that starts with the typed text. No-op if
        there is no such entry.
        """
        history = self._histories[self._mode.name]
        found = history.older(self.text) if direction < 0 else history.newer(self.text)
        if found is not None:
            typed = Typed(found, len(found))
            self._put(typed, Completion(typed))

    # -- drawing --------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Redraw for the new width."""
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """Draw row `y`. For the row of the line, place the terminal's own cursor, at which input methods show their
        text.
        """
        if y == 0 and self._input.has_focus:
            self.app.cursor_position = self._input.cursor_screen_offset
        return super().render_line(y)

    def _redraw(self) -> None:
        """Draw the prompt and, below it, the error or the candidates, each at the cell of the text to which it
        belongs.
        """
        width = max(self.size.width or self.app.size.width, SHORTEST)
        prompt = f" {truncate(self._prompt, max(1, width - SHORTEST))} " if self._prompt else " "
        self._input.styles.margin = (0, 0, 0, cell_width(prompt))

        def column(index: int) -> int:
            return cell_width(prompt) + cell_width(self.text[:index]) - int(self._input.scroll_x)

        below: list[Line] = []
        if self._error is not None:
            message, place = self._error
            below = error_lines(message, None if place is None else column(place), width)
        elif candidates := self._completion.candidates:
            below = candidate_lines(self._completion, column(candidates[0].start), width)
        self.show_rows([Line(((prompt, "prompt"),)), *below])


def one_line(text: str, between: str) -> str:
    """Return `text` as one line: line ends are replaced by `between`, unprintable characters are removed."""
    first, *others = re.split(r"[\r\n]++", text.strip("\r\n"))
    if others:
        *within, last = others
        first = between.join(
            (first.rstrip(), *(stripped for line in within if (stripped := line.strip())), last.lstrip())
        )
    return "".join(char if char.isprintable() else " " if char == "\t" else "" for char in first)
