"""``q``: leaves the console, the shell or the script."""

from __future__ import annotations

from console.language.statements import BarStatement
from console.language.verb import GO, StatementKind, Verb


class Quit(BarStatement, frozen=True):
    """``q``."""


VERBS = (
    Verb(
        "q",
        GO,
        ("q",),
        "Leave",
        "Staged edits are not kept; you are asked first. A script ends there.",
        ("q",),
        also=("quit", "exit"),
        parse=lambda _reader: Quit(),
        statements=(StatementKind(statement=Quit, text=lambda _statement: "q"),),
    ),
)
