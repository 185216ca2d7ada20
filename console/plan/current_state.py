"""What a snapshot has in the place of an edit, and whether that is what was there before, or what the edit wants."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from console.model.acl import Acl
from console.model.cluster import Topic
from console.model.codes import BROKER_LOGGER, ConfigType
from console.model.config import ConfigEntry, ConfigResource, is_override
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    Edit,
    GrowTopic,
    QuotaEdit,
    RemoveAcl,
    SetConfig,
    SetQuota,
    UnsetConfig,
    UnsetQuota,
    UpsertScram,
)
from console.plan.staged import UNREAD, Was
from console.plan.values import canonical, own_text, parts_of, same_value


def current_state(edit: Edit, snapshot: Snapshot, acls: AbstractSet[Acl]) -> Was:
    """What is in the edit's place in this snapshot, whose bindings are `acls`; UNREAD where it does not tell."""
    if isinstance(edit, ConfigEdit):
        configs = snapshot.configs.get(edit.resource)
        return UNREAD if configs is None else configs.get(edit.key)
    if isinstance(edit, QuotaEdit):
        there: Was = snapshot.quotas.get(edit.entity, {}).get(edit.key)
        part = "quotas"
    elif isinstance(edit, AddAcl | RemoveAcl):
        there = edit.acl if edit.acl in acls else None
        part = "acls"
    elif isinstance(edit, UpsertScram | DeleteScram):
        credentials = snapshot.scram.get(edit.user.user, ())
        there = next((each for each in credentials if each.mechanism == edit.user.mechanism), None)
        part = "scram"
    else:
        there = snapshot.topics.get(edit.target)
        part = "topics"
    return there if there is not None or part in snapshot.read_at else UNREAD


def moved(edit: Edit, was: Was, now: Was) -> bool:
    """Whether what an edit stands on has changed; leaders may move, documentation may come in. False where either was
    not read. A key that is not listed is as one that its resource does not set; a hidden value can't be compared."""
    if was is UNREAD or now is UNREAD:
        return False
    if isinstance(edit, ConfigEdit) and (was is None or now is None):
        return _is_own(was, edit.resource) != _is_own(now, edit.resource)
    if isinstance(was, Topic) and isinstance(now, Topic):
        return len(was.partitions) != len(now.partitions) or _another(was, now)
    if isinstance(was, ConfigEntry) and isinstance(now, ConfigEntry):
        hidden, type_ = was.hidden or now.hidden, was.type or now.type
        if hidden or was.value == now.value:
            return was.source != now.source
        return was.source != now.source or _parsed(was, type_) != _parsed(now, type_)
    return was != now


def own_moved(edit: Edit, was: Was, now: Was) -> bool:
    """The same without what a config inherits: whether its resource itself has another value, or one at all."""
    if isinstance(edit, ConfigEdit) and isinstance(was, ConfigEntry) and isinstance(now, ConfigEntry):
        mine, theirs = _is_own(was, edit.resource), _is_own(now, edit.resource)
        hidden = was.hidden or now.hidden
        return mine != theirs or (mine and not hidden and own_text(was, edit.resource) != own_text(now, edit.resource))
    return moved(edit, was, now)


def wanted(edit: Edit, now: Was) -> bool | None:
    """Whether what is found is what the edit wants; None where that can't be seen: a secret, or not read."""
    if now is UNREAD:
        return None
    if isinstance(edit, ConfigEdit):
        return _config_wanted(edit, now if isinstance(now, ConfigEntry) else None)
    match edit:
        case SetQuota(value=value):
            return now == value
        case AddAcl() | CreateTopic():
            return now is not None
        case UnsetQuota() | RemoveAcl() | DeleteScram() | DeleteTopic():
            return now is None
        case GrowTopic(partitions=count):
            return isinstance(now, Topic) and len(now.partitions) >= count
        case _:
            return False if now is None else None


def _config_wanted(edit: ConfigEdit, entry: ConfigEntry | None) -> bool | None:
    if isinstance(edit, UnsetConfig):
        # A logger is described as if it were set, whoever gave it its level.
        return None if edit.resource.type == BROKER_LOGGER else not _is_own(entry, edit.resource)
    if entry is None or not _is_own(entry, edit.resource):
        return False
    own = own_text(entry, edit.resource)
    if own is None:
        return None
    if isinstance(edit, SetConfig):
        if isinstance(edit.value, Secret):
            return None
        return same_value(entry.type, own, edit.value)
    items, there = set(parts_of(edit.value)), set(parts_of(own))
    return items <= there if isinstance(edit, AppendConfig) else not items & there


def _parsed(entry: ConfigEntry, type_: ConfigType) -> str | None:
    """The value as brokers write what they parsed: some describe it so, others as it was given."""
    return entry.value if entry.value is None else canonical(type_, entry.value)


def _is_own(was: Was, resource: ConfigResource) -> bool:
    return isinstance(was, ConfigEntry) and is_override(was, resource)


def _another(was: Topic, now: Topic) -> bool:
    """Whether this is another topic of the same name: it was deleted and made anew."""
    return was.topic_id is not None and now.topic_id is not None and was.topic_id != now.topic_id
