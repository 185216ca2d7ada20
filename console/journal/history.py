"""Combines a journal's records into changes: the outcome of each edit, and the edits that are due to be reverted.
Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import reduce
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from console.journal import entries as journal_entries
from console.model import journal_lines
from console.model.changes import Status
from console.model.failure import Failure
from console.model.journal_lines import UNKNOWN
from console.plan.edits import Slot


class State(StrEnum):
    """The state of an edit of a change, as the journal shows it."""

    APPLIED = "applied"
    FAILED = "failed"
    NOT_APPLIED = "not applied"
    NOT_SENT = "not sent"
    UNKNOWN = "unknown"
    UNDER_WAY = "under way"


class Decision(NamedTuple):
    """An operator's statement about an edit with an unknown outcome: who made it, when and why."""

    who: journal_lines.Who
    at: datetime
    why: str


class Change(Struct, frozen=True):
    """A change, with what the journal has about its results. Edits are named by their index in the change."""

    number: int
    intent: journal_entries.Intent
    ended: Mapping[int, journal_entries.Ended] = field(default_factory=dict)
    """Index of an edit -> its outcome: from the broker's response or, if the response was lost, from a read of the
    cluster.
    """
    found: Mapping[int, Status] = field(default_factory=dict)
    """Index of an edit whose outcome was unknown -> its status by a later read, or by an operator's statement."""
    decided: Mapping[int, Decision] = field(default_factory=dict)
    """Index of an edit whose outcome was unknown -> the statement of an operator."""
    topic_ids: Mapping[int, str] = field(default_factory=dict)
    """Index of an edit -> the id of the topic that it created, if known."""
    told: bool = False
    """Whether kac has told an operator that the change was interrupted."""
    sent: frozenset[int] = frozenset()
    """The indexes of the requests that were sent, or were about to be sent."""
    answered: frozenset[int] = frozenset()
    closed: Mapping[int, str] = field(default_factory=dict)
    """Index of an edit -> the reason why kac no longer reminds operators to revert it."""
    undone: Mapping[int, journal_lines.Place] = field(default_factory=dict)
    """Index of an edit -> the place of the edit, in a later change, that reverted it."""
    alive: bool = False
    """Whether the process that sends the change still runs."""
    last_sent: datetime | None = None
    """The time at which the last request was sent, UTC; None if none was sent."""
    request_of: Mapping[int, int] = field(default_factory=dict)
    """Index of an edit -> the index of its request."""

    def state(self, place: int) -> State:
        """Return the state of an edit. place: its index."""
        ended = self.ended.get(place)
        status = None if ended is None else ended.status
        found = journal_lines.final_status(status, self.found.get(place), sent=self.request_of.get(place) in self.sent)
        if self.alive and (found is None or found == UNKNOWN):
            return State.UNDER_WAY
        return State.NOT_SENT if found is None else State(found)

    def failure(self, place: int) -> Failure | None:
        """Return the failure of an edit; None if it did not fail, or has no outcome."""
        ended = self.ended.get(place)
        return ended.failure if ended is not None else None

    @property
    def interrupted(self) -> bool:
        """Whether the change was interrupted: its process has ended, and the journal lacks the outcome of a request."""
        return not self.alive and len(self.answered) < len(self.intent.requests)

    @property
    def entries(self) -> tuple[journal_entries.Entry, ...]:
        """The edits of the change."""
        return self.intent.entries

    def in_state(self, *states: State) -> tuple[int, ...]:
        """Return the indexes of the edits that have one of these states."""
        return tuple(place for place in range(len(self.entries)) if self.state(place) in states)


class Due(NamedTuple):
    """An edit that is to be reverted at a certain time."""

    place: journal_lines.Place
    entry: journal_entries.Entry
    until: datetime


class History(Struct, frozen=True):
    """Changes by number, in order, and a text on each unreadable part of the journal. It has all changes, or only those
    that were asked for.
    """

    changes: Mapping[int, Change]
    problems: tuple[str, ...] = ()

    def unfinished(self) -> tuple[Change, ...]:
        """Return the changes that have an edit with an unknown outcome."""
        return tuple(change for change in self.changes.values() if change.in_state(State.UNKNOWN))

    def untold(self) -> tuple[Change, ...]:
        """Return the interrupted changes of which kac has not told an operator yet."""
        return tuple(change for change in self.changes.values() if change.interrupted and not change.told)

    def touched_later(self, number: int, slot: Slot) -> Change | None:
        """Return the first change after `number` that may have changed a slot; None if there is none. A change whose
        edit of the slot was reverted is skipped, and so is a revert of a change after `number`.
        """
        for change in self.changes.values():
            if change.number > number:
                for place in change.in_state(State.APPLIED, State.UNKNOWN, State.UNDER_WAY):
                    staged = change.entries[place].staged
                    if staged.edit.slot != slot or place in change.undone:
                        continue
                    if staged.reverts is None or staged.reverts.change <= number:
                        return change
        return None

    def expiring(self) -> tuple[Due, ...]:
        """Return the edits that are to be reverted at a certain time and still in effect, sorted by that time.

        An edit is no longer in effect if a later change of its slot was made and not reverted.
        """
        later: dict[Slot, int] = {}
        found = []
        for change in reversed(tuple(self.changes.values())):
            for place in change.in_state(State.APPLIED):
                entry = change.entries[place]
                slot = entry.staged.edit.slot
                if place in change.undone or entry.staged.reverts is not None:
                    continue
                over = later.setdefault(slot, change.number) != change.number
                open_ = place not in change.closed
                if entry.until is not None and open_ and not over:
                    found.append(Due(journal_lines.Place(change.number, place), entry, entry.until))
        return tuple(sorted(found, key=lambda due: (due.until, due.place)))


