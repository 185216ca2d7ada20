"""Edits and the former states of their targets as JSON and back: the form that plan files and journals keep.

A secret is written as set, and does not come back.
"""

from __future__ import annotations

from typing import Any

from console.plan.edits import Edit
from console.plan.staged import UNREAD, Was

Json = dict[str, Any]

_UNREAD = "unread"


def edit_json(edit: Edit, hide: bool = False) -> Json:
    """Return the JSON form of an edit.

    Args:
        hide: leave its value out though it is no Secret.
    """
    from console.plan.kinds.registry import kind_of

    kind = kind_of(edit)
    return {"op": kind.op, **kind.to_json(edit, hide)}


def edit_of(data: Json) -> Edit:
    """Return the edit of a JSON form.

    Raises:
        KeyError, TypeError, ValueError: it is no edit's form.
    """
    from console.plan.kinds.registry import kind_of_json

    found: Edit = kind_of_json(data).from_json(data)
    return found


def was_json(edit: Edit, was: Was) -> Any:
    """Return the JSON form of a former state: None for nothing, ``"unread"`` for what was not read."""
    from console.plan.kinds.registry import kind_of

    if was is None:
        return None
    # Unread and absent have to stay apart in files: a revert deletes what was absent, and leaves what was unread.
    return _UNREAD if was is UNREAD else kind_of(edit).state_json(was)


def was_of(edit: Edit, data: Any) -> Was:
    """Return the former state of a JSON form, as far as it was written.

    Raises:
        KeyError, TypeError, ValueError: it is not the form of a state of this kind of edit.
    """
    from console.plan.kinds.registry import kind_of

    if data is None:
        return None
    return UNREAD if data == _UNREAD else kind_of(edit).state_of(data)


def holds_secret(edit: Edit) -> bool:
    """Return whether an edit holds a value that must not be written to a file."""
    from console.plan.kinds.registry import kind_of

    return kind_of(edit).holds_secret(edit)
