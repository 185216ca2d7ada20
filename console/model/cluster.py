"""The cluster: brokers, the KRaft quorum, topics and partitions, log dirs and what they hold, groups, SCRAM users."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, overload

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.codes import ScramMechanism
from console.model.failure import Failure

# -- what replicas hold ------------------------------------------------------------------------------------------------
# In columns: three brokers with 100,000 topics describe 900,000 replicas.


class ReplicaSize(NamedTuple):
    """What one replica holds on disk: bytes, and records behind (offset lag)."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


class ReplicaSizes(Sequence[ReplicaSize]):
    """An immutable sequence of them in 25 bytes each, a fifth of what they take as objects."""

    __slots__ = ("_futures", "_lags", "_names", "_partitions", "_places", "_sizes")

    def __init__(self, replicas: Iterable[tuple[str, int, int, int, bool]] = ()) -> None:
        places: dict[str, int] = {}
        # A place among the names, a partition, two of Kafka's int64, a flag.
        self._places, self._partitions = array("I"), array("i")
        self._sizes, self._lags, self._futures = array("q"), array("q"), bytearray()
        for topic, partition, size, lag, is_future in replicas:
            self._places.append(places.setdefault(topic, len(places)))
            self._partitions.append(partition)
            self._sizes.append(size)
            self._lags.append(lag)
            self._futures.append(is_future)
        self._names = tuple(places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> ReplicaSize: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ReplicaSize]: ...

    def __getitem__(self, index: int | slice) -> ReplicaSize | Sequence[ReplicaSize]:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        return ReplicaSize(
            self._names[self._places[index]],
            self._partitions[index],
            self._sizes[index],
            self._lags[index],
            bool(self._futures[index]),
        )

    def __iter__(self) -> Iterator[ReplicaSize]:
        topics = map(self._names.__getitem__, self._places)
        return map(ReplicaSize, topics, self._partitions, self._sizes, self._lags, map(bool, self._futures))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaSizes) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self._names, bytes(self._sizes)))  # what mostly differs; equality compares all columns

    def __repr__(self) -> str:
        return f"ReplicaSizes({list(self)!r})"

    def of(self, topics: Container[str]) -> Iterator[ReplicaSize]:
        """Yield the replicas of these topics."""
        wanted = {place for place, name in enumerate(self._names) if name in topics}
        return (self[index] for index, place in enumerate(self._places) if place in wanted)

    def by_topic(self) -> Mapping[str, int]:
        """Return the bytes of all replicas of each topic."""
        totals = [0] * len(self._names)
        for place, size in zip(self._places, self._sizes, strict=True):
            totals[place] += size
        return dict(zip(self._names, totals, strict=True))

    @property
    def moving(self) -> bool:
        """Whether one of them is being copied from another directory (a future replica)."""
        return 1 in self._futures


# -- the cluster -------------------------------------------------------------------------------------------------------


class Broker(Struct, frozen=True):
    """A broker as Metadata or DescribeCluster names it."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class ReplicaDir(Struct, frozen=True):
    """Where a broker has its replica of a partition. path: of the log directory. future: of the one that it is copied
    into, ``""`` for none. replicas: the brokers of the partition."""

    path: str
    future: str = ""
    replicas: tuple[int, ...] = ()

    @property
    def destination(self) -> str:
        """Where it is once nothing is copied any more."""
        return self.future or self.path


class Silence(NamedTuple):
    """The known brokers that do not answer. refusing: those of them whose hosts refuse connections."""

    brokers: frozenset[int] = frozenset()
    refusing: frozenset[int] = frozenset()


class ClusterInfo(Struct, frozen=True):
    """Who the cluster is.

    controller_id: what the cluster says of itself, -1 if nothing. In KRaft it is any alive broker: the real leader is
    `Quorum.leader_id`.
    operations: what the connected principal may do on the cluster, by Kafka's names; None where the broker is silent.
    shows_fenced: whether registered brokers that are down are among the brokers (Kafka 4.0, KIP-1073).
    controllers: those that are registered, where a controller answered (KIP-919): it names no broker, and the real
    leader as `controller_id`.
    """

    cluster_id: str | None
    controller_id: int
    brokers: tuple[Broker, ...]
    operations: frozenset[str] | None = None
    shows_fenced: bool = False
    controllers: tuple[Broker, ...] = ()


class BrokerVersion(Struct, frozen=True):
    """What one broker speaks, from its ApiVersions answer.

    apis: API key -> (lowest, highest version). release: Kafka's release as far as that shows ("4.3", "3.9", "≥ 4.4").
    """

    release: str
    apis: Mapping[int, tuple[int, int]]
    supported_features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized_features: Mapping[str, int] = field(default_factory=dict)


class QuorumReplica(Struct, frozen=True):
    """A voter or an observer of the metadata log. lag: records behind the leader; times are Unix milliseconds or -1.
    directory_id: of the directory with its log, as Kafka prints it; ``""`` where the quorum does not know it."""

    id: int
    log_end_offset: int
    lag: int
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    directory_id: str = ""


class VoterEndpoint(NamedTuple):
    """Where other voters reach a voter: a listener for controllers, which clients may be unable to reach."""

    id: int
    listener: str
    host: str
    port: int


class Quorum(Struct, frozen=True):
    """The KRaft quorum (DescribeQuorum): `leader_id` is the active controller. endpoints: from Kafka 3.9 on, of voters;
    where a controller answered, of controllers that are observers, too."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: tuple[VoterEndpoint, ...] = ()


