"""Edits: what an operator wants changed, one value each. A plan holds them; nothing here reads or sends."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from console.model.acl import Acl
from console.model.changes import NewTopic, ScramUser, Target
from console.model.config import ConfigResource
from console.model.quota import QuotaEntity
from console.model.secret import Secret


class Slot(NamedTuple):
    """The place that an edit changes: a plan has at most one edit for each. key is ``""`` where the target is all."""

    target: Target
    key: str


class _ConfigEdit(Struct, frozen=True):
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


class SetConfig(_ConfigEdit, frozen=True):
    """Give a key a value on this resource; a sensitive value is a Secret."""

    resource: ConfigResource
    key: str
    value: str | Secret


class UnsetConfig(_ConfigEdit, frozen=True):
    """Delete the resource's own value of a key, so that it inherits again."""

    resource: ConfigResource
    key: str


class AppendConfig(_ConfigEdit, frozen=True):
    """Add items, parted by commas, to a LIST; those that are there stay as they are."""

    resource: ConfigResource
    key: str
    value: str


class SubtractConfig(_ConfigEdit, frozen=True):
    """Take items, parted by commas, out of a LIST."""

    resource: ConfigResource
    key: str
    value: str


class _QuotaEdit(Struct, frozen=True):
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


class SetQuota(_QuotaEdit, frozen=True):
    """Give an entity a quota: bytes/s, percent, mutations/s or connections/s by the key."""

    entity: QuotaEntity
    key: str
    value: float


class UnsetQuota(_QuotaEdit, frozen=True):
    """Remove an entity's quota."""

    entity: QuotaEntity
    key: str


class _AclEdit(Struct, frozen=True):
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


class AddAcl(_AclEdit, frozen=True):
    """Create a binding."""

    acl: Acl


class RemoveAcl(_AclEdit, frozen=True):
    """Delete exactly this binding."""

    acl: Acl


class CreateTopic(Struct, frozen=True):
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


class _TopicEdit(Struct, frozen=True):
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


class DeleteTopic(_TopicEdit, frozen=True):
    """Delete a topic with all its records."""

    name: str


class GrowTopic(_TopicEdit, frozen=True):
    """Raise a topic's partition count to this total."""

    name: str
    partitions: int


class _ScramEdit(Struct, frozen=True):
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


class UpsertScram(_ScramEdit, frozen=True):
    """Create or replace a SCRAM credential."""

    user: ScramUser
    iterations: int
    password: Secret


class DeleteScram(_ScramEdit, frozen=True):
    """Delete a SCRAM credential."""

    user: ScramUser


ConfigEdit = SetConfig | UnsetConfig | AppendConfig | SubtractConfig
QuotaEdit = SetQuota | UnsetQuota
AclEdit = AddAcl | RemoveAcl
TopicEdit = CreateTopic | DeleteTopic | GrowTopic
ScramEdit = UpsertScram | DeleteScram
Edit = ConfigEdit | QuotaEdit | AclEdit | TopicEdit | ScramEdit
