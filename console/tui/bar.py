"""The command bar: completion, colours and hints of the command language, and what Enter starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace
from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, _TokenType

from console.language.completion import Completer, completion_needs
from console.language.lexer import CommandLexer
from console.language.needs import Needs
from console.language.verbs import Where
from console.model.secret import Secret
from console.tui.frame import signs
from console.tui.keymap import Key
from console.tui.workers import start
from widgets.command_bar import Candidate
from widgets.row_table import BadQuery

if TYPE_CHECKING:
    from console.language.errors import LanguageError
    from console.session.command_history import CommandHistory
    from console.tui.app import Console
    from console.tui.execute import Executor
    from widgets.command_bar import CommandBar


# What the lexer's tokens are to the command bar.

_NAMES: tuple[tuple[_TokenType, str], ...] = (
    (Name.Attribute, "key"),
    (Name.Decorator, "operator"),
    (Name, "name"),
    (Keyword, "keyword"),
    (Number, "number"),
    (String, "value"),
    (Literal, "value"),
    (Operator, "operator"),
    (Punctuation, "operator"),
    (Comment, "comment"),
    (Error, "wrong"),
)


def bar_name(token: _TokenType) -> str:
    """The bar's name for a token's look, ``""`` for plain text."""
    return next((name for kind, name in _NAMES if kind.__contains__(token)), "")


# Help while somebody types: completion, colours, and reading what the completion lacks.


class BarLanguage:
    """Completes over the app's snapshot, with the names of our own contexts; keeps indexes between keys."""

    def __init__(self, app: Console, contexts: Sequence[str]) -> None:
        self._app = app
        self._completer = Completer(Where.BAR, contexts)
        self._lexer = CommandLexer()

    def complete(self, text: str, cursor: int) -> list[Candidate]:
        """Ways to go on at the cursor."""
        selected = next(iter(self._app.view.targets()), None)
        found = self._completer.complete(text, cursor, self._app.session.snapshot, selected)
        return [Candidate(*completion) for completion in found]

    def highlight(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Offsets and the bar's names for them, by the language's Pygments lexer."""
        for offset, token, piece in self._lexer.get_tokens_unprocessed(text):
            name = bar_name(token)
            if name:
                yield offset, offset + len(piece), name

    def lacks(self, text: str) -> Needs:
        """What to read for a half-typed text, so that its keys, values and names can be completed."""
        selected = next(iter(self._app.view.targets()), None)
        return completion_needs(text, Where.BAR, self._app.session.snapshot, selected)


# The command bar: commands, filters, secrets and the palette; their history, and where each entry goes.

# The palette: every action of the view by its name, found by typing.


def palette_candidates(keys: Iterable[Key], text: str, reason: Callable[[Key], str]) -> Sequence[Candidate]:
    """The actions whose name or help holds every word of the text, those that begin with it first; what does not work
    now says why."""
    words = text.lower().split()
    found = [key for key in keys if all(word in f"{key.id} {key.label} {key.help}".lower() for word in words)]
    found.sort(key=lambda key: (bool(reason(key)), not key.label.startswith(text.lower())))
    return [Candidate(0, len(text), key.label, key.label, signs(key.keys), reason(key) or key.help) for key in found]


def palette_choice(keys: Sequence[Key], text: str, reason: Callable[[Key], str]) -> Key | None:
    """The action of that label, else the first that is found; None where nothing is."""
    exact = next((key for key in keys if key.label == text.strip()), None)
    if exact is not None:
        return exact
    first = next(iter(palette_candidates(keys, text, reason)), None)
    return None if first is None else next(key for key in keys if key.label == first.text)


COMMAND, FILTER, SECRET, PALETTE = "command", "filter", "secret", "palette"
"""The names of the line's modes."""
TYPING = "typing"
"""The worker that reads what a completion lacks."""
READ_AFTER = 0.15
"""Seconds without a key before what the completion lacks is read."""

log = logging.getLogger(__name__)


class Bar:
    """Opens the line in one of its modes and hands on what was entered."""

    def __init__(self, app: Console, history: CommandHistory | None) -> None:
        """history: where commands outlive the session, None for nowhere."""
        self._app = app
        self._history = history
        self._filter_before = ""
        self._asked: asyncio.Future[Secret | None] | None = None

    @cached_property
    def line(self) -> CommandBar:
        """The line itself, made after the first screen is shown: that need not wait for it."""
        from widgets.command_bar import CommandBar

        return CommandBar(
            id="bar",
            highlight=self._highlight,
            complete=self._complete,
            histories={COMMAND: self._history.read()} if self._history else None,
            remember=self._remembered,
        )

    @property
    def asks(self) -> bool:
        """Whether a secret is waited for."""
        return self._asked is not None

    async def ready(self) -> None:
        """Put the line into the screen, where it is not there yet."""
        screens = self._app.screen_stack
        if screens and screens[0].is_running and not self.line.is_attached:
            await screens[0].mount(self.line, after="#body")

    @cached_property
    def _executor(self) -> Executor:
        """Made when the first command is entered: the language need not be there for the first screen."""
        from console.tui.execute import Executor

        return Executor(self._app, self._ask_secret)

    def _open(self, mode: str, text: str = "", prompt: str | None = None) -> None:
        from widgets import command_bar

        modes = {
            COMMAND: command_bar.COMMAND,
            FILTER: command_bar.FILTER,
            SECRET: command_bar.SECRET,
            PALETTE: command_bar.BarMode(PALETTE, "»", completes=True, remembers=False),
        }
        self.line.open(modes[mode], text, prompt=prompt)

    def _remembered(self, text: str) -> str:
        """What is kept of an entry: a command without its secrets, in the file too."""
        from console.language.secret_values import redact

        kept = redact(text)
        if self._history is not None and self.line.mode.name == COMMAND:
            self._history.add(kept)
        return kept

    def command(self, text: str) -> None:
        """Type a command, beginning with `text`."""
        self._open(COMMAND, text)
        if text:
            start(self._app, partial(self._read_for, text), group=TYPING, name=TYPING, exclusive=True)

    def filter(self, text: str) -> None:
        """Type a filter, beginning with the one that holds."""
        self._filter_before = text
        self._open(FILTER, text)

    async def _ask_secret(self, prompt: str) -> Secret | None:
        """Ask for a secret, hidden; None where the operator goes back."""
        self._asked = asyncio.get_running_loop().create_future()
        self._open(SECRET, prompt=f"{prompt}:")
        return await self._asked

    @cached_property
    def _typing(self) -> BarLanguage:
        """Created when the first command is typed."""

        return BarLanguage(self._app, self._app.contexts.names())

    def _highlight(self, text: str) -> Iterable[tuple[int, int, str]]:
        return self._typing.highlight(text) if self.line.mode.name == COMMAND else ()

    def _complete(self, text: str, cursor: int) -> Sequence[Candidate]:
        if self.line.mode.name == PALETTE:
            return palette_candidates(self._app.keys_here(), text, self._app.reason)
        return self._typing.complete(text, cursor)

    def palette(self) -> None:
        """Find an action by its name."""
        self._open(PALETTE)

    def changed(self, message: CommandBar.Changed) -> None:
        """A filter holds while it is typed; one that is no pattern yet changes nothing. For a command, what its
        completion lacks is read."""
        if message.mode == FILTER:
            try:
                self._app.view.take_filter(message.text)
            except BadQuery:
                return
        elif message.mode == COMMAND:
            start(self._app, partial(self._read_for, message.text), group=TYPING, name=TYPING, exclusive=True)

    async def _read_for(self, text: str) -> None:
        from console.admin.errors import AdminError
        from console.session.reading import read_needs

        await asyncio.sleep(READ_AFTER)
        lacking = self._typing.lacks(text)
        if not lacking:
            return
        try:
            if "quotas" in lacking.parts:
                await self._app.session.look_at_quotas()
                lacking = replace(lacking, parts=lacking.parts - {"quotas"})
            await read_needs(self._app.session, lacking)
        except AdminError as error:
            log.info("reading for a completion: %s", error.failure)
        self.line.recomplete()

    def closed(self, message: CommandBar.Closed) -> None:
        """Esc: the filter from before holds again; nothing else happens."""
        if message.mode == FILTER:
            self._app.view.take_filter(self._filter_before)
        elif message.mode == SECRET:
            self._answer(None)

    def submitted(self, message: CommandBar.Submitted) -> None:
        """Enter."""
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
        try:
            self._app.view.take_filter(text)
        except BadQuery as error:
            self.line.show_error(str(error))
            return
        self.line.close()

    def _picked(self, text: str) -> None:

        key = palette_choice(self._app.keys_here(), text, self._app.reason)
        if key is None:
            self.line.show_error("no action of that name")
            return
        self.line.close()
        start(self._app, partial(self._app.action_do, key.id), group="palette", name="palette")

    def _commanded(self, text: str) -> None:
        from console.language.errors import LanguageError

        try:
            statements = self._executor.parse(text)
        except LanguageError as error:
            self._show(error)
            return
        self.line.close()

        async def work() -> None:
            error = await self._executor.run(statements)
            if error is not None:
                self._open(COMMAND, text)
                self._show(error)

        start(self._app, work, group="command", name="command")

    def _show(self, error: LanguageError) -> None:
        text = f"{error.message}; {error.hint}" if error.hint else error.message
        self.line.show_error(text, error.span.start if error.span else None)
