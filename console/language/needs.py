"""Which parts of a snapshot a statement needs. Pure; `console.session.reading` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from console.language.statements import (
    Abort,
    Access,
    Alter,
    CancelMoves,
    CloneGroup,
    Create,
    Delete,
    DeleteGroupOffsets,
    DeleteRecords,
    EffectiveQuota,
    Elect,
    Entity,
    Explain,
    FeatureSet,
    Grow,
    List,
    MovePartition,
    MoveToDir,
    Name,
    ResetOffsets,
    ScramDelete,
    ScramSet,
    Show,
    SkipRecords,
    Statement,
    Subject,
    Unregister,
    Unset,
)
from console.model.acl import PREFIXED
from console.model.authorizer import range_of
from console.model.codes import BROKER, BROKER_LOGGER, GROUP, TOPIC, ResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.entity_types import listed_alone
from console.model.feature_levels import CORDONED, ELR_VERSION, MIN_ISR
from console.model.quota import CLIENT_ID, IP, USER, QuotaEntity, QuotaFilter, filter_for_entity, filter_for_name


class Needs(Struct, frozen=True):
    """Parts of a snapshot.

    parts: whole parts, by the names of `Snapshot.read_at`. topics: topics by name, if not all are needed. resources:
    their configs. every: configs of all resources of a type. a_broker, a_topic: configs of any one, for its keys.
    groups: their members and lag. lags_of: the lag of all groups that a set of patterns matches. log_ranges: where
    the logs of topics begin and end; offsets_at: their offsets at times (topic, ms since 1970); group_positions: the
    same for all partitions of a group, with its members and offsets (group, and a time or None). transactions: the
    open ones in these partitions, and whether they hang. documentation: also that of the configs of `resources`.
    quotas_of, acls_of: the quotas that filters find and the ACLs of principals, if not all are needed; if all quotas
    are, those that matter.
    replica_logs: what the replicas hold of those partitions of topics that have no leader, or move.
    """

    parts: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    resources: frozenset[ConfigResource] = frozenset()
    every: frozenset[ResourceType] = frozenset()
    groups: frozenset[str] = frozenset()
    lags_of: frozenset[tuple[str | None, ...]] = frozenset()
    replica_logs: frozenset[str] = frozenset()
    log_ranges: frozenset[str] = frozenset()
    offsets_at: frozenset[tuple[str, int]] = frozenset()
    group_positions: frozenset[tuple[str, int | None]] = frozenset()
    transactions: frozenset[tuple[str, int]] = frozenset()
    quotas_of: frozenset[QuotaFilter] = frozenset()
    acls_of: frozenset[str] = frozenset()
    a_broker: bool = False
    a_topic: bool = False
    documentation: bool = False

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(getattr(self, name) | getattr(other, name) for name in Needs.__struct_fields__))


NOTHING = Needs()
_ACL_PARTS = {"TOPIC": "topics", "GROUP": "groups"}
SINGLY = 100
"""Names that are asked for one by one; for more, everything is read."""


def needs(statement: Statement, selected: Subject | None = None) -> Needs:
    """Return what a statement needs. selected: the entity that is meant where none is named."""
    match statement:
        case Show():
            return _show(statement, _subject(statement.entity, selected))
        case List():
            return _list(statement)
        case EffectiveQuota(user=user, client=client):
            return Needs(parts=frozenset({"cluster"}), quotas_of=_that_count(user, client))
        case Alter():
            return _edit(_subject(statement.entity, selected), [each.key.name for each in statement.assigns])
        case Unset():
            return _edit(_subject(statement.entity, selected), [each.name for each in statement.keys])
        case Explain():
            return _parts("acls", "versions")
        case Create():
            named = Needs(topics=frozenset({statement.name.text or ""}), a_topic=bool(statement.configs))
            return named if not statement.assignments else named | _parts("cluster")
        case Grow() | Delete():
            return Needs(topics=frozenset({statement.name.text or ""}))
        case Access():
            return _access(statement)
        case ResetOffsets():
            return _reset(statement)
        case SkipRecords(group=group, topic=topic):
            name = topic.text or ""
            return _group(group) | Needs(topics=frozenset({name}), log_ranges=frozenset({name}))
        case CloneGroup(group=group, to=other):
            return _group(group) | _group(other)
        case DeleteGroupOffsets(group=group):
            return _group(group)
        case Abort(topic=topic, partition=partition):
            name = topic.text or ""
            return Needs(topics=frozenset({name}), transactions=frozenset({(name, partition)}))
        case ScramSet() | ScramDelete():
            return _parts("scram")
        case Elect() | CancelMoves():
            return _leaders(statement)
        case MovePartition(topic=topic):
            return Needs(topics=frozenset({topic.text or ""})) | _parts("cluster", "reassignments", "log_dirs")
        case MoveToDir(topic=topic):
            return Needs(topics=frozenset({topic.text or ""})) | _parts("cluster", "log_dirs")
        case DeleteRecords():
            return _records(statement)
        case Unregister():
            return _parts("cluster", "quorum", "topics")
        case FeatureSet(levels=levels):
            return _parts("features") | (_BROKERS if any(name == ELR_VERSION for name, _ in levels) else NOTHING)
        case _:
            return NOTHING


def _leaders(statement: Elect | CancelMoves) -> Needs:
    """The topics, and of what is cancelled, or elected uncleanly, what the replicas hold."""
    if statement.topic is None:
        return _parts("topics")
    name = statement.topic.text or ""
    need = Needs(topics=frozenset({name}))
    if isinstance(statement, CancelMoves):
        return need | _parts("reassignments") | Needs(replica_logs=frozenset({name}))
    return need | Needs(replica_logs=frozenset({name})) if statement.unclean else need


def _records(statement: DeleteRecords) -> Needs:
    name = statement.topic.text or ""
    times = frozenset() if statement.at_ms is None else frozenset({(name, statement.at_ms)})
    topics, resources = frozenset({name}), frozenset({topic_resource(name)})
    # Their documentation of cleanup.policy says what brokers make of an empty one.
    return Needs(topics=topics, resources=resources, log_ranges=topics, offsets_at=times, documentation=True)


def _access(statement: Access) -> Needs:
    """What takes rights from many resources says which there are."""
    if range_of(statement.host) is not None:
        return _parts("acls", "versions")
    takes = statement.revoke != (statement.permission.name == "DENY")
    part = _ACL_PARTS.get(statement.resource_type.name)
    if not takes or part is None or not (statement.pattern == PREFIXED or statement.resource_name == "*"):
        return _parts("acls")
    return _parts("acls", part)


def needs_of_script(statements: Iterable[Statement]) -> Needs:
    """Return what all statements need, to be read at once."""
    each = [needs(statement) for statement in statements]

    def together(name: str) -> Any:
        values = [getattr(one, name) for one in each]
        default = getattr(NOTHING, name)
        return any(values) if isinstance(default, bool) else default.union(*values)

    return Needs(*map(together, Needs.__struct_fields__))


def _parts(*parts: str) -> Needs:
    return Needs(parts=frozenset(parts))


def _subject(entity: Entity | None, selected: Subject | None) -> Subject | None:
    return entity.subject if entity else selected


_BROKERS = Needs(every=frozenset({BROKER}), resources=frozenset({CLUSTER_DEFAULT}))


def _configs(resource: ConfigResource) -> Needs:
    need = Needs(resources=frozenset({resource}))
    if resource.type == TOPIC:
        return need | Needs(topics=frozenset({resource.name}))
    if resource.type.entity.at_broker:
        return need | Needs(parts=frozenset({"cluster"}), a_broker=resource.is_cluster_default)
    return need


def _edit(subject: Subject | None, keys: Iterable[str]) -> Needs:
    if subject is None:
        return NOTHING
    if isinstance(subject, ConfigResource):
        by_level = any(key in (MIN_ISR, CORDONED) for key in keys) and subject.type == BROKER
        return _configs(subject) | (_parts("features") if by_level else NOTHING)
    return _parts("quotas") | Needs(quotas_of=_quotas_around(subject))


def _show(statement: Show, subject: Subject | None) -> Needs:
    if subject is None:
        return NOTHING
    if not isinstance(subject, ConfigResource):
        need = Needs(parts=frozenset({"cluster"}), quotas_of=_quotas_around(subject))
        return need | _parts("scram") if statement.full and subject.has(USER) else need
    # The group with the empty name has no configs: brokers take the word for all groups, and refuse it.
    need = _configs(subject) if subject.name or subject.type != GROUP else NOTHING
    if not statement.full:
        return need
    if statement.keys:
        # The details show where brokers' own values change what a topic inherits.
        inherited = Needs(every=frozenset({BROKER})) if subject.type == TOPIC else NOTHING
        return need | inherited | Needs(documentation=True)
    if subject.type == TOPIC:
        return need | _parts("reassignments")
    if subject.type == BROKER and not subject.is_cluster_default:
        return need | _parts("cluster", "quorum", "versions", "topics")
    return need | Needs(groups=frozenset({subject.name})) if subject.type == GROUP else need


def _group(group: Name, time: int | None = None) -> Needs:
    return Needs(group_positions=frozenset({(group.text or "", time)}))


def _reset(statement: ResetOffsets) -> Needs:
    time = statement.to.number if statement.to.how == "time" else None
    topics = {row.topic for row in statement.to.rows or ()}
    if statement.topic is not None:
        topics.add(statement.topic.text or "")
    if not topics:
        return _group(statement.group, time)
    at = {(topic, time) for topic in topics} if time is not None else set()
    named = Needs(topics=frozenset(topics), log_ranges=frozenset(topics), offsets_at=frozenset(at))
    return _group(statement.group) | named


def _quotas_around(entity: QuotaEntity) -> frozenset[QuotaFilter]:
    """The filters for all about an entity: itself, the clients of a user, and the levels that may apply to it."""
    parts = entity.as_dict()
    found = {filter_for_name(USER, parts[USER])} if USER in parts else {filter_for_entity(entity)}
    user, client = parts.get(USER), parts.get(CLIENT_ID)
    if user is not None and client is not None:
        found |= _that_count(user, client)
    if parts.get(IP) is not None:
        found.add(filter_for_name(IP, None))
    return frozenset(found)


def _that_count(user: str, client: str) -> frozenset[QuotaFilter]:
    """The filters for the quota levels that may apply to a user and a client."""
    users = (filter_for_name(USER, name) for name in (user, None))
    clients = (client, None) if client else ()
    return frozenset({*users, *(filter_for_name(CLIENT_ID, name, strict=True) for name in clients)})


def _named(patterns: Iterable[str | None]) -> list[str | None] | None:
    """The patterns as names; None if one of them has wildcards, if there are none, or too many."""
    names = list(dict.fromkeys(patterns))
    plain = all(name is None or not set(name) & set("*?[") for name in names)
    return names if plain and 0 < len(names) <= SINGLY else None


def _users(statement: List) -> Needs:
    """For users that are named: only their quotas and ACLs."""
    names = _named(glob.pattern for glob in statement.globs)
    if names is None:
        return _parts("quotas", "scram", "acls")
    principals = frozenset(f"User:{name}" for name in names if name is not None)
    filters = frozenset(filter_for_name(USER, name) for name in names)
    return Needs(parts=frozenset({"scram"}), quotas_of=filters, acls_of=principals)


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
            return _users(statement)
        case "clients" | "ips" | "quotas":
            return _parts("quotas")
        case "loggers":
            return _loggers(statement)
        case "groups":
            return _parts("groups") | Needs(lags_of=frozenset({tuple(glob.pattern for glob in statement.globs)}))
        case kind if kind in _LISTED:
            return Needs(every=frozenset({_LISTED[kind]}))
        case kind:
            return _parts(kind)


_LISTED = {each.plural: ResourceType(each.number) for each in listed_alone() if each.number is not None}
"""Kinds whose names only the list of resources with configs has."""


def _loggers(statement: List) -> Needs:
    exact = [field.pattern for field in statement.fields if (field.key, field.operator) == ("broker", "=")]
    numbers = [pattern for pattern in exact if pattern and pattern.isascii() and pattern.isdigit()]
    if not numbers:
        return _parts("cluster") | Needs(every=frozenset({BROKER_LOGGER}))
    loggers = (ConfigResource(BROKER_LOGGER, number) for number in numbers)
    return _parts("cluster") | Needs(resources=frozenset(loggers))


def one_broker(brokers: Iterable[int]) -> ConfigResource | None:
    """The broker that is asked for the keys of brokers."""
    lowest = min(brokers, default=None)
    return None if lowest is None else broker_resource(lowest)


def one_topic(names: Iterable[str]) -> ConfigResource | None:
    """The topic that is asked for the keys of topics."""
    name = next(iter(names), None)
    return None if name is None else topic_resource(name)
