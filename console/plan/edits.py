"""Edits: the changes that an operator wants, one value each. A plan holds them; nothing here reads or sends.

Everything that depends on the kind of an edit is in the kind's class: `console.plan.kinds`. Edits that no
other kind and no shared part of the plan knows stand in the file of their kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from console.model import changes, connect
from console.model.acl import Acl
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.secret import Contents, MaybeSecret, Secret


class Slot(NamedTuple):
    """The target and key of an edit: a plan has at most one edit for each slot."""

    target: changes.Target
    key: str
    """The key; ``""`` for an edit of the whole target."""


def _op(name: str) -> str:
    """Return the name of a class of edits in JSON: ``set-config`` of SetConfig."""
    return re.sub(r"(?<=.)[A-Z]", r"-\g<0>", name).lower()


class Passed(NamedTuple):
    """A place at which a plan passes over records: a partition, and a group or a deletion."""

    group: str | None
    """The group that continues behind the records; None if the records are deleted."""
    topic: str
    partition: int

    def __str__(self) -> str:
        where = f"{self.topic}/{self.partition}"
        return f"the deletion from {where}" if self.group is None else f"the skip of group {self.group} in {where}"


class Edit(Struct, frozen=True, tag_field="op", tag=_op, forbid_unknown_fields=True):
    """An edit of one target, or of one key of it. Equal edits are of one kind and have equal fields.

    Plan files and journals store it by the names of its class and fields (`console.plan.edit_json`).
    """

    @property
    def target(self) -> changes.Target:
        """The entity that is changed."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """The changed key of the target; ``""`` for an edit of the whole target."""
        return ""

    @property
    def slot(self) -> Slot:
        """The target and the key."""
        return Slot(self.target, self.key)

    @property
    def on_topic(self) -> str | None:
        """The name of a topic that must exist before the edit; None for a creation and for edits of other entities."""
        return None

    @property
    def new_topic(self) -> str | None:
        """The name of the topic that the edit creates; None if it creates none."""
        return None

    @property
    def holds_secret(self) -> bool:
        """Whether the edit has a value that must not be written to a file."""
        return False

    @property
    def passes(self) -> Passed | None:
        """The place at which the edit passes over records; None if it passes over none."""
        return None

    @property
    def first_for(self) -> tuple[Passed, ...]:
        """The places at which records may be passed over only after this edit is applied, because it writes their
        letters.
        """
        return ()


class _ConfigEdit(Edit, frozen=True):
    resource: ConfigResource
    key: str

    @property
    def target(self) -> ConfigResource:
        """The resource."""
        return self.resource

    @property
    def on_topic(self) -> str | None:
        """The resource's name if it is a topic, else None."""
        return self.resource.name if self.resource.type == TOPIC else None


class SetConfig(_ConfigEdit, frozen=True):
    """Give a key a value on this resource; a sensitive value is a Secret."""

    value: MaybeSecret

    @property
    def holds_secret(self) -> bool:
        """Whether the value is a Secret."""
        return isinstance(self.value, Secret)


class UnsetConfig(_ConfigEdit, frozen=True):
    """Delete the resource's override of a key, so that it inherits again."""


class AppendConfig(_ConfigEdit, frozen=True):
    """Add items, separated by commas, to a LIST; present items stay as they are."""

    value: str


class SubtractConfig(_ConfigEdit, frozen=True):
    """Remove items, separated by commas, from a LIST."""

    value: str


class _QuotaEdit(Edit, frozen=True):
    entity: QuotaEntity
    key: str

    @property
    def target(self) -> QuotaEntity:
        """The entity."""
        return self.entity


class SetQuota(_QuotaEdit, frozen=True):
    """Give an entity a quota: bytes/s, percent, mutations/s or connections/s by the key."""

    value: float


class UnsetQuota(_QuotaEdit, frozen=True):
    """Remove the quota of an entity."""


class _AclEdit(Edit, frozen=True):
    acl: Acl

    @property
    def target(self) -> Acl:
        """The binding."""
        return self.acl


class AddAcl(_AclEdit, frozen=True):
    """Create an ACL."""


class RemoveAcl(_AclEdit, frozen=True):
    """Delete exactly this ACL."""


