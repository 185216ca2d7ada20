"""From what a lake tells to edits: the undo of a change, the alignment of an odd one, a quota that is suggested. Pure.

The lake tells of the past: whoever stages these reads what is there now first, and says where the two differ.
"""

from __future__ import annotations

from typing import NamedTuple

from console.history import entities
from console.history.reader.rows import Change, Drifted, Usage
from console.model.acl import Acl
from console.model.broker_keys import UpdateMode, update_mode
from console.model.changes import ScramUser
from console.model.codes import AclOperation, AclResourceType, PatternType, Permission, ResourceType, ScramMechanism
from console.model.config import CLUSTER_DEFAULT, ConfigResource
from console.model.quota import CLIENT_ID, USER, QuotaEntity
from console.plan.edits import (
    AddAcl,
    DeleteScram,
    Edit,
    RemoveAcl,
    SetConfig,
    SetQuota,
    UnsetConfig,
    UnsetQuota,
)
from console.present.lake import REDACTED, entity_text, is_hidden
from console.present.text import clean

CONFIG_TYPES = ("topic", "broker", "group", "client-metrics", "broker-logger")


class Cannot(NamedTuple):
    """Why there is no edit for it, in a line, and what else may be done."""

    why: str


def undo(change: Change) -> Edit | Cannot:
    """What sets back the value that was there before, or takes away what was not."""
    if change.is_gap:
        return Cannot("that is no change: nobody looked at the cluster then")
    if is_hidden(change):
        return Cannot("the value is hidden: the lake never had it. Set it again with KEY=? or KEY=@FILE")
    match change.entity_type:
        case "acl":
            return _undo_acl(change)
        case "scram":
            return _undo_scram(change)
        case type_ if type_ in CONFIG_TYPES and change.attr.startswith(":"):
            return _undo_whole(change)
        case _:
            return wanted(change.entity_type, change.entity_key, change.attr, change.old_value)


def wanted(type_: str, key: str, attr: str, value: str | None) -> Edit | Cannot:
    """What gives an entity's key a value, or with None takes away the one that it has of its own."""
    if type_ == "quota":
        return _quota(QuotaEntity.of(entities.quota_parts(key)), attr, value)
    resource = config_resource(type_, key)
    if resource is None:
        return Cannot(f"{entity_text(type_, key)} can't be changed from here")
    if update_mode(resource.type, attr) is UpdateMode.RESTART:
        return Cannot(f"{clean(attr, 100)} is in the broker's server.properties: change it there, and restart it")
    return UnsetConfig(resource, attr) if value is None else SetConfig(resource, attr, value)


def config_resource(type_: str, key: str) -> ConfigResource | None:
    """The resource of an entity that has configs, None for what has none."""
    if type_ not in CONFIG_TYPES:
        return None
    if type_ == "broker" and key == entities.DEFAULT:
        return CLUSTER_DEFAULT
    return ConfigResource(ResourceType.parse(type_), key)


def _quota(entity: QuotaEntity, key: str, value: str | None) -> Edit | Cannot:
    if value is None:
        return UnsetQuota(entity, key)
    try:
        return SetQuota(entity, key, float(value))
    except ValueError:
        return Cannot(f"{clean(value, 100)} is no quota")


def _undo_whole(change: Change) -> Cannot:
    """Of what is no config nothing goes back by itself."""
    name = entity_text(change.entity_type, change.entity_key)
    match change.attr:
        case ":topic_id" if change.is_deleted:
            return Cannot(f"{name} was deleted: its records are gone. `create topic` makes an empty one")
        case ":topic_id" | ":partitions" if change.old_value is None:
            return Cannot(f"{name} was created then: `delete topic` takes it away, with all its records")
        case ":partitions":
            return Cannot("partitions can't be taken away again")
        case _:
            return Cannot(f"{clean(change.attr[1:], 60)} of {name} can't be changed from here")


def _undo_acl(change: Change) -> Edit | Cannot:
    binding = acl_of(change.entity_key, change.attr)
    if binding is None:
        return Cannot("this is an ACL of a kind that is not known here")
    return AddAcl(binding) if change.is_deleted else RemoveAcl(binding)


def acl_of(key: str, attr: str) -> Acl | None:
    """The binding that an ACL's key and attribute spell; None where they spell none."""
    try:
        resource_type, pattern_type, name = entities.acl_resource(key)
        permission, operation, principal, host = entities.acl_parts(attr)
        return Acl(
            AclResourceType.parse(resource_type),
            name,
            PatternType.parse(pattern_type),
            principal,
            host,
            AclOperation.parse(operation),
            Permission.parse(permission),
        )
    except ValueError:
        return None


def _undo_scram(change: Change) -> Edit | Cannot:
    if change.is_deleted or change.old_value is not None:
        return Cannot("what the password was is not known: `scram set` gives a new one")
    try:
        return DeleteScram(ScramUser(change.entity_key, ScramMechanism.parse(change.attr)))
    except ValueError:
        return Cannot(f"{clean(change.attr, 60)} is a mechanism that is not known here")


def align(row: Drifted) -> Edit | Cannot:
    """What gives an odd one the majority's value, or the baseline's."""
    type_, key = row.entity
    if REDACTED in (row.majority_value, row.this_value):
        return Cannot("the value is hidden: the lake never had it. Set it with KEY=? or KEY=@FILE")
    if row.attr.startswith(":"):
        return Cannot(f"{clean(row.attr[1:], 60)} is no config: it can't be aligned from here")
    if type_ == "acl":
        binding = acl_of(key, row.attr)
        if binding is None:
            return Cannot("this is an ACL of a kind that is not known here")
        return RemoveAcl(binding) if row.majority_value is None else AddAcl(binding)
    return wanted(type_, key, row.attr, row.majority_value)


def suggested(usage: Usage) -> Edit | Cannot:
    """The quota that would fit a pair, on the pair itself: the level that counts for it now may count for others."""
    if usage.suggested_value is None:
        return Cannot(f"nothing is suggested: {clean(usage.reason, 200)}")
    parts: dict[str, str | None] = {}
    if usage.pair.scope_user is not None:
        parts[USER] = usage.pair.scope_user
    if usage.pair.scope_client:
        parts[CLIENT_ID] = usage.pair.scope_client
    if not parts:
        return Cannot("a client without a user and an id can't have a quota of its own")
    return SetQuota(QuotaEntity.of(parts), usage.pair.quota_key, usage.suggested_value)
