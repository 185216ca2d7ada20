"""``undo`` and ``redo``: changes of the plan, back and forth."""

from __future__ import annotations

from console.language.reader import Reader
from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Undo(Statement, frozen=True):
    """``undo``."""


class Redo(Statement, frozen=True):
    """``redo``."""


def _undo(_reader: Reader) -> Undo:
    return Undo()


def _redo(_reader: Reader) -> Redo:
    return Redo()


def _undo_text(_statement: Undo) -> str:
    return "undo"


def _redo_text(_statement: Redo) -> str:
    return "redo"


VERBS = (
    Verb(
        name="undo",
        group=PLAN,
        usage=("undo",),
        summary="Take back the last change of the plan",
        examples=("undo",),
        parse=_undo,
        statements=(StatementKind(statement=Undo, text=_undo_text),),
    ),
    Verb(
        name="redo",
        group=PLAN,
        usage=("redo",),
        summary="Put back what was undone",
        examples=("redo",),
        parse=_redo,
        statements=(StatementKind(statement=Redo, text=_redo_text),),
    ),
)
