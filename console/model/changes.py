"""Requests that change a cluster, as plain data: a plan compiles into them, and the client sends them. One request here
is one request on the wire, unless its docstring says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple

import msgspec
from msgspec import Struct

from console.model.acl import Acl
from console.model.cluster import CommittedOffset
from console.model.codes import AlterOp, ScramMechanism
from console.model.config import ConfigResource, topic_resource
from console.model.failure import Failure
from console.model.numbers import Data, plural
from console.model.parts import Part
from console.model.quota import QuotaEntity
from console.model.secret import Contents, MaybeSecret, Secret

ConfigValue = str | Secret | None
"""The value of an operation on a key; None only for DELETE."""


class ConfigOp(Struct, frozen=True):
    """An operation on one key of a resource: SET, DELETE, APPEND or SUBTRACT."""

    key: str
    op: AlterOp
    value: ConfigValue = None


class ChangeRequest(Struct, frozen=True):
    """A request that changes a cluster. Most subclasses have Kafka's name of the request."""

    sender: ClassVar[str]
    """The name of the module in `console.admin` whose ``SENDERS`` has the function that sends the request."""
    kafka_name: ClassVar[str] = ""
    """Kafka's name of the request; ``""`` if it is the name of the class."""
    is_loss: ClassVar[bool] = False
    """Whether the request removes something that an operator may want back."""
    counted: ClassVar[tuple[str, ...]] = ()
    """The field whose items `content` counts, the singular noun for them, and the plural if that is irregular; empty
    for no count.
    """
    about: ClassVar[str] = ""
    """Text of `content` after the count, or in place of it, as a format string with the request as argument 0: ``broker
    {0.broker_id}``.
    """

    @property
    def api(self) -> str:
        """Kafka's name of the request."""
        return self.kafka_name or type(self).__name__

    @property
    def content(self) -> str:
        """A summary such as ``3 topics``; names in it are untrusted and not escaped."""
        field_name, *words = self.counted or ("",)
        count = plural(len(getattr(self, field_name)), *words) if field_name else ""
        return count + self.about.format(self)


class AlterConfigs(ChangeRequest, frozen=True):
    """An IncrementalAlterConfigs request for any number of resources."""

    sender: ClassVar[str] = "configs"
    kafka_name: ClassVar[str] = "IncrementalAlterConfigs"

    ops: Mapping[ConfigResource, tuple[ConfigOp, ...]]
    broker: int | None = None
    """The broker that has to receive the request, because the request contains that broker's own resource; None if any
    broker may receive it.
    """
    prior: Mapping[ConfigResource, Mapping[str, str | None]] = msgspec.field(default_factory=dict)
    """Resource -> its overrides before the change, key -> value (None if hidden). The legacy AlterConfigs request needs
    them, because it replaces all overrides. Empty if brokers are known to support the incremental request.
    """

    @property
    def content(self) -> str:
        """The number of keys and of entities, and the broker that has to receive the request, if there is one."""
        where = f", to broker {self.broker}" if self.broker is not None else ""
        keys = plural(sum(map(len, self.ops.values())), "key")
        return f"{keys} of {plural(len(self.ops), 'entity', 'entities')}{where}"


class AlterQuotas(ChangeRequest, frozen=True):
    """An AlterClientQuotas request. ops: entity -> key -> new value; None removes the key."""

    sender: ClassVar[str] = "quotas"
    kafka_name: ClassVar[str] = "AlterClientQuotas"
    counted: ClassVar[tuple[str, ...]] = ("ops", "entity", "entities")

    ops: Mapping[QuotaEntity, Mapping[str, float | None]]


class NewTopic(Struct, frozen=True):
    """A topic to create: either the number of partitions and the replication factor (each -1 for the broker's default),
    or `assignments`, never both.
    """

    name: str
    partitions: int = -1
    replication: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    """The brokers of partition i at index i; the first broker is the preferred leader."""
    configs: Mapping[str, MaybeSecret] = msgspec.field(default_factory=dict)
    timeout_ms: int | None = None
    """The milliseconds that brokers may take to create the topic; None for the timeout of the CreateTopics request."""


