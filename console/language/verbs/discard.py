"""``discard``: removes edits from the plan."""

from __future__ import annotations

from console.language import statements
from console.language.arguments import entity, key, key_expected
from console.language.reader import Reader
from console.language.verb import PLAN, StatementKind, Verb


class Discard(statements.Statement, frozen=True):
    """The statement ``discard``: removes all edits, those of an entity, or the edit of one key."""

    entity: statements.Entity | None = None
    key: statements.Key | None = None


def _parse(reader: Reader) -> Discard:
    named = entity(reader)
    if named is None:
        return Discard()
    if reader.ended:
        reader.expect(key_expected(reader, named.subject))
        return Discard(named)
    return Discard(named, key(reader, named.subject))


def _text(statement: Discard) -> str:
    return statements.joined(
        "discard", statements.entity_text(statement.entity), statements.key_text(statement.key) if statement.key else ""
    )


VERBS = (
    Verb(
        "discard",
        PLAN,
        ("discard [ENTITY [KEY]]",),
        "Drop what is staged: everything, an entity's edits, or one key's",
        "",
        ("discard", "discard topic orders", "discard topic orders retention.ms"),
        takes_away=True,
        parse=_parse,
        statements=(StatementKind(statement=Discard, text=_text),),
    ),
)
