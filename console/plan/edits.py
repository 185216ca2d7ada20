"""Edits: the changes that an operator wants, one value for each. A plan contains them; this module neither reads nor
sends.

Behaviour that depends on the kind of an edit is in the kind's class in `console.plan.kinds`. An edit that only its own
kind uses is defined in the file of the kind.
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
    """Return the name of an edit class in JSON: ``set-config`` for SetConfig."""
    return re.sub(r"(?<=.)[A-Z]", r"-\g<0>", name).lower()


class Passed(NamedTuple):
    """Records that a plan skips for a group or deletes, in one partition."""

    group: str | None
    """The group whose committed offset is moved past the records; None if the records are deleted."""
    topic: str
    partition: int

    def __str__(self) -> str:
        where = f"{self.topic}/{self.partition}"
        return f"the deletion from {where}" if self.group is None else f"the skip of group {self.group} in {where}"


class Edit(Struct, frozen=True, tag_field="op", tag=_op, forbid_unknown_fields=True):
    """An edit of one target, or of one key of it. Edits are equal if they have the same class and fields.

    Plan files and journals store an edit by the names of its class and fields (`console.plan.edit_json`).
    """

    @property
    def target(self) -> changes.Target:
        """The entity that the edit changes."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """The key of the target that the edit changes; ``""`` for an edit of the whole target."""
        return ""

    @property
    def slot(self) -> Slot:
        """The target and the key, by which a plan replaces an earlier edit."""
        return Slot(self.target, self.key)

    @property
    def on_topic(self) -> str | None:
        """The name of the topic that must exist before the edit; None for a creation, and for edits of other
        entities.
        """
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
        """The records that the edit skips for a group or deletes; None if it does neither."""
        return None

    @property
    def first_for(self) -> tuple[Passed, ...]:
        """The records that may be skipped or deleted only after this edit is applied, because it writes their dead
        letters; empty for other edits.
        """
        return ()


class _ConfigEdit(Edit, frozen=True):
    resource: ConfigResource
    key: str

    @property
    def target(self) -> ConfigResource:
        """The resource whose config is changed."""
        return self.resource

    @property
    def on_topic(self) -> str | None:
        """The resource's name if it is a topic, else None."""
        return self.resource.name if self.resource.type == TOPIC else None


class SetConfig(_ConfigEdit, frozen=True):
    """Set a key to a value on this resource; a sensitive value is a Secret."""

    value: MaybeSecret

    @property
    def holds_secret(self) -> bool:
        """Whether the value is a Secret."""
        return isinstance(self.value, Secret)


class UnsetConfig(_ConfigEdit, frozen=True):
    """Delete the resource's override of a key, so that it inherits the value again."""


class AppendConfig(_ConfigEdit, frozen=True):
    """Add items, separated by commas, to a key of the type LIST; its other items stay."""

    value: str


class SubtractConfig(_ConfigEdit, frozen=True):
    """Remove items, separated by commas, from a key of the type LIST."""

    value: str


class _QuotaEdit(Edit, frozen=True):
    entity: QuotaEntity
    key: str

    @property
    def target(self) -> QuotaEntity:
        """The entity whose quota is changed."""
        return self.entity


class SetQuota(_QuotaEdit, frozen=True):
    """Set a quota of an entity, in the unit of the key: bytes/s, percent, mutations/s or connections/s."""

    value: float


class UnsetQuota(_QuotaEdit, frozen=True):
    """Remove the quota of an entity."""


class _AclEdit(Edit, frozen=True):
    acl: Acl

    @property
    def target(self) -> Acl:
        """The ACL that is added or removed."""
        return self.acl


class AddAcl(_AclEdit, frozen=True):
    """Create an ACL."""


class RemoveAcl(_AclEdit, frozen=True):
    """Delete exactly this ACL."""