class OwnTarget(Struct, frozen=True):
    """The base class of all targets of changes except config resources, quota entities, ACLs and partitions'
    leaders, which have other classes. Each kind of target is a subclass, so a topic and a group with the same
    name are never equal.
    """

    text: ClassVar[str] = ""
    """The name of the target in a message, as a format string with the target as argument 0: ``feature {0.name}``."""
    part: ClassVar[Part | None] = None
    """The part of the snapshot that contains the target, which is also the name of a view on the screen; None if
    several parts contain it.
    """

    @property
    def resource(self) -> ConfigResource | None:
        """The config resource that an operator regards as the same entity; None if there is no such resource."""
        return None

    @property
    def data(self) -> dict[str, Data]:
        """The target as JSON; empty if the JSON consists of the target's fields as they are."""
        return {}

    @property
    def title(self) -> str:
        """The name of the target in a message; names in it are untrusted and not escaped."""
        return self.text.format(self)


class TopicTarget(OwnTarget, frozen=True):
    """A target that is the topic itself, not its configs."""

    text: ClassVar[str] = "topic {0.name}"

    name: str

    @property
    def resource(self) -> ConfigResource:
        """The config resource of the topic."""
        return topic_resource(self.name)


class PartitionTarget(NamedTuple):
    """A target that is the leader of a partition."""

    topic: str
    number: int


class MoveTarget(OwnTarget, frozen=True):
    """A target that is the reassignment of a partition."""

    text: ClassVar[str] = "move of {0.topic}/{0.number}"

    topic: str
    number: int


class ReplicaTarget(OwnTarget, frozen=True):
    """A target that is the log directory of a broker's replica."""

    text: ClassVar[str] = "replica of {0.topic}/{0.number} on broker {0.broker}"

    topic: str
    number: int
    broker: int


class LogTarget(OwnTarget, frozen=True):
    """A target that is the records of a partition."""

    text: ClassVar[str] = "records of {0.topic}/{0.number}"

    topic: str
    number: int


class NewRecords(OwnTarget, frozen=True):
    """A target that is a batch of records to write to a partition."""

    topic: str
    number: int
    batch: int = 0
    """The position of the batch among the batches of a plan for this partition, from 0."""

    @property
    def title(self) -> str:
        """The partition, and the number of the batch unless it is 0."""
        return f"new records of {self.topic}/{self.number}" + (f" batch {self.batch + 1}" if self.batch else "")


class ProducerTarget(OwnTarget, frozen=True):
    """A target that is a producer's open transaction in a partition."""

    text: ClassVar[str] = "producer {0.producer_id} on {0.topic}/{0.number}"

    topic: str
    number: int
    producer_id: int


class GroupTarget(OwnTarget, frozen=True):
    """A target that is the group itself, not its configs."""

    name: str

    @property
    def title(self) -> str:
        """The group's name, visible also if it is empty."""
        return f"group {self.name or repr('')}"


class GroupOffsetTarget(OwnTarget, frozen=True):
    """A target that is the offset that a group committed for a partition."""

    group: str
    topic: str
    number: int

    @property
    def title(self) -> str:
        """The group and the partition; the group's name is visible also if it is empty."""
        return f"group {self.group or repr('')} {self.topic}/{self.number}"


class BrokerTarget(OwnTarget, frozen=True):
    """A target that is the registration of a broker."""

    text: ClassVar[str] = "registration of broker {0.id}"

    id: int


class FeatureTarget(OwnTarget, frozen=True):
    """A target that is the finalized level of a feature."""

    text: ClassVar[str] = "feature {0.name}"
    part: ClassVar[Part | None] = Part.FEATURES

    name: str


