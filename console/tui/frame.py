"""The lines around a view: the header, the panes, the message, the keys. Each is written only where it changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.color import Color, ColorParseError

from console.present.brokers import silent_line
from console.present.failures import failure_text
from console.present.header import Facts, State, Who, facts, header
from console.present.text import Line
from console.present.topics import clock
from console.tui import chrome
from console.tui.conditions import reason
from console.tui.text_lines import TextLines, wrap
from themes import CONTEXTS

if TYPE_CHECKING:
    from console.tui.app import Console

MESSAGE_LINES = 3
_ON_COLOR = {"strong": "strong", "failed": "strong", "danger": "strong", "stale": "reverse"}
"""What stays of a meaning on the colour of a context."""


class Frame:
    """Writes the lines from the app's state."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self.header, self.tabs = TextLines(id="header"), TextLines(id="tabs")
        self.message, self.footer = TextLines(id="message"), TextLines(id="footer")
        self._said: Line = []
        self._said_at = 0
        self._counted: tuple[object, object, Facts] = (None, None, facts(app.session.snapshot))
        self._actions: tuple[str, ...] = ()
        self._colored = False

    def put_color(self) -> None:
        """Give the header the colour of the context; under NO_COLOR and in 16 colours a name of one stays one."""
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
        self.tell_header()
        self.tell_tabs()
        self.tell_message()
        self.tell_footer()

    def tell_header(self) -> None:
        """Which cluster this is, and how it is."""
        snapshot = self._app.session.snapshot
        if self._counted[0] is not snapshot.topics or self._counted[1] is not snapshot.cluster:
            self._counted = (snapshot.topics, snapshot.cluster, facts(snapshot))
        context = self._app.session.context
        exposed = bool(context.settings.exposures)
        who = Who(context.name, context.read_only, context.principal, self._app.past.due, exposed)
        line = header(snapshot, self._counted[2], who, self._state(), self._app.size.width)
        if self._colored:
            line = [(text, _ON_COLOR.get(meaning, "")) for text, meaning in line]
        self.header.set(line)

    def _state(self) -> State:
        """Whether what is shown is so now."""
        contact = self._app.contact
        if contact.lost is not None:
            since = contact.answered_at
            return State(f"! STALE since {clock(since)}" if since else "! NO ANSWER", "stale", current=False)
        if self._app.reading.live.paused:
            return State("paused", "pending")
        return State("live" if contact.answered_at else "connecting", "muted")

    def tell_tabs(self) -> None:
        """The panes, the number of staged edits."""
        app = self._app
        self.tabs.set(chrome.tabs(app.place.pane, len(app.session.plan), app.size.width))

    def say(self, text: str, meaning: str = "") -> None:
        """Put a line on the message line, until the operator moves on."""
        self._said = [(text, meaning)]
        self._said_at = self._app.keys_seen
        self.tell_message()

    def forget(self, *, moved: bool = False) -> None:
        """Take the message away. moved: only if it was there before the last key: a refresh moves the cursor too, where
        its row is gone, and that is no reason to take a message away."""
        if not moved or self._app.keys_seen > self._said_at:
            self._said = []
            self.tell_message()

    def tell_message(self) -> None:
        """What just happened, else what is not answered, else what the view has to say."""
        line = self._said or self._lost() or self._app.view.note()
        lines = wrap(line, max(20, self._app.size.width - 2))[:MESSAGE_LINES]
        if self.message.size.height != len(lines):
            self.message.styles.height = len(lines)
        self.message.set(*([(" ", ""), *part] for part in lines))

    def _lost(self) -> Line:
        """What is not answered: all, what the view wants, or some of the brokers."""
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

    def tell_footer(self) -> None:
        """The keys that work here now."""
        app = self._app
        state = app.state()
        keys = [key for key in app.keys_here() if not reason(key, state)]
        line, self._actions = chrome.footer(chrome.hints(keys, app.view.ENTER, app.keys_of), app.size.width)
        self.footer.set(line)

    def action_at(self, x: int) -> str:
        """The action of the key that stands in the footer at a column, ``""`` for none."""
        piece = self.footer.piece_at(x)
        return self._actions[piece] if piece is not None else ""
