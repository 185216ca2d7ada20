"""``help``: the verbs, or one of them."""

from __future__ import annotations

from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import INTERACTIVE, BarStatement, joined
from console.language.verb import GO, StatementKind, Verb


class Help(BarStatement, frozen=True):
    """``help``, ``help WORD``."""

    word: str = ""


def _parse(reader: Reader) -> Help:
    expected = Expected(What.VERB_NAME, "a verb", reader.verbs)
    if reader.ended:
        reader.expect(expected)
        return Help()
    return Help(reader.take(expected, Role.VERB).text)


VERBS = (
    Verb(
        "help",
        GO,
        ("help [WORD]",),
        "The verbs, or one verb",
        "",
        ("help", "help set"),
        INTERACTIVE,
        parse=_parse,
        statements=(
            StatementKind(
                statement=Help, text=lambda statement: joined("help", quote(statement.word) if statement.word else "")
            ),
        ),
    ),
)
