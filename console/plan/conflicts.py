"""What moved between staging and applying: was, theirs and mine, for everything that a plan touches. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from console.model.config import topic_resource
from console.model.inheritance import Inheritance
from console.model.snapshot import Snapshot
from console.plan.edits import CreateTopic, Slot
from console.plan.found import found, moved, own_moved, wanted
from console.plan.plan import Plan
from console.plan.sides import Side, after, before
from console.plan.staged import UNREAD, Staged, Was


@dataclass(frozen=True, slots=True)
class Conflict:
    """An edit whose place is not as it was when it was staged.

    was: what was read then; theirs: what is there now, unknown where it could not be read again; mine: what the edit
    makes of it. now: what was found, by which a conflict that was seen is told from one that came since.
    """

    staged: Staged
    was: Side
    theirs: Side
    mine: Side
    now: Was


def conflicts(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """The edits that stand on something else than they were staged upon. fresh: all that they touch, just described.

    Where somebody has already done the very thing there is nothing to overwrite, so that is none. An edit that was
    staged on what had not been read stands on nothing.
    """
    return tuple(_conflicts(staged, fresh))


def _conflicts(staged: Iterable[Staged], fresh: Snapshot) -> Iterator[Conflict]:
    acls = frozenset(fresh.acls)
    inheritance = Inheritance(fresh)
    all_ = tuple(staged)
    new = {topic_resource(each.edit.topic.name) for each in all_ if isinstance(each.edit, CreateTopic)}
    for each in all_:
        edit, was = each.edit, each.was
        now = found(edit, fresh, acls)
        if was is UNREAD or edit.target in new:
            continue
        lost = now is UNREAD
        if lost or (moved(edit, was, now) and wanted(edit, now) is not True):
            yield Conflict(
                each, before(edit, was, inheritance), before(edit, now, inheritance), after(edit, now, inheritance), now
            )


def changed_since(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """The conflicts in whose place something was changed itself; what an edit inherits may have changed."""
    return tuple(
        c for c in conflicts(staged, fresh) if c.now is UNREAD or own_moved(c.staged.edit, c.staged.was, c.now)
    )


def surprises(applied: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """Edits that were applied, in whose place now something is that is neither theirs nor what was there before."""
    return tuple(
        conflict for conflict in conflicts(applied, fresh) if conflict.now is not UNREAD and _visible(conflict)
    )


def _visible(conflict: Conflict) -> bool:
    return wanted(conflict.staged.edit, conflict.now) is False


def left_over(found_: Iterable[Conflict], accepted: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """The conflicts without those that were shown and accepted: the same edit over the same thing found."""
    seen = {conflict.staged.edit.slot: conflict for conflict in accepted}
    return tuple(c for c in found_ if not _same(c, seen.get(c.staged.edit.slot)))


def _same(one: Conflict, other: Conflict | None) -> bool:
    return other is not None and one.staged == other.staged and not moved(one.staged.edit, one.now, other.now)


def rebased(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Staged, ...]:
    """The same edits upon what is there now, where that was read: what a journal has to restore."""
    acls = frozenset(fresh.acls)
    made = []
    for each in staged:
        now = found(each.edit, fresh, acls)
        made.append(each if now is UNREAD else replace(each, was=now))
    return tuple(made)


def rebase(plan: Plan, upon: Mapping[Slot, Staged]) -> Plan:
    """The plan with these in place of what is staged for their slots; nothing to undo in that."""
    return replace(plan, staged=tuple(upon.get(staged.edit.slot, staged) for staged in plan.staged))