class VoterTarget(OwnTarget, frozen=True):
    """A target that is a voter of the quorum: a controller with its log directory."""

    part: ClassVar[Part | None] = Part.QUORUM

    id: int
    directory_id: str

    @property
    def title(self) -> str:
        """The voter's id and its directory id."""
        return f"voter {self.id} with directory {self.directory_id or 'unknown'}"


class CreateTopics(ChangeRequest, frozen=True):
    """A CreateTopics request. timeout_ms: the milliseconds that the broker may take."""

    sender: ClassVar[str] = "topics"
    counted: ClassVar[tuple[str, ...]] = ("topics", "topic")

    topics: tuple[NewTopic, ...]
    timeout_ms: int = 30_000


class DeleteTopics(ChangeRequest, frozen=True):
    """A DeleteTopics request. Its API has no validate-only mode."""

    sender: ClassVar[str] = "topics"
    is_loss: ClassVar[bool] = True
    counted: ClassVar[tuple[str, ...]] = ("names", "topic")

    names: tuple[str, ...]
    timeout_ms: int = 30_000


class CreatePartitions(ChangeRequest, frozen=True):
    """A CreatePartitions request. counts: topic -> new total number of partitions."""

    sender: ClassVar[str] = "topics"
    counted: ClassVar[tuple[str, ...]] = ("counts", "topic")

    counts: Mapping[str, int]
    was: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Topic -> the number of partitions before the request. If no response arrives, kac compares the present number
    with it to find the outcome.
    """
    timeout_ms: int = 30_000


class CreateAcls(ChangeRequest, frozen=True):
    """A CreateAcls request. Its API has no validate-only mode."""

    sender: ClassVar[str] = "acls"
    counted: ClassVar[tuple[str, ...]] = ("acls", "ACL")

    acls: tuple[Acl, ...]


class DeleteAcls(ChangeRequest, frozen=True):
    """A DeleteAcls request with one filter for each ACL, which matches exactly this ACL. Its API has no
    validate-only mode.
    """

    sender: ClassVar[str] = "acls"
    is_loss: ClassVar[bool] = True
    counted: ClassVar[tuple[str, ...]] = ("acls", "ACL")

    acls: tuple[Acl, ...]


class ScramUser(OwnTarget, frozen=True):
    """The key of a SCRAM credential: a user and a mechanism."""

    text: ClassVar[str] = "scram {0.user} {0.mechanism.label}"

    user: str
    mechanism: ScramMechanism


class AlterScram(ChangeRequest, frozen=True):
    """An AlterUserScramCredentials request. Its API has no validate-only mode."""

    sender: ClassVar[str] = "scram"
    kafka_name: ClassVar[str] = "AlterUserScramCredentials"

    upserts: Mapping[ScramUser, tuple[int, Secret]]
    """Credential -> (iterations, password)."""
    deletions: tuple[ScramUser, ...] = ()

    @property
    def content(self) -> str:
        """The number of credentials."""
        return plural(len(self.upserts) + len(self.deletions), "credential")


class ElectLeaders(ChangeRequest, frozen=True):
    """An ElectLeaders request. unclean: whether to elect replicas that are not in sync, which loses records."""

    sender: ClassVar[str] = "partitions"
    counted: ClassVar[tuple[str, ...]] = ("partitions", "partition")

    partitions: tuple[PartitionTarget, ...]
    unclean: bool = False
    timeout_ms: int = 30_000


class AlterReassignments(ChangeRequest, frozen=True):
    """An AlterPartitionReassignments request. moves: partition -> its new replicas; None cancels the partition's
    reassignment.
    """

    sender: ClassVar[str] = "partitions"
    kafka_name: ClassVar[str] = "AlterPartitionReassignments"
    counted: ClassVar[tuple[str, ...]] = ("moves", "partition")

    moves: Mapping[MoveTarget, tuple[int, ...] | None]
    original: Mapping[MoveTarget, tuple[int, ...]] = msgspec.field(default_factory=dict)
    """Partition whose reassignment is cancelled -> its replicas before that reassignment. If no response arrives,
    kac compares the partition's replicas with these: if the reassignment completed instead, they differ.
    """
    timeout_ms: int = 30_000


class AlterReplicaDirs(ChangeRequest, frozen=True):
    """An AlterReplicaLogDirs request to a broker. paths: replica -> path of the directory that it moves to."""

    sender: ClassVar[str] = "replicas"
    kafka_name: ClassVar[str] = "AlterReplicaLogDirs"
    counted: ClassVar[tuple[str, ...]] = ("paths", "replica")
    about: ClassVar[str] = " of broker {0.broker}"

    broker: int
    paths: Mapping[ReplicaTarget, str]


class AbortTransaction(ChangeRequest, frozen=True):
    """A WriteTxnMarkers request with an abort marker for a producer's open transaction in a partition.

    The epochs and the start offset come from the partition leader's description of the producer (DescribeProducers);
    coordinator_epoch is -1 before the first marker of the producer.
    """

    sender: ClassVar[str] = "transactions"
    kafka_name: ClassVar[str] = "WriteTxnMarkers"
    is_loss: ClassVar[bool] = True
    about: ClassVar[str] = "1 transaction"

    target: ProducerTarget
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int


class _OfGroup(ChangeRequest, frozen=True):
    sender: ClassVar[str] = "groups"
    about: ClassVar[str] = " of group {0.group}"

    group: str


class CommitOffsets(_OfGroup, frozen=True):
    """An OffsetCommit request for a group without members."""

    kafka_name: ClassVar[str] = "OffsetCommit"
    counted: ClassVar[tuple[str, ...]] = ("offsets", "offset")

    offsets: Mapping[GroupOffsetTarget, CommittedOffset]
    topic_ids: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Topic -> its id when the change was planned; topics with an unknown id are missing."""


