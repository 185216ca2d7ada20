"""Finds targets of a plan that changed between staging and applying, with the former value, the present value and the
plan's. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from console.model.snapshot import Snapshot
from console.plan.current_state import current_state, moved, obstacle, own_moved, wanted
from console.plan.diff import after, before
from console.plan.edits import Slot
from console.plan.effective_values import EffectiveValue
from console.plan.plan import Plan
from console.plan.staged import UNREAD, Described, Staged, Was, topic_id_of


class Conflict(Struct, frozen=True):
    """An edit whose target changed after the edit was staged, or could not be read again, or is doubtful for another
    reason.
    """

    staged: Staged
    was: EffectiveValue
    """The effective value when the edit was staged."""
    theirs: EffectiveValue
    """The present effective value; unknown if it could not be read again."""
    mine: EffectiveValue
    """The effective value after the edit."""
    now: Was
    """The present state of the target, to tell a conflict that the operator has accepted from a later one."""
    topic_id: str | None = None
    """The present id of the target's topic, to tell a conflict that the operator has accepted from a later one; None
    if unknown, and for other targets.
    """
    why: str = ""
    """The reason why the edit is doubtful even if the target's value is unchanged; ``""`` if there is no such reason.
    """

    @property
    def is_unknown(self) -> bool:
        """Whether the target could not be read again, so that a change can't be ruled out."""
        return self.now is UNREAD


def conflicts(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """Return the edits whose target has changed since they were staged.

    No conflict: the target already has the wanted state, so that nothing is overwritten; or the plan itself creates the
    topic of the edit. A conflict in any case: the target could not be read again. An edit that was staged before its
    target was read has no former state to compare; it has a conflict only if it is doubtful (`Staged.doubt`) or
    impossible now.

    Args:
        fresh: a snapshot in which all targets of the edits were just described.

    Returns:
        One conflict for each such edit, in the order of `staged`.
    """
    return tuple(_conflicts(staged, fresh))


def _conflicts(staged: Iterable[Staged], fresh: Snapshot) -> Iterator[Conflict]:
    seen = Described(fresh)
    inheritance = seen.inheritance
    all_ = tuple(staged)
    new = {name for each in all_ if (name := each.edit.new_topic) is not None}
    for each in all_:
        edit, was = each.edit, each.was
        # This plan creates the topic, so there is no former state.
        if edit.on_topic in new:
            continue
        now = current_state(edit, seen)
        topic_id = topic_id_of(edit, fresh)
        # Names are not enough: a topic that was created again has other records, and the edit was meant for the former
        # topic.
        another = each.topic_id is not None and topic_id is not None and each.topic_id != topic_id
        why = f"topic {edit.on_topic} was deleted and created again since" if another else each.doubt
        why = why or obstacle(edit, now)
        if was is UNREAD and not why:
            continue
        lost = now is UNREAD
        # A target that can't be read again counts as a conflict: a request could overwrite another client's change that
        # kac has not seen.
        if lost or ((why or moved(edit, was, now)) and wanted(edit, now) is not True):
            sides = before(edit, was, inheritance), before(edit, now, inheritance), after(edit, now, inheritance)
            yield Conflict(each, *sides, now, topic_id, why)


def changed_since(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """Return the conflicts of `conflicts` without those in which only an inherited value changed."""
    return tuple(
        c for c in conflicts(staged, fresh) if c.why or c.is_unknown or own_moved(c.staged.edit, c.staged.was, c.now)
    )


def surprises(applied: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """Return a conflict for each applied edit whose target now has neither the wanted state nor the state from
    before the apply. Targets that could not be read are left out.
    """
    return tuple(conflict for conflict in conflicts(applied, fresh) if not conflict.is_unknown and _visible(conflict))


def set_back(applied: Iterable[Staged], fresh: Snapshot) -> tuple[Conflict, ...]:
    """Return a conflict for each applied edit whose target was read and does not have the wanted state any more."""
    seen = Described(fresh)
    inheritance, found = seen.inheritance, []
    for each in applied:
        edit, now = each.edit, current_state(each.edit, seen)
        if now is not UNREAD and wanted(edit, now) is False:
            sides = before(edit, each.was, inheritance), before(edit, now, inheritance), after(edit, now, inheritance)
            found.append(Conflict(each, *sides, now))
    return tuple(found)


def _visible(conflict: Conflict) -> bool:
    return wanted(conflict.staged.edit, conflict.now) is False


def left_over(found_: Iterable[Conflict], accepted: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """Return the conflicts in `found_` that the operator has not accepted. An accepted conflict covers a found one with
    the same edit, the same topic id, and the same present state of the target.
    """
    seen = {conflict.staged.edit.slot: conflict for conflict in accepted}
    return tuple(c for c in found_ if not _same(c, seen.get(c.staged.edit.slot)))


def _same(one: Conflict, other: Conflict | None) -> bool:
    if other is None or one.staged != other.staged or one.topic_id != other.topic_id:
        return False
    return not moved(one.staged.edit, one.now, other.now)


def rebased(staged: Iterable[Staged], fresh: Snapshot) -> tuple[Staged, ...]:
    """Return the edits with the states and topic ids that their targets have now, so that a revert will restore
    these. A target that was not read keeps the state from its staging. Doubts are cleared, because the operator
    has accepted them.
    """
    seen = Described(fresh)
    made = []
    for each in staged:
        now = current_state(each.edit, seen)
        topic_id = topic_id_of(each.edit, fresh) or each.topic_id
        was = each.was if now is UNREAD else now
        made.append(replace(each, was=was, topic_id=topic_id, doubt=""))
    return tuple(made)


def rebase(plan: Plan, upon: Mapping[Slot, Staged]) -> Plan:
    """Return the plan with these edits in place of the ones staged for the same slots; it adds no step to the undo
    history.
    """
    return replace(plan, staged=tuple(upon.get(staged.edit.slot, staged) for staged in plan.staged))
