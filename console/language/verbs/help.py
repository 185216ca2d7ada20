"""``help``: the verbs, or one of them."""

from __future__ import annotations

from console.language.node_text import joined
from console.language.quoting import quote
from console.language.reader import Expected, Reader, Role, What
from console.language.statements import INTERACTIVE, BarStatement
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


def _text(statement: Help) -> str:
    return joined("help", quote(statement.word) if statement.word else "")


VERBS = (
    Verb(
        name="help",
        group=GO,
        usage=("help [WORD]",),
        summary="The verbs, or one verb",
        examples=("help", "help set"),
        where=INTERACTIVE,
        parse=_parse,
        statements=(StatementKind(statement=Help, text=_text),),
    ),
)
