"""What a snapshot has for an edit's target, and whether that is what was there before, or what the edit wants."""

from __future__ import annotations

from console.model.changes import Status
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Described, Was


def current_state(edit: Edit, seen: Described) -> Was:
    """Return what the snapshot has for the edit's target; UNREAD where that was not read."""
    return kind_of(edit).current(edit, seen)


def obstacle(edit: Edit, now: Was) -> str:
    """Return why an edit can't be done on what is there now; ``""`` if it can, or where that was not read."""
    return "" if now is UNREAD else kind_of(edit).obstacle(edit, now)


def moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether what an edit is based on has changed. False where either state was not read."""
    # What was not read can't show a change; the callers decide what UNREAD means to them.
    return UNREAD not in (was, now) and kind_of(edit).moved(edit, was, now)


def own_moved(edit: Edit, was: Was, now: Was) -> bool:
    """Return whether the target's own value has changed, was added or removed; inherited values do not count."""
    return UNREAD not in (was, now) and kind_of(edit).own_moved(edit, was, now)


def wanted(edit: Edit, now: Was) -> bool | None:
    """Return whether what is there is what the edit wants; None where that can't be seen: a secret, or not read."""
    return None if now is UNREAD else kind_of(edit).wanted(edit, now)


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """Return the outcome of an edit that was sent and not answered, by what was there before (`was`) and is there now
    (`now`); UNKNOWN where these do not show it.
    """
    changed = moved(edit, was, now)
    settled = kind_of(edit).settled(edit, was, now, changed)
    if settled is not None:
        return settled
    as_wanted = wanted(edit, now)
    if as_wanted is None or as_wanted is not changed:
        # As wanted and as before: it changed nothing. Neither the one nor the other: another client changed it.
        return Status.UNKNOWN
    return Status.APPLIED if as_wanted else Status.NOT_APPLIED
