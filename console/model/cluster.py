"""The cluster: brokers, the KRaft quorum, topics and partitions, log dirs and their replicas, groups, SCRAM users."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from operator import not_
from types import MappingProxyType
from typing import NamedTuple, overload

from msgspec import Struct, field
from msgspec.structs import replace

from console.model.codes import ScramMechanism
from console.model.failure import Failure

# -- replicas on disk --------------------------------------------------------------------------------------------------
# In columns, as three brokers with 100,000 topics describe 900,000 replicas.


class ReplicaSize(NamedTuple):
    """A replica on disk: its size in bytes, its offset lag in records, and whether it is a future replica. The
    broker writes a future replica to move a replica into another of its directories.
    """

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


class ReplicaSizes(Sequence[ReplicaSize]):
    """An immutable sequence of `ReplicaSize`, which takes 25 bytes for each, a fifth of the memory that the objects
    would take.
    """

    __slots__ = ("_futures", "_lags", "_names", "_partitions", "_places", "_sizes")

    def __init__(self, replicas: Iterable[tuple[str, int, int, int, bool]] = ()) -> None:
        topics, partitions, sizes, lags, futures = tuple(zip(*replicas, strict=True)) or ((),) * 5
        self._names = tuple(dict.fromkeys(topics))
        places = {name: place for place, name in enumerate(self._names)}
        # An index into the names and the number of a partition; size and lag, int64 in Kafka; and a flag.
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
        """Yield topic, partition and bytes of each replica, without future replicas (copies for another directory)."""
        topics = map(self._names.__getitem__, self._places)
        each = zip(topics, self._partitions, self._sizes, strict=True)
        return compress(each, map(not_, self._futures)) if self.moving else each

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaSizes) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self._names, bytes(self._sizes)))  # names and sizes usually differ; equality compares all columns

    def __repr__(self) -> str:
        return f"ReplicaSizes({list(self)!r})"

    def of(self, topics: Container[str]) -> Iterator[ReplicaSize]:
        """Yield the replicas of these topics, future replicas included."""
        wanted = {place for place, name in enumerate(self._names) if name in topics}
        return (self[index] for index, place in enumerate(self._places) if place in wanted)

    def by_topic(self) -> Mapping[str, int]:
        """Return topic -> the bytes of all its replicas, future replicas included."""
        totals = [0] * len(self._names)
        for place, size in zip(self._places, self._sizes, strict=True):
            totals[place] += size
        return dict(zip(self._names, totals, strict=True))

    @property
    def moving(self) -> bool:
        """Whether the sequence contains a future replica."""
        return 1 in self._futures


# -- the cluster -------------------------------------------------------------------------------------------------------


def address_text(host: str, port: int) -> str:
    """Return ``host:port``, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Broker(Struct, frozen=True):
    """A broker in a response to Metadata or DescribeCluster."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


class ReplicaDir(Struct, frozen=True):
    """The log directory of a broker's replica."""

    path: str
    future: str = ""
    """The directory into which the broker copies the replica; ``""`` if it does not copy it."""
    replicas: tuple[int, ...] = ()
    """The ids of the brokers that have replicas of the partition."""

    @property
    def destination(self) -> str:
        """The directory that has the replica after a running copy; the present directory if there is no copy."""
        return self.future or self.path


class Silence(NamedTuple):
    """The result of a request to the known brokers, all at once: the brokers that did not respond, the reasons as
    far as kac found them, and how long the responses of the others took.
    """

    brokers: frozenset[int] = frozenset()
    refusing: frozenset[int] = frozenset()
    """Those of the silent brokers whose hosts refuse connections."""
    closing: frozenset[int] = frozenset()
    """Those of the silent brokers that close each new connection without a response."""
    denying: frozenset[int] = frozenset()
    """Those of the silent brokers that refuse the login."""
    took: Mapping[int, float] = MappingProxyType({})
    """Broker that responded -> the seconds from the request, on a new connection, to its response."""


