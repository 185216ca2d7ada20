"""What a plan changes, line by line: old -> new, and where each comes from."""

from __future__ import annotations

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
    SubtractConfig,
    UnsetConfig,
    UpsertScram,
)
from console.plan.own_values import own_text, result_of
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged, Was, subject
from console.plan.values import canonical


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
    old: Side
    new: Side
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
    inheritance = Inheritance(snapshot)
    acls = frozenset(snapshot.acls)
    set_apart = {staged.edit.slot for staged in plan.staged}
    groups: dict[Target, list[DiffLine]] = {}
    for staged in plan.staged:
        lines = groups.setdefault(subject(staged.edit.target), [])
        lines.append(_line(staged, snapshot, acls, inheritance))
        if isinstance(staged.edit, CreateTopic):
            topic = staged.edit.topic
            resource = topic_resource(topic.name)
            for key, value in topic.configs.items():
                edit = SetConfig(resource, key, value)
                if edit.slot not in set_apart:
                    lines.append(DiffLine(staged, "set", key, NOTHING, _set_to(edit)))
    return tuple(DiffGroup(target, tuple(lines)) for target, lines in groups.items())


def _line(staged: Staged, snapshot: Snapshot, acls: AbstractSet[Acl], inheritance: Inheritance) -> DiffLine:
    edit = staged.edit
    now = _now(edit, snapshot, acls)
    there = staged.was if now is UNREAD else now
    moved = now is not UNREAD and staged.was is not UNREAD and _essence(now) != _essence(staged.was)
    verb = _VERBS.get(type(edit), "unset")
    note = ""
    if isinstance(edit, ConfigEdit):
        entry = there if isinstance(there, ConfigEntry) else None
        old, new = _config_old(edit, there, inheritance), _config_new(edit, entry, inheritance)
        note = _note(edit, entry, old, inheritance)
    else:
        old, new = _old(there), _new(edit)
    return DiffLine(staged, verb, edit.key, old, new, moved, note)


def _now(edit: Edit, snapshot: Snapshot, acls: AbstractSet[Acl]) -> Was:
    """What is in the edit's place in this snapshot; UNREAD where it does not tell."""
    if isinstance(edit, ConfigEdit):
        configs = snapshot.configs.get(edit.resource)
        return UNREAD if configs is None else configs.get(edit.key)
    if isinstance(edit, QuotaEdit):
        found: Was = snapshot.quotas.get(edit.entity, {}).get(edit.key)
        part = "quotas"
    elif isinstance(edit, AddAcl | RemoveAcl):
        found = edit.acl if edit.acl in acls else None
        part = "acls"
    elif isinstance(edit, UpsertScram | DeleteScram):
        credentials = snapshot.scram.get(edit.user.user, ())
        found = next((each for each in credentials if each.mechanism == edit.user.mechanism), None)
        part = "scram"
    else:
        found = snapshot.topics.get(edit.target)
        part = "topics"
    return found if found is not None or part in snapshot.read_at else UNREAD


def _essence(was: Was) -> object:
    """What counts as a change of what an edit stands on: leaders may move, documentation may come in."""
    match was:
        case ConfigEntry():
            return was.value, was.source
        case Topic():
            return len(was.partitions)
        case _:
            return was


def _config_old(edit: ConfigEdit, there: Was, inheritance: Inheritance) -> Side:
    if there is UNREAD:
        return UNKNOWN
    if not isinstance(there, ConfigEntry):  # not listed: what applies is set elsewhere, or nowhere
        return _inherited(inheritance.without_override(edit.resource, edit.key))
    name = there.synonyms[0].name if there.synonyms else there.name
    return Side(there.value, there.source, name, there.hidden)


def _inherited(found: Inherited) -> Side:
    return Side(found.value, found.source, found.name, found.hidden, found.known)


def _config_new(edit: ConfigEdit, entry: ConfigEntry | None, inheritance: Inheritance) -> Side:
    if isinstance(edit, SetConfig):
        return _set_to(edit)
    if isinstance(edit, UnsetConfig):
        return _inherited(inheritance.without_override(edit.resource, edit.key))
    known = own_text(entry, edit.resource) is not None or inheritance.default(edit.resource, edit.key) is not None
    value = result_of(edit, entry, inheritance) if known else None
    return Side(value, own_source(edit.resource), edit.key, known=known)


def _set_to(edit: SetConfig) -> Side:
    source = own_source(edit.resource)
    if isinstance(edit.value, Secret):
        return Side(None, source, edit.key, hidden=True)
    return Side(edit.value, source, edit.key)


def _note(edit: ConfigEdit, entry: ConfigEntry | None, old: Side, inheritance: Inheritance) -> str:
    if not isinstance(edit, AppendConfig | SubtractConfig) or entry is None or is_override(entry, edit.resource):
        return ""
    base = inheritance.default(edit.resource, edit.key)
    if old.source == DEFAULT_CONFIG or base is None or canonical(entry.type, base) == old.value:
        return ""
    return f"starts from Kafka's default {base}, not from the inherited {old.value}"


def _old(there: Was) -> Side:
    if there is UNREAD:
        return UNKNOWN
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
