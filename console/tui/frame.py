"""The lines around a view: header, panes, message, and footer with the active keys. Only lines that differ are
painted.
"""

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
"""Maximum number of events that the message line shows for the marked column of the graphs."""


def sign(key: str) -> str:
    """Return the label of a Textual key: ``/`` for ``slash``, ``^R`` for ``ctrl+r``."""
    if key.startswith("ctrl+"):
        return "^" + key[5:].upper()
    return _KEY_SIGNS.get(key, key)


def signs(keys: str) -> str:
    """Return the labels of comma-separated Textual keys: ``r or ^R``."""
    return " or ".join(sign(key.strip()) for key in keys.split(","))


def tabs(current: int, staged: int, width: int, alarm: int = 0) -> Line:
    """Return the line of panes: ``. Now!6  1 Brokers  2 Topics …  7 Plan*3 …``.

    Args:
        current: number of the visible pane.
        staged: number of staged edits.
        width: width of the terminal, in cells.
        alarm: number of causes of trouble that are not muted.

    Returns:
        The longest form that fits: with long or short titles, with or without blanks between them. Each pane has three
        spans; the second one is its title (see `tab_at`). A narrow line leaves out the tab of the events, whose key is
        also in the footer.
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
    """Return the line of panes in one form.

    Args:
        order: the numbers of the panes, from left to right.
        form: index of the titles in `places.Pane.titles`.
        current: number of the visible pane.
        counts: view -> a sign and a number, shown after the title unless the number is 0.
        between: separator between a pane's key and its title.
        gap: blanks after the title.
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
    """Return the number of the pane to which a span of the line of panes belongs; None if there is no such span. piece:
    the index of the span.
    """
    return places.ORDER[piece // 3] if piece is not None and piece // 3 < len(places.ORDER) else None


class Hint(NamedTuple):
    """A key in the footer: its sign, its label and the action's id. Hints with lower ranks stand further left."""

    sign: str
    label: str
    action: str
    rank: int


def hints(keys: Iterable[keymap.Key], enter: str, keys_of: Callable[[str], str]) -> list[Hint]:
    """Return the hints of the footer in their order.

    Args:
        keys: the active keys. A key of rank 0 is not in the footer.
        enter: label of Enter in this view; ``""`` if Enter does nothing. A key with the same label is left out.
        keys_of: returns the configured keys of an action.
    """
    shown = [Hint(sign(keys_of(key.id).split(",")[0]), key.label, key.id, key.rank) for key in keys if key.rank]
    if enter:
        same = next((hint.action for hint in shown if hint.label == enter), "")
        shown = [Hint("⏎", enter, same, 1), *(hint for hint in shown if hint.label != enter)]
    return sorted(shown, key=lambda hint: hint.rank)


def footer(shown: Sequence[Hint], width: int) -> tuple[Line, tuple[str, ...]]:
    """Return the footer: as many hints as fit, and always that of `?`.

    Args:
        width: width of the terminal, in cells.

    Returns:
        The line, and for each of its spans the id of its action; ``""`` for a span without an action.
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
"""Meaning -> its style on the background colour of a context; all other meanings have no style there."""


class ActiveKeys:
    """The keys that work in the visible view, with the remaps of the settings."""

    def __init__(self, cluster: ShownCluster, navigator: Navigator, remaps: Mapping[str, KeyRemap]) -> None:
        """Create the active keys.

        Args:
            cluster: the visible session.
            navigator: the navigator, which has the visible view.
            remaps: action -> the keys that replace its defaults.
        """
        self._cluster, self._navigator, self._remaps = cluster, navigator, remaps

    def state(self) -> keymap.KeyState:
        """Return the present state, against which the conditions of keys are checked."""
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
        """Return the keys of the visible view and the global keys."""
        return [*keymap.keys_of(self._navigator.place.view), *keymap.GLOBAL]

    def reason(self, key: keymap.Key) -> str:
        """Return the reason why a key does nothing now; ``""`` if it works."""
        return keymap.reason(key, self.state())

    def of(self, action: str) -> str:
        """Return the configured keys of an action by its id, separated by commas."""
        remap = self._remaps.get(action)
        return ",".join(remap.keys) if remap else keymap.BY_ID[action].keys


class Frame:
    """Writes the lines around the view.

    Each method writes one line completely; a line that did not change is not painted. After a change, call the methods
    of the lines that show it.
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
        """Set the header's background to the context's colour. Leave it unchanged if the context has no colour or an
        unknown one, or if NO_COLOR is set.

        A terminal with 16 colours gets the colour by name, so that its own palette applies; a colour as ``#rrggbb`` is
        rounded to one of the 16.
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
        """Write the header: context, cluster, health, and whether the data are current."""
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
        """Return the header's text about the journal, such as edits due to be reverted; ``""`` if there is none."""
        return self._journal.due

    def _state(self) -> State:
        """Return the header's state: whether the data shown are current, as ``live``, ``paused`` or since when they are
        stale.
        """
        contact = self._cluster.contact
        if contact.lost is not None:
            since = contact.answered_at
            never = "! REFUSED" if contact.final else "! NO ANSWER"
            return State(f"! STALE since {clock(since)}" if since else never, "stale", current=False)
        if self._cluster.reading.paused:
            return State("paused", "pending")
        # Also look at the snapshot: the first poll may still wait for a broker that hangs, while others have answered
        # triage.
        is_answered = contact.answered_at or self._cluster.session.snapshot.read_at
        text = "live" if is_answered else "connecting"
        return State(text, "muted", is_led=self._cluster.triage.is_led)

    def write_tabs(self) -> None:
        """Write the line of panes, with the numbers of staged edits and of causes of trouble."""
        staged, alarm = len(self._cluster.session.plan), self._cluster.triage.alarm
        self.tabs.set(tabs(self._navigator.place.pane, staged, self.tabs.app.size.width, alarm))

    def note(self) -> Line:
        """Return the text that the message line shows while it has no message: why data can't be read, else the
        events in the marked column of the graphs, else the view's own note.
        """
        return self._lost() or self._moment() or self._navigator.view.note()

    def _moment(self) -> Line:
        """Return the line about the marked column of the graphs: its first events, the number of the others, and the
        key that replays from its time. Empty if no column is marked.
        """
        if (moment := self._cluster.half_hour.moment) is None:
            return []
        found = self._journal.lines_between(moment.begins, moment.ends)
        left = f"; {len(found) - EVENTS_SHOWN} more: , shows them" if len(found) > EVENTS_SHOWN else ""
        said = "; ".join(" ".join(clean(each, 100).split()) for each in found[:EVENTS_SHOWN]) or "nothing changed"
        time = f"{clock(moment.begins)}–{clock(moment.ends)}  "
        return [(time, "strong"), (said + left, ""), ("  Enter: replay from here", "muted")]

    def _lost(self) -> Line:
        """Return a line that the cluster, some of its brokers or the view's data can't be read, with the reason; empty
        if all can.
        """
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
        """Write the footer: the keys that work now."""
        state = self._keys.state()
        keys = [key for key in self._keys.here() if not keymap.reason(key, state)]
        enter = self._navigator.view.ENTER if self._cluster.half_hour.moment is None else "replay"
        line, self._actions = footer(hints(keys, enter, self._keys.of), self.footer.app.size.width)
        self.footer.set(line)

    def action_at(self, x: int) -> str:
        """Return the id of the action at a cell of the footer; ``""`` if there is none."""
        piece = self.footer.piece_at(x)
        return self._actions[piece] if piece is not None else ""
