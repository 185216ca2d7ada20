"""A Pygments lexer for the command language, which colours text by the grammar's marks; the text may be unfinished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments import token
from pygments.lexer import Lexer

from console.language.grammar import read
from console.language.reader import Role
from console.language.statements import Where

TOKENS = {
    Role.VERB: token.Keyword,
    Role.KEYWORD: token.Keyword.Pseudo,
    Role.NAME: token.Name.Entity,
    Role.KEY: token.Name.Attribute,
    Role.OPERATOR: token.Operator,
    Role.VALUE: token.String,
    Role.SECRET: token.Literal.Secret,
    Role.FLAG: token.Name.Decorator,
    Role.ERROR: token.Error,
    Role.COMMENT: token.Comment,
    Role.SEPARATOR: token.Punctuation,
}
"""Role of a mark -> token of Pygments."""


class CommandLexer(Lexer):
    """The lexer for the command bar, `kac run` and the shell. Option ``where``: a `Where`, by default the
    command bar.
    """

    name = "kac"
    aliases: ClassVar[list[str]] = ["kac"]
    filenames: ClassVar[list[str]] = ["*.kac"]

    def __init__(self, **options: Any) -> None:
        # Strip nothing and add no newline, as offsets must not change.
        super().__init__(**{"stripnl": False, "ensurenl": False, **options})
        self.where = options.get("where", Where.BAR)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, token._TokenType, str]]:
        """Yield (offset, token, text) for the whole text, without gaps between the parts."""
        at = 0
        for mark in read(text, self.where).marks:
            yield from _between(text, at, mark.start)
            yield mark.start, TOKENS[mark.role], text[mark.start : mark.end]
            at = mark.end
        yield from _between(text, at, len(text))


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, token._TokenType, str]]:
    if start < end:
        gap = text[start:end]
        yield start, token.Whitespace if gap.isspace() else token.Text, gap