class NodeFeatures(Struct, frozen=True):
    """The features that a node supports: name -> (lowest, highest level). controller: it is no broker. failure: why
    they are unknown; `supported` is empty then. address: ``""`` where it is unknown."""

    id: int
    address: str = ""
    controller: bool = False
    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    failure: Failure | None = None


class ClusterFeatures(Struct, frozen=True):
    """The features of a cluster (KIP-584). finalized: name -> level, without those that are off. epoch: of the
    finalized ones, -1 where no node knows any."""

    finalized: Mapping[str, int]
    nodes: tuple[NodeFeatures, ...]
    epoch: int = -1


class Partition(NamedTuple):
    """A partition. leader is -1 for no leader; `error` is Kafka's error name or ``""``. observers: replicas that are
    outside of the ISR by design (`model.observers`)."""

    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    leader_epoch: int = -1
    error: str = ""
    observers: tuple[int, ...] = ()

    @property
    def under_replicated(self) -> bool:
        """Fewer in-sync replicas than replicas, observers aside."""
        return len(self.isr) + len(self.observers) < len(self.replicas)


class Topic(Struct, frozen=True):
    """A topic of Metadata, partitions sorted by number."""

    name: str
    partitions: tuple[Partition, ...]
    internal: bool = False
    topic_id: str | None = None

    @property
    def replication(self) -> int:
        """The replication factor: that of the first partition, 0 without partitions."""
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def under_replicated(self) -> int:
        """How many partitions have fewer in-sync replicas than replicas."""
        return sum(1 for p in self.partitions if len(p.isr) + len(p.observers) < len(p.replicas))

    @property
    def offline(self) -> int:
        """How many partitions have no leader."""
        return sum(1 for p in self.partitions if p.leader < 0)


def is_gone(before: Topic | None, now: Topic | None) -> bool:
    """Return whether a topic is not there any more: by its id, since another one may have its name now. Brokers before
    2.8 have no ids.

    Args:
        before: the topic; None: it was not there.
        now: the topic that has its name now, None if no topic has it.
    """
    if before is None or now is None:
        return before is not None
    return bool(before.topic_id and now.topic_id) and before.topic_id != now.topic_id


def partition_in(topic: Topic | None, number: int) -> Partition | None:
    """Return a partition of a topic by its number; None where the topic is None or has no such partition."""
    if topic is None:
        return None
    # Numbers have no gaps, but a broker may leave out partitions: the place is a guess that is checked.
    if 0 <= number < len(topic.partitions) and topic.partitions[number].number == number:
        return topic.partitions[number]
    return next((each for each in topic.partitions if each.number == number), None)


class TopicListing(Struct, frozen=True):
    """The answer to a Metadata request: a topic or a failure for each name."""

    topics: Mapping[str, Topic]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class LogDir(Struct, frozen=True, dict=True):
    """One log directory of one broker. total and usable bytes are -1 if not reported (before v4). cordoned: it takes no
    new replicas (Kafka 4.3)."""

    path: str
    replicas: ReplicaSizes
    total_bytes: int = -1
    usable_bytes: int = -1
    failure: Failure | None = None
    cordoned: bool = False

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Return the bytes that the replicas hold, by topic."""
        return self.replicas.by_topic()

    @cached_property
    def size(self) -> int:
        """Return the bytes that all replicas hold."""
        return sum(self.sizes.values())


class LogDirListing(Struct, frozen=True):
    """The log directories of the brokers that answered, by broker id, and why the others did not."""

    dirs: Mapping[int, tuple[LogDir, ...]]
    failures: Mapping[int, Failure] = field(default_factory=dict)

    def replica_sizes(self) -> dict[tuple[str, int], list[int]]:
        """Return the bytes of each partition's replicas; one that is being moved to another directory counts once."""
        sizes: dict[tuple[str, int], list[int]] = {}
        for replica in (replica for dirs in self.dirs.values() for each in dirs for replica in each.replicas):
            if not replica.is_future:
                sizes.setdefault((replica.topic, replica.partition), []).append(replica.size)
        return sizes