def history(
    records: Iterable[journal_entries.Numbered | journal_entries.Note],
    problems: Iterable[str] = (),
    at_work: Callable[[journal_lines.Origin], bool] = lambda _: False,
) -> History:
    """Combine records into changes.

    Args:
        records: in the order of the journal.
        problems: texts on unreadable parts of the journal.
        at_work: a function from the process that wrote a record to whether it still runs.
    """
    changes: dict[int, Change] = {}
    said = list(problems)
    for each in records:
        if isinstance(each, journal_entries.Numbered):
            if each.number in changes:
                said.append(f"change {each.number} stands in the journal twice; the first is shown")
            else:
                changes[each.number] = begun(*each)
        elif isinstance(each, journal_lines.Mended | journal_lines.OperationLine):
            continue
        elif (known := changes.get(change_of(each))) is not None:
            changes[known.number] = with_note(known, each)
    changes = {number: _at_work(change, at_work) for number, change in changes.items()}
    for number, undone in undone_edits(changes).items():
        changes[number] = replace(changes[number], undone=undone)
    return History(changes, tuple(said))


def latest_changes(
    records: Iterable[journal_entries.Numbered | journal_entries.Note],
    at_work: Callable[[journal_lines.Origin], bool] = lambda _: False,
) -> Iterator[Change]:
    """Yield the changes of a journal, the latest first, equal to those that `history` makes. Only the notes of changes
    whose intent has not been reached yet are kept in memory.

    Args:
        records: the records of the journal, the last one first.
        at_work: a function from the process that wrote a record to whether it still runs.
    """
    notes: dict[int, list[_OfChange]] = {}
    undone: dict[int, dict[int, journal_lines.Place]] = {}
    for each in records:
        if not isinstance(each, journal_entries.Numbered):
            if not isinstance(each, journal_lines.Mended | journal_lines.OperationLine):
                notes.setdefault(change_of(each), []).append(each)
            continue
        change = _at_work(reduce(with_note, reversed(notes.pop(each.number, [])), begun(*each)), at_work)
        for place in reversed(change.in_state(State.APPLIED)):
            if (back := change.entries[place].staged.reverts) is not None:
                undone.setdefault(back.change, {}).setdefault(back.edit, journal_lines.Place(change.number, place))
        yield replace(change, undone=undone.pop(change.number, {}))


_OfChange = (
    journal_lines.Sending
    | journal_entries.Answered
    | journal_lines.Settled
    | journal_lines.Decided
    | journal_lines.Told
    | journal_lines.Closed
)


def change_of(note: _OfChange) -> int:
    """Return the number of the change to which a note belongs."""
    return note.place.change if isinstance(note, journal_lines.Closed) else note.change


def begun(number: int, intent: journal_entries.Intent) -> Change:
    """Return a change for which the journal has only the intent."""
    places = {place: n for n, request in enumerate(intent.requests) for place in request.edits}
    return Change(number, intent, request_of=places)


def _at_work(change: Change, at_work: Callable[[journal_lines.Origin], bool]) -> Change:
    is_open = len(change.answered) < len(change.intent.requests)
    return replace(change, alive=True) if is_open and at_work(change.intent.origin) else change


def undone_edits(changes: Mapping[int, Change]) -> dict[int, dict[int, journal_lines.Place]]:
    """Return number of a change -> index of its reverted edit -> the place of the edit, in another change, that
    reverted it.
    """
    found: dict[int, dict[int, journal_lines.Place]] = {}
    for change in changes.values():
        for place in change.in_state(State.APPLIED):
            back = change.entries[place].staged.reverts
            if back is not None and back.change in changes:
                found.setdefault(back.change, {})[back.edit] = journal_lines.Place(change.number, place)
    return found


def with_note(change: Change, note: _OfChange) -> Change:
    """Return the change with the content of one more note."""
    match note:
        case journal_lines.Sending():
            return replace(change, sent=change.sent | {note.request}, last_sent=note.at)
        case journal_entries.Answered():
            made = {place: ended.topic_id for place, ended in note.edits.items() if ended.topic_id is not None}
            return replace(
                change,
                ended={**change.ended, **note.edits},
                answered=change.answered | {note.request},
                topic_ids={**change.topic_ids, **made},
            )
        case journal_lines.Settled():
            seen = {place: Status.APPLIED for place, status in note.edits.items() if status == Status.APPLIED}
            return replace(change, found={**change.found, **seen}, topic_ids={**change.topic_ids, **note.topic_ids})
        case journal_lines.Decided():
            said = {place: Status(status) for place, status in note.edits.items() if status in journal_lines.FINAL}
            decision = Decision(note.who, note.at, note.why)
            decided = {**change.decided, **dict.fromkeys(said, decision)}
            return replace(change, found={**change.found, **said}, decided=decided)
        case journal_lines.Closed():
            return replace(change, closed={**change.closed, note.place.edit: note.why})
        case journal_lines.Told():
            return replace(change, told=True)
