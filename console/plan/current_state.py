"""Reads the state of an edit's target from a snapshot, and compares it with the former and the wanted state."""

from __future__ import annotations

from console.model.changes import Status
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Described, Was


def current_state(edit: Edit, seen: Described) -> Was:
    """Return the present state of the edit's target, by the snapshot; UNREAD if it was not read."""
    return kind_of(edit).current(edit, seen)


def obstacle(edit: Edit, now: Was) -> str:
    """Return the reason why an edit is impossible in the present state of its target; ``""`` if it is possible, or the
    state is UNREAD.
    """
    return "" if now is UNREAD else kind_of(edit).obstacle(edit, now)


def moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether the state of an edit's target has changed from `was` to `now`; False if either is UNREAD."""
    # An unread state can't show a change; callers handle UNREAD themselves.
    return UNREAD not in (was, now) and kind_of(edit).moved(edit, was, now)


def own_moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether the target's own value has changed from `was` to `now`, was added or was removed; a change of
    an inherited value alone gives False. False if `was` or `now` is UNREAD.
    """
    return UNREAD not in (was, now) and kind_of(edit).own_moved(edit, was, now)


def wanted(edit: Edit, now: Was) -> bool | None:
    """Return whether the present state of the target is the one that the edit produces; None if that is unknown,
    because the value is a secret or `now` is UNREAD.
    """
    return None if now is UNREAD else kind_of(edit).wanted(edit, now)


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """Return the status of an edit whose response was lost, from the states of its target before the request (`was`)
    and after it (`now`); UNKNOWN if they do not show it.
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
