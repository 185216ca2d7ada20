"""``undo`` and ``redo``: revert the last change of the plan, and make it again."""

from __future__ import annotations

from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Undo(Statement, frozen=True):
    """The statement ``undo``."""


class Redo(Statement, frozen=True):
    """The statement ``redo``."""


VERBS = (
    Verb(
        "undo",
        PLAN,
        ("undo",),
        "Undo the last change of the plan",
        "",
        ("undo",),
        parse=lambda _reader: Undo(),
        statements=(StatementKind(statement=Undo, text=lambda _statement: "undo"),),
    ),
    Verb(
        "redo",
        PLAN,
        ("redo",),
        "Redo the last undone change of the plan",
        "",
        ("redo",),
        parse=lambda _reader: Redo(),
        statements=(StatementKind(statement=Redo, text=lambda _statement: "redo"),),
    ),
)
