"""The lines around a view: header, panes, message and footer. Each is written only where it changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from textual.color import Color, ColorParseError

from console.present.brokers import silent_line
from console.present.columns import clock
from console.present.failures import failure_text
from console.present.header import Facts, State, Who, facts, header
from console.present.text import Line
from console.tui.keymap import Key, KeyState, reason
from console.tui.places import DIGITS, ORDER, SHORT_TITLES, SHORTEST_TITLES, TITLES, Place
from console.tui.text_lines import TextLines, wrap
from themes import CONTEXTS
from widgets.cells import cell_width

if TYPE_CHECKING:
    from textual.geometry import Size

    from console.session.session import Session
    from console.tui.panes.view import View
    from console.tui.reading import Contact
    from console.tui.watch import Watch


_KEY_SIGNS = {
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "⇧Tab",
    "enter": "⏎",
    "colon": ":",
    "slash": "/",
    "question_mark": "?",
    "minus": "-",
    "plus": "+",
    "full_stop": ".",
    "exclamation_mark": "!",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "space": "Space",
}


def sign(key: str) -> str:
    """Return how a key of Textual is written for an operator: ``slash`` is ``/``, ``ctrl+r`` is ``^R``."""
    if key.startswith("ctrl+"):
        return "^" + key[5:].upper()
    return _KEY_SIGNS.get(key, key)


def signs(keys: str) -> str:
    """Return all keys of an action: ``r or ^R``."""
    return " or ".join(sign(key.strip()) for key in keys.split(","))


def tabs(current: int, staged: int, width: int, alarm: int = 0) -> Line:
    """Return the line of panes: ``. Now!6  1 Brokers  2 Topics …  7 Plan*3 …``.

    Args:
        current: number of the pane that is shown.
        staged: number of staged edits.
        width: of the terminal, in cells.
        alarm: number of causes that need attention.

    Returns:
        Three spans for each pane, of which the second has its title (see `tab_at`). The longest form that fits: with
        long or short titles, with or without blanks between. The tab of the events is left out before the blanks are,
        because the footer has their key.
    """
    ways = (
        (ORDER, TITLES, " ", " ", " "),
        (ORDER, SHORT_TITLES, " ", "", " "),
        (ORDER[:-1], SHORT_TITLES, " ", "", " "),
        (ORDER[:-1], SHORT_TITLES, "", "", " "),
        (ORDER[:-1], SHORTEST_TITLES, "", "", " "),
        (ORDER[:-1], SHORTEST_TITLES, "", "", ""),
    )
    counts = {"Plan": f"*{staged}", "Now": f"!{alarm}"}
    lines = (_tabs(order, titles, current, counts, *gaps) for order, titles, *gaps in ways)
    *longer, shortest = lines
    return next((line for line in longer if sum(cell_width(text) for text, _ in line) <= width), shortest)


def _tabs(
    order: Sequence[int],
    titles: Sequence[str],
    current: int,
    counts: Mapping[str, str],
    between: str,
    gap: str,
    before: str,
) -> Line:
    """Return one form of the line of panes.

    Args:
        counts: title -> a sign and a number, shown behind the title unless the number is 0.
        between: separates a pane's key from its title.
        gap: more blanks behind the title.
        before: blanks before the key.
    """
    line: Line = []
    for number in order:
        title = titles[number - 1]
        count = counts.get(TITLES[number - 1], "")
        count = "" if count[1:] == "0" else count
        meaning = "strong" if number == current else ("failed" if count[0] == "!" else "pending") if count else "muted"
        line += [(before, ""), (f"{DIGITS[number - 1]}{between}{title}{count}", meaning), (gap, "")]
    return line


def tab_at(piece: int | None) -> int | None:
    """Return the number of the pane that a span of `tabs` belongs to, None for none."""
    return ORDER[piece // 3] if piece is not None and piece // 3 < len(ORDER) else None


class Hint(NamedTuple):
    """A key in the footer: what to press, what it does, the action's id. The lowest rank comes first."""

    sign: str
    label: str
    action: str
    rank: int


