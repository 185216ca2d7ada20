"""The changes in a journal's records: the outcome of each edit, and the edits that are due. Pure."""

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
    """The state of an edit of a change."""

    APPLIED = "applied"
    FAILED = "failed"
    NOT_APPLIED = "not applied"
    NOT_SENT = "not sent"
    UNKNOWN = "unknown"
    UNDER_WAY = "under way"


class Decision(NamedTuple):
    """An operator's decision about an edit with an unknown outcome: who, when and why."""

    who: journal_lines.Who
    at: datetime
    why: str


class Change(Struct, frozen=True):
    """A change and its known results."""

    number: int
    intent: journal_entries.Intent
    ended: Mapping[int, journal_entries.Ended] = field(default_factory=dict)
    """Place of an edit -> its outcome, from a broker's answer or, if the answer was lost, from a check."""
    found: Mapping[int, Status] = field(default_factory=dict)
    """Place of an edit with an unknown outcome -> the result of a later check, or of an operator's decision."""
    decided: Mapping[int, Decision] = field(default_factory=dict)
    """Place of an edit with an unknown outcome -> the decision of an operator."""
    topic_ids: Mapping[int, str] = field(default_factory=dict)
    """Place of an edit -> the id of the topic that it created, if known."""
    told: bool = False
    """Whether an operator has seen that the change was interrupted."""
    sent: frozenset[int] = frozenset()
    """The numbers of the requests that were sent, or about to be sent."""
    answered: frozenset[int] = frozenset()
    closed: Mapping[int, str] = field(default_factory=dict)
    """Place of an edit that must no longer be reverted -> the reason."""
    undone: Mapping[int, journal_lines.Place] = field(default_factory=dict)
    """Place of an edit -> the edit of a later change that reverted it."""
    alive: bool = False
    """Whether the process that sends the change still runs."""
    last_sent: datetime | None = None
    """The time of the last request; None if no request was sent."""
    request_of: Mapping[int, int] = field(default_factory=dict)
    """Place of an edit -> the number of the request that it was sent in."""

    def state(self, place: int) -> State:
        """Return the state of an edit."""
        ended = self.ended.get(place)
        status = None if ended is None else ended.status
        found = journal_lines.final_status(status, self.found.get(place), sent=self.request_of.get(place) in self.sent)
        if self.alive and (found is None or found == UNKNOWN):
            return State.UNDER_WAY
        return State.NOT_SENT if found is None else State(found)

    def failure(self, place: int) -> Failure | None:
        """Return the failure of an edit; None if it did not fail, or if its outcome is unknown."""
        ended = self.ended.get(place)
        return ended.failure if ended is not None else None

    @property
    def interrupted(self) -> bool:
        """Whether the change was interrupted: a request of it was neither answered nor withheld."""
        return not self.alive and len(self.answered) < len(self.intent.requests)

    @property
    def entries(self) -> tuple[journal_entries.Entry, ...]:
        """The edits of the change."""
        return self.intent.entries

    def in_state(self, *states: State) -> tuple[int, ...]:
        """Return the places of the edits in these states."""
        return tuple(place for place in range(len(self.entries)) if self.state(place) in states)


class Due(NamedTuple):
    """An edit with an expiry time."""

    place: journal_lines.Place
    entry: journal_entries.Entry
    until: datetime


class History(Struct, frozen=True):
    """Changes by number, in order, and a text for each unreadable part of the journal. Contains all changes, or only
    those that a question needs.
    """

    changes: Mapping[int, Change]
    problems: tuple[str, ...] = ()

    def unfinished(self) -> tuple[Change, ...]:
        """Return the changes with edits whose outcome is unknown."""
        return tuple(change for change in self.changes.values() if change.in_state(State.UNKNOWN))

    def untold(self) -> tuple[Change, ...]:
        """Return the interrupted changes that no operator has seen yet."""
        return tuple(change for change in self.changes.values() if change.interrupted and not change.told)

    def touched_later(self, number: int, slot: Slot) -> Change | None:
        """Return the first later change that may have changed the same place; None without such a change. Skip changes
        that were reverted there, and reverts of changes after `number`.
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
        """Return the expiring edits that are still in effect, the first to expire first.

        A later change of the same place overrides the expiry, unless it was reverted.
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
    """Combine the records into changes. at_work: function that returns whether the process that wrote a record still
    runs.
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
    """Yield the changes of a journal, the latest first, as `history` makes them. records: the last one first. Memory
    holds only the notes of changes that are still to come.
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
    """Return the number of a note's change."""
    return note.place.change if isinstance(note, journal_lines.Closed) else note.change


def begun(number: int, intent: journal_entries.Intent) -> Change:
    """Return a change of which only the intent is known."""
    places = {place: n for n, request in enumerate(intent.requests) for place in request.edits}
    return Change(number, intent, request_of=places)


def _at_work(change: Change, at_work: Callable[[journal_lines.Origin], bool]) -> Change:
    is_open = len(change.answered) < len(change.intent.requests)
    return replace(change, alive=True) if is_open and at_work(change.intent.origin) else change


def undone_edits(changes: Mapping[int, Change]) -> dict[int, dict[int, journal_lines.Place]]:
    """Return change -> place of its reverted edit -> place of the edit, in another change, that reverted it."""
    found: dict[int, dict[int, journal_lines.Place]] = {}
    for change in changes.values():
        for place in change.in_state(State.APPLIED):
            back = change.entries[place].staged.reverts
            if back is not None and back.change in changes:
                found.setdefault(back.change, {})[back.edit] = journal_lines.Place(change.number, place)
    return found


def with_note(change: Change, note: _OfChange) -> Change:
    """Return the change after a further note."""
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
