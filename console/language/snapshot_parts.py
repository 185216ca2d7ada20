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
    """Parts that are read as a whole, by the names of `Snapshot.read_at`."""
    topics: frozenset[str] = frozenset()
    """Topics that are read by name, if not all are needed."""
    resources: frozenset[ConfigResource] = frozenset()
    """Resources whose configs are read."""
    every: frozenset[codes.ResourceType] = frozenset()
    """Types of resources; the configs of all their resources are read."""
    groups: frozenset[str] = frozenset()
    """Groups that are read by name, with their members and lag."""
    lags_of: frozenset[tuple[str | None, ...]] = frozenset()
    """Sets of patterns; the lag of all groups that match a set is read. The empty set is for all groups."""
    replica_logs: frozenset[str] = frozenset()
    """Topics; the logs of the replicas are read for partitions that have no leader, or that move."""
    tiered: frozenset[str] = frozenset()
    """Topics; if they are tiered, their part in remote storage is read."""
    log_ranges: frozenset[str] = frozenset()
    """Topics; the first and last offsets of their logs are read."""
    offsets_at: frozenset[tuple[str, int]] = frozenset()
    """Topics with times (ms since 1970); the offsets at these times are read."""
    group_positions: frozenset[tuple[str, int | None]] = frozenset()
    """Groups with a time or None; members and committed offsets are read, and the offsets of all the group's partitions
    at that time."""
    transactions: frozenset[tuple[str, int]] = frozenset()
    """Partitions; their open transactions are read, with the facts that show whether these hang."""
    quotas_of: frozenset[quota.QuotaFilter] = frozenset()
    """Filters of the quotas to read; if all quotas are needed, the filters of the relevant ones."""
    acls_of: frozenset[str] = frozenset()
    """Principals whose ACLs are read, if not all ACLs are needed."""
    connector_classes: frozenset[tuple[str, str]] = frozenset()
    """Connect clusters with classes of connectors; the keys that the classes define are read."""
    connector_offsets: frozenset[str] = frozenset()
    """Connectors; their offsets are read."""
    changes_connectors: bool = False
    """Whether the statement changes connectors: in a context without Connect clusters, none can exist."""
    a_broker: bool = False
    """Whether to read the configs of any one broker, for its keys; over a connection to controllers, those of a
    controller."""
    a_topic: bool = False
    """Whether to read the configs of any one topic, for its keys."""
    documentation: bool = False
    """Whether to read the documentation of the configs in `resources`, too."""
    lag_times: bool = False
    """Whether to read the data for an estimate of the lag as a time."""
    held: bool = False
    """Whether to read the numbers of leaders and replicas on brokers; over a connection to controllers there are
    none."""
    connectors: bool = False
    """Whether to read data about connectors: the lag of sinks, and dead letters."""
    mirrors: bool = False
    """Whether to read the flows of MirrorMaker, after topics and connectors, and the ends of the copies."""
    users_of: frozenset[str] = frozenset()
    """Topics; the groups that read them are read."""
    nodes: frozenset[int] = frozenset()
    """Ids that are used as brokers' ids; kac finds out whether those without a broker belong to controllers."""
    schema_texts: frozenset[str] = frozenset()
    """Subjects; the texts of their versions, and of the schemas that these refer to, are read."""
    schemas_in: frozenset[str] = frozenset()
    """Topics; the schemas that their newest records refer to are read."""
    schema_users: frozenset[str] = frozenset()
    """Subjects; the topics whose newest records refer to them are read."""

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
    """Return the named entity, else the selected one; None without either."""
    return entity.subject if entity else selected


def configs_of(resource: ConfigResource) -> Needs:
    """Return the need for a resource's configs, and for the part that shows whether it exists."""
    need = Needs(resources=frozenset({resource}))
    if resource.type == codes.TOPIC:
        return need | Needs(topics=frozenset({resource.name}))
    # Read all subjects with their configs: the registry can't return those of a single one in this form.
    if resource.type == codes.SCHEMA:
        return whole_parts(Part.SCHEMAS)
    if resource.type == codes.CONNECT_LOGGER:
        return need | whole_parts(Part.CONNECT)
    # The cluster default lists only keys that are set: take the keys of any broker.
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
        # The effect of these keys on brokers depends on the level of a feature.
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
