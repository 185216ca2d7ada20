"""Parts of a snapshot that statements need; verbs declare them, and `console.session.reading` reads them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from console.language.statements import Entity, Name, Subject
from console.model import codes, quota
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.feature_levels import CORDONED, MIN_ISR
from console.model.parts import Part


class Needs(Struct, frozen=True):
    """Parts of a snapshot, read for a statement."""

    parts: frozenset[str] = frozenset()
    """Whole parts, by the names of `Snapshot.read_at`."""
    topics: frozenset[str] = frozenset()
    """Topics by name, if not all are needed."""
    resources: frozenset[ConfigResource] = frozenset()
    """Resources whose configs are read."""
    every: frozenset[codes.ResourceType] = frozenset()
    """Types of resources, for the configs of all their resources."""
    groups: frozenset[str] = frozenset()
    """Groups by name, for their members and lag."""
    lags_of: frozenset[tuple[str | None, ...]] = frozenset()
    """Sets of patterns, for the lag of all groups that match."""
    replica_logs: frozenset[str] = frozenset()
    """Topics, for the logs of the replicas of partitions that have no leader, or move."""
    tiered: frozenset[str] = frozenset()
    """Topics whose part in remote storage is shown, if they are tiered."""
    log_ranges: frozenset[str] = frozenset()
    """Topics, for the first and last offsets of their logs."""
    offsets_at: frozenset[tuple[str, int]] = frozenset()
    """Topics with times (ms since 1970), for their offsets at that time."""
    group_positions: frozenset[tuple[str, int | None]] = frozenset()
    """Groups with a time or None, for the offsets of all partitions of a group at that time, with its members and
    committed offsets.
    """
    transactions: frozenset[tuple[str, int]] = frozenset()
    """Partitions, for their open transactions, and whether these hang."""
    quotas_of: frozenset[quota.QuotaFilter] = frozenset()
    """The filters of quotas, if not all are needed; if all are needed, the filters of the relevant ones."""
    acls_of: frozenset[str] = frozenset()
    """The principals of ACLs, if not all are needed."""
    connector_classes: frozenset[tuple[str, str]] = frozenset()
    """Connect clusters with classes, for the keys that these define."""
    connector_offsets: frozenset[str] = frozenset()
    """Connectors, for their offsets."""
    changes_connectors: bool = False
    """Whether the statement changes connectors: in a context without Connect clusters none exists then."""
    a_broker: bool = False
    """Whether to read the configs of any one broker, for their keys; over a connection to controllers, those of a
    controller.
    """
    a_topic: bool = False
    """Whether to read the configs of any one topic, for their keys."""
    documentation: bool = False
    """Whether to read also the documentation of the configs of `resources`."""
    lag_times: bool = False
    """Whether to estimate the lag also as a time."""
    held: bool = False
    """Whether to read the leaders and replicas on brokers; over a connection to controllers there are none."""
    connectors: bool = False
    """Whether to read the data around connectors: the lag of sinks, and dead letters."""
    mirrors: bool = False
    """Whether to read the flows of MirrorMaker, after the topics and the connectors, with the ends of the copies."""
    users_of: frozenset[str] = frozenset()
    """Topics, for the groups that read them."""
    nodes: frozenset[int] = frozenset()
    """Ids that are named as brokers, to find out whether those without a broker are controllers."""
    schema_texts: frozenset[str] = frozenset()
    """Subjects, for the texts of their versions and of the schemas that these refer to."""
    schemas_in: frozenset[str] = frozenset()
    """Topics, for the schemas that their newest records name."""
    schema_users: frozenset[str] = frozenset()
    """Subjects, for the topics whose newest records name them."""

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(getattr(self, name) | getattr(other, name) for name in Needs.__struct_fields__))


NOTHING = Needs()
EVERY_BROKER = Needs(every=frozenset({codes.BROKER}), resources=frozenset({CLUSTER_DEFAULT}))
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


def connectors_to_change() -> Needs:
    """Return the need of a change of connectors: Connect describes all of them, with their configs, at once."""
    return Needs(parts=frozenset({Part.CONNECT}), changes_connectors=True)


def subject_or(entity: Entity | None, selected: Subject | None) -> Subject | None:
    """Return the named entity, or else the selected one."""
    return entity.subject if entity else selected


def configs_of(resource: ConfigResource) -> Needs:
    """Return the need for a resource's configs, and for the part that shows whether it exists."""
    need = Needs(resources=frozenset({resource}))
    if resource.type == codes.TOPIC:
        return need | Needs(topics=frozenset({resource.name}))
    # The registry returns all subjects with their configs, and no single one.
    if resource.type == codes.SCHEMA:
        return whole_parts(Part.SCHEMAS)
    if resource.type == codes.CONNECT_LOGGER:
        return need | whole_parts(Part.CONNECT)
    # The default lists only what is set: its legal keys are those of any broker.
    if resource.type.entity.at_broker:
        return need | Needs(parts=frozenset({Part.CLUSTER}), a_broker=resource.is_cluster_default)
    return need


def to_change(subject: Subject | None, keys: Iterable[str]) -> Needs:
    """Return the parts to read to check a change of an entity's keys."""
    if subject is None:
        return NOTHING
    if isinstance(subject, ConfigResource):
        if subject.type == codes.CONNECTOR:
            return connectors_to_change()
        # The effect of these keys on brokers depends on a feature's level.
        by_level = any(key in (MIN_ISR, CORDONED) for key in keys) and subject.type == codes.BROKER
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
    """Return a broker whose configs show the keys of brokers; None if there are no brokers."""
    lowest = min(brokers, default=None)
    return None if lowest is None else broker_resource(lowest)


def one_topic(names: Iterable[str]) -> ConfigResource | None:
    """Return a topic whose configs show the keys of topics; None if there are no topics."""
    name = next(iter(names), None)
    return None if name is None else topic_resource(name)
