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
        "The readers, writers and schemas of a topic, and how sure kac is of each",
        "kac says how sure it is of each reader and writer:\n\n"
        "- sure: a group has offsets or partitions of the topic, or a producer has an open transaction in the "
        "topic.\n"
        "- sure: Connect lists the topic as used by a connector, or a connector's config lists the topic.\n"
        "- likely: a value in a source connector's config is the topic's name, or its `topic.prefix` is the "
        "beginning of the name.\n"
        "- likely: the topic has the usual name of a system's own topic, for example of Kafka Connect.\n"
        "- possible: only an ACL allows the principal to write.\n\n"
        "A schema is sure if its ids are in the newest records. A schema is likely if only its name fits.\n\n"
        "Brokers do not report producers, so a writer may be missing. If the cluster has more than 100 groups, "
        "kac reads only the groups of sink connectors. It shows other groups if it has already read them. `list "
        "groups topic=NAME` reads all groups.",
        ("whose topic orders",),
        parse=lambda reader: Whose(topic_name(reader)),
        statements=(
            StatementKind(
                statement=Whose, text=lambda statement: f"whose topic {name_text(statement.topic)}", needs=_needs
            ),
        ),
    ),
)
