"""The snapshot: the state of a cluster at a time, as an immutable value. Each refresh returns a new snapshot, which
shares unchanged objects with the old one. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from console.model import cluster as model_cluster
from console.model import connect as model_connect
from console.model import quota
from console.model.acl import Acl
from console.model.codes import GROUP, TOPIC
from console.model.config import ConfigListing, ConfigResource, ConfigSet, topic_resource
from console.model.differing import differing
from console.model.failure import Failure
from console.model.observers import Rules, observed, observer_rules
from console.model.parts import Part
from console.model.rates import NOT_POLLED, Rates, with_ends, without_topics
from console.model.subjects import SchemaListing, SchemaSource, SchemaTexts, Subject, subject_resource
from console.model.tokens import DelegationToken

if TYPE_CHECKING:
    from console.model.lag_trend import LagTrend
    from console.model.mirror import Flow, MirrorListing
    from console.model.schema_samples import SchemaSample
    from console.model.topic_analysis import TopicAnalysis
    from console.model.transactions import Transactions

TopicPartition = tuple[str, int]
"""(topic, partition number)."""

EMPTY_CLUSTER = model_cluster.ClusterInfo(cluster_id=None, controller_id=-1, brokers=())


class Snapshot(Struct, frozen=True):
    """All state of a cluster that was read so far. A part that was not read yet is empty and missing from `read_at`."""

    cluster: model_cluster.ClusterInfo = EMPTY_CLUSTER
    versions: Mapping[int, model_cluster.BrokerVersion] = field(default_factory=dict)
    quorum: model_cluster.Quorum | None = None
    quorum_asked: datetime | None = None
    """The time of the first request for the quorum, UTC, while no request was answered; None once one was. Brokers
    delay the response while the quorum has no leader, so a long wait shows that it has none.
    """
    topics: Mapping[str, model_cluster.Topic] = field(default_factory=dict)
    configs: Mapping[ConfigResource, ConfigSet] = field(default_factory=dict)
    configs_from: int | None = None
    """The broker that described the topics: the values that topics inherit are those of this broker. None if it is
    unknown which broker did.
    """
    configs_at: Mapping[ConfigResource, datetime] = field(default_factory=dict)
    """Resource -> the time at which its configs were last read, UTC."""
    documentation: Mapping[tuple[int, str], str] = field(default_factory=dict)
    """(code of the resource type, key) -> Kafka's documentation, requested once for each key."""
    quotas: Mapping[quota.QuotaEntity, quota.QuotaValues] = field(default_factory=dict)
    quotas_sparse: bool = False
    """Whether there are too many quotas to read them all. Quotas of pairs of a user and a client id are then known only
    for the users that were read individually.
    """
    acls: tuple[Acl, ...] = ()
    scram: Mapping[str, tuple[model_cluster.ScramCredential, ...]] = field(default_factory=dict)
    tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    connect: Mapping[str, model_connect.ConnectCluster] = field(default_factory=dict)
    connect_seen: Mapping[str, model_connect.StatesSeen] = field(default_factory=dict)
    """Name ``CLUSTER/NAME`` of a connector -> its states, and the time at which kac first saw them."""
    connector_classes: Mapping[tuple[str, str], ConfigSet] = field(default_factory=dict)
    """(Connect cluster, class) -> the keys that the class defines, with their defaults; empty if unknown."""
    connector_offsets: Mapping[str, tuple[model_connect.ConnectorOffset, ...]] = field(default_factory=dict)
    """Name ``CLUSTER/NAME`` of a connector -> its offsets in its own form, for the requested connectors."""
    mirrors: Mapping[str, Flow] = field(default_factory=dict)
    """``SOURCE->TARGET`` -> the flow of MirrorMaker to this cluster."""
    schemas: Mapping[str, Subject] = field(default_factory=dict)
    schema_texts: Mapping[tuple[str, int], SchemaSource] = field(default_factory=dict)
    """(subject, version) -> the schema, for the requested versions."""
    schema_samples: Mapping[str, SchemaSample] = field(default_factory=dict)
    """Topic -> the references to schemas in its newest records, for the requested topics."""
    groups: Mapping[str, model_cluster.Group] = field(default_factory=dict)
    had_members: frozenset[str] = frozenset()
    """The existing groups that were listed with members at any time since the first listing."""
    lags: Mapping[str, model_cluster.GroupLag] = field(default_factory=dict)
    group_positions: Mapping[str, model_cluster.GroupPosition] = field(default_factory=dict)
    """Group -> its members and committed offsets, read at the same time, for the groups that were requested by name."""
    log_ranges: Mapping[TopicPartition, model_cluster.LogRange] = field(default_factory=dict)
    """(topic, partition) -> its first offset and its end offset, for the requested partitions."""
    tiered: Mapping[TopicPartition, model_cluster.TieredOffsets] = field(default_factory=dict)
    """(topic, partition) -> its offsets on the leader's disk and in remote storage, for the requested tiered topics."""
    offsets_at: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    """(topic, partition, time in ms since 1970) -> the offset of the first record at or after that time, for the
    requested times; -1 if there is no such record.
    """
    lag_trends: Mapping[str, LagTrend] = field(default_factory=dict)
    transactions: Mapping[TopicPartition, Transactions] = field(default_factory=dict)
    """(topic, partition) -> the result of the last poll that included the partition. One poll includes many
    partitions.
    """
    log_dirs: Mapping[int, tuple[model_cluster.LogDir, ...]] = field(default_factory=dict)
    reassignments: tuple[model_cluster.Reassignment, ...] = ()
    features: model_cluster.ClusterFeatures | None = None
    replica_logs: Mapping[TopicPartition, model_cluster.ReplicaLogs] = field(default_factory=dict)
    """(topic, partition) -> the state of its replicas, for the requested partitions."""
    rates: Rates = NOT_POLLED
    """The rates between polls of end offsets and of log directories; unknown after one poll."""
    observer_rules: Mapping[str, Rules] = field(default_factory=dict)
    """Topic -> the rules that define which of its replicas are observers (outside the ISR by design); other topics are
    missing.
    """
    read_at: Mapping[str, datetime] = field(default_factory=dict)
    """Name of a part ("topics", "quotas", …) -> the time of its last complete read, UTC."""
    analyses: Mapping[str, TopicAnalysis] = field(default_factory=dict)
    """Topic -> its analysis, for the topics that this session analyzed."""
    failures: tuple[ReadFailure, ...] = ()
    """The reads that failed, each with its part, its entity and the reason; the other entities are in the snapshot."""