class CreateTopic(Edit, frozen=True):
    """Create a topic. Its configs are part of the edit, or further edits of the plan."""

    topic: changes.NewTopic

    @property
    def target(self) -> changes.TopicTarget:
        """The topic."""
        return changes.TopicTarget(self.topic.name)

    @property
    def new_topic(self) -> str:
        """The topic's name."""
        return self.topic.name

    @property
    def holds_secret(self) -> bool:
        """Whether the value of one of its configs is a Secret."""
        return any(isinstance(value, Secret) for value in self.topic.configs.values())


class _TopicEdit(Edit, frozen=True):
    name: str

    @property
    def target(self) -> changes.TopicTarget:
        """The topic."""
        return changes.TopicTarget(self.name)

    @property
    def on_topic(self) -> str:
        """The topic's name."""
        return self.name


class DeleteTopic(_TopicEdit, frozen=True):
    """Delete a topic with all its records."""


class GrowTopic(_TopicEdit, frozen=True):
    """Raise a topic's partition count to this total."""

    partitions: int


class _ScramEdit(Edit, frozen=True):
    user: changes.ScramUser

    @property
    def target(self) -> changes.ScramUser:
        """The user and the mechanism."""
        return self.user


class UpsertScram(_ScramEdit, frozen=True):
    """Create or replace a SCRAM credential."""

    iterations: int
    password: Secret

    @property
    def holds_secret(self) -> bool:
        """True: a password is always a Secret."""
        return True


class DeleteScram(_ScramEdit, frozen=True):
    """Delete the SCRAM credential of a user and a mechanism."""


class _OnTopic(Edit, frozen=True):
    topic: str

    @property
    def on_topic(self) -> str:
        """The topic's name."""
        return self.topic


class EndTransaction(_OnTopic, frozen=True):
    """Write an abort marker for the open transaction of a producer in a partition, which no coordinator will end."""

    number: int
    producer_id: int

    @property
    def target(self) -> changes.ProducerTarget:
        """The producer's transaction in the partition."""
        return changes.ProducerTarget(self.topic, self.number, self.producer_id)


class TrimLog(_OnTopic, frozen=True):
    """Delete the records of a partition before an offset."""

    partition: int
    before: int

    @property
    def target(self) -> changes.LogTarget:
        """The partition's records."""
        return changes.LogTarget(self.topic, self.partition)

    @property
    def passes(self) -> Passed:
        """The partition whose records are deleted."""
        return Passed(None, self.topic, self.partition)


class WriteRecords(_OnTopic, frozen=True):
    """Write records to a partition, as one batch, which a broker takes or refuses as a whole. No file has the records.

    Attributes:
        number: the number of the batch among those of the plan for the partition.
        sizes, hashes: the size of each record in bytes (key, value and headers), and its hash.
        keys: the number of distinct keys.
        nulls: records without a value.
        keyless: records without a key.
        strays: records whose key belongs to another partition by Java's partitioner.
        schemas: the subjects and ids by which values and keys were encoded; ``""`` for none.
        again: for dead letters that are sent again, the groups in which they failed; None for other records.
        first_for: the places at which the plan passes over the records whose letters these are: kac sends those edits
            only once all letters are written.
    """

    partition: int
    number: int
    sizes: tuple[int, ...]
    hashes: tuple[str, ...]
    keys: int = 0
    nulls: int = 0
    keyless: int = 0
    strays: int = 0
    schemas: str = ""
    records: Contents = Contents()
    again: tuple[str, ...] | None = None
    first_for: tuple[Passed, ...] = ()

    @property
    def target(self) -> changes.NewRecords:
        """The batch of the partition."""
        return changes.NewRecords(self.topic, self.partition, self.number)

    @property
    def holds_secret(self) -> bool:
        """True: no file may have the records."""
        return True


class _Election(_OnTopic, frozen=True):
    partition: int

    @property
    def target(self) -> changes.PartitionTarget:
        """The partition whose leader changes."""
        return changes.PartitionTarget(self.topic, self.partition)


class ElectPreferred(_Election, frozen=True):
    """Make the preferred replica of the partition, its first one, the leader."""


class ElectUnclean(_Election, frozen=True):
    """Make an out-of-sync replica the leader if no replica in sync is alive. Its missing records are lost."""


class _OfMove(_OnTopic, frozen=True):
    partition: int

    @property
    def target(self) -> changes.MoveTarget:
        """The partition that moves."""
        return changes.MoveTarget(self.topic, self.partition)