def hints(keys: Iterable[Key], enter: str, keys_of: Callable[[str], str]) -> list[Hint]:
    """Return the footer's keys in their order.

    Args:
        keys: those that work now. A key of rank 0 is not in the footer.
        enter: what Enter does here, ``""`` for nothing. It replaces a key with the same label.
        keys_of: returns the keys of an action as they are configured.
    """
    shown = [Hint(sign(keys_of(key.id).split(",")[0]), key.label, key.id, key.rank) for key in keys if key.rank]
    if enter:
        same = next((hint.action for hint in shown if hint.label == enter), "")
        shown = [Hint("⏎", enter, same, 1), *(hint for hint in shown if hint.label != enter)]
    return sorted(shown, key=lambda hint: hint.rank)


def footer(shown: Sequence[Hint], width: int) -> tuple[Line, tuple[str, ...]]:
    """Return the footer: as many hints as fit, and always `?`.

    Args:
        width: of the terminal, in cells.

    Returns:
        The line, and the action of each of its spans, ``""`` for none.
    """
    last = next((hint for hint in shown if hint.action == "help"), None)
    kept: list[Hint] = []
    used = 1 + (_width(last) if last else 0)
    for hint in shown:
        if hint is not last and used + _width(hint) <= width:
            kept.append(hint)
            used += _width(hint)
    line: Line = [(" ", "")]
    actions = [""]
    for hint in [*kept, *([last] if last else [])]:
        line += [(hint.sign, "strong"), (f" {hint.label}  ", "muted")]
        actions += [hint.action, hint.action]
    return line, tuple(actions)


def _width(hint: Hint) -> int:
    return cell_width(hint.sign) + cell_width(hint.label) + 3


MESSAGE_LINES = 3
_ON_COLOR = {"strong": "strong", "failed": "strong", "danger": "strong", "stale": "reverse"}
"""Style of a meaning on the colour of a context; other meanings are plain."""


class FrameHost(Protocol):
    """The parts of the app that `Frame` shows."""

    @property
    def session(self) -> Session:
        """The session that is shown."""
        ...

    @property
    def contact(self) -> Contact:
        """Whether the cluster answers."""
        ...

    @property
    def triage(self) -> Watch:
        """Triage: the causes of what is wrong with the cluster."""
        ...

    @property
    def paused(self) -> bool:
        """Whether the live refresh is stopped."""
        ...

    @property
    def due(self) -> str:
        """The text that the journal adds to the header."""
        ...

    @property
    def view(self) -> View:
        """The view that is shown."""
        ...

    @property
    def place(self) -> Place:
        """The place that is shown."""
        ...

    @property
    def size(self) -> Size:
        """The terminal's size in cells."""
        ...

    @property
    def native_ansi_color(self) -> bool:
        """Whether the terminal's own 16 colours are used."""
        ...

    @property
    def keys_seen(self) -> int:
        """The number of keys that were handled."""
        ...

    def state(self) -> KeyState:
        """Return what the conditions of keys are checked against."""
        ...

    def keys_here(self) -> Sequence[Key]:
        """Return the keys of the view, and those that work everywhere."""
        ...

    def keys_of(self, action: str) -> str:
        """Return the keys of an action as they are configured, separated by commas."""
        ...