class ReadFailure(Struct, frozen=True):
    """A part of the cluster's state, or an entity in it, that could not be read."""

    part: str
    """The name of a part of the snapshot; `MEMBERS_UNREAD` or `LAG_UNREAD` if a single group could not be described,
    or its lag could not be read.
    """
    entity: str
    """The name of the entity; ``""`` or the part's own name if the whole part could not be read."""
    failure: Failure

    @property
    def what(self) -> str:
        """The part, followed by the entity unless the whole part could not be read."""
        return self.part if self.entity in ("", self.part) else f"{self.part} {self.entity}"


MEMBERS_UNREAD, LAG_UNREAD = OF_GROUPS = ("members of", "lag of")
"""The parts of failures to read a single group: its members, and its lag."""


# -- refresh -----------------------------------------------------------------------------------------------------------
# `at` is the time at which the part was read, UTC.

K = TypeVar("K")
V = TypeVar("V")

MANY_QUOTAS = 20_000
"""Number of entities above which the screen does not read all quotas: a million take 94 MB, and the API returns all in
one response.
"""

UNKNOWN_BROKER = "UNKNOWN_BROKER"
"""The error name for a request to a broker that does not exist."""
GONE = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "GROUP_ID_NOT_FOUND"})
"""Names of the errors that mean that an entity does not exist. An entity with such an error is removed from the
snapshot, and no failure is recorded.
"""
_GONE: Mapping[int, str] = {TOPIC: "UNKNOWN_TOPIC_OR_PARTITION", GROUP: "GROUP_ID_NOT_FOUND"}
"""Type of resource -> the error of `GONE` that its entities have."""


def share(old: Mapping[K, V], new: Mapping[K, V]) -> Mapping[K, V]:
    """Return `new` with each value that equals the one in `old` replaced by the old object; `old` itself if nothing
    changed; `new` itself if `old` is empty, so that 20,000 quotas are not copied.
    """
    if old is new or not old:
        return new or old
    # Keep the old objects of equal values: panes that compare by identity then do not draw them again.
    changed = differing(old, new)
    equal = {key: before for key, before, after in changed if before is not None and before == after}
    return old if len(equal) == len(changed) else {**new, **equal}


def merged(known: Mapping[K, V], found: Mapping[K, V], gone: Iterable[K] = ()) -> Mapping[K, V]:
    """Return `known` updated with `found` and without the keys in `gone`; `known` itself if nothing changed. The
    comparison takes time only for the entries in `found` and `gone`.
    """
    # Let deletions win: a listing may still have a topic that another response reports as unknown.
    less = frozenset(gone)
    news = {
        key: value
        for key, value in found.items()
        if ((was := known.get(key)) is None or was != value) and key not in less
    }
    left = [key for key in less if key in known]
    if not news and not left:
        return known
    result = {**known, **news}
    for key in left:
        del result[key]
    return result


def replica_sizes(snapshot: Snapshot) -> Mapping[TopicPartition, int]:
    """Return (topic, partition) -> the bytes of its largest replica."""
    found: dict[TopicPartition, int] = {}
    for dirs in snapshot.log_dirs.values():
        for log_dir in dirs:
            for topic, partition, size in log_dir.replicas.on_disk():
                if size > found.get((topic, partition), -1):
                    found[topic, partition] = size
    return found


def held_sizes(snapshot: Snapshot, places: Collection[TopicPartition]) -> Mapping[TopicPartition, Mapping[int, int]]:
    """Return (topic, partition) -> broker -> the bytes of the replica there, for the given partitions; brokers without
    a replica are missing.
    """
    topics = {topic for topic, _ in places}
    found: dict[TopicPartition, dict[int, int]] = {}
    for broker, dirs in snapshot.log_dirs.items():
        for log_dir in dirs:
            # Check the sizes by topic first, which are few: the replicas of a directory are many.
            if topics.isdisjoint(log_dir.sizes):
                continue
            for topic, partition, size in log_dir.replicas.on_disk():
                if (topic, partition) in places:
                    found.setdefault((topic, partition), {})[broker] = size
    return found


