"""The cluster: brokers, the KRaft quorum, topics and partitions, log dirs and their replicas, groups, SCRAM users."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from operator import not_
from typing import NamedTuple, overload

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.codes import ScramMechanism
from console.model.failure import Failure

# -- replicas on disk --------------------------------------------------------------------------------------------------
# In columns: three brokers with 100,000 topics describe 900,000 replicas.


class ReplicaSize(NamedTuple):
    """One replica on disk: bytes, and records behind (offset lag)."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


class ReplicaSizes(Sequence[ReplicaSize]):
    """An immutable sequence of replica sizes, 25 bytes each: a fifth of the memory of objects."""

    __slots__ = ("_futures", "_lags", "_names", "_partitions", "_places", "_sizes")

    def __init__(self, replicas: Iterable[tuple[str, int, int, int, bool]] = ()) -> None:
        topics, partitions, sizes, lags, futures = tuple(zip(*replicas, strict=True)) or ((),) * 5
        self._names = tuple(dict.fromkeys(topics))
        places = {name: place for place, name in enumerate(self._names)}
        # An index into the names, a partition, two of Kafka's int64, a flag.
        self._places, self._partitions = array("I", map(places.__getitem__, topics)), array("i", partitions)
        self._sizes, self._lags, self._futures = array("q", sizes), array("q", lags), bytearray(futures)

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

    def on_disk(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and bytes of the replicas that are no copies from another directory."""
        topics = map(self._names.__getitem__, self._places)
        each = zip(topics, self._partitions, self._sizes, strict=True)
        return compress(each, map(not_, self._futures)) if self.moving else each

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaSizes) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self._names, bytes(self._sizes)))  # mostly distinct columns; equality compares all of them

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
        """Whether one of the replicas is a copy from another directory (a future replica)."""
        return 1 in self._futures


# -- the cluster -------------------------------------------------------------------------------------------------------


class Broker(Struct, frozen=True):
    """A broker in a response to Metadata or DescribeCluster."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class ReplicaDir(Struct, frozen=True):
    """The log directory of a broker's replica. path: the directory. future: the directory that the broker copies the
    replica into, ``""`` for none. replicas: the brokers of the partition."""

    path: str
    future: str = ""
    replicas: tuple[int, ...] = ()

    @property
    def destination(self) -> str:
        """The directory once the copy is done."""
        return self.future or self.path


class Silence(NamedTuple):
    """The known brokers that do not respond. refusing: those of them whose hosts refuse connections. closing: those of
    them that close each new connection without a response. denying: those of them that refuse the login."""

    brokers: frozenset[int] = frozenset()
    refusing: frozenset[int] = frozenset()
    closing: frozenset[int] = frozenset()
    denying: frozenset[int] = frozenset()


class ClusterInfo(Struct, frozen=True):
    """The identity of the cluster, and its nodes.

    controller_id: the id in the response, -1 if it has none. In KRaft it is any alive broker: the real leader is
    `Quorum.leader_id`.
    operations: the operations that the connected principal may do on the cluster, by Kafka's names; None if the broker
    does not list them.
    shows_fenced: whether registered brokers that are down are among the brokers (Kafka 4.0, KIP-1073).
    controllers: the registered controllers, if a controller responded (KIP-919): it lists no broker, and the real
    leader as `controller_id`.
    """

    cluster_id: str | None
    controller_id: int
    brokers: tuple[Broker, ...]
    operations: frozenset[str] | None = None
    shows_fenced: bool = False
    controllers: tuple[Broker, ...] = ()


class BrokerVersion(Struct, frozen=True):
    """The API versions of one broker, from its ApiVersions response.

    apis: API key -> (lowest, highest version). release: Kafka's release as far as they show it ("4.3", "3.9", "≥ 4.4").
    """

    release: str
    apis: Mapping[int, tuple[int, int]]
    supported_features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized_features: Mapping[str, int] = field(default_factory=dict)


class QuorumReplica(Struct, frozen=True):
    """A voter or an observer of the metadata log. lag: records behind the leader; times are Unix milliseconds or -1.
    directory_id: id of the directory with its log, as Kafka prints it; ``""`` if the quorum does not know it."""

    id: int
    log_end_offset: int
    lag: int
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1
    directory_id: str = ""


class VoterEndpoint(NamedTuple):
    """The address at which other voters reach a voter: a controller listener, which clients may be unable to reach."""

    id: int
    listener: str
    host: str
    port: int


class Quorum(Struct, frozen=True):
    """The KRaft quorum (DescribeQuorum): `leader_id` is the active controller. endpoints: of voters, from Kafka 3.9 on;
    if a controller responded, also of controllers that are observers."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: tuple[VoterEndpoint, ...] = ()


class NodeFeatures(Struct, frozen=True):
    """The features that a node supports: name -> (lowest, highest level). controller: whether it is not a broker.
    failure: why they are unknown; `supported` is empty then. address: ``""`` if unknown."""

    id: int
    address: str = ""
    controller: bool = False
    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    failure: Failure | None = None


class ClusterFeatures(Struct, frozen=True):
    """The features of a cluster (KIP-584). finalized: name -> level, without features at level 0. epoch: of the
    finalized features, -1 if no node has any."""

    finalized: Mapping[str, int]
    nodes: tuple[NodeFeatures, ...]
    epoch: int = -1


class Partition(NamedTuple):
    """A partition. leader: -1 without a leader; error: Kafka's error name or ``""``. observers: replicas that are
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
        """Whether it has fewer in-sync replicas than replicas, observers not counted."""
        return len(self.isr) + len(self.observers) < len(self.replicas)


class Topic(Struct, frozen=True):
    """A topic in a Metadata response; its partitions are sorted by number."""

    name: str
    partitions: tuple[Partition, ...]
    internal: bool = False
    topic_id: str | None = None

    @property
    def replication(self) -> int:
        """The replication factor: the number of replicas of the first partition, 0 without partitions."""
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def under_replicated(self) -> int:
        """The number of partitions with fewer in-sync replicas than replicas, observers not counted."""
        return sum(1 for p in self.partitions if len(p.isr) + len(p.observers) < len(p.replicas))

    @property
    def offline(self) -> int:
        """The number of partitions without a leader."""
        return sum(1 for p in self.partitions if p.leader < 0)


def is_gone(before: Topic | None, now: Topic | None) -> bool:
    """Return whether a topic no longer exists. Its id decides, since another topic may have its name now; brokers
    before 2.8 have no ids.

    Args:
        before: the topic; None if it did not exist.
        now: the topic that has its name now; None if no topic has it.
    """
    if before is None or now is None:
        return before is not None
    return bool(before.topic_id and now.topic_id) and before.topic_id != now.topic_id


def partition_in(topic: Topic | None, number: int) -> Partition | None:
    """Return a partition of a topic by its number; None if the topic is None or has no such partition."""
    if topic is None:
        return None
    # Numbers have no gaps, but a broker may leave out partitions: check the index before relying on it.
    if 0 <= number < len(topic.partitions) and topic.partitions[number].number == number:
        return topic.partitions[number]
    return next((each for each in topic.partitions if each.number == number), None)


class TopicListing(Struct, frozen=True):
    """The response to a Metadata request: a topic or a failure for each name."""

    topics: Mapping[str, Topic]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class LogDir(Struct, frozen=True, dict=True):
    """One log directory of one broker. total_bytes, usable_bytes: -1 if not reported (before v4). cordoned: whether it
    takes no new replicas (Kafka 4.3)."""

    path: str
    replicas: ReplicaSizes
    total_bytes: int = -1
    usable_bytes: int = -1
    failure: Failure | None = None
    cordoned: bool = False

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The bytes of the replicas, by topic."""
        return self.replicas.by_topic()

    @cached_property
    def size(self) -> int:
        """The bytes of all replicas."""
        return sum(self.sizes.values())


class LogDirListing(Struct, frozen=True):
    """The log directories of the brokers that responded, by broker id, and the failures of the others."""

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
    """A partition with a running reassignment."""

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
    """Return the replicas after a move."""
    return tuple(replica for replica in move.replicas if replica not in move.removing)


def settled(topic: Topic, moves: Iterable[Reassignment]) -> Topic:
    """Return a topic with the replicas that its partitions have once the running moves are done.

    Args:
        moves: the running moves of the topic's partitions.
    """
    then = {move.partition: destination(move) for move in moves}
    if not then:
        return topic
    partitions = tuple(each._replace(replicas=then.get(each.number, each.replicas)) for each in topic.partitions)
    return replace(topic, partitions=partitions)


class ReplicaLogs(Struct, frozen=True):
    """The state of the replicas of one partition, by broker, for the brokers that responded.

    ends: log end offset of each replica, not the high watermark. sizes: bytes.
    eligible: the eligible leader replicas (ELR: they have all committed records); last_known: the replicas that last
    led or were in the ISR. Both are None if unknown, and empty in clusters without the feature (KIP-966).
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
    """A part of the topology of a streams group; each partition that it reads is one task (KIP-1071).

    sources: the application's input topics. repartition_sources: topics between subtopologies that it reads.
    repartition_sinks: topics between subtopologies that it writes. changelogs: the changelog topics of its stores.
    """

    id: str
    sources: tuple[str, ...] = ()
    repartition_sources: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    changelogs: tuple[str, ...] = ()


class StreamsNode(NamedTuple):
    """A node of the topology of a streams group as its application built it; a plug-in of brokers keeps it (KIP-1331).

    subtopology: the id of its subtopology; ``""`` for the node of a global store. role: ``source``, ``processor`` or
    ``sink``. topics: the topics that a source reads or a sink writes; empty if the application decides at run time.
    after: the nodes that follow it.
    """

    subtopology: str
    name: str
    role: str
    topics: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class GroupMember(Struct, frozen=True):
    """A member of a group and its assignment: (topic, partition) pairs.

    epoch: the group epoch that the member has reached, -1 if the protocol has no epochs. target: the partitions of its
    target assignment, None if the protocol has no target (classic, share). tasks, target_tasks, topology_epoch,
    process (the process id): of a streams group; its partitions are those of the active tasks' source topics.
    protocol: the member's protocol if its group may have members of two kinds (``classic`` and the group's own), ""
    if brokers do not report it. topics, regex: its subscription, by names and by a regular expression; "" without one.
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
        """Whether its assignment is its target assignment."""
        return (self.target is None or self.assignment == self.target) and self.tasks == self.target_tasks


class Group(Struct, frozen=True):
    """A group. state, type: Kafka's words (``Stable``, ``consumer``). members: None until it was described.

    epoch: the group epoch. assignment_epoch: the epoch of its target assignment; lower than the group epoch while the
    coordinator still has to compute the target (KIP-848). Both are -1 if the protocol has none. assignor: of the
    target. topology_epoch, topology: of a streams group, as its members reported them; None until it was described.
    nodes: of the topology, None if they were not requested; no_nodes: why brokers return no nodes.
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
        """The members that have not reached the group epoch: others may wait for partitions that they still have."""
        return tuple(member for member in self.members or () if 0 <= member.epoch < self.epoch)

    @property
    def late_members(self) -> int:
        """The number of members whose assignment is not their target."""
        return sum(1 for member in self.members or () if not member.has_target)


class ScramListing(Struct, frozen=True):
    """The credentials of SCRAM users that have any, by user; and the failure for each user that the broker could not
    describe."""

    users: Mapping[str, tuple[ScramCredential, ...]]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class GroupListing(Struct, frozen=True):
    """Groups by name. failures: the reason by a group's name, ``broker N`` or the coordinators' topic. offsets: that
    topic at that time, None if unknown."""

    groups: Mapping[str, Group]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    offsets: Topic | None = None


class PartitionLag(NamedTuple):
    """A group's position in a partition; -1 for an unknown number (no commit, or the leader did not respond).

    committed: the next offset to read. For a share group it is the start offset, and lag leaves out the later records
    that are already acknowledged.
    """

    topic: str
    partition: int
    committed: int
    end: int
    lag: int
    member: str = ""


class GroupLag(Struct, frozen=True):
    """A group's lag by partition, and the failures of the reads."""

    partitions: tuple[PartitionLag, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def total(self) -> int:
        """Records behind, over the partitions with a known lag."""
        return sum(p.lag for p in self.partitions if p.lag > 0)

    @property
    def is_unknown(self) -> bool:
        """Whether the lag of every partition is unknown."""
        # Without partitions and failures the group has no commits: its lag is known to be 0.
        return bool(self.failures or self.partitions) and all(p.lag < 0 for p in self.partitions)

    @property
    def known_total(self) -> int | None:
        """`total`; None if the lag of every partition is unknown."""
        return None if self.is_unknown else self.total

    @property
    def is_part(self) -> bool:
        """Whether `known_total` leaves out partitions with an unknown lag, so that the real total may be higher."""
        return not self.is_unknown and (bool(self.failures) or any(p.lag < 0 for p in self.partitions))


class CommittedOffset(NamedTuple):
    """An offset that a group committed. leader_epoch: -1 if unknown. metadata: text of the client that committed it."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class GroupPosition(Struct, frozen=True):
    """A described group, None if it does not exist, and its committed offsets by (topic, partition): the start offsets
    of a share group. failures: why some offsets are missing."""

    group: Group | None
    committed: Mapping[tuple[str, int], CommittedOffset]
    failures: tuple[Failure, ...] = ()


class GroupOffset(NamedTuple):
    """The state of a group in one partition.

    committed: None without a commit. log: the start and end offset of the partition, None if unknown. type: the
    group's, ``""`` if the group does not exist; protocol: a classic group's protocol type, ``""`` if it never had
    members. members: of the whole group, as text.
    """

    committed: CommittedOffset | None
    log: LogRange | None = None
    type: str = ""
    protocol: str = ""
    members: tuple[str, ...] = ()


class GroupPolls(Struct, frozen=True):
    """The groups of one poll, by name: descriptions, lags, and the failures of both."""

    groups: Mapping[str, Group]
    lags: Mapping[str, GroupLag]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    lag_failures: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The groups of the poll."""
        return frozenset((*self.groups, *self.lags, *self.failures, *self.lag_failures))


class ScramCredential(NamedTuple):
    """A broker's description of a SCRAM credential: never the password."""

    mechanism: ScramMechanism
    iterations: int


# -- the extent of a log -----------------------------------------------------------------------------------------------


class LogRange(NamedTuple):
    """The offsets of a partition's first record and of its end, where the next record goes."""

    start: int
    end: int


class TieredOffsets(NamedTuple):
    """The offsets of a partition with remote storage (KIP-405).

    Attributes:
        local_from: offset of the first record on the leader's disk.
        tiered_to: offset of the last record in remote storage, -1 if it is empty; None before Kafka 3.9 (KIP-1005).
        pending_from: offset of the first record that is still to be copied, -1 if all are copied; None before Kafka 4.2
            (KIP-1023).
    """

    local_from: int
    tiered_to: int | None = None
    pending_from: int | None = None


class LogSpan(NamedTuple):
    """Offsets of a partition. earliest: the first record. latest: the end. since: the first record that is not older
    than a time (the end if all are older). began: the first offset that a segment with that record can begin with,
    since brokers also roll segments by time (0 if unknown)."""

    earliest: int
    latest: int
    since: int
    began: int = 0