class CreateTopic(Edit, frozen=True):
    """Create a topic. Its configs are part of this edit, or separate edits of the plan."""

    topic: changes.NewTopic

    @property
    def target(self) -> changes.TopicTarget:
        """The topic that is created."""
        return changes.TopicTarget(self.topic.name)

    @property
    def new_topic(self) -> str:
        """The name of the topic that is created."""
        return self.topic.name

    @property
    def holds_secret(self) -> bool:
        """Whether one of its configs has a Secret as value."""
        return any(isinstance(value, Secret) for value in self.topic.configs.values())


class _TopicEdit(Edit, frozen=True):
    name: str

    @property
    def target(self) -> changes.TopicTarget:
        """The topic that is changed."""
        return changes.TopicTarget(self.name)

    @property
    def on_topic(self) -> str:
        """The topic's name."""
        return self.name


class DeleteTopic(_TopicEdit, frozen=True):
    """Delete a topic with all its records."""


class GrowTopic(_TopicEdit, frozen=True):
    """Raise the number of a topic's partitions to this total."""

    partitions: int


class _ScramEdit(Edit, frozen=True):
    user: changes.ScramUser

    @property
    def target(self) -> changes.ScramUser:
        """The credential: a user and a mechanism."""
        return self.user


class UpsertScram(_ScramEdit, frozen=True):
    """Create or replace a SCRAM credential."""

    iterations: int
    password: Secret

    @property
    def holds_secret(self) -> bool:
        """True, because a password is always a Secret."""
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
    """Write an abort marker for a producer's open transaction in a partition, if no coordinator will end that
    transaction.
    """

    number: int
    producer_id: int

    @property
    def target(self) -> changes.ProducerTarget:
        """The producer's open transaction in the partition."""
        return changes.ProducerTarget(self.topic, self.number, self.producer_id)


class TrimLog(_OnTopic, frozen=True):
    """Delete the records of a partition before an offset."""

    partition: int
    before: int

    @property
    def target(self) -> changes.LogTarget:
        """The records of the partition."""
        return changes.LogTarget(self.topic, self.partition)

    @property
    def passes(self) -> Passed:
        """The records of the partition, which are deleted."""
        return Passed(None, self.topic, self.partition)


class WriteRecords(_OnTopic, frozen=True):
    """Write records to a partition as one batch, which a broker accepts or refuses as a whole. No file contains the
    records.

    Attributes:
        number: the position of the batch among those that the plan writes to the partition, from 0.
        sizes, hashes: the size of each record in bytes (key, value and headers), and its hash.
        keys: the number of distinct keys.
        nulls: the number of records whose value is null.
        keyless: the number of records without a key.
        strays: the number of records whose key belongs to another partition by Java's partitioner.
        schemas: the subjects and ids with which values and keys were encoded, as text; ``""`` if they were not encoded.
        again: if dead letters are sent again, the groups in which they failed; None for other records.
        first_for: if the batch has dead letters, the records that the plan skips or deletes because the letters replace
            them; empty for other records. kac sends the edits that skip or delete records only after all letters for
            them are written.
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
        """The batch, by its partition and number."""
        return changes.NewRecords(self.topic, self.partition, self.number)

    @property
    def holds_secret(self) -> bool:
        """True, because no file may contain the records."""
        return True


class _Election(_OnTopic, frozen=True):
    partition: int

    @property
    def target(self) -> changes.PartitionTarget:
        """The partition whose leader is elected."""
        return changes.PartitionTarget(self.topic, self.partition)


class ElectPreferred(_Election, frozen=True):
    """Make the preferred replica of a partition, the first one in its list, the leader."""


class ElectUnclean(_Election, frozen=True):
    """Make an out-of-sync replica of a partition the leader if no replica in sync is alive. Records that it lacks are
    lost.
    """


class _OfMove(_OnTopic, frozen=True):
    partition: int

    @property
    def target(self) -> changes.MoveTarget:
        """The reassignment of the partition."""
        return changes.MoveTarget(self.topic, self.partition)


class MoveReplicas(_OfMove, frozen=True):
    """Move a partition to these brokers; the first is the preferred leader."""

    replicas: tuple[int, ...]
    resize: bool = False
    """Whether the number of replicas may change; if not, a move that changes it is refused."""


class CancelMove(_OfMove, frozen=True):
    """Cancel the running move of a partition, which then returns to the replicas that it had before."""


class MoveReplicaDir(_OnTopic, frozen=True):
    """Move a broker's replica of a partition into another of its log directories."""

    partition: int
    broker: int
    path: str

    @property
    def target(self) -> changes.ReplicaTarget:
        """The broker's replica of the partition."""
        return changes.ReplicaTarget(self.topic, self.partition, self.broker)