class DeleteOffsets(_OfGroup, frozen=True):
    """An OffsetDelete request for offsets of a group."""

    kafka_name: ClassVar[str] = "OffsetDelete"
    counted: ClassVar[tuple[str, ...]] = ("targets", "offset")

    targets: tuple[GroupOffsetTarget, ...]


class AlterShareGroupOffsets(_OfGroup, frozen=True):
    """An AlterShareGroupOffsets request. offsets: partition -> start offset, for a share group without members."""

    counted: ClassVar[tuple[str, ...]] = ("offsets", "offset")

    offsets: Mapping[GroupOffsetTarget, int]


class DeleteShareGroupOffsets(_OfGroup, frozen=True):
    """A DeleteShareGroupOffsets request. Brokers delete the offsets of whole topics, so the targets are all partitions
    of the topics.
    """

    counted: ClassVar[tuple[str, ...]] = ("targets", "offset")

    targets: tuple[GroupOffsetTarget, ...]


class DeleteGroups(ChangeRequest, frozen=True):
    """DeleteGroups requests, one to each coordinator of these groups."""

    sender: ClassVar[str] = "groups"
    is_loss: ClassVar[bool] = True
    counted: ClassVar[tuple[str, ...]] = ("names", "group")

    names: tuple[str, ...]


class DeleteRecords(ChangeRequest, frozen=True):
    """DeleteRecords requests, one to each leader. before: partition -> the offset before which the broker deletes
    the partition's records. The API has no validate-only mode.
    """

    sender: ClassVar[str] = "partitions"
    is_loss: ClassVar[bool] = True
    counted: ClassVar[tuple[str, ...]] = ("before", "partition")
    about: ClassVar[str] = ", to their leaders"

    before: Mapping[LogTarget, int]
    timeout_ms: int = 30_000


