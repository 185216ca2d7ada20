"""Edits: what an operator wants changed, one value each. A plan holds them; nothing here reads or sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser, Target
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.secret import Secret


class Slot(NamedTuple):
    """The place that an edit changes: a plan has at most one edit for each. key is ``""`` where the target is all."""

    target: Target
    key: str


class _ConfigEdit:
    __slots__ = ()
    resource: ConfigResource
    key: str

    @property
    def target(self) -> ConfigResource:
        """The resource."""
        return self.resource

    @property
    def slot(self) -> Slot:
        """The resource and the key."""
        return Slot(self.resource, self.key)


@dataclass(frozen=True, slots=True)
class SetConfig(_ConfigEdit):
    """Give a key a value on this resource; a sensitive value is a Secret."""

    resource: ConfigResource
    key: str
    value: str | Secret


@dataclass(frozen=True, slots=True)
class UnsetConfig(_ConfigEdit):
    """Delete the resource's own value of a key, so that it inherits again."""

    resource: ConfigResource
    key: str


@dataclass(frozen=True, slots=True)
class AppendConfig(_ConfigEdit):
    """Add items, parted by commas, to a LIST; those that are there stay as they are."""

    resource: ConfigResource
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class SubtractConfig(_ConfigEdit):
    """Take items, parted by commas, out of a LIST."""

    resource: ConfigResource
    key: str
    value: str


class _QuotaEdit:
    __slots__ = ()
    entity: QuotaEntity
    key: str

    @property
    def target(self) -> QuotaEntity:
        """The entity."""
        return self.entity

    @property
    def slot(self) -> Slot:
        """The entity and the key."""
        return Slot(self.entity, self.key)


@dataclass(frozen=True, slots=True)
class SetQuota(_QuotaEdit):
    """Give an entity a quota: bytes/s, percent, mutations/s or connections/s by the key."""

    entity: QuotaEntity
    key: str
    value: float


@dataclass(frozen=True, slots=True)
class UnsetQuota(_QuotaEdit):
    """Remove an entity's quota."""

    entity: QuotaEntity
    key: str


class _AclEdit:
    __slots__ = ()
    acl: Acl

    @property
    def target(self) -> Acl:
        """The binding."""
        return self.acl

    @property
    def key(self) -> str:
        """None: the binding is all."""
        return ""

    @property
    def slot(self) -> Slot:
        """The binding."""
        return Slot(self.acl, "")


@dataclass(frozen=True, slots=True)
class AddAcl(_AclEdit):
    """Create a binding."""

    acl: Acl


@dataclass(frozen=True, slots=True)
class RemoveAcl(_AclEdit):
    """Delete exactly this binding."""

    acl: Acl


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create a topic; its configs may also be staged as edits of their own."""

    topic: NewTopic

    @property
    def target(self) -> str:
        """The topic's name."""
        return self.topic.name

    @property
    def key(self) -> str:
        """None: the topic is all."""
        return ""

    @property
    def slot(self) -> Slot:
        """The topic."""
        return Slot(self.topic.name, "")


class _TopicEdit:
    __slots__ = ()
    name: str

    @property
    def target(self) -> str:
        """The topic's name."""
        return self.name

    @property
    def key(self) -> str:
        """None: the topic is all."""
        return ""

    @property
    def slot(self) -> Slot:
        """The topic."""
        return Slot(self.name, "")


@dataclass(frozen=True, slots=True)
class DeleteTopic(_TopicEdit):
    """Delete a topic with all its records."""

    name: str


@dataclass(frozen=True, slots=True)
class GrowTopic(_TopicEdit):
    """Raise a topic's partition count to this total."""

    name: str
    partitions: int


class _ScramEdit:
    __slots__ = ()
    user: ScramUser

    @property
    def target(self) -> ScramUser:
        """The user and the mechanism."""
        return self.user

    @property
    def key(self) -> str:
        """None: the credential is all."""
        return ""

    @property
    def slot(self) -> Slot:
        """The credential."""
        return Slot(self.user, "")


@dataclass(frozen=True, slots=True)
class UpsertScram(_ScramEdit):
    """Create or replace a SCRAM credential."""

    user: ScramUser
    iterations: int
    password: Secret


@dataclass(frozen=True, slots=True)
class DeleteScram(_ScramEdit):
    """Delete a SCRAM credential."""

    user: ScramUser


ConfigEdit = SetConfig | UnsetConfig | AppendConfig | SubtractConfig
QuotaEdit = SetQuota | UnsetQuota
AclEdit = AddAcl | RemoveAcl
TopicEdit = CreateTopic | DeleteTopic | GrowTopic
ScramEdit = UpsertScram | DeleteScram
Edit = ConfigEdit | QuotaEdit | AclEdit | TopicEdit | ScramEdit
