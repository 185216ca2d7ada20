"""The state of an edit's target in a snapshot, compared with the former and with the wanted state."""

from __future__ import annotations

from console.model.changes import Status
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Described, Was


def current_state(edit: Edit, seen: Described) -> Was:
    """Return the state of the edit's target in the snapshot; UNREAD if it was not read."""
    return kind_of(edit).current(edit, seen)


def obstacle(edit: Edit, now: Was) -> str:
    """Return the reason why an edit is impossible in the present state; ``""`` if it is possible or the state is
    unread.
    """
    return "" if now is UNREAD else kind_of(edit).obstacle(edit, now)


def moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether the state that an edit is based on has changed. False if either state was not read."""
    # An unread state can't show a change; callers handle UNREAD themselves.
    return UNREAD not in (was, now) and kind_of(edit).moved(edit, was, now)


def own_moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether the target's own value was changed, added or removed, whatever its inherited value is."""
    return UNREAD not in (was, now) and kind_of(edit).own_moved(edit, was, now)


def wanted(edit: Edit, now: Was) -> bool | None:
    """Return whether the present state is the wanted one; None if that is unknown: a secret, or an unread state."""
    return None if now is UNREAD else kind_of(edit).wanted(edit, now)


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """Return the outcome of an edit whose response was lost, from the states before (`was`) and after (`now`); UNKNOWN
    if they do not show it.
    """
    changed = moved(edit, was, now)
    settled = kind_of(edit).settled(edit, was, now, changed)
    if settled is not None:
        return settled
    as_wanted = wanted(edit, now)
    if as_wanted is None or as_wanted is not changed:
        # If the value is wanted but has not changed, nothing shows whether the edit had an effect. If it has changed to
        # an unwanted value, another client changed it.
        return Status.UNKNOWN
    return Status.APPLIED if as_wanted else Status.NOT_APPLIED
