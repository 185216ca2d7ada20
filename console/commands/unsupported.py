"""What the language has and this version can't do yet, refused before anything of a script is done."""

from __future__ import annotations

from console.commands.errors import CommandError
from console.commands.statements import Alter, Revert, Statement, View


def refuse_unsupported(statement: Statement) -> None:
    """Raises CommandError for what the language has and this version can't do: all that needs the journal."""
    match statement:
        case Revert() | View(pane="history"):
            raise CommandError(
                "there is no journal of applied changes yet", "undo takes back what is staged", statement.span
            )
        case Alter(for_ms=int()):
            raise CommandError(
                "changes that expire need the journal, which there is not yet",
                "leave out 'for', and set the value back yourself",
                statement.for_span,
            )
        case _:
            pass
