"""Parts of a snapshot: what a statement needs, as verbs say it; `console.session.reading` reads them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from console.language.statements import Entity, Name, Subject
from console.model import quota
from console.model.codes import BROKER, TOPIC, ResourceType
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.feature_levels import CORDONED, MIN_ISR
from console.model.parts import Part


class Needs(Struct, frozen=True):
    """Parts of a snapshot.

    parts: whole parts, by the names of `Snapshot.read_at`. topics: topics by name, if not all are needed. resources:
    their configs. every: configs of all resources of a type. a_broker, a_topic: configs of any one, for its keys;
    where controllers are asked, of a controller.
    groups: their members and lag. lags_of: the lag of all groups that a set of patterns matches; lag_times: also as a
    time. log_ranges: where
    the logs of topics begin and end; offsets_at: their offsets at times (topic, ms since 1970); group_positions: the
    same for all partitions of a group, with its members and offsets (group, and a time or None). transactions: the
    open ones in these partitions, and whether they hang. documentation: also that of the configs of `resources`.
    quotas_of, acls_of: the quotas that filters find and the ACLs of principals, if not all are needed; if all quotas
    are, those that matter.
    tiered: topics of which it is shown what is in remote storage, where they are tiered.
    replica_logs: what the replicas hold of those partitions of topics that have no leader, or move.
    held: what brokers lead and hold, which is nothing where controllers are asked.
    nodes: ids that are named as brokers: whether those that no broker has are controllers'.
    """

    parts: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    resources: frozenset[ConfigResource] = frozenset()
    every: frozenset[ResourceType] = frozenset()
    groups: frozenset[str] = frozenset()
    lags_of: frozenset[tuple[str | None, ...]] = frozenset()
    replica_logs: frozenset[str] = frozenset()
    tiered: frozenset[str] = frozenset()
    log_ranges: frozenset[str] = frozenset()
    offsets_at: frozenset[tuple[str, int]] = frozenset()
    group_positions: frozenset[tuple[str, int | None]] = frozenset()
    transactions: frozenset[tuple[str, int]] = frozenset()
    quotas_of: frozenset[quota.QuotaFilter] = frozenset()
    acls_of: frozenset[str] = frozenset()
    a_broker: bool = False
    a_topic: bool = False
    documentation: bool = False
    lag_times: bool = False
    held: bool = False
    nodes: frozenset[int] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(getattr(self, name) | getattr(other, name) for name in Needs.__struct_fields__))


NOTHING = Needs()
EVERY_BROKER = Needs(every=frozenset({BROKER}), resources=frozenset({CLUSTER_DEFAULT}))
"""The configs of all brokers, with the cluster's default."""


def whole_parts(*names: str) -> Needs:
    """Return the need for whole parts of a snapshot, by their names."""
    return Needs(parts=frozenset(names))


def the_topic(topic: Name) -> Needs:
    """Return the need for one topic."""
    return Needs(topics=frozenset({topic.text or ""}))


def the_group(group: Name, time: int | None = None) -> Needs:
    """Return the need for a group's position, and for the offsets of its partitions at a time (ms since 1970)."""
    return Needs(group_positions=frozenset({(group.text or "", time)}))


def subject_or(entity: Entity | None, selected: Subject | None) -> Subject | None:
    """Return the entity that is meant: the one that is named, or else the selected one."""
    return entity.subject if entity else selected


def configs_of(resource: ConfigResource) -> Needs:
    """Return the need for a resource's configs, and for the part that shows whether it exists."""
    need = Needs(resources=frozenset({resource}))
    if resource.type == TOPIC:
        return need | Needs(topics=frozenset({resource.name}))
    if resource.type.entity.at_broker:
        return need | Needs(parts=frozenset({Part.CLUSTER}), a_broker=resource.is_cluster_default)
    return need


def to_change(subject: Subject | None, keys: Iterable[str]) -> Needs:
    """Return what has to be read to check a change of an entity's keys."""
    if subject is None:
        return NOTHING
    if isinstance(subject, ConfigResource):
        # What brokers make of these keys depends on a feature's level.
        by_level = any(key in (MIN_ISR, CORDONED) for key in keys) and subject.type == BROKER
        return configs_of(subject) | (whole_parts(Part.FEATURES) if by_level else NOTHING)
    return whole_parts(Part.QUOTAS) | Needs(quotas_of=quotas_around(subject))


def quotas_around(entity: quota.QuotaEntity) -> frozenset[quota.QuotaFilter]:
    """Return the filters for an entity's quotas, those of a user's clients, and the levels that may apply to it."""
    parts = entity.as_dict()
    found = (
        {quota.filter_for_name(quota.USER, parts[quota.USER])}
        if quota.USER in parts
        else {quota.filter_for_entity(entity)}
    )
    user, client = parts.get(quota.USER), parts.get(quota.CLIENT_ID)
    if user is not None and client is not None:
        found |= quotas_that_count(user, client)
    if parts.get(quota.IP) is not None:
        found.add(quota.filter_for_name(quota.IP, None))
    return frozenset(found)


def quotas_that_count(user: str, client: str) -> frozenset[quota.QuotaFilter]:
    """Return the filters for the quota levels that may apply to a user and a client."""
    users = (quota.filter_for_name(quota.USER, name) for name in (user, None))
    clients = (client, None) if client else ()
    return frozenset({*users, *(quota.filter_for_name(quota.CLIENT_ID, name, strict=True) for name in clients)})


def one_broker(brokers: Iterable[int]) -> ConfigResource | None:
    """Return the broker whose configs show the keys of brokers, None where there is none."""
    lowest = min(brokers, default=None)
    return None if lowest is None else broker_resource(lowest)


def one_topic(names: Iterable[str]) -> ConfigResource | None:
    """Return the topic whose configs show the keys of topics, None where there is none."""
    name = next(iter(names), None)
    return None if name is None else topic_resource(name)
