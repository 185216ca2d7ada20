"""What a plan changes, line by line: the effective value before and after each edit, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from console.model.changes import Target
from console.model.codes import ConfigSource
from console.model.inheritance import Inheritance, Inherited
from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Described, Draft, Staged, Was, subject

# What applies in the place of an edit before and after it, as values; `diff` makes them.


class EffectiveValue(NamedTuple):
    """What applies to a slot before or after an edit.

    value: a config's text, a quota's number, a topic's partition count, a credential's iterations, an ACL's permission
    (``ALLOW``); None: nothing. source, name: where a config value comes from and the key's name there
    (``log.retention.ms``); None, ``""`` for everything but configs. hidden: there is a value, or may be one, that is
    not shown. known: False where it was not read.
    """

    value: str | float | None
    source: ConfigSource | None = None
    name: str = ""
    hidden: bool = False
    known: bool = True


NOTHING = EffectiveValue(None)
UNKNOWN = EffectiveValue(None, known=False)


def inherited_value(found: Inherited) -> EffectiveValue:
    """What is inherited, as an effective value."""
    return EffectiveValue(found.value, found.source, found.name, found.hidden, found.known)


class DiffLine(NamedTuple):
    """One change that a request makes, of one staged edit (a created topic has a line for each config besides its own).

    verb: ``set`` ``unset`` ``append`` ``subtract`` ``add`` ``remove`` ``create`` ``grow`` ``delete``.
    key: a config's or a quota's; ``""`` where the target is all.
    moved: what was read when the edit was staged is no longer what is there.
    note: what the operator may not expect.
    implied: the edit that the line is of, where the staged one implies it: a config of a topic that is created.
    """

    staged: Staged
    verb: str
    key: str
    old: EffectiveValue
    new: EffectiveValue
    moved: bool = False
    note: str = ""
    implied: Edit | None = None

    @property
    def edit(self) -> Edit:
        """The edit that the line is of."""
        return self.staged.edit if self.implied is None else self.implied


class DiffGroup(NamedTuple):
    """The lines of one target, in the order they were staged. A topic's own edits stand with those of its configs,
    under its config resource."""

    target: Target
    lines: tuple[DiffLine, ...]


# What a plan changes, line by line: old -> new, and where each comes from.


def diff(plan: Plan, snapshot: Snapshot) -> tuple[DiffGroup, ...]:
    """Every change that the plan makes, against the snapshot where it was read, else against what was staged upon."""
    return diff_of(plan.staged, Draft(plan.staged, snapshot))


def diff_of(some: Iterable[Staged], draft: Draft) -> tuple[DiffGroup, ...]:
    """The same for some of what is staged in a draft."""
    groups: dict[Target, list[DiffLine]] = {}
    for staged in some:
        lines = groups.setdefault(subject(staged.edit.target), [])
        lines.append(_line(staged, draft))
        for edit in kind_of(staged.edit).implies(staged.edit):
            if draft.at(edit.slot) is None:
                new = after(edit, None, draft.inheritance)
                lines.append(DiffLine(staged, kind_of(edit).verb, edit.key, NOTHING, new, implied=edit))
    return tuple(DiffGroup(target, tuple(lines)) for target, lines in groups.items())


def before(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """What applies without the edit, where `there` is what was found in its place."""
    return UNKNOWN if there is UNREAD else kind_of(edit).before(edit, there, inheritance)


def after(edit: Edit, there: Was, inheritance: Inheritance) -> EffectiveValue:
    """What applies once the edit is done."""
    return kind_of(edit).after(edit, None if there is UNREAD else there, inheritance)


def _line(staged: Staged, seen: Described) -> DiffLine:
    edit = staged.edit
    kind = kind_of(edit)
    now = current_state(edit, seen)
    there = staged.was if now is UNREAD else now
    old, new = before(edit, there, seen.inheritance), after(edit, there, seen.inheritance)
    note = kind.note(edit, None if there is UNREAD else there, old, seen.inheritance)
    return DiffLine(staged, kind.verb, edit.key, old, new, moved(edit, staged.was, now), note)
