"""What the command bar knows of the language: completion, colours, and what has to be read for a completion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, _TokenType

from console.language.completion import Completer, completion_needs
from console.language.lexer import CommandLexer
from console.language.needs import Needs
from console.language.verbs import Where
from widgets.command_bar import Candidate

if TYPE_CHECKING:
    from console.tui.app import Console


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
        for start, token, piece in self._lexer.get_tokens_unprocessed(text):
            name = bar_name(token)
            if name:
                yield start, start + len(piece), name

    def lacks(self, text: str) -> Needs:
        """What to read for a half-typed text, so that its keys, values and names can be completed."""
        selected = next(iter(self._app.view.targets()), None)
        return completion_needs(text, Where.BAR, self._app.session.snapshot, selected)
