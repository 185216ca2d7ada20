"""What applies to the place of an edit before and after it: a value, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple

from console.model.acl import Acl
from console.model.changes import NewTopic
from console.model.cluster import ScramCredential, Topic
from console.model.codes import ConfigSource
from console.model.config import ConfigEntry, own_source
from console.model.inheritance import Inheritance, Inherited
from console.model.secret import Secret
from console.plan.edits import (
    AddAcl,
    ConfigEdit,
    CreateTopic,
    Edit,
    GrowTopic,
    SetConfig,
    SetQuota,
    UnsetConfig,
    UpsertScram,
)
from console.plan.staged import UNREAD, Was
from console.plan.values import own_text, result_of


class EffectiveValue(NamedTuple):
    """What applies to a slot before or after.

    value: a config's text, a quota's number, a topic's partition count, a credential's iterations, an ACL's permission
    (``ALLOW``); None: nothing. source, name: where a config value comes from and the key's name there
    (``log.retention.ms``); None, ``""`` for what is no config. hidden: there is a value, or may be, that is not told.
    known: False where it was not read.
    """

    value: str | float | None
    source: ConfigSource | None = None
    name: str = ""
    hidden: bool = False
    known: bool = True


NOTHING = EffectiveValue(None)
UNKNOWN = EffectiveValue(None, known=False)


def before(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """What applies without the edit, where `there` is what was found in its place."""
    if there is UNREAD:
        return UNKNOWN
    if not isinstance(edit, ConfigEdit):
        return _old(there)
    if not isinstance(there, ConfigEntry):  # not listed: what applies is set elsewhere, or nowhere
        return _inherited(inheritance.without_override(edit.resource, edit.key))
    name = there.synonyms[0].name if there.synonyms else there.name
    return EffectiveValue(there.value, there.source, name, there.hidden)


def after(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """What applies once the edit is done."""
    if not isinstance(edit, ConfigEdit):
        return _new(edit)
    if isinstance(edit, SetConfig):
        return set_to(edit)
    if isinstance(edit, UnsetConfig):
        return _inherited(inheritance.without_override(edit.resource, edit.key))
    entry = there if isinstance(there, ConfigEntry) else None
    known = own_text(entry, edit.resource) is not None or inheritance.default(edit.resource, edit.key) is not None
    value = result_of(edit, entry, inheritance) if known else None
    return EffectiveValue(value, own_source(edit.resource), edit.key, known=known)


def set_to(edit: SetConfig) -> EffectiveValue:
    """What a set makes of its key."""
    source = own_source(edit.resource)
    if isinstance(edit.value, Secret):
        return EffectiveValue(None, source, edit.key, hidden=True)
    return EffectiveValue(edit.value, source, edit.key)


def _inherited(found: Inherited) -> EffectiveValue:
    return EffectiveValue(found.value, found.source, found.name, found.hidden, found.known)


def _old(there: Was) -> EffectiveValue:
    match there:
        case Topic():
            return EffectiveValue(len(there.partitions))
        case Acl():
            return EffectiveValue(there.permission.name)
        case ScramCredential():
            return EffectiveValue(there.iterations, hidden=True)
        case float() | int():
            return EffectiveValue(there)
        case _:
            return NOTHING


def _new(edit: Edit) -> EffectiveValue:
    match edit:
        case SetQuota(value=value):
            return EffectiveValue(value)
        case AddAcl(acl=acl):
            return EffectiveValue(acl.permission.name)
        case CreateTopic(topic=topic):
            return _created(topic)
        case GrowTopic(partitions=partitions):
            return EffectiveValue(partitions)
        case UpsertScram(iterations=iterations):
            return EffectiveValue(iterations, hidden=True)
        case _:
            return NOTHING


def _created(topic: NewTopic) -> EffectiveValue:
    count = len(topic.assignments) or topic.partitions
    return EffectiveValue(count) if count > 0 else UNKNOWN
