"""The open changes and operations of a journal: those that a start has to read. They are found without decoding the
others. Pure.

A change is open while an edit's outcome is unknown, while a request of it is unanswered and no operator has seen that,
or until an expiring edit is closed. Later changes of the same places, and those that revert it, are kept as well: so
`history` makes the same of the open changes alone as of the whole journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from console.model import journal_lines
from console.model.foreign_json import json_of
from console.model.numbers import json_text
from console.plan.edit_json import edit_of, slot_json
from console.plan.edits import Slot

Where = TypeVar("Where")
"""The position of a line, for reading it again."""

_STRAGGLES = timedelta(days=1)
"""Time for which an interrupted change is kept after an operator has seen it: a process of another host, taken for
dead, may still write its records."""
PRUNE_EVERY = 2_000
MOST_WORDS = 50


@dataclass(slots=True)
class _Change(Generic[Where]):
    """The facts of a change that decide whether it is open. slots: those of its edits. requests: the edits of each
    request. lasting: expiring edits that were not closed. reverts: its edit -> the edit of another change that it
    reverts.
    """

    at: datetime
    slots: tuple[Slot, ...]
    requests: tuple[tuple[int, ...], ...]
    lasting: set[int]
    reverts: dict[int, tuple[int, int]]
    lines: list[Where]
    sent: set[int] = field(default_factory=set)
    answered: set[int] = field(default_factory=set)
    ended: dict[int, str] = field(default_factory=dict)
    found: dict[int, str] = field(default_factory=dict)
    told: bool = False

    def status(self, place: int) -> str:
        """Return the outcome of an edit; ``"unknown"`` if it may have been sent, ``""`` if it was not."""
        sent = any(place in self.requests[n] for n in self.sent)
        return journal_lines.final_status(self.ended.get(place), self.found.get(place), sent) or ""

    def unknown(self) -> list[int]:
        """Return the edits with an unknown outcome."""
        return [place for place in range(len(self.slots)) if self.status(place) == journal_lines.UNKNOWN]

    def is_unheard(self, latest: datetime) -> bool:
        """Return whether the change was interrupted and no operator has seen that. latest: time of the latest
        change.
        """
        return len(self.answered) < len(self.requests) and (not self.told or latest - self.at < _STRAGGLES)


@dataclass(slots=True)
class _Operation(Generic[Where]):
    """An open operation. lines: all but those of its progress. progress: the last of these only."""

    lines: list[Where] = field(default_factory=list)
    progress: Where | None = None

    def take(self, kind: str, where: Where) -> None:
        if kind == "progress":
            self.progress = where
        else:
            self.lines.append(where)

    def places(self) -> list[Where]:
        return self.lines if self.progress is None else [*self.lines, self.progress]


class OpenChanges(Generic[Where]):
    """A collector of the open changes from a journal's lines in order. last: the highest change number."""

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self._changes: dict[int, _Change[Where]] = {}
        self._operations: dict[int, _Operation[Where]] = {}
        self._latest: datetime | None = None
        self._since = 0

    def take(self, line: bytes, where: Where) -> bool:
        """Take a line; return whether it marks the previous one as ended by hand. Raises BadLine."""
        return journal_lines.read_line(line, lambda data: self._take(data, where), self._see)

    def _see(self, data: journal_lines.Json) -> None:
        if data.get("kind") in ("intent", "operation"):  # also of a later version: no number is assigned twice
            self.last = max(self.last, int(data["change"]))

    def open(self) -> dict[int, list[Where]]:
        """Return the positions of the lines of every open change and operation, and of the changes that affect them, by
        number.
        """
        self._prune()
        changes = {number: change.lines for number, change in self._changes.items()}
        operations = {number: operation.places() for number, operation in self._operations.items()}
        return dict(sorted({**changes, **operations}.items()))

    def _take(self, data: journal_lines.Json, where: Where) -> bool:
        kind = data["kind"]
        if kind == "intent":
            self._begin(int(data["change"]), data, where)
            return False
        if kind == "mended":
            return True
        number = int(data["place"][0] if kind == "closed" else data["change"])
        if kind in journal_lines.OPERATION_KINDS:
            self._of_operation(number, kind, where)
            return False
        change = self._changes.get(number)
        if kind not in _NOTES:
            raise journal_lines.unknown_kind(kind)
        if change is not None:
            _NOTES[kind](change, data)
            change.lines.append(where)
        return False

    def _of_operation(self, number: int, kind: str, where: Where) -> None:
        if kind == "operation":
            self._operations.setdefault(number, _Operation()).lines.append(where)
        elif kind == "ended":
            self._operations.pop(number, None)
        elif number in self._operations:
            self._operations[number].take(kind, where)

    def _begin(self, number: int, data: journal_lines.Json, where: Where) -> None:
        if number in self._changes:
            return
        edits = data["edits"]
        at = journal_lines.time_of(data["at"])
        self._latest = at if self._latest is None else max(self._latest, at)
        self._changes[number] = _Change(
            at,
            tuple(edit_of(entry["edit"]).slot for entry in edits),
            tuple(tuple(request["edits"]) for request in data["requests"]),
            {place for place, entry in enumerate(edits) if "until" in entry and "reverts" not in entry},
            {p: (e["reverts"][0], e["reverts"][1]) for p, e in enumerate(edits) if "reverts" in e},
            [where],
        )
        self._since += 1
        if self._since >= PRUNE_EVERY:
            self._prune()

    def _prune(self) -> None:
        """Drop every change that no start has to read. A dropped change can't become open again."""
        self._since = 0
        if self._latest is None:
            return
        undone = {
            back
            for change in self._changes.values()
            for at, back in change.reverts.items()
            if change.status(at) == "applied"
        }
        kept: set[int] = set()
        watched: dict[Slot, int] = {}
        for number, change in self._changes.items():
            lasting = [at for at in change.lasting if (number, at) not in undone and change.status(at) == "applied"]
            open_ = [*change.unknown(), *lasting]
            if open_ or change.is_unheard(self._latest):
                kept.add(number)
            for place in open_:
                watched[change.slots[place]] = min(watched.get(change.slots[place], number), number)
        for number, change in sorted(self._changes.items()):
            touches = any(watched.get(slot, number) < number for slot in change.slots)
            if touches or any(back in kept for back, _ in change.reverts.values()):
                kept.add(number)
        self._changes = {number: change for number, change in self._changes.items() if number in kept}