ReplicaPlace = tuple[str, int, int]
"""(topic, partition number, broker)."""


class DirCopy(NamedTuple):
    """A running copy of a replica from one log directory of its broker to another."""

    before: str
    """The directory that the replica is copied from; ``""`` if unknown."""
    after: str
    copied: int
    """The bytes that the copy has."""
    size: int
    """The bytes of the replica that is copied."""
    behind: int
    """The number of records that the copy lacks."""


def dir_copies(log_dirs: Mapping[int, Sequence[model_cluster.LogDir]]) -> Mapping[ReplicaPlace, DirCopy]:
    """Return (topic, partition, broker) -> the running copy between two log directories of the broker."""
    found: dict[ReplicaPlace, DirCopy] = {}
    for broker, dirs in sorted(log_dirs.items()):
        # Most brokers copy nothing, and one may have 100,000 replicas: check for moving ones first.
        if not any(each.replicas.moving for each in dirs):
            continue
        there = [(each, one) for each in dirs for one in each.replicas]
        held = {(one.topic, one.partition): (each.path, one.size) for each, one in there if not one.is_future}
        for each, one in there:
            if one.is_future:
                before, size = held.get((one.topic, one.partition), ("", 0))
                copy = DirCopy(before, each.path, one.size, size, one.offset_lag)
                found[one.topic, one.partition, broker] = copy
    return found


def with_failures(snapshot: Snapshot, part: str, failures: Iterable[tuple[str, Failure]]) -> Snapshot:
    """Return the snapshot with the failures of one part replaced; the failures of other parts stay.

    Args:
        part: the name of the part: "topics", "quotas", …
        failures: pairs of an entity as text, and the reason.
    """
    others = tuple(f for f in snapshot.failures if f.part != part)
    mine = tuple(ReadFailure(part, entity, failure) for entity, failure in failures)
    if not mine and len(others) == len(snapshot.failures):
        return snapshot
    return replace(snapshot, failures=others + mine)


def _read_at(snapshot: Snapshot, part: Part, at: datetime) -> Mapping[str, datetime]:
    return {**snapshot.read_at, part: at}


def with_part(part: Part, found: Any, snapshot: Snapshot, at: datetime) -> Snapshot:
    """Return the snapshot with the result of a complete read of one part. For some parts, other parts of the snapshot
    change too. If the result is equal to the known value, the known object stays.

    Args:
        found: the value that the part's reader returned.
        at: the time of the read, UTC.
    """
    if part in _ENTERED:
        return _ENTERED[part](snapshot, found, at)
    known = getattr(snapshot, part)
    same = share(known, found) if isinstance(found, Mapping) else known if known == found else found
    read_at = _read_at(snapshot, part, at)
    return replace(with_failures(snapshot, part, ()), **{part: same}, read_at=read_at)


def with_cluster(snapshot: Snapshot, cluster: model_cluster.ClusterInfo, at: datetime) -> Snapshot:
    """Return the snapshot with newly read brokers, controllers and ids of the cluster."""
    cluster = snapshot.cluster if snapshot.cluster == cluster else cluster
    rules = snapshot.observer_rules
    topics = observed(snapshot.topics, rules, cluster.brokers) if rules else snapshot.topics  # by their racks
    failures = _without_back(snapshot, cluster)
    return replace(
        snapshot, cluster=cluster, topics=topics, failures=failures, read_at=_read_at(snapshot, Part.CLUSTER, at)
    )


def _without_back(snapshot: Snapshot, cluster: model_cluster.ClusterInfo) -> tuple[ReadFailure, ...]:
    """Return the snapshot's failures without those of brokers that were unknown and now exist, because kac repeats
    the reads that failed for these brokers.
    """
    if all(each.failure.name != UNKNOWN_BROKER for each in snapshot.failures):
        return snapshot.failures
    alive = {str(broker.id) for broker in cluster.brokers if not broker.fenced}
    return tuple(
        each
        for each in snapshot.failures
        if each.failure.name != UNKNOWN_BROKER or each.entity.rpartition(" ")[2] not in alive
    )


def asking_quorum(snapshot: Snapshot, at: datetime) -> Snapshot:
    """Return the snapshot with `quorum_asked` set to `at`, unless it is set, or the quorum was read before."""
    if Part.QUORUM in snapshot.read_at or snapshot.quorum_asked is not None:
        return snapshot
    return replace(snapshot, quorum_asked=at)


def with_quorum(snapshot: Snapshot, quorum: model_cluster.Quorum | None, at: datetime) -> Snapshot:
    """Return the snapshot with a newly read KRaft quorum. quorum: None if the cluster has no quorum."""
    return replace(snapshot, quorum=quorum, quorum_asked=None, read_at=_read_at(snapshot, Part.QUORUM, at))


