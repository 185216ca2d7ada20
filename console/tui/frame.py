"""The lines around a view: header, panes, message, and footer with the active keys. Only changed lines are painted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from textual.color import ColorParseError

from console.model.topic_counts import TopicCounts
from console.present.brokers import silent_line
from console.present.columns import clock
from console.present.failures import failure_text
from console.present.header import State, Who, facts, header
from console.present.text import Line, clean
from console.tui import keymap, places
from console.tui.text_lines import TextLines
from themes import header_look
from widgets.cells import cell_width

if TYPE_CHECKING:
    from console.contexts.console_settings import KeyRemap
    from console.tui.navigator import Navigator
    from console.tui.past import Journal
    from console.tui.text_lines import MessageLine
    from console.tui.watch import ShownCluster


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
    "left": "←",
    "right": "→",
    "exclamation_mark": "!",
    "comma": ",",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "asterisk": "*",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "space": "Space",
}


EVENTS_SHOWN = 3
"""Maximum number of events at the cursor in time that the message line shows."""


def sign(key: str) -> str:
    """Return the label of a Textual key: ``slash`` is ``/``, ``ctrl+r`` is ``^R``."""
    if key.startswith("ctrl+"):
        return "^" + key[5:].upper()
    return _KEY_SIGNS.get(key, key)


def signs(keys: str) -> str:
    """Return the labels of all keys of an action: ``r or ^R``."""
    return " or ".join(sign(key.strip()) for key in keys.split(","))


def tabs(current: int, staged: int, width: int, alarm: int = 0) -> Line:
    """Return the line of panes: ``. Now!6  1 Brokers  2 Topics …  7 Plan*3 …``.

    Args:
        current: number of the visible pane.
        staged: number of staged edits.
        width: width of the terminal, in cells.
        alarm: number of causes that need attention.

    Returns:
        Three spans for each pane; the second has its title (see `tab_at`). The longest form that fits: with long or
        short titles, with or without blanks between them. The tab of the events is left out before the blanks are,
        because the footer has its key.
    """
    ways = (
        (places.ORDER, 0, " ", " ", " "),
        (places.ORDER, 1, " ", "", " "),
        (places.ORDER[:-1], 1, " ", "", " "),
        (places.ORDER[:-1], 1, "", "", " "),
        (places.ORDER[:-1], 2, "", "", " "),
        (places.ORDER[:-1], 2, "", "", ""),
    )
    counts = {keymap.PLAN: f"*{staged}", keymap.NOW: f"!{alarm}"}
    lines = (_tabs(order, form, current, counts, *gaps) for order, form, *gaps in ways)
    *longer, shortest = lines
    return next((line for line in longer if sum(cell_width(text) for text, _ in line) <= width), shortest)


def _tabs(
    order: Sequence[int],
    form: int,
    current: int,
    counts: Mapping[str, str],
    between: str,
    gap: str,
    before: str,
) -> Line:
    """Return one form of the line of panes.

    Args:
        form: index of the titles in `places.Pane.titles`.
        counts: view -> a sign and a number, shown after the title unless the number is 0.
        between: separator between a pane's key and its title.
        gap: extra blanks after the title.
        before: blanks before the key.
    """
    line: Line = []
    for number in order:
        pane = places.PANES[number - 1]
        count = counts.get(pane.view, "")
        count = "" if count[1:] == "0" else count
        meaning = "strong" if number == current else ("failed" if count[0] == "!" else "pending") if count else "muted"
        line += [(before, ""), (f"{pane.key}{between}{pane.titles[form]}{count}", meaning), (gap, "")]
    return line


def tab_at(piece: int | None) -> int | None:
    """Return the number of the pane of a span of `tabs`; None for another span."""
    return places.ORDER[piece // 3] if piece is not None and piece // 3 < len(places.ORDER) else None


class Hint(NamedTuple):
    """A key in the footer: its sign, its label and the action's id. The lowest rank comes first."""

    sign: str
    label: str
    action: str
    rank: int


