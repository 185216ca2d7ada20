"""``at``: in a replay, another time of the record."""

from __future__ import annotations

from console.language.arguments import named
from console.language.quoting import quote
from console.language.reader import Expected, What
from console.language.statements import BarStatement, Where
from console.language.verb import GO, StatementKind, Verb


class AtTime(BarStatement, frozen=True):
    """``at 03:11``: in a replay. time: as written."""

    time: str


VERBS = (
    Verb(
        "at",
        GO,
        ("at TIME",),
        "In a replay: go to a time of the record",
        "",
        ("at 03:11", "at 10min"),
        Where.BAR,
        parse=lambda reader: AtTime(named(reader, Expected(What.ARGUMENT, "a TIME, as 03:11"))),
        statements=(StatementKind(statement=AtTime, text=lambda statement: f"at {quote(statement.time)}"),),
    ),
)
