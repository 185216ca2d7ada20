"""Help while somebody types: completion, colours, and reading what the completion lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from console.commands.completion import Completer
from console.commands.grammar import read
from console.commands.lexer import CommandLexer
from console.commands.needs import Needs, needs
from console.commands.reader import Expected, What
from console.commands.statements import Subject
from console.commands.verbs import Where
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.model.snapshot import Snapshot
from console.tui.token_names import bar_name
from widgets.bar_lines import Candidate

if TYPE_CHECKING:
    from console.tui.app import Console

_PARTS = {
    What.USER: "quotas",
    What.CLIENT: "quotas",
    What.IP: "quotas",
    What.USER_NAME: "quotas",
    What.CLIENT_NAME: "quotas",
    What.SCRAM_USER: "scram",
    What.PRINCIPAL: "acls",
    What.HOST: "acls",
    What.GROUP: "groups",
}
"""Which part of the snapshot names what can stand at a place."""


class Typing:
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
        for start, token, piece in self._lexer.get_tokens_unprocessed(text):
            name = bar_name(token)
            if name:
                yield start, start + len(piece), name

    def lacks(self, text: str) -> Needs:
        """What to read for a half-typed text, so that its keys, values and names can be completed."""
        app = self._app
        selected = next(iter(app.view.targets()), None)
        lacking = Needs()
        for one in read(text, Where.BAR).statements:
            if one.statement is not None:
                lacking |= needs(one.statement, selected)
            for _, expected in one.expected:
                lacking |= _for_expected(expected, selected)
        return _not_yet(lacking, app.session.snapshot)


def _for_expected(expected: Expected, selected: Subject | None) -> Needs:
    if expected.what in (What.KEY, What.ASSIGN):
        subject = expected.subject or selected
        if isinstance(subject, ConfigResource):
            broker = subject.is_cluster_default
            return Needs(resources=frozenset({subject}), a_broker=broker, documentation=True)
        return Needs(parts=frozenset({"quotas"}))
    if expected.what is What.CREATE_ASSIGN:
        return Needs(a_topic=True, documentation=True)
    part = _PARTS.get(expected.what)
    return Needs(parts=frozenset({part})) if part else Needs()


def _not_yet(wanted: Needs, snapshot: Snapshot) -> Needs:
    """Without what has been read: typing must not read the same again for each key."""
    types = {resource.type for resource in wanted.resources}
    documented = all(any(code == type_ for code, _ in snapshot.documentation) for type_ in types)
    unread = frozenset(
        resource
        for resource in wanted.resources
        if (resource not in snapshot.configs or not documented)
        and (resource.type != TOPIC or not snapshot.topics or resource.name in snapshot.topics)
    )
    return Needs(
        parts=frozenset(part for part in wanted.parts if part not in snapshot.read_at),
        resources=unread,
        a_broker=wanted.a_broker and bool(unread),
        a_topic=wanted.a_topic and not any(resource.type == TOPIC for resource in snapshot.configs),
        documentation=wanted.documentation,
    )