class ClusterInfo(Struct, frozen=True):
    """The identity of the cluster, and its nodes."""

    cluster_id: str | None
    controller_id: int
    """The controller's id in the response; -1 if the response has none. In KRaft mode brokers return any live broker;
    the active controller is `Quorum.leader_id`.
    """
    brokers: tuple[Broker, ...]
    operations: frozenset[str] | None = None
    """The operations on the cluster that the connected principal may do, by Kafka's names; None if the broker does not
    list them."""
    shows_fenced: bool = False
    """Whether `brokers` includes registered brokers that are down (since Kafka 4.0, KIP-1073)."""
    controllers: tuple[Broker, ...] = ()
    """The registered controllers if a controller responded (KIP-919), empty if a broker did. A controller lists no
    brokers, and its `controller_id` is the active controller.
    """


class BrokerVersion(Struct, frozen=True):
    """The API versions of one broker, from its ApiVersions response."""

    release: str
    """Kafka's release, as far as the API versions determine it ("4.3", "3.9", "≥ 4.4")."""
    apis: Mapping[int, tuple[int, int]]
    """API key -> (lowest, highest version)."""
    supported_features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized_features: Mapping[str, int] = field(default_factory=dict)
    epoch: int = -1
    """The epoch of the finalized features; -1 if the broker has none."""


class QuorumReplica(Struct, frozen=True):
    """A voter or an observer of the metadata log."""

    id: int
    log_end_offset: int
    lag: int
    """The number of records of the metadata log that the leader has and this replica lacks."""
    last_fetch_ms: int = -1
    """The time of the replica's last fetch, Unix milliseconds; -1 if unknown."""
    last_caught_up_ms: int = -1
    """The time at which the replica last had all records, Unix milliseconds; -1 if unknown."""
    directory_id: str = ""
    """The id of the log directory of the replica, as Kafka prints it; ``""`` if unknown to the quorum."""


class VoterEndpoint(NamedTuple):
    """The address at which the other voters reach a voter: a listener of a controller. Clients may be unable to reach
    it.
    """

    id: int
    listener: str
    host: str
    port: int


class Quorum(Struct, frozen=True):
    """The KRaft quorum (DescribeQuorum): `leader_id` is the active controller."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: tuple[VoterEndpoint, ...] = ()
    """The endpoints of the voters; empty before Kafka 3.9. If a controller responded, also the endpoints of
    controllers that are observers.
    """


class NodeFeatures(Struct, frozen=True):
    """The features that a node supports: name -> (lowest, highest level), or the reason why they are unknown."""

    id: int
    address: str = ""
    """Host and port; ``""`` if unknown."""
    controller: bool = False
    """Whether the node is a controller without a broker role."""
    supported: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    failure: Failure | None = None
    """The reason why the features are unknown, in which case `supported` is empty; None if they are known."""


class ClusterFeatures(Struct, frozen=True):
    """The features of a cluster (KIP-584)."""

    finalized: Mapping[str, int]
    """Name of a feature -> its finalized level; features at level 0 are missing."""
    nodes: tuple[NodeFeatures, ...]
    epoch: int = -1
    """The epoch of the finalized features; -1 if no node has any."""


class Partition(NamedTuple):
    """A partition of a topic, with its leader and its replicas."""

    number: int
    leader: int
    """The id of the broker that leads the partition; -1 if it has no leader."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    leader_epoch: int = -1
    error: str = ""
    """Kafka's name of the error that the broker returned for the partition; ``""`` if it returned none."""
    observers: tuple[int, ...] = ()
    """The replicas that are outside the ISR by design (`model.observers`)."""

    @property
    def under_replicated(self) -> bool:
        """Whether the partition has fewer in-sync replicas than replicas, observers not counted."""
        return len(self.isr) + len(self.observers) < len(self.replicas)


class Topic(Struct, frozen=True):
    """A topic in a Metadata response; its partitions are sorted by number."""

    name: str
    partitions: tuple[Partition, ...]
    internal: bool = False
    topic_id: str | None = None

    @property
    def replication(self) -> int:
        """The number of replicas of the first partition; 0 if the topic has no partitions."""
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
    """Return whether the topic `before` no longer exists: no topic has its name, or the topic of that name has another
    id. Brokers before 2.8 have no ids; then the name alone decides.

    Args:
        before: the topic; None if it did not exist, for which the result is False.
        now: the topic that has its name now; None if no topic has it.
    """
    if before is None or now is None:
        return before is not None
    return bool(before.topic_id and now.topic_id) and before.topic_id != now.topic_id


