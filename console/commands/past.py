"""What was changed before: read from the journal, settled where an outcome was never heard, and taken back."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from console.commands.look import look, read_again
from console.commands.opening_journal import journal_of
from console.journal.errors import JournalError
from console.journal.history import Change, Due, History, State, history
from console.journal.identity import at_work, who
from console.journal.records import Closed, Mended, Settled
from console.model.changes import Status
from console.model.config import ConfigResource, topic_resource
from console.model.failure import Failure
from console.plan.conflicts import conflicts, rebase
from console.plan.edits import CreateTopic, Slot
from console.plan.plan import StageReport
from console.plan.reversal import reversal
from console.plan.staged import UNREAD, Place, Staged, Was
from console.plan.verdicts import verdicts
from console.present import names

if TYPE_CHECKING:
    from console.commands.session import Session
    from console.plan.conflicts import Conflict

log = logging.getLogger(__name__)

IN_FLIGHT = 5.0
"""Seconds that a request may take from its sender to the log: as long as the client looks for a lost answer."""


async def read_history(session: Session) -> History:
    """All changes of the session's cluster. Raises Refused where the journal is there and can't be read."""
    from console.commands.session import Refused

    try:
        journal = await journal_of(session)
        contents = await asyncio.to_thread(journal.read)
    except JournalError as error:
        raise Refused(error.failure) from error
    return history(contents.records, contents.problems, at_work)


@dataclass(frozen=True, slots=True)
class Found:
    """A change that was unfinished, and for each such edit, by its place, what the cluster has now: APPLIED what the
    edit wants, NOT_APPLIED what was there before, UNKNOWN neither, or nothing that tells."""

    change: Change
    edits: Mapping[int, Status]


async def settle_unfinished(session: Session, past: History) -> tuple[Found, ...]:
    """Look in the cluster what became of edits whose outcome nobody heard, and write that down where the journal can
    be written. A request that was sent moments ago may still be on its way: only what is not there for `IN_FLIGHT`
    seconds is said not to be. Raises AdminError where the cluster is lost."""
    from console.admin.retry import delays

    found = []
    for change in past.unfinished():
        waits = delays(0.05, 1.0)
        edits = await _verdicts(session, change)
        while set(edits.values()) != {Status.APPLIED} and _in_flight(change, _now()):
            await asyncio.sleep(next(waits))
            edits = await _verdicts(session, change)
        found.append(Found(change, edits))
        await _write_down(session, Settled(change.number, _now(), edits))
    return tuple(found)


def _in_flight(change: Change, now: datetime) -> bool:
    return change.last_sent is not None and (now - change.last_sent).total_seconds() < IN_FLIGHT


async def _verdicts(session: Session, change: Change) -> dict[int, Status]:
    open_ = frozenset(change.in_state(State.UNFINISHED))
    now = await look(session, (change.entries[place].staged.edit for place in sorted(open_)))
    edits: dict[int, Status] = {}
    for request in change.intent.requests:
        places = [place for place in request.edits if place in open_]
        verdict = verdicts((change.entries[place].staged for place in places), now)
        edits |= {place: verdict[change.entries[place].staged.edit.slot] for place in places}
    return edits


async def _write_down(session: Session, note: Settled | Closed) -> None:
    if session.context.read_only or not session.context.journal:
        return
    try:
        await asyncio.to_thread((await journal_of(session)).note, note)
    except JournalError as error:
        log.warning("the journal: %s", error.failure)


async def close(session: Session, due: Due, why: str) -> None:
    """An edit is not to be taken back any more. Raises Refused where that can't be written down."""
    from console.commands.session import Refused

    try:
        await asyncio.to_thread((await journal_of(session)).note, Closed(due.place, _now(), why))
    except JournalError as error:
        raise Refused(error.failure) from error


async def mend(session: Session) -> bool:
    """End the journal's last line where it was cut short; False where it is whole. Raises Refused, AdminError."""
    from console.commands.session import Refused

    mended = Mended(_now(), who(session.context.principal, os.environ))
    try:
        return await asyncio.to_thread((await journal_of(session)).mend, mended)
    except JournalError as error:
        raise Refused(error.failure) from error


class Back(NamedTuple):
    """What takes an edit back, staged upon what the edit had left; why it can't be, or what does not come back."""

    staged: Staged | None
    note: str


@dataclass(frozen=True, slots=True)
class RevertReport:
    """What became of a revert: the staging, what it could not take back or not whole, and what somebody changed since,
    which an apply is going to stop at."""

    staging: StageReport
    notes: tuple[str, ...]
    moved: tuple[Conflict, ...]


def opposites(change: Change, places: Iterable[int] | None = None) -> tuple[Back, ...]:
    """How a change's edits are taken back. places: of these alone. Pure."""
    edits = [entry.staged.edit for entry in change.entries]
    new = frozenset(topic_resource(edit.topic.name) for edit in edits if isinstance(edit, CreateTopic))
    return tuple(_opposite(change, place, new) for place in (range(len(edits)) if places is None else places))


def _opposite(change: Change, place: int, new: frozenset[ConfigResource]) -> Back:
    entry, state = change.entries[place], change.state(place)
    edit = entry.staged.edit
    what = f"{names.target(edit.target)} {edit.key}".strip()
    if state is not State.APPLIED:
        return Back(None, f"{what}: nothing to take back, it is {state.value}")
    if place in change.undone:
        return Back(None, f"{what}: change {change.undone[place].change} took it back already")
    if edit.target in new:
        return Back(None, "")  # a config of a topic that the change created goes with it
    back = reversal(entry.staged, entry.overrides)
    note = f"{what}: {back.loss}" if back.loss else ""
    if back.edit is None:
        return Back(None, note or f"{what}: can't be taken back")
    return Back(Staged(back.edit, back.left, reverts=Place(change.number, place)), note)


async def stage_opposites(session: Session, backs: Sequence[Back]) -> RevertReport:
    """Stage what takes edits back, as one step to undo. Raises Refused in a read-only context, AdminError."""
    session.refuse_if_read_only()
    wanted = {back.staged.edit.slot: back.staged for back in backs if back.staged is not None}
    await read_again(session, (staged.edit for staged in wanted.values()))
    staging = session.stage([staged.edit for staged in wanted.values()])
    upon: dict[Slot, Staged] = {}
    for added in staging.added:
        asked = wanted[added.edit.slot]
        upon[added.edit.slot] = replace(added, was=_base(asked.was, added.was), reverts=asked.reverts)
    session.replan(rebase(session.plan, upon))
    report = replace(staging, plan=session.plan, added=tuple(upon.values()))
    moved = tuple(c for c in conflicts(upon.values(), session.snapshot) if c.now is not UNREAD)
    return RevertReport(report, tuple(back.note for back in backs if back.note), moved)


def _base(left: Was, now: Was) -> Was:
    return now if left is UNREAD else left


async def stage_revert(session: Session, number: int) -> RevertReport:
    """Stage the opposite of a change. Raises Refused for a number that no change has, AdminError."""
    from console.commands.session import Refused

    past = await read_history(session)
    if past.unfinished():
        await settle_unfinished(session, past)
        past = await read_history(session)
    change = past.changes.get(number)
    if change is None:
        known = f"its changes are {min(past.changes)} to {max(past.changes)}" if past.changes else "it has none yet"
        failure = Failure("NO_SUCH_CHANGE", f"there is no change {number} in the journal; {known}", "See: history")
        raise Refused(failure)
    return await stage_opposites(session, opposites(change))


def _now() -> datetime:
    return datetime.now(UTC)
