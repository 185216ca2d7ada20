"""Collects the open changes and operations of a journal, which kac has to read when it starts. Pure.

A change is open while the outcome of an edit is unknown, while a request has no outcome and no operator was told so, or
while an edit is to be reverted at a certain time. Later changes of the slots of an open change, and changes that revert
it, are collected too, so that `history` has the same results for the collected changes as for the whole journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from console.journal import entries
from console.journal.history import Change, State, begun, change_of, undone_edits, with_note
from console.model import journal_lines
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.plan.edit_json import edit_of, slot_json
from console.plan.edits import Slot

Where = TypeVar("Where")
"""The position of a line in the journal, at which the line can be read again."""

_STRAGGLES = timedelta(days=1)
"""How long an interrupted change is kept after an operator was told of it: its process may run on another host and
still write its records.
"""
PRUNE_EVERY = 2_000
MOST_WORDS = 50


@dataclass(slots=True)
class _Operation(Generic[Where]):
    """The positions of the lines of an open operation."""

    lines: list[Where] = field(default_factory=list)
    """The positions of its lines, except those about its progress."""
    progress: Where | None = None
    """The position of its last line about its progress; None if there is none."""

    def take(self, kind: str, where: Where) -> None:
        if kind == "progress":
            self.progress = where
        else:
            self.lines.append(where)

    def places(self) -> list[Where]:
        return self.lines if self.progress is None else [*self.lines, self.progress]


class OpenChanges(Generic[Where]):
    """Collects the open changes from the lines of a journal, which it takes in order. last: the highest change number
    so far.
    """

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self._changes: dict[int, Change] = {}
        self._lines: dict[int, list[Where]] = {}
        self._operations: dict[int, _Operation[Where]] = {}
        self._latest: datetime | None = None
        self._since = 0

    def take(self, line: bytes, where: Where) -> bool:
        """Add a line; return whether the line says that the line before it was cut and an operator let kac add its
        line feed. Raises BadLine if it is no record.
        """
        record = journal_lines.read_line(line, entries.record_of, self._see)
        match record:
            case journal_lines.Mended():
                return True
            case journal_lines.OperationLine():
                self._of_operation(record.change, record.kind, where)
            case entries.Numbered(number, intent):
                self._begin(number, begun(number, intent), where)
            case _ if (known := self._changes.get(number := change_of(record))) is not None:
                self._changes[number] = with_note(known, record)
                self._lines[number].append(where)
        return False

    def _see(self, data: journal_lines.Json) -> None:
        if data.get("kind") in ("intent", "operation"):  # also of a later version: no number may be assigned twice
            self.last = max(self.last, int(data["change"]))

    def open(self) -> dict[int, list[Where]]:
        """Return number -> the positions of the lines, for every open change and operation, and for the changes that
        affect them.
        """
        self._prune()
        operations = {number: operation.places() for number, operation in self._operations.items()}
        return dict(sorted({**self._lines, **operations}.items()))

    def _of_operation(self, number: int, kind: str, where: Where) -> None:
        if kind == "operation":
            self._operations.setdefault(number, _Operation()).lines.append(where)
        elif kind == "ended":
            self._operations.pop(number, None)
        elif number in self._operations:
            self._operations[number].take(kind, where)

    def _begin(self, number: int, change: Change, where: Where) -> None:
        if number in self._changes:
            return
        self._changes[number], self._lines[number] = change, [where]
        self._latest = max(self._latest or change.intent.at, change.intent.at)
        self._since += 1
        if self._since >= PRUNE_EVERY:
            self._prune()

    def _prune(self) -> None:
        """Drop every change that is not open and affects no open one. Such a change can't become open again."""
        self._since = 0
        undone = undone_edits(self._changes)
        kept: set[int] = set()
        watched: dict[Slot, int] = {}
        for number, change in self._changes.items():
            lasting = [at for at in _lasting(change) if at not in undone.get(number, ())]
            open_ = [*change.in_state(State.UNKNOWN), *lasting]
            is_old = self._latest is not None and self._latest - change.intent.at >= _STRAGGLES
            if open_ or (change.interrupted and not (change.told and is_old)):
                kept.add(number)
            for place in open_:
                slot = change.entries[place].staged.edit.slot
                watched[slot] = min(watched.get(slot, number), number)
        for number, change in sorted(self._changes.items()):
            staged = [entry.staged for entry in change.entries]
            touches = any(watched.get(each.edit.slot, number) < number for each in staged)
            if touches or any(each.reverts is not None and each.reverts.change in kept for each in staged):
                kept.add(number)
        self._changes = {number: change for number, change in self._changes.items() if number in kept}
        self._lines = {number: self._lines[number] for number in self._changes}


def _lasting(change: Change) -> Iterator[int]:
    """Yield the indexes of applied edits that are to be reverted at a certain time. An edit that is itself a revert
    is left out, and so is an edit of which kac no longer reminds operators (`Change.closed`).
    """
    for place in change.in_state(State.APPLIED):
        entry = change.entries[place]
        if entry.until is not None and entry.staged.reverts is None and place not in change.closed:
            yield place


def slots_of(line: bytes) -> frozenset[Slot]:
    """Return the slots of the edits in an intent's line; empty for an unreadable line."""
    try:
        return frozenset(edit_of(entry["edit"]).slot for entry in json_of(line)["edits"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return frozenset()


class Touches:
    """A predicate: whether an intent's line has an edit of one of some slots."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._slots = frozenset(slots)
        # Decode only the lines that contain the longest word of a slot.
        words = [max(_words(slot_json(slot)), key=len) for slot in self._slots]
        self._words = [json_text(word).encode("ascii") for word in dict.fromkeys(words)]

    def __call__(self, line: bytes) -> bool:
        """Return whether the line has an edit of one of the slots; False for an unreadable line."""
        if len(self._words) < MOST_WORDS and not any(word in line for word in self._words):
            return False
        return not self._slots.isdisjoint(slots_of(line))


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [word for each in value for word in _words(each)] or [""]
    return [value] if isinstance(value, str) else [""]