class _GroupOffsetEdit(Edit, frozen=True):
    group: str
    topic: str
    partition: int

    @property
    def target(self) -> changes.GroupOffsetTarget:
        """The offset that the group committed for the partition."""
        return changes.GroupOffsetTarget(self.group, self.topic, self.partition)

    @property
    def on_topic(self) -> str:
        """The topic's name."""
        return self.topic


class CommitOffset(_GroupOffsetEdit, frozen=True):
    """Commit an offset for a group; for a share group, set its start offset."""

    offset: int
    leader_epoch: int = -1
    """The leader epoch that is committed with the offset; -1 if unknown."""
    metadata: str = ""
    """The metadata that is committed with the offset."""
    restored: bool = False
    """Whether the edit restores an offset that the group had before; that offset may be outside the log."""
    share: bool = False
    """Whether the group, if it does not exist, is created as a share group."""

    @property
    def passes(self) -> Passed:
        """The records of the partition before the offset, which the group skips."""
        return Passed(self.group, self.topic, self.partition)


class DeleteOffset(_GroupOffsetEdit, frozen=True):
    """Delete the offset that a group committed for a partition."""


class SetFeature(Edit, frozen=True):
    """Finalize a feature at a level; level 0 disables it."""

    name: str
    level: int

    @property
    def target(self) -> changes.FeatureTarget:
        """The feature whose level is finalized."""
        return changes.FeatureTarget(self.name)


class _ConnectorEdit(Edit, frozen=True):
    name: str

    @property
    def target(self) -> connect.ConnectorTarget:
        """The connector that is changed."""
        return connect.ConnectorTarget(self.name)


class CreateConnector(_ConnectorEdit, frozen=True):
    """Create a connector with a config."""

    config: Mapping[str, MaybeSecret]
    state: str = ""
    """The initial state; ``""`` for RUNNING."""

    @property
    def holds_secret(self) -> bool:
        """Whether one of the keys of its config has a Secret as value."""
        return any(isinstance(value, Secret) for value in self.config.values())


class DeleteConnector(_ConnectorEdit, frozen=True):
    """Delete a connector; its offsets stay."""


class PauseConnector(_ConnectorEdit, frozen=True):
    """Pause the tasks of a connector: they stay on their workers, and process no records."""


class StopConnector(_ConnectorEdit, frozen=True):
    """Stop a connector, which shuts down its tasks. Its offsets can be changed only while it is stopped."""


class ResumeConnector(_ConnectorEdit, frozen=True):
    """Resume a paused or stopped connector."""


class RestartConnector(_ConnectorEdit, frozen=True):
    """Restart a connector, some of its tasks, or both."""

    only_failed: bool = False
    """Whether to restart only a connector and tasks that have failed."""
    tasks: bool = False
    """Whether to restart the connector's tasks as well."""
    task: int | None = None
    """The number of the only task to restart; None to restart the connector."""


class ChangeConnectorOffsets(Edit, frozen=True):
    """Replace offsets of a stopped connector. Their form is the connector's own."""

    name: str
    offsets: tuple[connect.ConnectorOffset, ...] | None
    """The new offsets; None to delete all offsets."""

    @property
    def target(self) -> connect.ConnectorOffsetsTarget:
        """The offsets of the connector."""
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
