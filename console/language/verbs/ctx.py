"""``ctx``: the cluster of another context."""

from __future__ import annotations

from console.language.arguments import named
from console.language.quoting import quote
from console.language.reader import Expected, What
from console.language.statements import INTERACTIVE, BarStatement
from console.language.verb import GO, StatementKind, Verb


class UseContext(BarStatement, frozen=True):
    """``ctx NAME``."""

    name: str


VERBS = (
    Verb(
        "ctx",
        GO,
        ("ctx NAME",),
        "Go to the cluster of another context",
        "",
        ("ctx prod",),
        INTERACTIVE,
        parse=lambda reader: UseContext(named(reader, Expected(What.CONTEXT, "the NAME of a context"))),
        statements=(StatementKind(statement=UseContext, text=lambda statement: f"ctx {quote(statement.name)}"),),
    ),
)
