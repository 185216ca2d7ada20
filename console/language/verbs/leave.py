"""``q``: leave."""

from __future__ import annotations

from console.language.statements import INTERACTIVE, BarStatement
from console.language.verb import GO, StatementKind, Verb


class Quit(BarStatement, frozen=True):
    """``q``."""


VERBS = (
    Verb(
        "q",
        GO,
        ("q",),
        "Leave",
        "Staged edits are not kept; you are asked first.",
        ("q",),
        INTERACTIVE,
        also=("quit", "exit"),
        parse=lambda _reader: Quit(),
        statements=(StatementKind(statement=Quit, text=lambda _statement: "q"),),
    ),
)