class Reassignment(Struct, frozen=True):
    """A partition that is being moved."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def original(move: Reassignment) -> tuple[int, ...]:
    """Return the replicas before a move, without the added ones (PartitionReassignmentRevert), in the brokers' order:
    those that the move keeps come first.
    """
    return tuple(replica for replica in move.replicas if replica not in move.adding)


def destination(move: Reassignment) -> tuple[int, ...]:
    """Return the replicas once a move is done."""
    return tuple(replica for replica in move.replicas if replica not in move.removing)


def settled(topic: Topic, moves: Iterable[Reassignment]) -> Topic:
    """Return a topic as its running moves leave it: replicas that a move adds until others are removed are the move's.

    Args:
        moves: of the topic's partitions.
    """
    then = {move.partition: destination(move) for move in moves}
    if not then:
        return topic
    partitions = tuple(each._replace(replicas=then.get(each.number, each.replicas)) for each in topic.partitions)
    return replace(topic, partitions=partitions)


class ReplicaLogs(Struct, frozen=True):
    """What the replicas of one partition hold, by broker, of those that answered.

    ends: the offset after a replica's last record, its own, not the high watermark. sizes: bytes.
    eligible: the eligible leader replicas (ELR: they have all that was committed); last_known: who led, or was in the
    ISR, last. Both are None if unknown, and empty in clusters without the feature (KIP-966).
    """

    ends: Mapping[int, int] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)
    eligible: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None


Places = tuple[tuple[str, int], ...]
"""(topic, partition) pairs, or (subtopology, partition) pairs of tasks; sorted."""


class StreamsTasks(NamedTuple):
    """The tasks of a member of a streams group: (subtopology id, partition) pairs by role (KIP-1071)."""

    active: Places = ()
    standby: Places = ()
    warmup: Places = ()


class Subtopology(NamedTuple):
    """A part of the topology of a streams group, which is one task for each partition that it reads (KIP-1071).

    sources, repartition_sources: topics that it reads, the application's input and those between subtopologies.
    repartition_sinks: topics between subtopologies that it writes. changelogs: of its stores.
    """

    id: str
    sources: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()


class StreamsNode(NamedTuple):
    """A node of the topology of a streams group as its application built it, which a plug-in of brokers keeps
    (KIP-1331).

    subtopology: the id of its part; ``""`` for a global store's. role: ``source``, ``processor`` or ``sink``. topics:
    what a source reads, or a sink writes; none where that is decided at run time. after: the nodes that follow it.
    """

    subtopology: str
    name: str
    role: str
    topics: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class GroupMember(Struct, frozen=True):
    """A member of a group and what it is assigned: (topic, partition) pairs.

    epoch: the group's epoch that the member has reached, -1 where the protocol has none. target: the partitions that
    the coordinator wants it to have, None where the protocol has no target (classic, share). tasks, target_tasks,
    topology_epoch and process, which is the id of its process: of a streams group; its partitions are those of the
    active tasks' source topics. protocol: by which it takes part where its group may have members of two kinds
    (``classic`` and the group's own), "" where brokers do not say it. topics, regex: what it subscribed to, by names
    and by a regular expression; "" without one.
    """

    member_id: str
    client_id: str
    host: str
    assignment: Places = ()
    instance_id: str | None = None
    epoch: int = -1
    target: Places | None = None
    tasks: StreamsTasks | None = None
    target_tasks: StreamsTasks | None = None
    topology_epoch: int = -1
    process: str = ""
    protocol: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""

    @property
    def has_target(self) -> bool:
        """Whether it has all that the coordinator wants it to have, and nothing else."""
        return (self.target is None or self.assignment == self.target) and self.tasks == self.target_tasks


class Group(Struct, frozen=True):
    """A group. state and type are Kafka's words (``Stable``, ``consumer``). members is None until it was described.

    epoch, assignment_epoch: the group's, and that of its target assignment; below the group's while the coordinator
    still has to compute the target (KIP-848). -1 where the protocol has none. assignor: of the target. topology_epoch,
    topology: of a streams group, as its members told them; None until it was described. nodes: of the topology, None
    where they were not asked for; no_nodes: why brokers have none.
    """

    name: str
    state: str
    type: str
    protocol: str = ""
    coordinator: int = -1
    members: tuple[GroupMember, ...] | None = None
    epoch: int = -1
    assignment_epoch: int = -1
    assignor: str = ""
    topology_epoch: int = -1
    topology: tuple[Subtopology, ...] | None = None
    nodes: tuple[StreamsNode, ...] | None = None
    no_nodes: str = ""

    @property
    def is_vacant(self) -> bool:
        """Whether it has no members."""
        return self.state in ("Empty", "Dead")

    @property
    def behind(self) -> tuple[GroupMember, ...]:
        """Return the members that have not reached the group's epoch: the others may wait for what these still have."""
        return tuple(member for member in self.members or () if 0 <= member.epoch < self.epoch)

    @property
    def late_members(self) -> int:
        """How many members have not taken their target."""
        return sum(1 for member in self.members or () if not member.has_target)


class DelegationToken(Struct, frozen=True):
    """A delegation token as brokers describe it, without its HMAC (KIP-48).

    Attributes:
        owner: the principal that clients with the token are, as ``User:alice``.
        requester: the principal that asked for it.
        issued, expires, max_time: Unix milliseconds; it can be renewed up to the last.
        renewers: principals that may renew and expire it beside its owner.
    """

    id: str
    owner: str
    requester: str
    issued: int
    expires: int
    max_time: int
    renewers: tuple[str, ...] = ()


class ScramListing(Struct, frozen=True):
    """The credentials of SCRAM users by name, of those that have any; and users that a broker could not describe, each
    with why."""

    users: Mapping[str, tuple[ScramCredential, ...]]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class GroupListing(Struct, frozen=True):
    """Groups by name, and what could not be read: a group's name, ``broker N`` or the coordinators' topic -> why.
    offsets: that topic as it was then, None where it is unknown."""

    groups: Mapping[str, Group]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    offsets: Topic | None = None


class PartitionLag(NamedTuple):
    """A group's position in a partition; -1 for what is not known (no commit, or the leader did not answer).

    committed: the offset that is read next. Of a share group it is the start offset, and lag leaves out the records
    after it that are already acknowledged.
    """

    topic: str
    partition: int
    committed: int
    end: int
    lag: int
    member: str = ""


class GroupLag(Struct, frozen=True):
    """A group's lag by partition, and what could not be read."""

    partitions: tuple[PartitionLag, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def total(self) -> int:
        """Records behind, over the partitions where it is known."""
        return sum(p.lag for p in self.partitions if p.lag > 0)

    @property
    def known_total(self) -> int | None:
        """`total`, None if it is not known of any partition."""
        # No partition and no failure: a group without commits, whose lag is known to be 0.
        unknown = bool(self.failures or self.partitions) and all(p.lag < 0 for p in self.partitions)
        return None if unknown else self.total

    @property
    def is_part(self) -> bool:
        """Whether `known_total` is known, and not of all partitions: the whole may be more."""
        return self.known_total is not None and (bool(self.failures) or any(p.lag < 0 for p in self.partitions))


class CommittedOffset(NamedTuple):
    """An offset that a group committed. leader_epoch: -1 if unknown; metadata: the committing client's text."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupPosition(Struct, frozen=True):
    """A group as it was described, None if it does not exist, and its offset by (topic, partition): of a share group,
    the start offsets. failures: why some offsets are missing."""

    group: Group | None
    committed: Mapping[tuple[str, int], CommittedOffset]
    failures: tuple[Failure, ...] = ()


class GroupOffset(NamedTuple):
    """What a group has for one partition.

    committed: None if it committed nothing. log: where the partition begins and ends, None if unknown. type: the
    group's, ``""`` if there is no such group; protocol: a classic group's protocol type, ``""`` if it never had
    members. members: of the whole group, as text.
    """

    committed: CommittedOffset | None
    log: LogRange | None = None
    type: str = ""
    protocol: str = ""
    members: tuple[str, ...] = ()


class GroupPolls(Struct, frozen=True):
    """Groups as one poll found them, by name: descriptions, lags, and why a group has none."""

    groups: Mapping[str, Group]
    lags: Mapping[str, GroupLag]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    lag_failures: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The groups that were asked for."""
        return frozenset((*self.groups, *self.lags, *self.failures, *self.lag_failures))


class ScramCredential(NamedTuple):
    """What a broker returns of a SCRAM user: never the password."""

    mechanism: ScramMechanism
    iterations: int


# -- the extent of a log -----------------------------------------------------------------------------------------------


class LogRange(NamedTuple):
    """Offsets of a partition: of its first record, and its end, where the next record goes."""

    start: int
    end: int


class TieredOffsets(NamedTuple):
    """Offsets of a partition of which segments are copied to remote storage (KIP-405).

    Attributes:
        local_from: of the first record on the leader's disk.
        tiered_to: of the last record in remote storage, -1 while nothing is there; None before Kafka 3.9 (KIP-1005).
        pending_from: of the first record that is still to be copied, -1 where there is none; None before Kafka 4.2
            (KIP-1023).
    """

    local_from: int
    tiered_to: int | None = None
    pending_from: int | None = None


class LogSpan(NamedTuple):
    """Offsets of a partition: its first record, the end, the first record that is not older than some moment (the end
    where all are older), and the first that a segment with that record can begin with, since time ends segments (0
    where that is not known)."""

    earliest: int
    latest: int
    since: int
    began: int = 0
