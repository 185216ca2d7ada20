"""``revert``: the reversal of a change that was applied is staged."""

from __future__ import annotations

from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import Statement
from console.language.verb import PLAN, StatementKind, Verb


class Revert(Statement, frozen=True):
    """``revert CHANGE``."""

    change: str


def _parse(reader: Reader) -> Revert:
    return Revert(reader.take(Expected(What.CHANGE, "the number of a CHANGE"), Role.VALUE).text)


def _text(statement: Revert) -> str:
    return f"revert {quote(statement.change)}"


VERBS = (
    Verb(
        name="revert",
        group=PLAN,
        usage=("revert CHANGE",),
        summary="Stage the reversal of a change that was applied",
        about=(
            "Values and their sources: a key that was inherited is unset. CHANGE is the number that apply reported, "
            "see history. What can't be restored is reported: records of a deleted topic, secrets. Where another "
            "client changed the same place since, apply stops as for any conflict."
        ),
        examples=("revert 42",),
        parse=_parse,
        statements=(StatementKind(statement=Revert, text=_text),),
    ),
)
