"""The command bar: commands, filters, secrets and the palette, their history, and the handling of each entry."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from console.model.parts import Part
from console.model.secret import Secret
from console.tui.frame import signs
from console.tui.key_order import TYPING
from console.tui.keymap import Key
from console.tui.reading import start
from widgets import command_bar
from widgets.command_bar import BarMode, Candidate, CommandBar
from widgets.row_table import BadQuery

if TYPE_CHECKING:
    from textual.app import App

    from console.contexts import Context
    from console.contexts.configured import Choice
    from console.language.errors import LanguageError
    from console.language.statements import Statement
    from console.model.config import ConfigResource
    from console.model.quota import QuotaEntity
    from console.model.snapshot import Snapshot
    from console.session.command_history import CommandHistory
    from console.tui.bar_language import BarLanguage
    from console.tui.frame import ActiveKeys
    from console.tui.navigator import Navigator
    from console.tui.watch import ShownCluster

COMMAND, FILTER, SECRET, PALETTE = "command", "filter", "secret", "palette"
"""Names of the bar's modes."""
READ_AFTER = 0.15
"""Seconds after the last key until kac reads the names that a completion needs."""

log = logging.getLogger(__name__)


def palette_candidates(keys: Iterable[Key], text: str, reason: Callable[[Key], str]) -> Sequence[Candidate]:
    """Return a candidate for each action whose id, label or help contains every word of a text.

    Args:
        reason: returns why a key is inactive; ``""`` if it works.

    Returns:
        Actions whose label begins with the text come first; inactive ones come last, with the reason.
    """
    words = text.lower().split()
    found = [key for key in keys if all(word in f"{key.id} {key.label} {key.help}".lower() for word in words)]
    found.sort(key=lambda key: (bool(reason(key)), not key.label.startswith(text.lower())))
    return [Candidate(0, len(text), key.label, key.label, signs(key.keys), reason(key) or key.help) for key in found]


def palette_choice(keys: Sequence[Key], text: str, reason: Callable[[Key], str]) -> Key | None:
    """Return the action whose label is the text, else the first candidate for it; None if there is no candidate."""
    exact = next((key for key in keys if key.label == text.strip()), None)
    if exact is not None:
        return exact
    first = next(iter(palette_candidates(keys, text, reason)), None)
    return None if first is None else next(key for key in keys if key.label == first.text)


class BarLine(CommandBar):
    """The widget of the command bar, which passes its messages to a `Bar`."""

    def __init__(self, owner: Bar, histories: Mapping[str, Sequence[str]] | None) -> None:
        super().__init__(
            id="bar",
            highlight=owner.highlight,
            complete=owner.complete,
            histories=histories,
            remember=owner.remembered,
        )
        self._owner = owner

    def on_command_bar_changed(self, message: CommandBar.Changed) -> None:
        """Pass on that the text has changed."""
        self._owner.changed(message)

    def on_command_bar_closed(self, message: CommandBar.Closed) -> None:
        """Pass on that the operator pressed Esc."""
        self._owner.closed(message)

    def on_command_bar_submitted(self, message: CommandBar.Submitted) -> None:
        """Pass on that the operator pressed Enter."""
        self._owner.submitted(message)


