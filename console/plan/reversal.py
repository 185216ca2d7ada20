"""The opposite of an edit that was applied: value and source as they were. And what has none. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from console.model.changes import NewTopic
from console.model.cluster import ScramCredential, Topic
from console.model.codes import BROKER_LOGGER
from console.model.config import ConfigEntry, ConfigResource, is_override, own_source
from console.model.secret import Secret
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
from console.plan.staged import UNREAD, Staged, Was
from console.plan.values import appended, canonical, own_text, subtracted

_NONE: Mapping[str, str] = MappingProxyType({})


class Reversal(NamedTuple):
    """How an edit is taken back.

    edit: what does it, None where nothing can. left: what the edit left in its place, on which its opposite stands.
    loss: what does not come back with it, in words; ``""`` where all does.
    """

    edit: Edit | None
    left: Was
    loss: str = ""


def reversal(staged: Staged, overrides: Mapping[str, str] = _NONE) -> Reversal:
    """The opposite of an edit, from what stood in its place when it was applied. overrides: of a topic that it deleted,
    which a topic made again is given."""
    edit, was = staged.edit, staged.was
    if was is UNREAD:
        return Reversal(None, UNREAD, "what was there before was not read")
    if isinstance(edit, ConfigEdit):
        return _config(edit, was if isinstance(was, ConfigEntry) else None)
    if isinstance(edit, QuotaEdit):
        left = edit.value if isinstance(edit, SetQuota) else None
        back = (
            SetQuota(edit.entity, edit.key, was) if isinstance(was, float | int) else UnsetQuota(edit.entity, edit.key)
        )
        return Reversal(back, left)
    match edit:
        case AddAcl(acl=acl):
            return Reversal(RemoveAcl(acl) if was is None else None, acl)
        case RemoveAcl(acl=acl):
            return Reversal(AddAcl(acl), None)
        case CreateTopic(topic=topic):
            return Reversal(DeleteTopic(topic.name), UNREAD, "what was written to the topic since is deleted with it")
        case DeleteTopic(name=name):
            return _deleted(name, was, overrides)
        case GrowTopic():
            return Reversal(None, UNREAD, "partitions can't be taken away again")
        case UpsertScram(user=user):
            if was is None:
                return Reversal(DeleteScram(user), ScramCredential(user.mechanism, edit.iterations))
            return Reversal(None, UNREAD, "the former password is nowhere kept")
        case _:
            return Reversal(None, None, "the password is nowhere kept")


def _config(edit: ConfigEdit, was: ConfigEntry | None) -> Reversal:
    resource, key = edit.resource, edit.key
    left = _left(edit, was)
    if was is None or not is_override(was, resource):
        return Reversal(UnsetConfig(resource, key), left)
    own = own_text(was, resource)
    if own is None:
        return Reversal(None, left, "the former value is sensitive and nowhere kept")
    loss = ""
    if resource.type == BROKER_LOGGER:
        loss = "whether the level was the logger's own is not told: it is set"
    return Reversal(SetConfig(resource, key, own), left, loss)


def _left(edit: ConfigEdit, was: ConfigEntry | None) -> Was:
    """What is in the place once the edit is applied; UNREAD where that can't be told."""
    if isinstance(edit, UnsetConfig):
        return UNREAD if edit.resource.type == BROKER_LOGGER else None
    if isinstance(edit, SetConfig):
        value = None if isinstance(edit.value, Secret) else edit.value
        return _own_entry(edit.resource, edit.key, value, was)
    own = own_text(was, edit.resource)
    if own is None:
        return UNREAD  # the list began with a default that need not be known
    value = appended(own, edit.value) if isinstance(edit, AppendConfig) else subtracted(own, edit.value)
    return _own_entry(edit.resource, edit.key, value, was)


def _own_entry(resource: ConfigResource, key: str, value: str | None, was: ConfigEntry | None) -> ConfigEntry:
    source = own_source(resource)
    if was is None:
        return ConfigEntry(key, value, source, sensitive=value is None)
    shown = value if value is None else canonical(was.type, value)
    return ConfigEntry(key, shown, source, was.read_only, was.sensitive, was.type)


def _deleted(name: str, was: Was, overrides: Mapping[str, str]) -> Reversal:
    loss = "the records are gone: the topic comes back empty"
    if not isinstance(was, Topic) or not was.partitions:
        return Reversal(None, None, "the topic's records are gone, and how it was made is not known")
    again = NewTopic(name, len(was.partitions), was.replication, configs=overrides)
    return Reversal(CreateTopic(again), None, loss)


def losses(staged: Iterable[Staged]) -> tuple[tuple[Staged, str], ...]:
    """What can't be taken back, or not whole, of edits that are not applied yet: each with why, in words."""
    found = ((each, reversal(each)) for each in staged)
    return tuple((each, back.loss) for each, back in found if back.loss and not _nothing_lost(each))


def _nothing_lost(staged: Staged) -> bool:
    """A topic that is created takes nothing away; a level that is set can be set back."""
    edit = staged.edit
    return isinstance(edit, CreateTopic) or (isinstance(edit, ConfigEdit) and edit.resource.type == BROKER_LOGGER)
