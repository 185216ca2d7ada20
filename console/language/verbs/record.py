"""``record``: the last half hour in a file."""

from __future__ import annotations

from console.language.node_text import joined
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import BarStatement, Where
from console.language.verb import GO, StatementKind, Verb


class Record(BarStatement, frozen=True):
    """``record FILE``; ``""`` for a new file of the state folder."""

    file: str = ""


def _parse(reader: Reader) -> Record:
    expected = Expected(What.ARGUMENT, "a FILE")
    if reader.ended:
        reader.expect(expected)
        return Record()
    return Record(reader.take(expected, Role.VALUE).text)


def _text(statement: Record) -> str:
    return joined("record", quote(statement.file) if statement.file else "")


VERBS = (
    Verb(
        name="record",
        group=GO,
        usage=("record [FILE]",),
        summary="Keep the last half hour in a file",
        examples=("record",),
        where=Where.BAR,
        parse=_parse,
        statements=(StatementKind(statement=Record, text=_text),),
    ),
)