class Bar:
    """The command bar: opens its line for a command, a filter, a secret or the palette of actions, and handles the
    entry.

    It is created after the first screen is shown, and loads the command language when the operator types the first
    command.
    """

    def __init__(
        self,
        app: App[Context],
        cluster: ShownCluster,
        navigator: Navigator,
        keys: ActiveKeys,
        contexts: Choice,
        history: CommandHistory | None,
        *,
        act: Callable[[str], Coroutine[Any, Any, None]],
        execute: Callable[[Sequence[Statement]], Awaitable[LanguageError | None]],
    ) -> None:
        """Create the bar; `ready` mounts its widget.

        Args:
            app: has the screen for the line, and runs its workers.
            cluster: the visible session, whose names complete commands.
            navigator: the navigator, whose visible view is filtered.
            keys: the keys that work in the visible view, for the palette.
            contexts: the contexts that the operator can switch to.
            history: the file of earlier commands; None to keep no history. Entries added to it contain no secrets.
            act: runs the action of a key, by the action's id.
            execute: executes commands. Returns an error of the language, whose position the bar shows in the text; None
                on success. Other errors go to the message line.
        """
        self._app, self._session, self._navigator, self._keys = app, cluster.session, navigator, keys
        self._contexts, self._act, self._execute = contexts, act, execute
        self._history = history
        self._filter_before = ""
        self._asked: asyncio.Future[Secret | None] | None = None
        self.asked_for = ""
        """The name of the secret that the line asks for, or that it asked for last."""
        self.line = BarLine(self, {COMMAND: history.read()} if history else None)

    @property
    def asks(self) -> bool:
        """Whether the bar is asking for a secret."""
        return self._asked is not None

    async def ready(self) -> None:
        """Mount the line if it is not mounted yet. No-op while the screen is closing."""
        screens = self._app.screen_stack
        if screens and screens[0].is_running and screens[0].is_attached and not self.line.is_attached:
            await screens[0].mount(self.line, after="#body")

    def _open(self, mode: str, text: str = "", prompt: str | None = None) -> None:
        modes = {
            COMMAND: command_bar.COMMAND,
            FILTER: command_bar.FILTER,
            SECRET: command_bar.SECRET,
            PALETTE: BarMode(PALETTE, "»", completes=True, remembers=False),
        }
        self.line.open(modes[mode], text, prompt=prompt)

    def remembered(self, text: str) -> str:
        """Return an entry without its secrets, for the history. If the entry is a command, also write it to the
        history file.
        """
        from console.language.secret_values import redact

        kept = redact(text)
        if self._history is not None and self.line.mode.name == COMMAND:
            self._history.add(kept)
        return kept

    def command(self, text: str) -> None:
        """Open the line with `text` as the beginning of a command, and read the names for its completion."""
        self._open(COMMAND, text)
        if text:
            start(self._app, partial(self._read_for, text), group=TYPING, name=TYPING, exclusive=True)

    def do_command(self) -> None:
        """Open the line, empty, for a command."""
        self.command("")

    def do_find(self) -> None:
        """Open the line with the command that searches all panes for a text."""
        self.command("find ")

    def do_filter(self) -> None:
        """Open the line for a filter of the visible view, which takes effect while it is typed. Esc restores the
        previous filter.
        """
        self._filter_before = self._navigator.view.filter_text
        self._open(FILTER, self._filter_before)

    async def ask_secret(self, prompt: str) -> Secret | None:
        """Prompt for a secret without echo. Return None if the operator cancels."""
        self._asked, self.asked_for = asyncio.get_running_loop().create_future(), prompt
        self._open(SECRET, prompt=f"{prompt}:")
        return await self._asked

    @cached_property
    def _language(self) -> BarLanguage:
        """The command language, loaded on first use."""
        from console.tui.bar_language import BarLanguage

        return BarLanguage(self._contexts.names(), self._state, lambda: self._session.records.fields)

    def _state(self) -> tuple[Snapshot, ConfigResource | QuotaEntity | None]:
        return self._session.snapshot, next(iter(self._navigator.view.targets()), None)

    def highlight(self, text: str) -> Iterable[tuple[int, int, str]]:
        """Return the coloured words of a command: start, end (exclusive, in characters) and style name; empty in other
        modes.
        """
        return self._language.highlight(text) if self.line.mode.name == COMMAND else ()

    def complete(self, text: str, cursor: int) -> Sequence[Candidate]:
        """Return the matching actions in the palette; in other modes the completions of a command at the cursor, an
        index into the text.
        """
        if self.line.mode.name == PALETTE:
            return palette_candidates(self._keys.here(), text, self._keys.reason)
        return self._language.complete(text, cursor)

    def do_palette(self) -> None:
        """Open the line as the palette: to find and run an action by its name."""
        self._open(PALETTE)

    def changed(self, message: CommandBar.Changed) -> None:
        """Apply the typed filter to the view if it is valid; for a command, read the names that its completion
        needs.
        """
        if message.mode == FILTER:
            try:
                self._navigator.view.take_filter(message.text)
            except BadQuery:
                return
        elif message.mode == COMMAND:
            start(self._app, partial(self._read_for, message.text), group=TYPING, name=TYPING, exclusive=True)

    async def _read_for(self, text: str) -> None:
        from console.admin.errors import AdminError
        from console.session.reading import read_needs

        await asyncio.sleep(READ_AFTER)
        unread = self._language.unread(text)
        if not unread:
            return
        try:
            if Part.QUOTAS in unread.parts:
                await self._session.poll_quotas()
                unread = replace(unread, parts=unread.parts - {Part.QUOTAS})
            await read_needs(self._session, unread)
        except AdminError as error:
            log.info("reading for a completion: %s", error.failure)
        self.line.recomplete()

    def closed(self, message: CommandBar.Closed) -> None:
        """Handle Esc: restore the previous filter, or cancel the prompt for a secret."""
        if message.mode == FILTER:
            self._navigator.view.take_filter(self._filter_before)
        elif message.mode == SECRET:
            self._answer(None)

    def submitted(self, message: CommandBar.Submitted) -> None:
        """Handle Enter: apply the filter, return the secret, or run the action or command."""
        if message.mode == FILTER:
            self._filtered(message.text)
        elif message.mode == SECRET:
            self.line.close()
            self._answer(Secret(message.text))
        elif message.mode == PALETTE:
            self._picked(message.text)
        else:
            self._commanded(message.text)

    def _answer(self, secret: Secret | None) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and not asked.done():
            asked.set_result(secret)

    def _filtered(self, text: str) -> None:
        if text.strip() == "/":  # the second slash of `//`, which searches all panes
            self._navigator.view.take_filter(self._filter_before)
            self.line.close()
            self.command("find ")
            return
        try:
            self._navigator.view.take_filter(text)
        except BadQuery as error:
            self.line.show_error(str(error))
            return
        self.line.close()

    def _picked(self, text: str) -> None:

        key = palette_choice(self._keys.here(), text, self._keys.reason)
        if key is None:
            self.line.show_error("no action of that name")
            return
        self.line.close()
        start(self._app, partial(self._act, key.id), group="palette", name="palette")

    def _commanded(self, text: str) -> None:
        from console.language.errors import LanguageError
        from console.language.grammar import parse
        from console.language.statements import Where

        try:
            statements = parse(text, Where.BAR)
        except LanguageError as error:
            self._show(error)
            return
        self.line.close()

        async def work() -> None:
            error = await self._execute(statements)
            if error is not None:
                self._open(COMMAND, text)
                self._show(error)

        start(self._app, work, group="command", name="command")

    def _show(self, error: LanguageError) -> None:
        text = f"{error.message}; {error.hint}" if error.hint else error.message
        self.line.show_error(text, error.span.start if error.span else None)
