"""``at``: in a replay, another time of the record."""

from __future__ import annotations

from console.language.arguments import named
from console.language.quoting import quote
from console.language.reader import Expected, Reader, What
from console.language.statements import BarStatement, Where
from console.language.verb import GO, StatementKind, Verb


class AtTime(BarStatement, frozen=True):
    """``at 03:11``: in a replay. time: as written."""

    time: str


def _parse(reader: Reader) -> AtTime:
    return AtTime(named(reader, Expected(What.ARGUMENT, "a TIME, as 03:11")))


def _text(statement: AtTime) -> str:
    return f"at {quote(statement.time)}"


VERBS = (
    Verb(
        name="at",
        group=GO,
        usage=("at TIME",),
        summary="In a replay: go to a time of the record",
        examples=("at 03:11", "at 10min"),
        where=Where.BAR,
        parse=_parse,
        statements=(StatementKind(statement=AtTime, text=_text),),
    ),
)
