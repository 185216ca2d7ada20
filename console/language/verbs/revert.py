"""``revert``: stages the reversal of an applied change."""

from __future__ import annotations

from console.language.quoting import quote
from console.language.reader import Expected, Role, What
from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Revert(Statement, frozen=True):
    """``revert CHANGE``."""

    change: str


VERBS = (
    Verb(
        "revert",
        PLAN,
        ("revert CHANGE",),
        "Stage the reversal of a change that was applied",
        "Values and their sources: a key that was inherited is unset. CHANGE is the number that apply reported, "
        "see history. What can't be restored is reported: records of a deleted topic, secrets. Where another "
        "client changed the same place since, apply stops as for any conflict.",
        ("revert 42",),
        parse=lambda reader: Revert(reader.take(Expected(What.ARGUMENT, "the number of a CHANGE"), Role.VALUE).text),
        statements=(StatementKind(statement=Revert, text=lambda statement: f"revert {quote(statement.change)}"),),
    ),
)