def slots_of(line: bytes) -> frozenset[Slot]:
    """Return the places that the change of an intent's line touches; empty for an unreadable line."""
    try:
        return frozenset(edit_of(entry["edit"]).slot for entry in json_of(line)["edits"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return frozenset()


class Touches:
    """A predicate for intent lines that touch one of these places."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._slots = frozenset(slots)
        # Only lines with the longest word of a slot have to be decoded.
        words = [max(_words(slot_json(slot)), key=len) for slot in self._slots]
        self._words = [json_text(word).encode("ascii") for word in dict.fromkeys(words)]

    def __call__(self, line: bytes) -> bool:
        """Return whether a line touches one of the slots; False for an unreadable line."""
        if len(self._words) < MOST_WORDS and not any(word in line for word in self._words):
            return False
        return not self._slots.isdisjoint(slots_of(line))


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [word for each in value for word in _words(each)] or [""]
    return [value] if isinstance(value, str) else [""]


def _sending(change: _Change[Any], data: journal_lines.Json) -> None:
    request = int(data["request"])
    if request < len(change.requests):
        change.sent.add(request)


def _outcome(change: _Change[Any], data: journal_lines.Json) -> None:
    change.answered.add(int(data["request"]))
    for place, how in data["edits"].items():
        change.ended[int(place)] = journal_lines.status_of(how["status"])


def _settled(change: _Change[Any], data: journal_lines.Json) -> None:
    _say(change, {place: status for place, status in data["edits"].items() if status == "applied"})


def _decided(change: _Change[Any], data: journal_lines.Json) -> None:
    _say(change, {place: status for place, status in data["edits"].items() if status in journal_lines.FINAL})


def _say(change: _Change[Any], edits: dict[str, str]) -> None:
    for place, status in edits.items():
        change.found[int(place)] = status


def _told(change: _Change[Any], _data: journal_lines.Json) -> None:
    change.told = True


def _closed(change: _Change[Any], data: journal_lines.Json) -> None:
    change.lasting.discard(int(data["place"][1]))


_NOTES: dict[str, Callable[[_Change[Any], journal_lines.Json], None]] = {
    "sending": _sending,
    "outcome": _outcome,
    "settled": _settled,
    "decided": _decided,
    "told": _told,
    "closed": _closed,
}
