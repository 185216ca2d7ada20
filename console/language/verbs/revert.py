"""``revert``: stages the reversal of an applied change."""

from __future__ import annotations

from console.language.quoting import quote
from console.language.reader import Expected, Role, What
from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Revert(Statement, frozen=True):
    """The statement ``revert CHANGE``."""

    change: str


VERBS = (
    Verb(
        "revert",
        PLAN,
        ("revert CHANGE",),
        "Stage the reversal of a change that was applied",
        "CHANGE is the number that `apply` reported. `history` lists the numbers. The reversal restores each "
        "value with its source: if a key was inherited before, kac unsets the key.\n\n"
        "kac reports everything that it can't restore: the records of a deleted topic, and secrets. If another "
        "client has changed the same value since, `apply` stops as for any conflict.",
        ("revert 42",),
        parse=lambda reader: Revert(reader.take(Expected(What.ARGUMENT, "the number of a CHANGE"), Role.VALUE).text),
        statements=(StatementKind(statement=Revert, text=lambda statement: f"revert {quote(statement.change)}"),),
    ),
)
