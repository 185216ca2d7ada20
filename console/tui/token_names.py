"""What the lexer's tokens are to the command bar."""

from __future__ import annotations

from pygments.token import Comment, Error, Keyword, Literal, Name, Number, Operator, Punctuation, String, _TokenType

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