class ProduceRecords(ChangeRequest, frozen=True):
    """Produce requests, one to each leader. batches: target -> its records, which are one batch of its partition. The
    API has no validate-only mode.
    """

    sender: ClassVar[str] = "producing"
    kafka_name: ClassVar[str] = "Produce"

    batches: Mapping[NewRecords, Contents]

    @property
    def content(self) -> str:
        """The number of records and of partitions."""
        records = sum(len(each.reveal()) for each in self.batches.values())
        return f"{plural(records, 'record')} of {plural(len(self.batches), 'partition')}, to their leaders"


class UnregisterBroker(ChangeRequest, frozen=True):
    """An UnregisterBroker request. Its API has no validate-only mode."""

    sender: ClassVar[str] = "cluster"
    about: ClassVar[str] = "broker {0.broker_id}"

    broker_id: int


class UpdateFeatures(ChangeRequest, frozen=True):
    """An UpdateFeatures request, which brokers carry out as a whole or not at all. levels: feature -> level; 0 disables
    it.
    """

    sender: ClassVar[str] = "features"
    counted: ClassVar[tuple[str, ...]] = ("levels", "feature")

    levels: Mapping[str, int]
    lowered: frozenset[str] = frozenset()
    """The features whose new level is lower: the request has to declare these as downgrades."""
    timeout_ms: int = 60_000


class _OfVoter(ChangeRequest, frozen=True):
    sender: ClassVar[str] = "voters"
    about: ClassVar[str] = "controller {0.voter_id}"

    voter_id: int
    directory_id: str


class AddVoter(_OfVoter, frozen=True):
    """An AddRaftVoter request. Its API has no validate-only mode."""

    kafka_name: ClassVar[str] = "AddRaftVoter"

    listener: str
    """The name of the listener at which the other voters reach the new voter."""
    host: str
    """The host of `listener`."""
    port: int
    """The port of `listener`."""
    timeout_ms: int = 30_000


class RemoveVoter(_OfVoter, frozen=True):
    """A RemoveRaftVoter request. Its API has no validate-only mode."""

    kafka_name: ClassVar[str] = "RemoveRaftVoter"


Target = ConfigResource | QuotaEntity | Acl | PartitionTarget | OwnTarget
"""The subject of an edit or an outcome: the configs of a resource, a quota entity, an ACL, a partition's leader, and so
on. A plan holds at most one edit for each target.
"""


class ShownOnce(NamedTuple):
    """A secret that a broker returned for a new entity; kac shows it once and never stores it."""

    entity: str
    """The sort of the entity, such as ``token``."""
    id: str
    what: str
    """The name of the secret, such as ``HMAC``."""
    secret: Secret
    elsewhere: str
    """The place where an operator can see the secret again, as text."""


class Status(StrEnum):
    """The possible outcomes of a change."""

    APPLIED = "applied"
    VALID = "valid"
    UNCHECKED = "unchecked"
    FAILED = "failed"
    """A broker responded with an error."""
    NOT_APPLIED = "not applied"
    """kac sent no request, or the cluster already had the wanted state."""
    UNKNOWN = "unknown"
    """The request was sent, no response arrived, and the cluster did not show the change in time; it may still take
    effect."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one target of one request. VALID and UNCHECKED are results of a validate-only request: UNCHECKED
    if the protocol has no validate-only mode for this change.
    """

    target: Target
    status: Status
    failure: Failure | None = None
    topic_id: str | None = field(default=None, compare=False)
    """The id of the created topic; None if unknown, and for other changes."""
    made: ShownOnce | None = field(default=None, compare=False)
    """A secret of the new entity, for the operator alone: journals, logs and the data forms of results leave it out;
    None for other changes."""
    offset: int | None = None
    """The offset of the first written record; None for other changes, and if unknown."""

    @property
    def ok(self) -> bool:
        """Whether the change was applied, is valid, or can't be checked."""
        return self.status in (Status.APPLIED, Status.VALID, Status.UNCHECKED)