def partition_in(topic: Topic | None, number: int) -> Partition | None:
    """Return a partition of a topic by its number; None if the topic is None or has no such partition."""
    if topic is None:
        return None
    # Numbers have no gaps, but a broker may leave out partitions: check the number at the index.
    if 0 <= number < len(topic.partitions) and topic.partitions[number].number == number:
        return topic.partitions[number]
    return next((each for each in topic.partitions if each.number == number), None)


class TopicListing(Struct, frozen=True):
    """The response to a Metadata request: a topic or a failure for each name."""

    topics: Mapping[str, Topic]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class LogDir(Struct, frozen=True, dict=True):
    """One log directory of one broker."""

    path: str
    replicas: ReplicaSizes
    total_bytes: int = -1
    """The size of the disk in bytes; -1 if the broker does not report it (DescribeLogDirs before v4)."""
    usable_bytes: int = -1
    """The free bytes of the disk; -1 if the broker does not report them (DescribeLogDirs before v4)."""
    failure: Failure | None = None
    cordoned: bool = False
    """Whether the directory is cordoned: the broker places no new replicas there (since Kafka 4.3)."""

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Topic -> the bytes of its replicas in the directory, future replicas included."""
        return self.replicas.by_topic()

    @cached_property
    def size(self) -> int:
        """The bytes of all replicas in the directory, future replicas included."""
        return sum(self.sizes.values())


class LogDirListing(Struct, frozen=True):
    """Broker id -> its log directories, for the brokers that responded; broker id -> the failure, for those that did
    not.
    """

    dirs: Mapping[int, tuple[LogDir, ...]]
    failures: Mapping[int, Failure] = field(default_factory=dict)

    def replica_sizes(self) -> dict[tuple[str, int], list[int]]:
        """Return (topic, partition) -> the bytes of each of its replicas, in no particular order; future replicas are
        left out.
        """
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
    """Return the replicas that a partition had before a move, so without the replicas that the move adds
    (PartitionReassignmentRevert). The order is that of the broker's response: first the replicas that the move
    keeps.
    """
    return tuple(replica for replica in move.replicas if replica not in move.adding)


def destination(move: Reassignment) -> tuple[int, ...]:
    """Return the replicas after a move."""
    return tuple(replica for replica in move.replicas if replica not in move.removing)


def settled(topic: Topic, moves: Iterable[Reassignment]) -> Topic:
    """Return a topic with the replicas that its partitions have once the given moves are done.

    Args:
        moves: running moves of the topic's partitions.
    """
    then = {move.partition: destination(move) for move in moves}
    if not then:
        return topic
    partitions = tuple(each._replace(replicas=then.get(each.number, each.replicas)) for each in topic.partitions)
    return replace(topic, partitions=partitions)


class ReplicaLogs(Struct, frozen=True):
    """The state of the replicas of one partition, by broker; brokers that did not respond are missing."""

    ends: Mapping[int, int] = field(default_factory=dict)
    """Broker -> the log end offset of its replica, not the high watermark."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Broker -> the bytes of its replica."""
    eligible: tuple[int, ...] | None = None
    """The eligible leader replicas (ELR), which have all committed records; None if unknown, empty in clusters without
    the feature (KIP-966).
    """
    last_known: tuple[int, ...] | None = None
    """The last known eligible leader replicas: the replicas that last led or were in the ISR. None if unknown, empty in
    clusters without the feature (KIP-966).
    """


Places = tuple[tuple[str, int], ...]
"""(topic, partition) pairs, or (subtopology, partition) pairs of tasks; sorted."""


class StreamsTasks(NamedTuple):
    """The tasks that a member of a streams group has, or is to have, in each role: (subtopology id, partition) pairs
    (KIP-1071).
    """

    active: Places = ()
    standby: Places = ()
    warmup: Places = ()


class Subtopology(NamedTuple):
    """A part of the topology of a streams group; each partition that it reads is one task (KIP-1071)."""

    id: str
    sources: tuple[str, ...] = ()
    """The input topics of the application."""
    repartition_sources: tuple[str, ...] = ()
    """The topics between subtopologies that this one reads."""
    repartition_sinks: tuple[str, ...] = ()
    """The topics between subtopologies that this one writes."""
    changelogs: tuple[str, ...] = ()
    """The changelog topics of the subtopology's stores."""


