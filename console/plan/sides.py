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
from console.plan.own_values import own_text, result_of
from console.plan.staged import UNREAD, Was


class Side(NamedTuple):
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


NOTHING = Side(None)
UNKNOWN = Side(None, known=False)


def before(edit: Edit, there: Was, inheritance: Inheritance) -> Side:
    """What applies without the edit, where `there` is what was found in its place."""
    if there is UNREAD:
        return UNKNOWN
    if not isinstance(edit, ConfigEdit):
        return _old(there)
    if not isinstance(there, ConfigEntry):  # not listed: what applies is set elsewhere, or nowhere
        return _inherited(inheritance.without_override(edit.resource, edit.key))
    name = there.synonyms[0].name if there.synonyms else there.name
    return Side(there.value, there.source, name, there.hidden)


def after(edit: Edit, there: Was, inheritance: Inheritance) -> Side:
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
    return Side(value, own_source(edit.resource), edit.key, known=known)


def set_to(edit: SetConfig) -> Side:
    """What a set makes of its key."""
    source = own_source(edit.resource)
    if isinstance(edit.value, Secret):
        return Side(None, source, edit.key, hidden=True)
    return Side(edit.value, source, edit.key)


def _inherited(found: Inherited) -> Side:
    return Side(found.value, found.source, found.name, found.hidden, found.known)


def _old(there: Was) -> Side:
    match there:
        case Topic():
            return Side(len(there.partitions))
        case Acl():
            return Side(there.permission.name)
        case ScramCredential():
            return Side(there.iterations, hidden=True)
        case float() | int():
            return Side(there)
        case _:
            return NOTHING


def _new(edit: Edit) -> Side:
    match edit:
        case SetQuota(value=value):
            return Side(value)
        case AddAcl(acl=acl):
            return Side(acl.permission.name)
        case CreateTopic(topic=topic):
            return _created(topic)
        case GrowTopic(partitions=partitions):
            return Side(partitions)
        case UpsertScram(iterations=iterations):
            return Side(iterations, hidden=True)
        case _:
            return NOTHING


def _created(topic: NewTopic) -> Side:
    count = len(topic.assignments) or topic.partitions
    return Side(count) if count > 0 else UNKNOWN
