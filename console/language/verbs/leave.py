"""``q``: leave."""

from __future__ import annotations

from console.language.reader import Reader
from console.language.statements import INTERACTIVE, BarStatement
from console.language.verb import GO, StatementKind, Verb


class Quit(BarStatement, frozen=True):
    """``q``."""


def _parse(_reader: Reader) -> Quit:
    return Quit()


def _text(_statement: Quit) -> str:
    return "q"


VERBS = (
    Verb(
        name="q",
        group=GO,
        usage=("q",),
        summary="Leave",
        about="Staged edits are not kept; you are asked first.",
        examples=("q",),
        where=INTERACTIVE,
        also=("quit", "exit"),
        parse=_parse,
        statements=(StatementKind(statement=Quit, text=_text),),
    ),
)
