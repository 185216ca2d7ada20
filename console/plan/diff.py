"""What a plan changes, line by line: the effective value before and after each edit, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from console.model.acl import Acl
from console.model.changes import NewTopic, Target
from console.model.cluster import ScramCredential, Topic
from console.model.codes import DEFAULT_CONFIG, ConfigSource
from console.model.config import ConfigEntry, is_override, own_source, topic_resource
from console.model.inheritance import Inheritance, Inherited
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    Edit,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UpsertScram,
)
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Draft, Staged, Was, subject
from console.plan.values import canonical, own_text, result_of

# What applies to the place of an edit before and after it: a value, and where it comes from.


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


# What a plan changes, line by line: old -> new, and where each comes from.

__all__ = ["NOTHING", "UNKNOWN", "DiffGroup", "DiffLine", "EffectiveValue", "diff", "diff_of"]


class DiffLine(NamedTuple):
    """One change that a request makes, of one staged edit (a created topic has a line for each config besides its own).

    verb: ``set`` ``unset`` ``append`` ``subtract`` ``add`` ``remove`` ``create`` ``grow`` ``delete``.
    key: a config's or a quota's; ``""`` where the target is all.
    moved: what was read when the edit was staged is no longer what is there.
    note: what the operator may not expect, in words.
    """

    staged: Staged
    verb: str
    key: str
    old: EffectiveValue
    new: EffectiveValue
    moved: bool = False
    note: str = ""


class DiffGroup(NamedTuple):
    """The lines of one target, in the order they were staged. A topic's own edits stand with those of its configs,
    under its config resource."""

    target: Target
    lines: tuple[DiffLine, ...]


_VERBS: dict[type, str] = {
    SetConfig: "set",
    UnsetConfig: "unset",
    AppendConfig: "append",
    SubtractConfig: "subtract",
    SetQuota: "set",
    AddAcl: "add",
    RemoveAcl: "remove",
    CreateTopic: "create",
    GrowTopic: "grow",
    DeleteTopic: "delete",
    UpsertScram: "set",
    DeleteScram: "delete",
}


def diff(plan: Plan, snapshot: Snapshot) -> tuple[DiffGroup, ...]:
    """Every change that the plan makes, against the snapshot where it was read, else against what was staged upon."""
    return diff_of(plan.staged, Draft(plan.staged, snapshot))


def diff_of(some: Iterable[Staged], draft: Draft) -> tuple[DiffGroup, ...]:
    """The same for some of what is staged in a draft."""
    groups: dict[Target, list[DiffLine]] = {}
    for staged in some:
        lines = groups.setdefault(subject(staged.edit.target), [])
        lines.append(_line(staged, draft.snapshot, draft.acls, draft.inheritance))
        if isinstance(staged.edit, CreateTopic):
            topic = staged.edit.topic
            resource = topic_resource(topic.name)
            for key, value in topic.configs.items():
                edit = SetConfig(resource, key, value)
                if draft.at(edit.slot) is None:
                    lines.append(DiffLine(staged, "set", key, NOTHING, set_to(edit)))
    return tuple(DiffGroup(target, tuple(lines)) for target, lines in groups.items())


def _line(staged: Staged, snapshot: Snapshot, acls: AbstractSet[Acl], inheritance: Inheritance) -> DiffLine:
    edit = staged.edit
    now = current_state(edit, snapshot, acls)
    there = staged.was if now is UNREAD else now
    verb = _VERBS.get(type(edit), "unset")
    old, new = before(edit, there, inheritance), after(edit, there, inheritance)
    note = ""
    if isinstance(edit, ConfigEdit):
        note = _note(edit, there if isinstance(there, ConfigEntry) else None, old, inheritance)
    return DiffLine(staged, verb, edit.key, old, new, moved(edit, staged.was, now), note)


def _note(edit: ConfigEdit, entry: ConfigEntry | None, old: EffectiveValue, inheritance: Inheritance) -> str:
    if not isinstance(edit, AppendConfig | SubtractConfig) or entry is None or is_override(entry, edit.resource):
        return ""
    base = inheritance.default(edit.resource, edit.key)
    if old.source == DEFAULT_CONFIG or base is None or canonical(entry.type, base) == old.value:
        return ""
    return f"starts from Kafka's default {base}, not from the inherited {old.value}"
