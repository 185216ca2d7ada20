"""``ctx``: the cluster of another context."""

from __future__ import annotations

from console.language.arguments import named
from console.language.quoting import quote
from console.language.reader import Expected, Reader, What
from console.language.statements import INTERACTIVE, BarStatement
from console.language.verb import GO, StatementKind, Verb


class UseContext(BarStatement, frozen=True):
    """``ctx NAME``."""

    name: str


def _parse(reader: Reader) -> UseContext:
    return UseContext(named(reader, Expected(What.CONTEXT, "the NAME of a context")))


def _text(statement: UseContext) -> str:
    return f"ctx {quote(statement.name)}"


VERBS = (
    Verb(
        name="ctx",
        group=GO,
        usage=("ctx NAME",),
        summary="Go to the cluster of another context",
        examples=("ctx prod",),
        where=INTERACTIVE,
        parse=_parse,
        statements=(StatementKind(statement=UseContext, text=_text),),
    ),
)