class Frame:
    """Writes the lines around the view from the app's state.

    Each method writes one line completely; a line that did not change is not painted. Call the one whose input changed.
    """

    def __init__(self, app: FrameHost) -> None:
        self._app = app
        self.header, self.tabs = TextLines(id="header"), TextLines(id="tabs")
        self.message, self.footer = TextLines(id="message"), TextLines(id="footer")
        self._said: Line = []
        self._said_at = 0
        self._counted: tuple[object, object, Facts] = (None, None, facts(app.session.snapshot))
        self._actions: tuple[str, ...] = ()
        self._colored = False

    def put_color(self) -> None:
        """Give the header the colour of the context, if it has one and NO_COLOR is not set.

        A terminal with 16 colours gets the colour by its name, so that its own palette decides; a colour as ``#rrggbb``
        is converted.
        """
        wanted = self._app.session.context.color
        if wanted is None or "NO_COLOR" in os.environ:
            return
        native = self._app.native_ansi_color and not wanted.startswith("#")
        name = f"ansi_{wanted}" if native else CONTEXTS.get(wanted, wanted)
        try:
            color = Color.parse(name)
        except ColorParseError:
            return
        self.header.styles.background = color
        bright = color.ansi is None and color.brightness > 0.5
        self.header.styles.color = Color.parse("black" if bright else "white")
        self._colored = True

    def all(self) -> None:
        """Write every line."""
        self.write_header()
        self.write_tabs()
        self.write_message()
        self.write_footer()

    def write_header(self) -> None:
        """Write the header: context, cluster, health, whether it answers."""
        snapshot = self._app.session.snapshot
        if self._counted[0] is not snapshot.topics or self._counted[1] is not snapshot.cluster:
            self._counted = (snapshot.topics, snapshot.cluster, facts(snapshot))
        context = self._app.session.context
        exposed = bool(context.settings.exposures)
        who = Who(context.name, context.read_only, context.principal, self._app.due, exposed)
        line = header(snapshot, self._counted[2], who, self._state(), self._app.size.width)
        if self._colored:
            line = [(text, _ON_COLOR.get(meaning, "")) for text, meaning in line]
        self.header.set(line)

    def _state(self) -> State:
        """Return whether the data shown is current, for the header."""
        contact = self._app.contact
        if contact.lost is not None:
            since = contact.answered_at
            return State(f"! STALE since {clock(since)}" if since else "! NO ANSWER", "stale", current=False)
        if self._app.paused:
            return State("paused", "pending")
        return State("live" if contact.answered_at else "connecting", "muted")

    def write_tabs(self) -> None:
        """Write the panes, with the number of staged edits and of causes."""
        app = self._app
        self.tabs.set(tabs(app.place.pane, len(app.session.plan), app.size.width, app.triage.alarm))

    def say(self, text: str, meaning: str = "") -> None:
        """Put a text on the message line, where it stays until the operator moves on.

        Args:
            meaning: of the text, which gives it its colour, ``""`` for plain.
        """
        self._said = [(text, meaning)]
        self._said_at = self._app.keys_seen
        self.write_message()

    def forget(self, *, moved: bool = False) -> None:
        """Clear the message.

        Args:
            moved: called because the cursor moved. Clear it only if it is older than the last key: a refresh that
                removes the row under the cursor moves the cursor, too, and must not clear a message.
        """
        if not moved or self._app.keys_seen > self._said_at:
            self._said = []
            self.write_message()

    def write_message(self) -> None:
        """Write the message; without one what does not answer; else the view's note."""
        line = self._said or self._lost() or self._app.view.note()
        lines = wrap(line, max(20, self._app.size.width - 2))[:MESSAGE_LINES]
        if self.message.size.height != len(lines):
            self.message.styles.height = len(lines)
        self.message.set(*([(" ", ""), *part] for part in lines))

    def _lost(self) -> Line:
        """Return what does not answer: the cluster, what the view reads, or some of the brokers."""
        app, contact = self._app, self._app.contact
        if contact.lost is not None:
            if not app.view.known():
                return [("not connected", "failed"), ("" if contact.final else ": trying again; r tries now", "")]
            return [("not connected: ", "failed"), (failure_text(contact.lost), "")]
        if contact.silent:
            return silent_line(app.session.snapshot, contact.silent)
        if contact.unread is not None and app.view.known():
            return [(f"not read since {clock(contact.unread_since)}: ", "failed"), (failure_text(contact.unread), "")]
        return []

    def write_footer(self) -> None:
        """Write the keys that work in the view's present state."""
        app = self._app
        state = app.state()
        keys = [key for key in app.keys_here() if not reason(key, state)]
        line, self._actions = footer(hints(keys, app.view.ENTER, app.keys_of), app.size.width)
        self.footer.set(line)

    def action_at(self, x: int) -> str:
        """Return the action of the footer's key at a column in cells, ``""`` for none."""
        piece = self.footer.piece_at(x)
        return self._actions[piece] if piece is not None else ""
