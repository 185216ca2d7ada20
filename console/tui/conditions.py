"""What has to hold for a key to do something, and the one line that says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from console.tui.keymap import Key


class State(NamedTuple):
    """What the conditions look at. context: the name of the read-only context, or None. list_key: whether the key under
    the cursor takes a list."""

    read_only: str | None
    row: bool
    list_key: bool
    topic: bool
    staged: bool
    past: bool
    future: bool


_REASONS: Mapping[str, Callable[[State], str]] = {
    "writable": lambda s: (
        "" if s.read_only is None else f"{s.read_only} is read-only: nothing can be staged or sent here"
    ),
    "row": lambda s: "" if s.row else "there is nothing under the cursor",
    "list": lambda s: "" if s.list_key else "only keys that hold a list can be added to",
    "topic": lambda s: "" if s.topic else "only a topic has several parts",
    "staged": lambda s: "" if s.staged else "nothing is staged",
    "past": lambda s: "" if s.past else "there is nothing to undo in the plan",
    "future": lambda s: "" if s.future else "there is nothing to redo in the plan",
}


def reason(key: Key, state: State) -> str:
    """Why a key does nothing now, ``""`` where it works."""
    for need in key.needs:
        if why := _REASONS[need](state):
            return why
    return ""
