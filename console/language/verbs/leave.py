"""``q``: leaves the console, the shell or the script."""

from __future__ import annotations

from console.language.statements import BarStatement
from console.language.verb import GO, StatementKind, Verb


class Quit(BarStatement, frozen=True):
    """The command ``q``."""


VERBS = (
    Verb(
        "q",
        GO,
        ("q",),
        "Leave",
        "kac does not keep staged edits, so it asks you before it leaves. A script ends at this statement.",
        ("q",),
        also=("quit", "exit"),
        parse=lambda _reader: Quit(),
        statements=(StatementKind(statement=Quit, text=lambda _statement: "q"),),
    ),
)