class MoveReplicas(_OfMove, frozen=True):
    """Move a partition to these brokers, the preferred leader first."""

    replicas: tuple[int, ...]
    resize: bool = False
    """Whether the number of replicas may change."""


class CancelMove(_OfMove, frozen=True):
    """Cancel a partition's move: it stays on the replicas that it had before."""


class MoveReplicaDir(_OnTopic, frozen=True):
    """Move a broker's replica of a partition into another of its log directories."""

    partition: int
    broker: int
    path: str

    @property
    def target(self) -> changes.ReplicaTarget:
        """The replica."""
        return changes.ReplicaTarget(self.topic, self.partition, self.broker)


class _GroupOffsetEdit(Edit, frozen=True):
    group: str
    topic: str
    partition: int

    @property
    def target(self) -> changes.GroupOffsetTarget:
        """The group's offset of the partition."""
        return changes.GroupOffsetTarget(self.group, self.topic, self.partition)

    @property
    def on_topic(self) -> str:
        """The topic's name."""
        return self.topic


class CommitOffset(_GroupOffsetEdit, frozen=True):
    """Commit an offset for a group; for a share group, set its start offset."""

    offset: int
    leader_epoch: int = -1
    """The epoch of the leader at the offset; -1 if unknown."""
    metadata: str = ""
    """The metadata that is stored with the offset."""
    restored: bool = False
    """Whether the group had the offset before: it may then be outside the log."""
    share: bool = False
    """Whether to create a missing group as a share group."""

    @property
    def passes(self) -> Passed:
        """The group in the partition, which passes over the records before the offset."""
        return Passed(self.group, self.topic, self.partition)


class DeleteOffset(_GroupOffsetEdit, frozen=True):
    """Delete the offset that a group committed for a partition."""


class SetFeature(Edit, frozen=True):
    """Finalize a feature at a level; 0 turns it off."""

    name: str
    level: int

    @property
    def target(self) -> changes.FeatureTarget:
        """The feature."""
        return changes.FeatureTarget(self.name)


class _ConnectorEdit(Edit, frozen=True):
    name: str

    @property
    def target(self) -> connect.ConnectorTarget:
        """The connector."""
        return connect.ConnectorTarget(self.name)


class CreateConnector(_ConnectorEdit, frozen=True):
    """Create a connector with a config."""

    config: Mapping[str, MaybeSecret]
    state: str = ""
    """The first state; ``""`` for RUNNING."""

    @property
    def holds_secret(self) -> bool:
        """Whether the value of one of its keys is a Secret."""
        return any(isinstance(value, Secret) for value in self.config.values())


class DeleteConnector(_ConnectorEdit, frozen=True):
    """Delete a connector; its offsets stay."""


class PauseConnector(_ConnectorEdit, frozen=True):
    """Pause the tasks of a connector: they stay where they are, and do nothing."""


class StopConnector(_ConnectorEdit, frozen=True):
    """End the tasks of a connector. Its offsets can be changed only while it is stopped."""


class ResumeConnector(_ConnectorEdit, frozen=True):
    """Let a paused or stopped connector run."""


class RestartConnector(_ConnectorEdit, frozen=True):
    """Restart a connector, some of its tasks, or both."""

    only_failed: bool = False
    """Whether to restart only failed instances."""
    tasks: bool = False
    """Whether to restart the connector's tasks, too."""
    task: int | None = None
    """The only task to restart; None for the connector."""


class ChangeConnectorOffsets(Edit, frozen=True):
    """Give a stopped connector other offsets, in its own form."""

    name: str
    offsets: tuple[connect.ConnectorOffset, ...] | None
    """The offsets; None to delete all."""

    @property
    def target(self) -> connect.ConnectorOffsetsTarget:
        """The connector whose offsets change."""
        return connect.ConnectorOffsetsTarget(self.name)


ConfigEdit = SetConfig | UnsetConfig | AppendConfig | SubtractConfig
QuotaEdit = SetQuota | UnsetQuota
AclEdit = AddAcl | RemoveAcl
TopicEdit = CreateTopic | DeleteTopic | GrowTopic
ScramEdit = UpsertScram | DeleteScram
GroupOffsetEdit = CommitOffset | DeleteOffset
Election = ElectPreferred | ElectUnclean
MoveEdit = MoveReplicas | CancelMove
Steering = PauseConnector | StopConnector | ResumeConnector
ConnectorEdit = CreateConnector | DeleteConnector | Steering | RestartConnector