def hints(keys: Iterable[keymap.Key], enter: str, keys_of: Callable[[str], str]) -> list[Hint]:
    """Return the footer's keys in their order.

    Args:
        keys: the active keys. A key of rank 0 is not in the footer.
        enter: label of Enter in this view; ``""`` if it does nothing. It replaces a key with the same label.
        keys_of: returns the configured keys of an action.
    """
    shown = [Hint(sign(keys_of(key.id).split(",")[0]), key.label, key.id, key.rank) for key in keys if key.rank]
    if enter:
        same = next((hint.action for hint in shown if hint.label == enter), "")
        shown = [Hint("⏎", enter, same, 1), *(hint for hint in shown if hint.label != enter)]
    return sorted(shown, key=lambda hint: hint.rank)


def footer(shown: Sequence[Hint], width: int) -> tuple[Line, tuple[str, ...]]:
    """Return the footer: as many hints as fit, and always `?`.

    Args:
        width: width of the terminal, in cells.

    Returns:
        The line, and the action of each of its spans; ``""`` for a span without one.
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


_ON_COLOR = {"strong": "strong", "failed": "strong", "danger": "strong", "stale": "reverse"}
"""Meaning -> its style on a context's background colour; all other meanings are plain."""


class ActiveKeys:
    """The active keys of the visible view, with the remaps of the settings."""

    def __init__(self, cluster: ShownCluster, navigator: Navigator, remaps: Mapping[str, KeyRemap]) -> None:
        """Create the active keys.

        Args:
            navigator: the navigator, which has the visible view.
            remaps: action -> the keys that replace its defaults.
        """
        self._cluster, self._navigator, self._remaps = cluster, navigator, remaps

    def state(self) -> keymap.KeyState:
        """Return the state that the conditions of keys are checked against."""
        context, plan = self._cluster.session.context, self._cluster.session.plan
        view = self._navigator.view
        return keymap.KeyState(
            read_only=f"context {clean(context.name, 60)}" if context.read_only else None,
            row=view.lines.cursor_index >= 0,
            list_key=view.on_list_key(),
            parts=bool(places.parts_of(self._navigator.place)),
            staged=bool(plan.staged),
            past=bool(plan.past),
            future=bool(plan.future),
        )

    def here(self) -> list[keymap.Key]:
        """Return the keys of this view and the global keys."""
        return [*keymap.keys_of(self._navigator.place.view), *keymap.GLOBAL]

    def reason(self, key: keymap.Key) -> str:
        """Return the reason why a key is inactive; ``""`` if it works."""
        return keymap.reason(key, self.state())

    def of(self, action: str) -> str:
        """Return the configured keys of an action, separated by commas."""
        remap = self._remaps.get(action)
        return ",".join(remap.keys) if remap else keymap.BY_ID[action].keys


