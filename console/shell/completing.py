"""Completion from the cluster, read while somebody types."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from console.commands.completion import Completer as LanguageCompleter
from console.commands.lacking import lacking
from console.commands.reading import read_needs
from console.commands.session import Refused, Session
from console.commands.verbs import Where

log = logging.getLogger(__name__)


class ShellCompleter(Completer):
    """What the grammar expects at the cursor. session: the one in use. What is not known yet is read first; a key typed
    meanwhile takes that back."""

    def __init__(self, session: Callable[[], Session], contexts: Sequence[str]) -> None:
        self._session = session
        self._language = LanguageCompleter(Where.SHELL, contexts)
        self.helps: dict[str, str] = {}

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        """Ways to go on, by what is known now."""
        found = self._language.complete(document.text, document.cursor_position, self._session().snapshot)
        self.helps = {each.text: each.help for each in found}
        for each in found:
            start = min(each.start - document.cursor_position, 0)
            yield Completion(each.text, start, display=each.display, display_meta=each.meta)

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """The same, after reading what is lacking."""
        await self._read(document.text)
        for completion in self.get_completions(document, complete_event):
            yield completion

    async def _read(self, text: str) -> None:
        from console.admin.errors import AdminError

        session = self._session()
        wanted = lacking(text, Where.SHELL, session.snapshot)
        if not wanted:
            return
        try:
            await read_needs(session, wanted, sparing=True)
        except (AdminError, Refused) as error:
            log.info("reading for a completion: %s", error.failure)
