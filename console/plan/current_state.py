"""What a snapshot has in the place of an edit, and whether that is what was there before, or what the edit wants."""

from __future__ import annotations

from console.model.changes import Status
from console.plan.edits import Edit
from console.plan.kinds.registry import kind_of
from console.plan.staged import UNREAD, Described, Was


def current_state(edit: Edit, seen: Described) -> Was:
    """What is in the edit's place; UNREAD where that was not read."""
    return kind_of(edit).current(edit, seen)


def obstacle(edit: Edit, now: Was) -> str:
    """Why what is found does not let an edit be done; ``""`` if nothing, or where it was not read."""
    return "" if now is UNREAD else kind_of(edit).obstacle(edit, now)


def moved(edit: Edit, was: Was, now: Was) -> bool:
    """Whether what an edit stands on has changed. False where either was not read."""
    return UNREAD not in (was, now) and kind_of(edit).moved(edit, was, now)


def own_moved(edit: Edit, was: Was, now: Was) -> bool:
    """The same without what the place inherits: whether it has another value of its own, or has one at all."""
    kind = kind_of(edit)
    return UNREAD not in (was, now) and (kind.own_moved or kind.moved)(edit, was, now)


def wanted(edit: Edit, now: Was) -> bool | None:
    """Whether what is found is what the edit wants; None where that can't be seen: a secret, or not read."""
    return None if now is UNREAD else kind_of(edit).wanted(edit, now)


def verdict(edit: Edit, was: Was, now: Was) -> Status:
    """The outcome of an edit that was sent and not answered, of which `was` stood in its place before and `now` does:
    UNKNOWN where that does not show it."""
    changed = moved(edit, was, now)
    settled = kind_of(edit).settled(edit, was, now, changed)
    if settled is not None:
        return settled
    as_wanted = wanted(edit, now)
    if as_wanted is None or as_wanted is not changed:
        # As wanted and as before: it changed nothing. Neither the one nor the other: another client changed it.
        return Status.UNKNOWN
    return Status.APPLIED if as_wanted else Status.NOT_APPLIED
