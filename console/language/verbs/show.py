"""``show`` and ``describe``: show the values set on an entity, or everything about it."""

from __future__ import annotations

from console.language import snapshot_parts, statements
from console.language.arguments import entity, keys
from console.language.reader import Reader
from console.language.verb import LOOK, StatementKind, Verb
from console.model.codes import BROKER, CONNECTOR, GROUP, SCHEMA, TOPIC
from console.model.config import ConfigResource
from console.model.parts import Part
from console.model.quota import USER


class Show(statements.QueryStatement, frozen=True):
    """The query ``show``, for the values that are set on the entity itself; or ``describe``, for everything about it,
    with the documentation of the named keys.
    """

    entity: statements.Entity | None
    keys: tuple[statements.Key, ...] = ()
    full: bool = False


def _parse(reader: Reader) -> Show:
    named = entity(reader)
    return Show(named, keys(reader, named.subject if named else None), reader.verb == "describe")


def _text(statement: Show) -> str:
    verb = "describe" if statement.full else "show"
    return statements.joined(verb, statements.entity_text(statement.entity), *map(statements.key_text, statement.keys))


def _needs(statement: Show, selected: statements.Subject | None) -> snapshot_parts.Needs:
    subject = snapshot_parts.subject_or(statement.entity, selected)
    if subject is None:
        return snapshot_parts.NOTHING
    if not isinstance(subject, ConfigResource):
        need = snapshot_parts.Needs(parts=frozenset({Part.CLUSTER}), quotas_of=snapshot_parts.quotas_around(subject))
        return need | snapshot_parts.whole_parts(Part.SCRAM) if statement.full and subject.has(USER) else need
    # Skip the configs of the group with the empty name: brokers take that name for all groups, and refuse it.
    need = snapshot_parts.configs_of(subject) if subject.name or subject.type != GROUP else snapshot_parts.NOTHING
    if not statement.full:
        return need
    if statement.keys:
        # Read the brokers: the details name those whose own values change the values that the topic inherits.
        inherited = snapshot_parts.Needs(every=frozenset({BROKER})) if subject.type == TOPIC else snapshot_parts.NOTHING
        return need | inherited | snapshot_parts.Needs(documentation=True)
    if subject.type == TOPIC:
        return (
            need
            | snapshot_parts.whole_parts(Part.REASSIGNMENTS, Part.CONNECT, Part.GROUPS)
            | snapshot_parts.Needs(tiered=frozenset({subject.name}), users_of=frozenset({subject.name}))
        )
    if subject.type == CONNECTOR:
        around = snapshot_parts.whole_parts(Part.CONNECT, Part.GROUPS) | snapshot_parts.Needs(connectors=True)
        return need | around
    if subject.type == SCHEMA:
        return (
            need
            | snapshot_parts.whole_parts(Part.TOPICS, Part.GROUPS)
            | snapshot_parts.Needs(
                lags_of=frozenset({()}),
                schema_texts=frozenset({subject.name}),
                schema_users=frozenset({subject.name}),
            )
        )
    if subject.type == BROKER and not subject.is_cluster_default:
        return (
            need
            | snapshot_parts.whole_parts(Part.CLUSTER, Part.QUORUM, Part.VERSIONS)
            | snapshot_parts.Needs(held=True)
        )
    return need | snapshot_parts.Needs(groups=frozenset({subject.name})) if subject.type == GROUP else need


_SHOW = StatementKind(statement=Show, text=_text, needs=_needs)

VERBS = (
    Verb(
        "show",
        LOOK,
        ("show [ENTITY] {KEY}",),
        "The values set on an entity: all its overrides, or the named keys",
        "Without an entity kac shows the selected one. If a named key is inherited, kac shows the inherited value "
        "with its source.",
        ("show topic orders", "show topic orders retention.ms segment.bytes", "show broker <default>"),
        rank=3,
        parse=_parse,
        statements=(_SHOW,),
    ),
    Verb(
        "describe",
        LOOK,
        ("describe [ENTITY] {KEY}",),
        "An entity with its configs and other properties, or the details of some configs",
        "For a topic kac shows the partitions. For a group it shows the members and the lag. For a user it shows "
        "quotas and SCRAM credentials.\n\n"
        "With a KEY kac shows the documentation of the key and the chain of its synonyms: the settings from which "
        "brokers take the value, in this order.",
        ("describe topic orders", "describe topic orders retention.ms", "describe user alice client checkout"),
        rank=1,
        stands_for={
            "describe topic NAME": "topic describe, partition list, config list, leader describe",
            "describe group NAME": "group describe, lag describe, offset list",
            "describe broker ID": "broker describe",
            "describe user NAME": "quota describe, scram describe",
            "describe connector CLUSTER/NAME": "connector describe",
        },
        parse=_parse,
        statements=(_SHOW,),
    ),
)
