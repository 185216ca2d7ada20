"""``record``: the last half hour in a file."""

from __future__ import annotations

from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import BarStatement, Where, joined
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


VERBS = (
    Verb(
        "record",
        GO,
        ("record [FILE]",),
        "Keep the last half hour in a file",
        "",
        ("record",),
        Where.BAR,
        parse=_parse,
        statements=(
            StatementKind(
                statement=Record,
                text=lambda statement: joined("record", quote(statement.file) if statement.file else ""),
            ),
        ),
    ),
)
