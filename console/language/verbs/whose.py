"""``whose``: shows the connectors, groups and producers that read from or write to a topic."""

from __future__ import annotations

from console.language.arguments import topic_name
from console.language.snapshot_parts import Needs, the_topic, whole_parts
from console.language.statements import Name, QueryStatement, Subject, name_text
from console.language.verb import LOOK, StatementKind, Verb
from console.model.parts import Part


class Whose(QueryStatement, frozen=True):
    """The query ``whose topic``: the connectors, groups and producers of a topic."""

    topic: Name


def _needs(statement: Whose, _selected: Subject | None) -> Needs:
    topic = frozenset({statement.topic.text or ""})
    users = Needs(users_of=topic, schemas_in=topic)
    return the_topic(statement.topic) | whole_parts(Part.CONNECT, Part.GROUPS, Part.ACLS, Part.SCHEMAS) | users


VERBS = (
    Verb(
        "whose",
        LOOK,
        ("whose topic NAME",),
        "The readers and writers of a topic: connectors, groups and producers; its schemas, and how sure that is",
        "A reader or writer is sure if it has offsets, partitions or a transaction in the topic, if Connect lists the "
        "topic as used, or if its config lists the topic; likely if a value in its config is the topic's name; and "
        "possible if only an ACL lets it write. A schema is sure if its ids are in the newest records, and likely if "
        "only its name fits. Brokers do not report producers, so a writer may be missing. If there are more than 100 "
        "groups, kac shows the groups that it has already read: `list groups topic=NAME` reads all groups.",
        ("whose topic orders",),
        parse=lambda reader: Whose(topic_name(reader)),
        statements=(
            StatementKind(
                statement=Whose, text=lambda statement: f"whose topic {name_text(statement.topic)}", needs=_needs
            ),
        ),
    ),
)
