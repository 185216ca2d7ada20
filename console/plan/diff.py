"""What a plan changes, line by line: old -> new, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from console.model.acl import Acl
from console.model.changes import Target
from console.model.codes import DEFAULT_CONFIG
from console.model.config import ConfigEntry, is_override, topic_resource
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved
from console.plan.draft import Draft
from console.plan.edits import (
    AddAcl,
    AppendConfig,
    ConfigEdit,
    CreateTopic,
    DeleteScram,
    DeleteTopic,
    GrowTopic,
    RemoveAcl,
    SetConfig,
    SetQuota,
    SubtractConfig,
    UnsetConfig,
    UpsertScram,
)
from console.plan.effective_values import NOTHING, UNKNOWN, EffectiveValue, after, before, set_to
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Staged, subject
from console.plan.values import canonical

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
