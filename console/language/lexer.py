"""Colours for the language: a Pygments lexer based on the grammar's marks; half-typed text is fine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Literal,
    Name,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

from console.language.grammar import read
from console.language.reader import Role
from console.language.statements import Where

TOKENS = {
    Role.VERB: Keyword,
    Role.KEYWORD: Keyword.Pseudo,
    Role.NAME: Name.Entity,
    Role.KEY: Name.Attribute,
    Role.OPERATOR: Operator,
    Role.VALUE: String,
    Role.SECRET: Literal.Secret,
    Role.FLAG: Name.Decorator,
    Role.ERROR: Error,
    Role.COMMENT: Comment,
    Role.SEPARATOR: Punctuation,
}
"""Role of the grammar -> Pygments token."""


class CommandLexer(Lexer):
    """The language of the bar, of `kac run` and of the shell. Option ``where``: a `Where`, by default the bar."""

    name = "kac"
    aliases: ClassVar[list[str]] = ["kac"]
    filenames: ClassVar[list[str]] = ["*.kac"]

    def __init__(self, **options: Any) -> None:
        # Offsets must not move: nothing is stripped, no newline added.
        super().__init__(**{"stripnl": False, "ensurenl": False, **options})
        self.where = options.get("where", Where.BAR)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Yield (offset, token, text) for the whole text, without gaps."""
        at = 0
        for mark in read(text, self.where).marks:
            yield from _between(text, at, mark.start)
            yield mark.start, TOKENS[mark.role], text[mark.start : mark.end]
            at = mark.end
        yield from _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, _TokenType, str]]:
    if start < end:
        gap = text[start:end]
        yield start, Whitespace if gap.isspace() else Text, gap
