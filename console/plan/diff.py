"""Compares a plan with a cluster: one line for each change, with the old and the new value and the source of each."""

from __future__ import annotations

from collections.abc import Iterable

from console.model.changes import GroupOffsetTarget, GroupTarget, Target
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved
from console.plan.edits import Edit
from console.plan.effective_values import NOTHING, UNKNOWN, DiffGroup, DiffLine, EffectiveValue
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Draft, Staged, Was, subject


def diff(plan: Plan, snapshot: Snapshot) -> tuple[DiffGroup, ...]:
    """Return every change of the plan, grouped by target. The old values are those of the snapshot, or those at staging
    if the snapshot lacks the target.
    """
    return diff_of(plan.staged, Draft(plan.staged, snapshot))


def diff_at(target: Target, plan: Plan, snapshot: Snapshot) -> tuple[DiffGroup, ...]:
    """Return the plan's changes of one target, as `diff` does, without computing those of other targets."""
    some = [staged for staged in plan.staged if _heading(staged.edit.target) == target]
    return diff_of(some, Draft(plan.staged, snapshot)) if some else ()


def diff_of(some: Iterable[Staged], draft: Draft) -> tuple[DiffGroup, ...]:
    """Return the changes of some of a draft's edits, grouped as `diff` does."""
    groups: dict[Target, list[DiffLine]] = {}
    for staged in some:
        lines = groups.setdefault(_heading(staged.edit.target), [])
        lines.append(_line(staged, draft))
        for edit in kind_of(staged.edit).implies(staged.edit):
            # A staged config overrides the config that the creation implies, and has a line of its own.
            if draft.at(edit.slot) is None:
                new = after(edit, None, draft.inheritance)
                lines.append(DiffLine(staged, kind_of(edit).verb, edit.key, NOTHING, new, implied=edit))
    return tuple(DiffGroup(target, tuple(lines)) for target, lines in groups.items())


def _heading(target: Target) -> Target:
    """Return the target under which a diff lists the lines of a target: the group for a group's offset, the subject
    for a version of a subject, else the target itself.
    """
    return GroupTarget(target.group) if isinstance(target, GroupOffsetTarget) else subject(target)


def before(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """Return the effective value of an edit's target without the edit.

    Args:
        there: the state of the target; UNREAD gives UNKNOWN.
    """
    return UNKNOWN if there is UNREAD else kind_of(edit).before(edit, there, inheritance)


def after(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """Return the effective value of an edit's target after the edit.

    Args:
        there: the state of the target; UNREAD counts as absent.
    """
    return kind_of(edit).after(edit, None if there is UNREAD else there, inheritance)


def _line(staged: Staged, seen: Draft) -> DiffLine:
    edit = staged.edit
    kind = kind_of(edit)
    now = current_state(edit, seen)
    there = staged.was if now is UNREAD else now
    old = before(edit, there, seen.inheritance)
    new = after(edit, there, kind.beneath(edit, seen))
    note = kind.note(edit, None if there is UNREAD else there, old, seen.inheritance)
    return DiffLine(staged, kind.verb, edit.key, old, new, moved(edit, staged.was, now), note)