class StreamsNode(NamedTuple):
    """A node of the topology of a streams group, as the application built it. Brokers return it only if they have a
    plug-in that stores topologies (KIP-1331).
    """

    subtopology: str
    """The id of the node's subtopology; ``""`` for the node of a global store."""
    name: str
    role: str
    """``source``, ``processor`` or ``sink``."""
    topics: tuple[str, ...] = ()
    """The topics that a source reads or a sink writes; empty for a processor, and if the application chooses topics at
    run time.
    """
    stores: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """The names of the nodes to which this node forwards records."""


class GroupMember(Struct, frozen=True):
    """A member of a group and its assignment: sorted (topic, partition) pairs."""

    member_id: str
    client_id: str
    host: str
    assignment: Places = ()
    instance_id: str | None = None
    epoch: int = -1
    """The group epoch that the member has reached; -1 if the protocol has no epochs."""
    target: Places | None = None
    """The partitions of its target assignment; None if the protocol has no target (classic, share)."""
    tasks: StreamsTasks | None = None
    """The tasks of a member of a streams group; None for other members. The member's partitions are those that its
    active tasks read from source topics.
    """
    target_tasks: StreamsTasks | None = None
    """The tasks of the target assignment in a streams group; None for other groups."""
    topology_epoch: int = -1
    """The epoch of the topology that a member of a streams group has; -1 for other members."""
    process: str = ""
    """The id of the process that a member of a streams group runs in; ``""`` for other members."""
    protocol: str = ""
    """In a group of type ``consumer``, the protocol that the member uses: ``consumer``, or ``classic`` for a member
    with the old protocol (KIP-1099). ``""`` in other groups, and if brokers do not report it.
    """
    topics: tuple[str, ...] = ()
    """The topics to which the member subscribes by name; empty if it subscribes to no topic by name."""
    regex: str = ""
    """The regular expression to which the member subscribes; ``""`` if it does not subscribe by one."""
    config_offset: int | None = None
    """The offset up to which a worker of Connect had read its topic of configs when it joined, -1 for none; None for
    other members, and if the coordinator does not report it.
    """

    @property
    def has_target(self) -> bool:
        """Whether the member's assignment is its target assignment; True if the protocol has no targets."""
        return (self.target is None or self.assignment == self.target) and self.tasks == self.target_tasks


class Group(Struct, frozen=True):
    """A group, with its state and, once it was described, its members."""

    name: str
    state: str
    """The state as Kafka names it, such as ``Stable``."""
    type: str
    """The type as Kafka names it, such as ``consumer``."""
    protocol: str = ""
    coordinator: int = -1
    members: tuple[GroupMember, ...] | None = None
    """The members; None until the group was described."""
    epoch: int = -1
    """The group epoch; -1 if the protocol has none."""
    assignment_epoch: int = -1
    """The epoch of the target assignment; -1 if the protocol has none. It is lower than the group epoch until the
    coordinator has computed the target for that epoch (KIP-848).
    """
    assignor: str = ""
    """The assignor that computed the target assignment; ``""`` if unknown."""
    topology_epoch: int = -1
    """The epoch of a streams group's topology; -1 for other groups, and if the group has no topology."""
    topology: tuple[Subtopology, ...] | None = None
    """The topology of a streams group, as its members reported it; None until the group was described."""
    nodes: tuple[StreamsNode, ...] | None = None
    """The nodes of the topology; None if they were not requested, or brokers return none."""
    no_nodes: str = ""
    """The reason why brokers return no `nodes`; ``""`` if brokers return them, or were not asked for them."""

    @property
    def is_vacant(self) -> bool:
        """Whether the group has no members, by its state; False if the state is unknown."""
        return self.state in ("Empty", "Dead")

    @property
    def behind(self) -> tuple[GroupMember, ...]:
        """The members that have not reached the group epoch. Other members may wait for partitions that the listed
        members still own.
        """
        return tuple(member for member in self.members or () if 0 <= member.epoch < self.epoch)

    @property
    def late_members(self) -> int:
        """The number of members whose assignment differs from their target assignment."""
        return sum(1 for member in self.members or () if not member.has_target)


