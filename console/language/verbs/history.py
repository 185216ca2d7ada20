"""``history``: shows the changes that were applied."""

from __future__ import annotations

from console.language.arguments import entity, filter_text
from console.language.quoting import ENTITY_WORDS, quote, quoted
from console.language.reader import Reader
from console.language.statements import Entity, Statement, entity_text, joined
from console.language.verb import PLAN, StatementKind, Verb


class History(Statement, frozen=True):
    """The statement ``history``: shows all applied changes, those of an entity, or those that contain a text."""

    entity: Entity | None = None
    filter: str = ""


def _parse(reader: Reader) -> History:
    named = entity(reader)
    return History(named, "" if named else filter_text(reader))


def _text(statement: History) -> str:
    # Quote a filter that equals the keyword of an entity.
    written = quoted if statement.filter in ENTITY_WORDS else quote
    return joined("history", entity_text(statement.entity), written(statement.filter) if statement.filter else "")


VERBS = (
    Verb(
        "history",
        PLAN,
        ("history [ENTITY | TEXT]",),
        "The changes from this host, the latest first",
        "The list shows who made each change and when, its old and new values, and its outcome. ENTITY selects "
        "the changes of an entity. TEXT selects the lines that contain the text. Without an argument the list has "
        "all changes.\n\n"
        "With a lake, the console shows all changes of the cluster, by any client from any host. TEXT may then "
        "contain `since=2h`, `until=14:05`, `key=retention.*` and `by=alice`.",
        ("history", "history topic orders", "history alice", "history 'since=2h key=retention.*'"),
        parse=_parse,
        statements=(StatementKind(statement=History, text=_text),),
    ),
)