class Frame:
    """Writes the lines around the view.

    Each method writes one line completely; an unchanged line is not painted. Call the method whose input changed.
    """

    def __init__(
        self,
        cluster: ShownCluster,
        navigator: Navigator,
        keys: ActiveKeys,
        journal: Journal,
        message: MessageLine,
    ) -> None:
        self._cluster, self._navigator, self._keys, self._journal = cluster, navigator, keys, journal
        self.header, self.tabs = TextLines(id="header"), TextLines(id="tabs")
        self.message, self.footer = message, TextLines(id="footer")
        self._counts = TopicCounts()
        self._actions: tuple[str, ...] = ()
        self._colored = False

    def put_color(self) -> None:
        """Set the header's background to the context's colour, unless it has no colour or an unknown one, or NO_COLOR
        is set.

        A terminal with 16 colours gets the colour by name, so that its own palette applies; a colour as ``#rrggbb`` is
        converted.
        """
        wanted = self._cluster.session.context.color
        if wanted is None or "NO_COLOR" in os.environ:
            return
        try:
            ground, text = header_look(wanted, native=self.header.app.native_ansi_color)
        except ColorParseError:
            return
        self.header.styles.background, self.header.styles.color = ground, text
        self._colored = True

    def all(self) -> None:
        """Write every line."""
        self.write_header()
        self.write_tabs()
        self.message.write()
        self.write_footer()

    def write_header(self) -> None:
        """Write the header: context, cluster, health and connection state."""
        snapshot = self._cluster.session.snapshot
        self._counts = self._counts.after(snapshot.topics)
        context = self._cluster.session.context
        exposed = bool(context.settings.exposures)
        who = Who(context.name, context.read_only, context.principal, self._due(), exposed)
        line = header(snapshot, facts(snapshot, self._counts), who, self._state(), self.header.app.size.width)
        if self._colored:
            line = [(text, _ON_COLOR.get(meaning, "")) for text, meaning in line]
        self.header.set(line)

    def _due(self) -> str:
        """Return the journal's text for the header."""
        return self._journal.due

    def _state(self) -> State:
        """Return the header's state: whether the data shown is current."""
        contact = self._cluster.contact
        if contact.lost is not None:
            since = contact.answered_at
            never = "! REFUSED" if contact.final else "! NO ANSWER"
            return State(f"! STALE since {clock(since)}" if since else never, "stale", current=False)
        if self._cluster.reading.paused:
            return State("paused", "pending")
        # The first poll may wait for a broker that hangs while others have answered triage.
        is_answered = contact.answered_at or self._cluster.session.snapshot.read_at
        text = "live" if is_answered else "connecting"
        return State(text, "muted", is_led=self._cluster.triage.is_led)

    def write_tabs(self) -> None:
        """Write the panes, with the numbers of staged edits and causes."""
        staged, alarm = len(self._cluster.session.plan), self._cluster.triage.alarm
        self.tabs.set(tabs(self._navigator.place.pane, staged, self.tabs.app.size.width, alarm))

    def note(self) -> Line:
        """Return the text of the message line without a message: the lost connection, the events at the cursor in time,
        else the view's note.
        """
        return self._lost() or self._moment() or self._navigator.view.note()

    def _moment(self) -> Line:
        """Return the first events in the column of the cursor in time, the number of the others, and the key that opens
        it; empty without a cursor.
        """
        if (moment := self._cluster.half_hour.moment) is None:
            return []
        found = self._journal.lines_between(moment.begins, moment.ends)
        left = f"; {len(found) - EVENTS_SHOWN} more: , shows them" if len(found) > EVENTS_SHOWN else ""
        said = "; ".join(" ".join(clean(each, 100).split()) for each in found[:EVENTS_SHOWN]) or "nothing changed"
        time = f"{clock(moment.begins)}–{clock(moment.ends)}  "
        return [(time, "strong"), (said + left, ""), ("  Enter: replay from here", "muted")]

    def _lost(self) -> Line:
        """Return the failure to reach the cluster, some of the brokers, or the view's data; empty without a failure."""
        view, contact = self._navigator.view, self._cluster.contact
        if contact.lost is not None:
            what, then = "not connected", "trying again; r tries now"
            if contact.final:
                what, then = "refused", "r tries again"
            if not view.known():
                return [(f"{what}: ", "failed"), (then, "")]
            if contact.final:
                what = f"{what}; {then}"
            return [(f"{what}: ", "failed"), (failure_text(contact.lost), "")]
        if contact.silent:
            return silent_line(self._cluster.session.snapshot, contact.silent)
        if contact.unread is not None and view.known():
            return [(f"not read since {clock(contact.unread_since)}: ", "failed"), (failure_text(contact.unread), "")]
        return []

    def write_footer(self) -> None:
        """Write the active keys for the view's current state."""
        state = self._keys.state()
        keys = [key for key in self._keys.here() if not keymap.reason(key, state)]
        enter = self._navigator.view.ENTER if self._cluster.half_hour.moment is None else "replay"
        line, self._actions = footer(hints(keys, enter, self._keys.of), self.footer.app.size.width)
        self.footer.set(line)

    def action_at(self, x: int) -> str:
        """Return the action of the footer's key at a column in cells; ``""`` for none."""
        piece = self.footer.piece_at(x)
        return self._actions[piece] if piece is not None else ""
