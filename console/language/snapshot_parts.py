"""The parts of a snapshot that a statement needs; the modules of verbs declare them, and `console.session.reading`
reads them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from console.language.statements import Entity, Name, Subject
from console.model import codes, quota
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.feature_levels import CORDONED, MIN_ISR
from console.model.parts import Part


class Needs(Struct, frozen=True):
    """The parts of a snapshot to read for a statement."""

    parts: frozenset[str] = frozenset()
    """Parts that are read as a whole, by the names of `Snapshot.read_at`."""
    topics: frozenset[str] = frozenset()
    """Names of topics to read, if not all topics are needed."""
    resources: frozenset[ConfigResource] = frozenset()
    """Resources whose configs are read."""
    every: frozenset[codes.ResourceType] = frozenset()
    """Types of resources; the configs of all resources of these types are read."""
    groups: frozenset[str] = frozenset()
    """Names of groups to read, with their members and lag."""
    lags_of: frozenset[tuple[str | None, ...]] = frozenset()
    """Sets of patterns; for each set, the lag of all groups that match one of its patterns is read. An empty set
    among them stands for all groups.
    """
    replica_logs: frozenset[str] = frozenset()
    """Topics; for their partitions that have no leader or that move, the state of the replicas' logs is read."""
    tiered: frozenset[str] = frozenset()
    """Topics; the size of their part in remote storage is read, if they have one."""
    log_ranges: frozenset[str] = frozenset()
    """Topics; the first and last offsets of their logs are read."""
    offsets_at: frozenset[tuple[str, int]] = frozenset()
    """Pairs of a topic and a time (ms since 1970); the offsets at this time are read."""
    group_positions: frozenset[tuple[str, int | None]] = frozenset()
    """Pairs of a group and a time (ms since 1970) or None; the group's members and committed offsets are read, and with
    a time also the offsets of its partitions at this time.
    """
    transactions: frozenset[tuple[str, int]] = frozenset()
    """Partitions; their open transactions are read, and the facts that show whether a transaction hangs."""
    quotas_of: frozenset[quota.QuotaFilter] = frozenset()
    """Filters of the quotas to read. If `parts` has all quotas, the filters are used only if the cluster has too
    many quotas to read all of them.
    """
    acls_of: frozenset[str] = frozenset()
    """Principals whose ACLs are read, if not all ACLs are needed."""
    connector_classes: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a Connect cluster and the class of a connector; the keys that the class defines are read."""
    connector_offsets: frozenset[str] = frozenset()
    """Names of connectors whose offsets are read."""
    changes_connectors: bool = False
    """Whether the statement changes connectors, which is refused in a context without Connect clusters."""
    a_broker: bool = False
    """Whether to read the configs of any one broker, which show the keys that brokers have; on a connection to
    controllers, those of a controller.
    """
    a_topic: bool = False
    """Whether to read the configs of any one topic, which show the keys that topics have."""
    documentation: bool = False
    """Whether to read the documentation of the configs in `resources`, too."""
    lag_times: bool = False
    """Whether to read what the estimate of a lag as a time needs."""
    held: bool = False
    """Whether to read the numbers of leaders and replicas on each broker; not read on a connection to controllers,
    which have none.
    """
    connectors: bool = False
    """Whether to read further data about connectors: the lag of sinks, and dead letters."""
    mirrors: bool = False
    """Whether to read the flows of MirrorMaker, and the end offsets of the copied partitions. Topics and connectors
    are read first, since the flows follow from them.
    """
    users_of: frozenset[str] = frozenset()
    """Topics; the groups that read from them are read."""
    nodes: frozenset[int] = frozenset()
    """Ids that the statement uses as ids of brokers; for those that no broker has, kac finds out whether a controller
    has them.
    """
    schema_texts: frozenset[str] = frozenset()
    """Subjects of the registry; the texts of their versions, and of the schemas to which these refer, are read."""
    schemas_in: frozenset[str] = frozenset()
    """Topics; the schemas to which their newest records refer are read."""
    schema_users: frozenset[str] = frozenset()
    """Subjects of the registry; the topics whose newest records refer to them are read."""

    def __or__(self, other: Needs) -> Needs:
        return Needs(*(getattr(self, name) | getattr(other, name) for name in Needs.__struct_fields__))


NOTHING = Needs()
EVERY_BROKER = Needs(every=frozenset({codes.BROKER}), resources=frozenset({CLUSTER_DEFAULT}))
"""The need for the configs of all brokers, and of the cluster-wide default."""


def whole_parts(*names: str) -> Needs:
    """Return the need for whole parts of a snapshot, by their names."""
    return Needs(parts=frozenset(names))


def the_topic(topic: Name) -> Needs:
    """Return the need for one topic, read by its name."""
    return Needs(topics=frozenset({topic.text or ""}))


def the_group(group: Name, time: int | None = None) -> Needs:
    """Return the need for a group's position and, unless `time` is None, for the offsets of its partitions at that
    time (ms since 1970).
    """
    return Needs(group_positions=frozenset({(group.text or "", time)}))


def connectors_to_change() -> Needs:
    """Return the need of a statement that changes connectors: all connectors with their configs, which Connect
    returns at once.
    """
    return Needs(parts=frozenset({Part.CONNECT}), changes_connectors=True)


def subject_or(entity: Entity | None, selected: Subject | None) -> Subject | None:
    """Return the entity that a statement names, else the selected one; None if there is neither."""
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
    """Return the parts to read before keys of an entity are changed, to check the change. subject: the entity; None if
    it is unknown.
    """
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
    """Return the filters for the quotas of an entity. If the entity has a user, they match all quotas of this user,
    with any client id. For a user with a client id, and for an IP address, they also match the default entities
    whose quotas may apply.
    """
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
    """Return the filters for all quotas that may apply to a user with a client id."""
    users = (quota.filter_for_name(quota.USER, name) for name in (user, None))
    clients = (client, None) if client else ()
    return frozenset({*users, *(quota.filter_for_name(quota.CLIENT_ID, name, strict=True) for name in clients)})


def one_broker(brokers: Iterable[int]) -> ConfigResource | None:
    """Return the config resource of one of these brokers; its configs show the keys that brokers have. None if there
    are no brokers.
    """
    lowest = min(brokers, default=None)
    return None if lowest is None else broker_resource(lowest)


def one_topic(names: Iterable[str]) -> ConfigResource | None:
    """Return the config resource of one of these topics; its configs show the keys that topics have. None if there are
    no topics.
    """
    name = next(iter(names), None)
    return None if name is None else topic_resource(name)
