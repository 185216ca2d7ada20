"""Changes as plain data: what a plan compiles into and what the client sends. One request here is one on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import msgspec
from msgspec import Struct

from console.model.acl import Acl
from console.model.cluster import CommittedOffset
from console.model.codes import AlterOp, ScramMechanism
from console.model.config import ConfigResource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.secret import Secret

ConfigValue = str | Secret | None
"""A value to send: None only with DELETE."""


class ConfigOp(Struct, frozen=True):
    """One key of one resource: SET, DELETE, APPEND or SUBTRACT."""

    key: str
    op: AlterOp
    value: ConfigValue = None


class AlterConfigs(Struct, frozen=True):
    """One IncrementalAlterConfigs for any number of resources.

    broker: the broker that must get it (it holds that broker's own resource), None for any.
    prior: for each resource its own overrides as they were read, key -> value (None where hidden), with which the
    legacy AlterConfigs call can carry over what is not edited; empty where incremental is known to be there.
    """

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]
    broker: int | None = None
    prior: Mapping[ConfigResource, Mapping[str, str | None]] = msgspec.field(default_factory=dict)


class AlterQuotas(Struct, frozen=True):
    """One AlterClientQuotas: entity -> key -> new value, None to remove the key."""

    ops: Mapping[QuotaEntity, Mapping[str, float | None]]


class NewTopic(Struct, frozen=True):
    """A topic to create: partitions with replication (-1: the broker's default), or assignments, never both.

    assignments: partition i's brokers at index i, the first being the preferred leader.
    timeout_ms: how long the brokers may take to create it, None for the request's own default.
    """

    name: str
    partitions: int = -1
    replication: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: Mapping[str, str | Secret] = msgspec.field(default_factory=dict)
    timeout_ms: int | None = None


class TopicTarget(Struct, frozen=True):
    """A topic itself, not its configs."""

    name: str


class PartitionTarget(NamedTuple):
    """A partition of a topic: who leads it."""

    topic: str
    number: int


class MoveTarget(Struct, frozen=True):
    """A partition of a topic: its reassignment."""

    topic: str
    number: int


class ReplicaTarget(Struct, frozen=True):
    """A broker's replica of a partition: the log directory that it is in."""

    topic: str
    number: int
    broker: int


class LogTarget(Struct, frozen=True):
    """A partition of a topic: its records."""

    topic: str
    number: int


class ProducerTarget(Struct, frozen=True):
    """A producer's transaction on a partition."""

    topic: str
    number: int
    producer_id: int


class GroupTarget(Struct, frozen=True):
    """A group itself, not its configs."""

    name: str


class GroupOffsetTarget(Struct, frozen=True):
    """The offset that a group committed for a partition."""

    group: str
    topic: str
    number: int


class BrokerTarget(Struct, frozen=True):
    """A broker's registration."""

    id: int


class FeatureTarget(Struct, frozen=True):
    """A feature's finalized level."""

    name: str


class CreateTopics(Struct, frozen=True):
    """One CreateTopics. timeout_ms is the broker's own limit for the call."""

    topics: tuple[NewTopic, ...]
    timeout_ms: int = 30_000


class DeleteTopics(Struct, frozen=True):
    """One DeleteTopics; the protocol has no validate-only for it."""

    names: tuple[str, ...]
    timeout_ms: int = 30_000


class CreatePartitions(Struct, frozen=True):
    """One CreatePartitions: topic -> new total count. was: the counts that were read, to settle an unknown outcome."""

    counts: Mapping[str, int]
    was: Mapping[str, int] = msgspec.field(default_factory=dict)
    timeout_ms: int = 30_000


class CreateAcls(Struct, frozen=True):
    """One CreateAcls; no validate-only."""

    acls: tuple[Acl, ...]


class DeleteAcls(Struct, frozen=True):
    """One DeleteAcls with a filter for exactly each of these bindings; no validate-only."""

    acls: tuple[Acl, ...]


class ScramUser(Struct, frozen=True):
    """Whose credential: a user and a mechanism."""

    user: str
    mechanism: ScramMechanism


class AlterScram(Struct, frozen=True):
    """One AlterUserScramCredentials; no validate-only. upserts: (iterations, password) for each."""

    upserts: Mapping[ScramUser, tuple[int, Secret]]
    deletions: tuple[ScramUser, ...] = ()


class ElectLeaders(Struct, frozen=True):
    """One ElectLeaders for these partitions; unclean elects a replica out of sync, losing data."""

    partitions: tuple[PartitionTarget, ...]
    unclean: bool = False
    timeout_ms: int = 30_000


class AlterReassignments(Struct, frozen=True):
    """One AlterPartitionReassignments: partition -> new replicas, None to cancel. original: of those to cancel, the
    replicas before the move, to settle an unknown outcome: a move that ended by itself leaves others."""

    moves: Mapping[MoveTarget, tuple[int, ...] | None]
    original: Mapping[MoveTarget, tuple[int, ...]] = msgspec.field(default_factory=dict)
    timeout_ms: int = 30_000


class AlterReplicaDirs(Struct, frozen=True):
    """One AlterReplicaLogDirs to a broker: its replicas -> the paths of the directories that they move to."""

    broker: int
    paths: Mapping[ReplicaTarget, str]


class AbortTransaction(Struct, frozen=True):
    """One WriteTxnMarkers: an abort marker for a producer's open transaction in a partition.

    The epochs and the start offset are those that the partition's leader described; coordinator_epoch is -1 where no
    marker of the producer was written yet.
    """

    target: ProducerTarget
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int


class CommitOffsets(Struct, frozen=True):
    """One OffsetCommit for a group without members. topic_ids: of the topics that the offsets are meant for, as far as
    they are known."""

    group: str
    offsets: Mapping[GroupOffsetTarget, CommittedOffset]
    topic_ids: Mapping[str, str] = msgspec.field(default_factory=dict)


class DeleteOffsets(Struct, frozen=True):
    """One OffsetDelete for a group."""

    group: str
    targets: tuple[GroupOffsetTarget, ...]


class AlterShareGroupOffsets(Struct, frozen=True):
    """One AlterShareGroupOffsets: the start offset of each partition, for a share group without members."""

    group: str
    offsets: Mapping[GroupOffsetTarget, int]


class DeleteShareGroupOffsets(Struct, frozen=True):
    """One DeleteShareGroupOffsets: brokers delete those of a whole topic, so all of a topic's offsets are named."""

    group: str
    targets: tuple[GroupOffsetTarget, ...]


class DeleteGroups(Struct, frozen=True):
    """DeleteGroups, one to each coordinator."""

    names: tuple[str, ...]


class DeleteRecords(Struct, frozen=True):
    """DeleteRecords, one request to each leader: partition -> the offset before which its records are deleted. No
    validate-only."""

    before: Mapping[LogTarget, int]
    timeout_ms: int = 30_000


class UnregisterBroker(Struct, frozen=True):
    """One UnregisterBroker; no validate-only."""

    broker_id: int


class UpdateFeatures(Struct, frozen=True):
    """One UpdateFeatures: feature -> level, 0 to turn it off; all of them or none. lowered: those that are lowered."""

    levels: Mapping[str, int]
    lowered: frozenset[str] = frozenset()
    timeout_ms: int = 60_000


ChangeRequest = (
    AlterConfigs
    | AlterQuotas
    | CreateTopics
    | DeleteTopics
    | CreatePartitions
    | CreateAcls
    | DeleteAcls
    | AlterScram
    | ElectLeaders
    | AlterReassignments
    | AlterReplicaDirs
    | AbortTransaction
    | CommitOffsets
    | DeleteOffsets
    | AlterShareGroupOffsets
    | DeleteShareGroupOffsets
    | DeleteGroups
    | DeleteRecords
    | UnregisterBroker
    | UpdateFeatures
)

Target = (
    ConfigResource
    | QuotaEntity
    | Acl
    | TopicTarget
    | ScramUser
    | PartitionTarget
    | MoveTarget
    | ReplicaTarget
    | LogTarget
    | ProducerTarget
    | GroupTarget
    | GroupOffsetTarget
    | BrokerTarget
    | FeatureTarget
)
"""What an edit or an outcome is about: the configs of a resource, a quota entity, a binding, a topic, a SCRAM
credential, a partition's leader, reassignment or records, a group, an offset of it, and so on. Each is a type of its
own, so that two of one name (``topic orders``, ``group orders``) are never equal, and each is the key of a slot."""


class Status(StrEnum):
    """How a change ended.

    FAILED: a broker answered with an error. NOT_APPLIED: it was not sent, or there was nothing to do. UNKNOWN: it was
    sent, no answer came, and the cluster did not show it in time; it may still take effect."""

    APPLIED = "applied"
    VALID = "valid"
    UNCHECKED = "unchecked"
    FAILED = "failed"
    NOT_APPLIED = "not applied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it went for one target of one request. VALID and UNCHECKED are answers to validate-only: the latter where the
    protocol has none for this change. topic_id: of the topic that was created, None if unknown."""

    target: Target
    status: Status
    failure: Failure | None = None
    topic_id: str | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Applied, or found valid, or not checkable."""
        return self.status in (Status.APPLIED, Status.VALID, Status.UNCHECKED)
