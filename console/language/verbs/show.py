"""``show`` and ``describe``: what is set on an entity, and everything about it."""

from __future__ import annotations

from console.language.arguments import entity, keys
from console.language.reader import Reader
from console.language.snapshot_parts import NOTHING, Needs, configs_of, quotas_around, subject_or, whole_parts
from console.language.statements import Entity, Key, QueryStatement, Subject, entity_text, joined, key_text
from console.language.verb import LOOK, StatementKind, Verb
from console.model.codes import BROKER, GROUP, TOPIC
from console.model.config import ConfigResource
from console.model.parts import Part
from console.model.quota import USER


class Show(QueryStatement, frozen=True):
    """``show`` (brief: what is set) or ``describe`` (full: everything; documentation for the keys that are named)."""

    entity: Entity | None
    keys: tuple[Key, ...] = ()
    full: bool = False


def _parse(reader: Reader) -> Show:
    named = entity(reader)
    return Show(named, keys(reader, named.subject if named else None), reader.verb == "describe")


def _text(statement: Show) -> str:
    verb = "describe" if statement.full else "show"
    return joined(verb, entity_text(statement.entity), *map(key_text, statement.keys))


def _needs(statement: Show, selected: Subject | None) -> Needs:
    subject = subject_or(statement.entity, selected)
    if subject is None:
        return NOTHING
    if not isinstance(subject, ConfigResource):
        need = Needs(parts=frozenset({Part.CLUSTER}), quotas_of=quotas_around(subject))
        return need | whole_parts(Part.SCRAM) if statement.full and subject.has(USER) else need
    # The group with the empty name has no configs: brokers take the word for all groups, and refuse it.
    need = configs_of(subject) if subject.name or subject.type != GROUP else NOTHING
    if not statement.full:
        return need
    if statement.keys:
        # The details show where brokers' own values change what a topic inherits.
        inherited = Needs(every=frozenset({BROKER})) if subject.type == TOPIC else NOTHING
        return need | inherited | Needs(documentation=True)
    if subject.type == TOPIC:
        return need | whole_parts(Part.REASSIGNMENTS) | Needs(tiered=frozenset({subject.name}))
    if subject.type == BROKER and not subject.is_cluster_default:
        return need | whole_parts(Part.CLUSTER, Part.QUORUM, Part.VERSIONS) | Needs(held=True)
    return need | Needs(groups=frozenset({subject.name})) if subject.type == GROUP else need


_SHOW = StatementKind(statement=Show, text=_text, needs=_needs)

VERBS = (
    Verb(
        "show",
        LOOK,
        ("show [ENTITY] {KEY}",),
        "What is set on an entity: its own overrides, or the named keys",
        "Without an entity: the selected one. An inherited value of a named key is shown with its source.",
        ("show topic orders", "show topic orders retention.ms segment.bytes", "show broker <default>"),
        parse=_parse,
        statements=(_SHOW,),
    ),
    Verb(
        "describe",
        LOOK,
        ("describe [ENTITY] {KEY}",),
        "Everything about an entity; with keys, each with its documentation and the chain of its synonyms",
        "A topic is shown with partitions, a group with members and lag, a user with quotas and SCRAM credentials.",
        ("describe topic orders", "describe topic orders retention.ms", "describe user alice client checkout"),
        parse=_parse,
        statements=(_SHOW,),
    ),
)