def without_quorum(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with an unknown quorum, after the cluster refused to describe it."""
    read_at = {part: at for part, at in snapshot.read_at.items() if part != Part.QUORUM}
    return replace(snapshot, quorum=None, quorum_asked=None, read_at=read_at)


def with_connect(snapshot: Snapshot, listing: model_connect.ConnectListing, at: datetime) -> Snapshot:
    """Return the snapshot with the Connect clusters that answered and the configs of their connectors. For a cluster
    that did not answer, its known state is kept and a failure recorded.
    """
    failed = {name: snapshot.connect[name] for name in listing.failures if name in snapshot.connect}
    clusters = share(snapshot.connect, {**failed, **listing.clusters})
    known = (
        model_connect.connector_resource(name, each)
        for name in snapshot.connect
        for each in snapshot.connect[name].connectors
    )
    gone = [
        each for each in known if each not in listing.configs and model_connect.split_name(each.name)[0] not in failed
    ]
    configs = merged(snapshot.configs, listing.configs, gone)
    configs_at = merged(snapshot.configs_at, dict.fromkeys(listing.configs, at), gone)
    seen = share(
        snapshot.connect_seen, model_connect.states_seen(snapshot.connect_seen, clusters, snapshot.connect, at)
    )
    read_at = _read_at(snapshot, Part.CONNECT, at)
    snapshot = replace(
        snapshot, connect=clusters, connect_seen=seen, configs=configs, configs_at=configs_at, read_at=read_at
    )
    return with_failures(snapshot, Part.CONNECT, listing.failures.items())


def with_no_connect(snapshot: Snapshot, at: datetime) -> Snapshot:
    """Return the snapshot for a context that names no Connect cluster: no connector exists."""
    return with_connect(snapshot, model_connect.ConnectListing({}, {}, {}), at)


def with_connector_offsets(
    snapshot: Snapshot, asked: Iterable[str], found: Mapping[str, tuple[model_connect.ConnectorOffset, ...]]
) -> Snapshot:
    """Return the snapshot with the offsets of the requested connectors. The offsets of a requested connector that is
    not in `found` become unknown.
    """
    gone = frozenset(asked) - found.keys()
    return replace(snapshot, connector_offsets=merged(snapshot.connector_offsets, found, gone))


def with_mirrors(snapshot: Snapshot, listing: MirrorListing, at: datetime) -> Snapshot:
    """Return the snapshot with the flows of MirrorMaker to this cluster. listing: the result of reading MirrorMaker's
    topics.
    """
    from console.model.mirror import flows, mirror_connectors

    told = tuple(mirror_connectors(snapshot.connect, snapshot.configs))
    found = flows(snapshot.topics.keys(), listing, told, snapshot.mirrors, at)
    known = replace(snapshot, mirrors=share(snapshot.mirrors, found), read_at=_read_at(snapshot, Part.MIRRORS, at))
    return with_failures(known, Part.MIRRORS, listing.failures.items())


def with_no_schemas(snapshot: Snapshot, at: datetime) -> Snapshot:
    """Return the snapshot for a context without a schema registry: there are no subjects."""
    return with_schemas(snapshot, SchemaListing(), at)


def with_schemas(snapshot: Snapshot, listing: SchemaListing, at: datetime) -> Snapshot:
    """Return the snapshot with the subjects of the schema registry and their configs. For a subject that could not be
    read, its known state is kept and a failure recorded.
    """
    kept = {name: snapshot.schemas[name] for name in listing.failures if name in snapshot.schemas}
    gone = [subject_resource(name) for name in snapshot.schemas if name not in listing.subjects and name not in kept]
    configs = merged(snapshot.configs, listing.configs, gone)
    configs_at = merged(snapshot.configs_at, dict.fromkeys(listing.configs, at), gone)
    found = replace(
        snapshot,
        schemas=share(snapshot.schemas, {**kept, **listing.subjects}),
        configs=configs,
        configs_at=configs_at,
        read_at=_read_at(snapshot, Part.SCHEMAS, at),
    )
    return with_failures(found, Part.SCHEMAS, listing.failures.items())


def with_subjects(snapshot: Snapshot, names: Collection[str], listing: SchemaListing, at: datetime) -> Snapshot:
    """Return the snapshot with some subjects read again. names: the requested subjects; those that no longer exist are
    removed.
    """
    others = {name: each for name, each in snapshot.schemas.items() if name not in names}
    found = with_schemas(snapshot, listing._replace(subjects={**others, **listing.subjects}), at)
    failures = [(each.entity, each.failure) for each in snapshot.failures if each.part == Part.SCHEMAS]
    known = [(entity, failure) for entity, failure in failures if entity not in names]
    read_at = {**found.read_at, Part.SCHEMAS: snapshot.read_at.get(Part.SCHEMAS, at)}
    return with_failures(replace(found, read_at=read_at), Part.SCHEMAS, [*known, *listing.failures.items()])


MOST_SCHEMA_TEXTS, MOST_SCHEMA_CHARACTERS = 200, 16 << 20
"""Maximum number of schemas' texts in a snapshot, and their maximum length in characters."""


def with_schema_texts(snapshot: Snapshot, read: SchemaTexts) -> Snapshot:
    """Return the snapshot with more schemas as text. While there are more than `MOST_SCHEMA_TEXTS` of them, or more
    than `MOST_SCHEMA_CHARACTERS` characters, the one that was read first is removed.
    """
    texts = {**{key: each for key, each in snapshot.schema_texts.items() if key not in read.texts}, **read.texts}
    size = sum(len(each.text) for each in texts.values())
    while len(texts) > MOST_SCHEMA_TEXTS or (size > MOST_SCHEMA_CHARACTERS and len(texts) > 1):
        size -= len(texts.pop(next(iter(texts))).text)
    return replace(snapshot, schema_texts=texts)


def host_ranges(snapshot: Snapshot) -> bool:
    """Return whether the brokers accept a range of addresses as the host of an ACL; False if their versions were not
    read.
    """
    from console.model.releases import takes_host_ranges

    return takes_host_ranges(each.supported_features for each in snapshot.versions.values())


def with_topics(snapshot: Snapshot, listing: model_cluster.TopicListing, *, whole: bool, at: datetime) -> Snapshot:
    """Return the snapshot with a listing of topics. Topics that no longer exist are removed together with their
    configs.

    Args:
        whole: whether all topics were requested. If so, a topic that is not in the listing no longer exists, unless the
            listing has a failure for it, or for ``""``, which means all topics. Otherwise only topics with an error of
            `GONE` no longer exist.
        at: the time of the read, UTC.
    """
    if snapshot.observer_rules:
        found = observed(listing.topics, snapshot.observer_rules, snapshot.cluster.brokers)
        listing = replace(listing, topics=found)
    if whole:
        # A topic that can't be read, for example without the right to it, still exists: keep its known state.
        hidden = snapshot.topics.keys() & {name for name, each in listing.failures.items() if each.name not in GONE}
        kept = snapshot.topics if "" in listing.failures else {name: snapshot.topics[name] for name in hidden}
        topics = share(snapshot.topics, {**kept, **listing.topics} if kept else listing.topics)
        gone = {name for name, _, now in differing(snapshot.topics, topics) if now is None}
    else:
        gone = {name for name, failure in listing.failures.items() if failure.name in GONE}
        topics = merged(snapshot.topics, listing.topics, gone)
    # A topic that was deleted and created again between two polls has the same name and another id (KIP-516): drop the
    # counters of the former topic.
    former = {name for name, *both in differing(snapshot.topics, topics) if model_cluster.is_gone(*both)} - gone
    if former:
        snapshot = replace(snapshot, rates=without_topics(snapshot.rates, former))
    without = [*map(topic_resource, gone)]
    configs, configs_at = merged(snapshot.configs, {}, without), merged(snapshot.configs_at, {}, without)
    read_at = _read_at(snapshot, Part.TOPICS, at) if whole else snapshot.read_at
    snapshot = replace(snapshot, topics=topics, configs=configs, configs_at=configs_at, read_at=read_at)
    denied = [(name, failure) for name, failure in listing.failures.items() if failure.name not in GONE]
    return with_failures(snapshot, Part.TOPICS, denied) if whole or denied else snapshot


def with_configs(snapshot: Snapshot, listing: ConfigListing, at: datetime, *, described_by: int | None) -> Snapshot:
    """Return the snapshot with newly described resources. Kafka's documentation of keys goes into
    `Snapshot.documentation`.

    Args:
        listing: the requested resources; others keep their known state.
        at: the time of the read, UTC.
        described_by: as `ConfigListing.described_by`; it becomes `Snapshot.configs_from` if the listing has topics.
    """
    documentation: dict[tuple[int, str], str] = {}
    seen: set[int] = set()
    for resource, entries in listing.sets.items():
        if id(entries) in seen:  # equal sets are one object
            continue
        seen.add(id(entries))
        for entry in entries:
            if entry.documentation:
                documentation[int(resource.type), entry.name] = entry.documentation
    gone = {resource for resource, failure in listing.failures.items() if _is_gone(resource, failure)}
    topics = any(resource.type == TOPIC for resource in listing.sets)
    rules = _with_rules(snapshot.observer_rules, listing)
    snapshot = replace(
        snapshot,
        observer_rules=rules,
        topics=observed(snapshot.topics, rules, snapshot.cluster.brokers) if rules else snapshot.topics,
        configs=merged(snapshot.configs, listing.sets, gone),
        configs_from=described_by if topics else snapshot.configs_from,
        configs_at={**snapshot.configs_at, **dict.fromkeys(listing.sets, at)},
        documentation={**snapshot.documentation, **documentation} if documentation else snapshot.documentation,
        read_at=_read_at(snapshot, Part.CONFIGS, at),
    )
    failed = [(each.entity, each.failure) for each in snapshot.failures if each.part == Part.CONFIGS]
    asked = {config_label(resource) for resource in (*listing.sets, *listing.failures)} if failed else set()
    kept = [each for each in failed if each[0] not in asked]
    new = [(config_label(resource), f) for resource, f in listing.failures.items() if not _is_gone(resource, f)]
    return with_failures(snapshot, Part.CONFIGS, kept + new)


def _with_rules(known: Mapping[str, Rules], listing: ConfigListing) -> Mapping[str, Rules]:
    """Return the observer rules of all topics, updated by newly read configs."""
    of_set: dict[int, Rules] = {}  # few sets are different, so evaluate each once
    changed: dict[str, Rules] = {}
    for resource, entries in listing.sets.items():
        if resource.type != TOPIC:
            continue
        if id(entries) not in of_set:
            of_set[id(entries)] = observer_rules(entries)
        if of_set[id(entries)] or resource.name in known:
            changed[resource.name] = of_set[id(entries)]
    return {**known, **changed} if changed else known


def _is_gone(resource: ConfigResource, failure: Failure) -> bool:
    """Return whether a failure means that the resource itself does not exist. Each type of resource has its own error
    for that: a missing topic does not mean that a broker is missing.
    """
    return failure.name == _GONE.get(resource.type)


def config_label(resource: ConfigResource) -> str:
    """Return the name of a resource for failures to read configs."""
    return f"{resource.type.name.lower()} {resource.name or '<default>'}"


def with_quotas(snapshot: Snapshot, quotas: Mapping[quota.QuotaEntity, quota.QuotaValues], at: datetime) -> Snapshot:
    """Return the snapshot with all quotas of the cluster."""
    return replace(
        snapshot,
        quotas=share(snapshot.quotas, quotas),
        quotas_sparse=len(quotas) > MANY_QUOTAS,
        read_at=_read_at(snapshot, Part.QUOTAS, at),
    )


def with_quota_survey(
    snapshot: Snapshot, quotas: Mapping[quota.QuotaEntity, quota.QuotaValues], at: datetime
) -> Snapshot:
    """Return the snapshot with the quotas of all entities with a single component: users, client ids and addresses. The
    quotas of pairs of a user and a client id keep their known state.
    """
    pairs = {entity: values for entity, values in snapshot.quotas.items() if entity.is_combined}
    return replace(
        snapshot,
        quotas=share(snapshot.quotas, {**quotas, **pairs}),
        quotas_sparse=True,
        read_at=_read_at(snapshot, Part.QUOTAS, at),
    )


def with_quotas_of(
    snapshot: Snapshot, filters: Sequence[quota.QuotaFilter], found: Mapping[quota.QuotaEntity, quota.QuotaValues]
) -> Snapshot:
    """Return the snapshot with the quotas that match the filters, as found. Known quotas that match a filter and are
    not in `found` are removed.
    """
    gone = [entity for entity in _concerned(snapshot.quotas, filters) if entity not in found]
    quotas = merged(snapshot.quotas, found, gone)
    return snapshot if quotas is snapshot.quotas else replace(snapshot, quotas=quotas)


def _concerned(
    known: Mapping[quota.QuotaEntity, quota.QuotaValues], filters: Sequence[quota.QuotaFilter]
) -> list[quota.QuotaEntity]:
    """Return the known entities that match at least one of the filters. It compares names first, because few of 200,000
    entities have the name of a filter.
    """
    matches = [match for wanted in filters for match in wanted.components]
    names = {match.name if match.match == quota.Match.EXACT else None for match in matches}
    by_name = all(wanted.components for wanted in filters) and all(m.match != quota.Match.ANY_NAME for m in matches)
    near = [e for e in known if e and (e[1] in names or e[-1] in names)] if by_name else known
    return [entity for entity in near if any(wanted.finds(entity) for wanted in filters)]


def with_acls_of(snapshot: Snapshot, principals: Collection[str], found: Iterable[Acl]) -> Snapshot:
    """Return the snapshot with the ACLs of these principals replaced by the ACLs that were found."""
    ordered = tuple(sorted({*(acl for acl in snapshot.acls if acl.principal not in principals), *found}))
    return replace(snapshot, acls=snapshot.acls if snapshot.acls == ordered else ordered)


def with_acls(snapshot: Snapshot, acls: Iterable[Acl], at: datetime) -> Snapshot:
    """Return the snapshot with all ACLs, sorted, so that two reads of the same ACLs are equal."""
    if acls is not snapshot.acls:
        ordered = tuple(sorted(acls))
        acls = snapshot.acls if snapshot.acls == ordered else ordered
    return replace(snapshot, acls=acls, read_at=_read_at(snapshot, Part.ACLS, at))


def with_scram(snapshot: Snapshot, listing: model_cluster.ScramListing, at: datetime) -> Snapshot:
    """Return the snapshot with all SCRAM users. For users that could not be described, their known credentials are kept
    and a failure is recorded.
    """
    kept = {user: each for user in listing.failures if (each := snapshot.scram.get(user)) is not None}
    scram = share(snapshot.scram, {**kept, **listing.users})
    known = with_failures(snapshot, Part.SCRAM, listing.failures.items())
    return replace(known, scram=scram, read_at=_read_at(snapshot, Part.SCRAM, at))


_ENTERED: Mapping[Part, Callable[[Snapshot, Any, datetime], Snapshot]] = {
    Part.SCRAM: with_scram,
    Part.CONNECT: with_connect,
    Part.SCHEMAS: with_schemas,
}


def _is_described(known: model_cluster.Group | None, listed: model_cluster.Group) -> bool:
    """Return whether a listed group has the same state, type and coordinator as the known one, so that the known one
    is kept with its members. Before ListGroups version 4 a listing has no states, so states are then not
    compared.
    """
    return known is not None and (known.state, known.type, known.coordinator) == (
        listed.state or known.state,
        listed.type,
        listed.coordinator,
    )


def _who_had_members(known: frozenset[str], groups: Iterable[model_cluster.Group]) -> frozenset[str]:
    """Return `known` and the names of the groups that have members by their state; a group whose state is unknown is
    not added.
    """
    have = {each.name for each in groups if each.state and not each.is_vacant}
    return known if have <= known else known | have


def with_groups(
    snapshot: Snapshot, groups: Mapping[str, model_cluster.Group], *, whole: bool, at: datetime
) -> Snapshot:
    """Return the snapshot with newly read groups.

    Args:
        groups: the groups by name.
        whole: True for a listing of all groups: groups that it lacks no longer exist, and an unchanged group keeps its
            known members. False for descriptions of some groups.
        at: the time of the read, UTC.
    """
    if not whole:
        return replace(snapshot, groups={**snapshot.groups, **groups})
    kept = {
        name: snapshot.groups[name] if _is_described(snapshot.groups.get(name), group) else group
        for name, group in groups.items()
    }
    groups = share(snapshot.groups, kept)
    if groups is not snapshot.groups and (gone := snapshot.lags.keys() - groups.keys()):
        snapshot = without_groups(snapshot, gone)
    listed = (
        snapshot.had_members if snapshot.had_members <= groups.keys() else snapshot.had_members.intersection(groups)
    )
    had_members = _who_had_members(listed, groups.values())
    return replace(snapshot, groups=groups, had_members=had_members, read_at=_read_at(snapshot, Part.GROUPS, at))


def without_groups(snapshot: Snapshot, gone: Collection[str]) -> Snapshot:
    """Return the snapshot without these groups, their lags and their trends."""
    return replace(
        snapshot,
        groups=merged(snapshot.groups, {}, gone),
        lags=merged(snapshot.lags, {}, gone),
        lag_trends=merged(snapshot.lag_trends, {}, gone),
    )


def trends_after(
    known: Mapping[str, LagTrend],
    lags: Mapping[str, model_cluster.GroupLag],
    at: datetime,
    throttled: frozenset[str] = frozenset(),
) -> Mapping[str, LagTrend]:
    """Return the trends of the groups in `lags`, after one more poll; other groups are left out.

    Args:
        known: group -> its trend so far.
        lags: group -> its lag in this poll.
        at: the time of the poll, UTC.
        throttled: the groups whose fetches a quota may delay (`throttled_groups`).
    """
    from console.model.lag_trend import trend_after

    moment = at.timestamp()
    return {name: trend_after(known.get(name), lag, moment, throttled=name in throttled) for name, lag in lags.items()}


def trends_of_polls(snapshot: Snapshot, polls: model_cluster.GroupPolls, at: datetime) -> Mapping[str, LagTrend]:
    """Return the trends of the polled groups only. If a quota may delay a group's fetches, the group's partitions
    count as stuck only after a longer time.
    """
    trends = trends_after(snapshot.lag_trends, polls.lags, at)
    # Search the quotas only for groups whose commits do not move: a cluster may have a million quotas.
    stuck = {name: group for name, group in polls.groups.items() if name in trends and trends[name].stuck}
    throttled = throttled_groups(stuck, snapshot.quotas) if stuck else frozenset()
    delayed = {name: polls.lags[name] for name in throttled}
    return {**trends, **trends_after(snapshot.lag_trends, delayed, at, throttled)}


def throttled_groups(
    groups: Mapping[str, model_cluster.Group], quotas: Mapping[quota.QuotaEntity, quota.QuotaValues]
) -> frozenset[str]:
    """Return the groups with a member whose fetches a quota may delay. Brokers do not report the user of a member, so
    every quota of a user may apply to any member.
    """
    # A request percentage delays fetches, too, not only a byte rate (KIP-124).
    limiting = [entity for entity, values in quotas.items() if _READING & values.keys()]
    clients = {entity.name_of(quota.CLIENT_ID) if entity.has(quota.CLIENT_ID) else None for entity in limiting}
    if None in clients:
        return frozenset(groups)
    of_members = ((name, {member.client_id for member in group.members or ()}) for name, group in groups.items())
    return frozenset(name for name, own in of_members if own & clients)


_READING = {quota.CONSUMER_BYTE_RATE, quota.REQUEST_PERCENTAGE}


def with_group_polls(
    snapshot: Snapshot, polls: model_cluster.GroupPolls, trends: Mapping[str, LagTrend], at: datetime
) -> Snapshot:
    """Return the snapshot with the polled groups, their trends, and the failures of the poll."""
    failures = tuple(f for f in snapshot.failures if f.part not in OF_GROUPS or f.entity not in polls.names)
    failures += tuple(ReadFailure(MEMBERS_UNREAD, name, why) for name, why in polls.failures.items())
    failures += tuple(ReadFailure(LAG_UNREAD, name, why) for name, why in polls.lag_failures.items())
    # Use the end offsets of the lag for the rates as well: a poll of groups also polls the topics that they read.
    ends = {(each.topic, each.partition): each.end for lag in polls.lags.values() for each in lag.partitions}
    ends = {place: end for place, end in ends.items() if end >= 0}
    # Take the lag from the trend, which shares unchanged objects with earlier polls.
    lags = {name: trends[name].last.lag if name in trends else lag for name, lag in polls.lags.items()}
    return replace(
        snapshot,
        rates=with_ends(snapshot.rates, (), ends, at) if ends else snapshot.rates,
        groups={**snapshot.groups, **polls.groups},
        had_members=_who_had_members(snapshot.had_members, polls.groups.values()),
        lags={**snapshot.lags, **lags},
        lag_trends={**snapshot.lag_trends, **trends},
        failures=snapshot.failures if failures == snapshot.failures else failures,
    )


def with_group_positions(
    snapshot: Snapshot, asked: Iterable[str], found: Mapping[str, model_cluster.GroupPosition], at: datetime
) -> Snapshot:
    """Return the snapshot with the positions of the requested groups; a group that does not exist is also removed from
    `groups`.
    """
    names = frozenset(asked)
    kept = {name: known for name, known in snapshot.group_positions.items() if name not in names}
    gone = {name for name in names if name in found and found[name].group is None}
    if gone:
        snapshot = without_groups(snapshot, gone)
    snapshot = replace(snapshot, group_positions={**kept, **found})
    described = {name: each.group for name, each in found.items() if each.group is not None}
    return with_groups(snapshot, described, whole=False, at=at)


def with_log_ranges(
    snapshot: Snapshot, asked: Iterable[TopicPartition], found: Mapping[TopicPartition, model_cluster.LogRange]
) -> Snapshot:
    """Return the snapshot with the log ranges of the requested partitions. The range of a requested partition that is
    not in `found` becomes unknown.
    """
    return replace(snapshot, log_ranges=merged(snapshot.log_ranges, found, frozenset(asked) - found.keys()))


def with_tiered(
    snapshot: Snapshot, topics: Collection[str], found: Mapping[TopicPartition, model_cluster.TieredOffsets]
) -> Snapshot:
    """Return the snapshot with the tiered offsets of the requested topics. The offsets of their partitions that are not
    in `found` become unknown.
    """
    kept = {place: known for place, known in snapshot.tiered.items() if place[0] not in topics}
    tiered = share(snapshot.tiered, {**kept, **found})
    return snapshot if tiered is snapshot.tiered else replace(snapshot, tiered=tiered)


def with_offsets_at(snapshot: Snapshot, found: Mapping[tuple[str, int, int], int]) -> Snapshot:
    """Return the snapshot with some partitions' offsets at some times added to the known ones."""
    return replace(snapshot, offsets_at={**snapshot.offsets_at, **found})


def with_analysis(snapshot: Snapshot, found: TopicAnalysis) -> Snapshot:
    """Return the snapshot with an analysis of a topic; it replaces an earlier one."""
    return replace(snapshot, analyses={**snapshot.analyses, found.topic: found})


def with_log_dirs(
    snapshot: Snapshot, dirs: Mapping[int, tuple[model_cluster.LogDir, ...]], rates: Rates, at: datetime
) -> Snapshot:
    """Return the snapshot with the log directories of the brokers.

    Args:
        dirs: broker id -> its directories, of all brokers; for a broker that did not respond, the known directories.
        rates: the rates after this read.
        at: the time of the read, UTC.
    """
    log_dirs = share(snapshot.log_dirs, dirs)
    return replace(snapshot, log_dirs=log_dirs, rates=rates, read_at=_read_at(snapshot, Part.LOG_DIRS, at))


def with_end_offsets(
    snapshot: Snapshot, asked: Iterable[TopicPartition], found: Mapping[TopicPartition, int], at: datetime
) -> Snapshot:
    """Return the snapshot with its rates updated by the end offsets of the requested partitions."""
    return replace(snapshot, rates=with_ends(snapshot.rates, asked, found, at))


def settled_topics(snapshot: Snapshot) -> Iterator[tuple[str, model_cluster.Topic]]:
    """Yield the name of each topic, and the topic with the replicas that it has once the running moves are done."""
    from console.model.grouping import grouped

    moves = grouped((move.topic, move) for move in snapshot.reassignments)
    for name, topic in snapshot.topics.items():
        yield name, model_cluster.settled(topic, moves.get(name, ()))


def with_transactions(
    snapshot: Snapshot, asked: Iterable[TopicPartition], poll: Transactions | None, at: datetime
) -> Snapshot:
    """Return the snapshot with a poll of the transactions of some partitions.

    The transactions of other partitions keep their state, with the poll that found them.

    Args:
        asked: the partitions of the poll.
        poll: the result; None if the brokers refuse it, so that the transactions of these partitions become unknown.
        at: the time of the read, UTC.
    """
    places = frozenset(asked)
    kept = {place: known for place, known in snapshot.transactions.items() if place not in places}
    if poll is None:
        return replace(snapshot, transactions=kept)
    found = {**kept, **dict.fromkeys(places, poll)}
    return replace(snapshot, transactions=found, read_at=_read_at(snapshot, Part.TRANSACTIONS, at))


def with_replica_logs(
    asked: Iterable[TopicPartition],
    found: Mapping[TopicPartition, model_cluster.ReplicaLogs],
    snapshot: Snapshot,
    _at: datetime,
) -> Snapshot:
    """Return the snapshot with the state of the replicas of the requested partitions. The state of a requested
    partition that is not in `found` becomes unknown. The snapshot is the third parameter so that `partial` can fix the
    first two.
    """
    return replace(snapshot, replica_logs=merged(snapshot.replica_logs, found, frozenset(asked) - found.keys()))
