"""The cluster: brokers, the KRaft quorum, topics and partitions, log dirs, groups, SCRAM users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from console.model.codes import ScramMechanism
from console.model.failure import Failure
from console.model.replica_sizes import ReplicaSizes


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker as Metadata or DescribeCluster names it."""

    id: int
    host: str
    port: int
    rack: str | None = None
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """Who the cluster is.

    controller_id: what the cluster says of itself, -1 if nothing. In KRaft it is any alive broker: the real leader is
    `Quorum.leader_id`.
    operations: what the connected principal may do on the cluster, by Kafka's names; None where the broker is silent.
    """

    cluster_id: str | None
    controller_id: int
    brokers: tuple[Broker, ...]
    operations: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class BrokerVersion:
    """What one broker speaks, from its ApiVersions answer.

    apis: API key -> (lowest, highest version). release: Kafka's release as far as that tells ("4.3", "3.9", "≥ 4.3").
    """

    release: str
    apis: Mapping[int, tuple[int, int]]
    supported_features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    finalized_features: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or an observer of the metadata log. lag: records behind the leader; times are Unix milliseconds or -1."""

    id: int
    log_end_offset: int
    lag: int
    last_fetch_ms: int = -1
    last_caught_up_ms: int = -1


@dataclass(frozen=True, slots=True)
class Quorum:
    """The KRaft quorum (DescribeQuorum): `leader_id` is the active controller."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


class Partition(NamedTuple):
    """A partition. leader is -1 where there is none; `error` is Kafka's error name or ``""``."""

    number: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    leader_epoch: int = -1
    error: str = ""

    @property
    def under_replicated(self) -> bool:
        """Fewer in-sync replicas than replicas."""
        return len(self.isr) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of Metadata, partitions sorted by number."""

    name: str
    partitions: tuple[Partition, ...]
    internal: bool = False
    topic_id: str | None = None

    @property
    def replication(self) -> int:
        """The replication factor: that of the first partition, 0 where there is none."""
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def under_replicated(self) -> int:
        """How many partitions have fewer in-sync replicas than replicas."""
        return sum(1 for p in self.partitions if len(p.isr) < len(p.replicas))

    @property
    def offline(self) -> int:
        """How many partitions have no leader."""
        return sum(1 for p in self.partitions if p.leader < 0)


@dataclass(frozen=True, slots=True)
class TopicListing:
    """The answer to a Metadata request: a topic or a failure for each name."""

    topics: Mapping[str, Topic]
    failures: Mapping[str, Failure] = field(default_factory=dict)


@dataclass(frozen=True)
class LogDir:
    """One log directory of one broker. total and usable bytes are -1 where the broker does not tell (before v4)."""

    path: str
    replicas: ReplicaSizes
    total_bytes: int = -1
    usable_bytes: int = -1
    failure: Failure | None = None

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Bytes that the replicas hold, by topic."""
        return self.replicas.by_topic()

    @cached_property
    def size(self) -> int:
        """Bytes that the replicas hold."""
        return sum(self.sizes.values())


@dataclass(frozen=True, slots=True)
class LogDirListing:
    """The log directories of the brokers that answered, by broker id, and why the others did not."""

    dirs: Mapping[int, tuple[LogDir, ...]]
    failures: Mapping[int, Failure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition that is being moved."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a group and what it is assigned: (topic, partition) pairs."""

    member_id: str
    client_id: str
    host: str
    assignment: tuple[tuple[str, int], ...] = ()
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """A group. state and type are Kafka's words (``Stable``, ``consumer``). members is None until it was described."""

    name: str
    state: str
    type: str
    protocol: str = ""
    coordinator: int = -1
    members: tuple[GroupMember, ...] | None = None


@dataclass(frozen=True, slots=True)
class GroupListing:
    """Groups by name, and what could not be read: a group's name, or ``broker N`` -> why."""

    groups: Mapping[str, Group]
    failures: Mapping[str, Failure] = field(default_factory=dict)


class PartitionLag(NamedTuple):
    """A group's place in a partition; -1 for what is not known (no commit, or the leader did not answer)."""

    topic: str
    partition: int
    committed: int
    end: int
    lag: int
    member: str = ""


@dataclass(frozen=True, slots=True)
class GroupLag:
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
        unknown = bool(self.failures or self.partitions) and all(p.lag < 0 for p in self.partitions)
        return None if unknown else self.total


class ScramCredential(NamedTuple):
    """What a broker tells of a SCRAM user: never the password."""

    mechanism: ScramMechanism
    iterations: int
