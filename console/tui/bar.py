"""The command bar of the console: commands and filters, their history, and where both go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from console.model.secret import Secret
from widgets.command_bar import COMMAND, FILTER, SECRET, CommandBar
from widgets.filtered_rows import BadQuery

if TYPE_CHECKING:
    from console.commands.errors import LanguageError
    from console.tui.app import Console
    from console.tui.execute import Executor


class Bar:
    """Opens the line in one of its modes and hands on what was entered."""

    def __init__(self, app: Console) -> None:
        self._app = app
        self.line = CommandBar(id="bar", highlight=highlight)
        self._filter_before = ""
        self._asked: asyncio.Future[Secret | None] | None = None

    @cached_property
    def _executor(self) -> Executor:
        """Made when the first command is entered: the language need not be there for the first screen."""
        from console.tui.execute import Executor

        return Executor(self._app, self._ask_secret)

    def command(self, text: str) -> None:
        """Type a command, beginning with `text`."""
        self.line.open(COMMAND, text)

    def filter(self, text: str) -> None:
        """Type a filter, beginning with the one that holds."""
        self._filter_before = text
        self.line.open(FILTER, text)

    async def _ask_secret(self, prompt: str) -> Secret | None:
        """Ask for a secret, hidden; None where the operator goes back."""
        self._asked = asyncio.get_running_loop().create_future()
        self.line.open(SECRET, prompt=f"{prompt}:")
        return await self._asked

    def changed(self, message: CommandBar.Changed) -> None:
        """A filter holds while it is typed; one that is no pattern yet changes nothing."""
        if message.mode == FILTER.name:
            try:
                self._app.view.take_filter(message.text)
            except BadQuery:
                return

    def closed(self, message: CommandBar.Closed) -> None:
        """Esc: the filter from before holds again; nothing else happens."""
        if message.mode == FILTER.name:
            self._app.view.take_filter(self._filter_before)
        elif message.mode == SECRET.name:
            self._answer(None)

    def submitted(self, message: CommandBar.Submitted) -> None:
        """Enter."""
        if message.mode == FILTER.name:
            self._filtered(message.text)
        elif message.mode == SECRET.name:
            self.line.close()
            self._answer(Secret(message.text))
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

    def _commanded(self, text: str) -> None:
        from console.commands.errors import LanguageError

        try:
            statements = self._executor.parse(text)
        except LanguageError as error:
            self._show(error)
            return
        self.line.close()

        async def work() -> None:
            error = await self._executor.run(statements)
            if error is not None:
                self.line.open(COMMAND, text)
                self._show(error)

        self._app.run_worker(work(), group="command", name="command")

    def _show(self, error: LanguageError) -> None:
        text = f"{error.message}; {error.hint}" if error.hint else error.message
        self.line.show_error(text, error.span.start if error.span else None)


def highlight(text: str) -> Iterator[tuple[int, int, str]]:
    """Offsets and the bar's names for them, by the language's Pygments lexer."""
    from console.commands.lexer import CommandLexer
    from console.tui.token_names import bar_name

    for start, token, piece in CommandLexer().get_tokens_unprocessed(text):
        name = bar_name(token)
        if name:
            yield start, start + len(piece), name