class ScramListing(Struct, frozen=True):
    """User -> its SCRAM credentials, for the users that have any; and user -> the failure, for the users that the
    broker could not describe.
    """

    users: Mapping[str, tuple[ScramCredential, ...]]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class GroupListing(Struct, frozen=True):
    """Name -> group, and the failures to read groups or to get the groups of a broker."""

    groups: Mapping[str, Group]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """Name of a group, ``broker N``, or name of the coordinators' topic -> the failure to read it."""
    offsets: Topic | None = None
    """The topic ``__consumer_offsets`` as it was when the groups were listed; None if unknown."""


class PartitionLag(NamedTuple):
    """A group's position in a partition: offsets, and the lag in records; -1 for each number that is unknown (no
    commit, or the leader did not respond).
    """

    topic: str
    partition: int
    committed: int
    """The committed offset: the next offset to read. For a share group it is the start offset, and `lag` leaves out
    later records that the group has acknowledged.
    """
    end: int
    lag: int
    member: str = ""


class GroupLag(Struct, frozen=True):
    """A group's lag by partition, and the failures to read the lag of some partitions."""

    partitions: tuple[PartitionLag, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def total(self) -> int:
        """The sum of the lags in records, over the partitions with a known lag."""
        return sum(p.lag for p in self.partitions if p.lag > 0)

    @property
    def is_unknown(self) -> bool:
        """Whether the lag of every partition is unknown; False for a group without commits, whose lag is 0."""
        # A group without partitions and failures has no commits: its lag is known to be 0.
        return bool(self.failures or self.partitions) and all(p.lag < 0 for p in self.partitions)

    @property
    def known_total(self) -> int | None:
        """The sum of the known lags in records; None if the lag of every partition is unknown."""
        return None if self.is_unknown else self.total

    @property
    def is_part(self) -> bool:
        """Whether the lag of some partitions is unknown, but not of all, so that the real total may be higher than
        `known_total`.
        """
        return not self.is_unknown and (bool(self.failures) or any(p.lag < 0 for p in self.partitions))


class CommittedOffset(NamedTuple):
    """An offset that a group committed."""

    offset: int
    leader_epoch: int = -1
    """The leader epoch that was committed with the offset; -1 if unknown."""
    metadata: str = ""
    """The text that the client committed with the offset."""


class GroupPosition(Struct, frozen=True):
    """A group with its members (`group` is None if it does not exist), and (topic, partition) -> its committed
    offset, or the start offset in a share group.
    """

    group: Group | None
    committed: Mapping[tuple[str, int], CommittedOffset]
    failures: tuple[Failure, ...] = ()
    """The reasons why some offsets are missing."""


class GroupOffset(NamedTuple):
    """The state of a group in one partition."""

    committed: CommittedOffset | None
    """The committed offset; None if the group has none in the partition."""
    log: LogRange | None = None
    """The start and end offset of the partition; None if unknown."""
    type: str = ""
    """The type of the group; ``""`` if the group does not exist."""
    protocol: str = ""
    """The protocol type of a classic group; ``""`` if it never had members."""
    members: tuple[str, ...] = ()
    """The members of the whole group, each as a text for messages."""


class GroupPolls(Struct, frozen=True):
    """The groups of one poll, by name: their descriptions, their lags, and the failures to read a description or a
    lag.
    """

    groups: Mapping[str, Group]
    lags: Mapping[str, GroupLag]
    failures: Mapping[str, Failure] = field(default_factory=dict)
    lag_failures: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of all groups of which the poll has a description, a lag, or a failure."""
        return frozenset((*self.groups, *self.lags, *self.failures, *self.lag_failures))


class ScramCredential(NamedTuple):
    """A SCRAM credential as a broker describes it: the mechanism and the iterations, never the password."""

    mechanism: ScramMechanism
    iterations: int


# -- the extent of a log -----------------------------------------------------------------------------------------------


class LogRange(NamedTuple):
    """The offset of a partition's first record, and its end offset, which the next record gets."""

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
    """The start offset and the end offset of a partition's log, and its first offset since a given time."""

    earliest: int
    """The offset of the first record in the log."""
    latest: int
    """The end offset of the log."""
    since: int
    """The offset of the first record that is not older than the given time; the end offset if all records are older."""
    began: int = 0
    """An offset before which the segment with the record at `since` can't begin; 0 if unknown. A segment covers at
    most segment.ms, so this is the offset of the first record that is not older than the given time less
    segment.ms.
    """
