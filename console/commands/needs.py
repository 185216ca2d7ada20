"""What has to be read before a statement can be carried out or answered. Pure; `reading` reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from console.commands.statements import (
    Access,
    Alter,
    Create,
    Delete,
    EffectiveQuota,
    Entity,
    Grow,
    List,
    ScramDelete,
    ScramSet,
    Show,
    Statement,
    Subject,
    Unset,
)
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, ResourceType
from console.model.config import ConfigResource, broker_resource, topic_resource
from console.model.quota import USER


@dataclass(frozen=True, slots=True)
class Needs:
    """Parts of a snapshot.

    parts: whole parts, by the names of `Snapshot.read_at`. topics: by name, where not all of them. resources: whose
    configs. every: configs of all resources of a type. a_broker, a_topic: configs of any one, for the keys there are.
    groups: members and lag of these. documentation: of the configs of `resources`.
    """

    parts: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    resources: frozenset[ConfigResource] = frozenset()
    every: frozenset[ResourceType] = frozenset()
    groups: frozenset[str] = frozenset()
    a_broker: bool = False
    a_topic: bool = False
    documentation: bool = False

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(getattr(self, field.name) | getattr(other, field.name) for field in fields(Needs)))


NOTHING = Needs()


def needs(statement: Statement, selected: Subject | None = None) -> Needs:
    """What to read for a statement; selected: what an entity that was left out stands for."""
    match statement:
        case Show():
            return _show(statement, _subject(statement.entity, selected))
        case List():
            return _list(statement)
        case EffectiveQuota():
            return _parts("quotas")
        case Alter() | Unset():
            return _edit(_subject(statement.entity, selected))
        case Create():
            named = Needs(topics=frozenset({statement.name.text or ""}), a_topic=bool(statement.configs))
            return named if not statement.assignments else named | _parts("cluster")
        case Grow() | Delete():
            return Needs(topics=frozenset({statement.name.text or ""}))
        case Access():
            return _parts("acls")
        case ScramSet() | ScramDelete():
            return _parts("scram")
        case _:
            return NOTHING


def needs_of_script(statements: Iterable[Statement]) -> Needs:
    """What all of them need, to be read at once."""
    each = [needs(statement) for statement in statements]

    def together(name: str) -> Any:
        values = [getattr(one, name) for one in each]
        default = getattr(NOTHING, name)
        return any(values) if isinstance(default, bool) else default.union(*values)

    return Needs(*(together(field.name) for field in fields(Needs)))


def _parts(*parts: str) -> Needs:
    return Needs(parts=frozenset(parts))


def _subject(entity: Entity | None, selected: Subject | None) -> Subject | None:
    return entity.subject if entity else selected


def _configs(resource: ConfigResource) -> Needs:
    need = Needs(resources=frozenset({resource}))
    if resource.type == TOPIC:
        return need | Needs(topics=frozenset({resource.name}))
    if resource.type in (BROKER, BROKER_LOGGER):
        return need | Needs(parts=frozenset({"cluster"}), a_broker=resource.is_cluster_default)
    return need


def _edit(subject: Subject | None) -> Needs:
    if subject is None:
        return NOTHING
    return _configs(subject) if isinstance(subject, ConfigResource) else _parts("quotas")


def _show(statement: Show, subject: Subject | None) -> Needs:
    if subject is None:
        return NOTHING
    if not isinstance(subject, ConfigResource):
        return _parts("quotas", "scram") if statement.full and subject.has(USER) else _parts("quotas")
    need = _configs(subject)
    if not statement.full:
        return need
    if statement.keys:
        # Where a broker's own values make a difference to what a topic inherits, the details say which.
        inherited = Needs(every=frozenset({BROKER})) if subject.type == TOPIC else NOTHING
        return need | inherited | Needs(documentation=True)
    if subject.type == BROKER and not subject.is_cluster_default:
        return need | _parts("cluster", "quorum", "versions", "topics")
    return need | Needs(groups=frozenset({subject.name})) if subject.type == GROUP else need


def _list(statement: List) -> Needs:
    match statement.kind:
        case "topics":
            configs = any("." in field.key for field in statement.fields)
            return _parts("topics") | Needs(every=frozenset({TOPIC}) if configs else frozenset())
        case "brokers":
            configs = any("." in field.key for field in statement.fields)
            read = _parts("cluster", "quorum", "versions", "topics")
            return read | Needs(every=frozenset({BROKER}) if configs else frozenset())
        case "users":
            return _parts("quotas", "scram", "acls")
        case "clients" | "ips" | "quotas":
            return _parts("quotas")
        case "loggers":
            return _loggers(statement)
        case "client-metrics":
            return Needs(every=frozenset({CLIENT_METRICS}))
        case kind:
            return _parts(kind)


def _loggers(statement: List) -> Needs:
    exact = [field.pattern for field in statement.fields if field.key == "broker"]
    numbers = [pattern for pattern in exact if pattern and pattern.isascii() and pattern.isdigit()]
    if not numbers:
        return _parts("cluster") | Needs(every=frozenset({BROKER_LOGGER}))
    loggers = (ConfigResource(BROKER_LOGGER, number) for number in numbers)
    return _parts("cluster") | Needs(resources=frozenset(loggers))


def one_broker(brokers: Iterable[int]) -> ConfigResource | None:
    """The broker to ask for the keys that brokers have."""
    lowest = min(brokers, default=None)
    return None if lowest is None else broker_resource(lowest)


def one_topic(names: Iterable[str]) -> ConfigResource | None:
    """A topic to ask for the keys that topics have."""
    name = next(iter(names), None)
    return None if name is None else topic_resource(name)
