"""The command language in the command bar: completion, colours, and the unread names that a completion needs.

Its own module, because it loads the grammar and Pygments, which the first screen does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, _TokenType

from console.language.completion import Completer, completion_needs
from console.language.lexer import CommandLexer
from console.language.seen_fields import SeenFields
from console.language.snapshot_parts import Needs
from console.language.statements import Where
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from widgets.command_bar import Candidate

Selected: TypeAlias = ConfigResource | QuotaEntity | None

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
    """Return the bar's style name for a token; ``""`` for plain text."""
    return next((name for kind, name in _NAMES if kind.__contains__(token)), "")


class BarLanguage:
    """Completes commands from the session's snapshot and the names of configured contexts; caches its indexes of
    names.
    """

    def __init__(
        self,
        contexts: Sequence[str],
        state: Callable[[], tuple[Snapshot, Selected]],
        fields: Callable[[], SeenFields] = SeenFields,
    ) -> None:
        """Create the language of the command bar.

        Args:
            contexts: names that complete the command ``context``.
            state: returns the snapshot, and the entity that a command applies to if it names none.
            fields: returns the names of the fields in the records that the operator has read.
        """
        self._state = state
        self._completer = Completer(Where.BAR, contexts, fields)
        self._lexer = CommandLexer()

    def complete(self, text: str, cursor: int) -> list[Candidate]:
        """Return the completions at the cursor, an index into the text."""
        return [Candidate(*completion) for completion in self._completer.complete(text, cursor, *self._state())]

    def highlight(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the coloured pieces of a command.

        Yields:
            Start, end (exclusive, in characters) and the bar's style name of each piece, in order.
        """
        for offset, token, piece in self._lexer.get_tokens_unprocessed(text):
            name = bar_name(token)
            if name:
                yield offset, offset + len(piece), name

    def unread(self, text: str) -> Needs:
        """Return the data to read before a half-typed command can be completed: those that its keys, values and
        names need, and that the snapshot lacks.
        """
        return completion_needs(text, Where.BAR, *self._state())
