"""The changes that earlier runs left open: changes whose outcome is unknown, which kac looks for in the cluster, and
edits that were applied for a limited time and must be reverted.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from console.log_file import state_directory
from console.model.changes import Status
from console.model.journal_lines import OperationLine, Settled, Told
from console.session.journal_access import in_journal

if TYPE_CHECKING:
    from pathlib import Path

    from console.contexts import Context
    from console.journal.entries import Note, Numbered
    from console.journal.file import Contents, JournalFile
    from console.journal.history import Change, Due, History
    from console.model.snapshot import Snapshot
    from console.operations.operation import Operation
    from console.plan.edits import Edit
    from console.session.session import Session
    from console.session.snapshot_reader import Client

log = logging.getLogger(__name__)

IN_FLIGHT = 5.0
"""Maximum seconds that a start waits for the effect of requests that were sent right before it. The client waits
equally long for a lost response.
"""


class FormerChanges(Struct, frozen=True):
    """The changes and operations that earlier runs left open in the journal."""

    lines: tuple[str, ...] = ()
    """The lines about them that a front end shows when it starts."""
    expiring: tuple[Due, ...] = ()
    """The edits that were applied for a limited time and are not reverted yet."""
    past: History | None = None
    """The open changes; None without a journal."""
    operations: tuple[Operation, ...] = ()
    """The open operations."""

    def due(self, now: datetime) -> tuple[Due, ...]:
        """Return the edits whose limited time is over. now: the present time, UTC."""
        return tuple(due for due in self.expiring if due.until <= now)


NOTHING = FormerChanges()
_ATTENDED = frozenset({"console", "shell"})
"""Front ends whose operator reads the lines shown at the start. Other front ends have such an operator only if standard
error is a terminal.
"""


def any_journal(environ: Mapping[str, str]) -> bool:
    """Return whether this host has a journal of any cluster. If not, a start does not need the cluster's id."""
    try:
        with os.scandir(state_directory(environ) / "journal") as found:
            return any(found)
    except OSError:
        return False


async def former_lines(session: Session) -> tuple[str, ...]:
    """Return the lines of `former_changes` at the first call for a session; return an empty tuple at later calls.
    Raises Refused, AdminError.
    """
    if session.former_told:
        return ()
    lines = (await former_changes(session)).lines
    session.former_told = True
    return lines


async def former_changes(session: Session) -> FormerChanges:
    """Read the journal, and look for changes with an unknown outcome in the cluster. If there is no journal, return
    `NOTHING`; if it can't be opened, return one line with the reason. Raises AdminError if the connection is lost,
    and Refused.
    """
    if not any_journal(os.environ):
        return NOTHING
    from console.journal.segments import JournalError
    from console.session.session import NoJournal

    try:
        journal = await session.journal()
        contents = await asyncio.to_thread(journal.open)
        if not contents.records and not contents.problems:
            return NOTHING
    except (JournalError, NoJournal) as error:
        return FormerChanges((str(error.failure),))
    # These imports are slow and seldom needed.
    from console.answers.history_results import ahead_lines, due_line, open_lines

    past = history_of(contents)
    # Collect before reconciling: a change whose outcome is found right now is shown too.
    untold = past.untold()
    reconciled = await reconcile_unfinished(session.client, session.context, session.snapshot, journal, past)
    if any(Status.APPLIED in each.edits.values() for each in reconciled):
        past = await read_open(journal)
    lines = list(past.problems)
    shown = {change.number: change for change in untold} | {each.change.number: each.change for each in reconciled}
    for _, change in sorted(shown.items()):
        lines += open_lines(change)
    # Mark the changes as told only if an operator reads the lines: after a cron job, the next console has to show them
    # again.
    if untold and _is_written(session.context) and (session.front_end in _ATTENDED or sys.stderr.isatty()):
        await _write_down(journal, [Told(change.number, _now()) for change in untold])
    expiring, now = past.expiring(), datetime.now(UTC)
    lines += ahead_lines(past.changes.values(), now)
    late = [due_line(due, now) for due in expiring if due.until <= now]
    if late:
        lines += [*late, "kac due --apply takes back what is due"]
    open_ = await _open_operations(journal.path, session.front_end, contents.records, now)
    how = "W goes on with it here, w shows it" if session.front_end == "console" else "kac moves shows it"
    idle = [f"operation {each.number} ({each.goal}) is open: {how}" for each, is_idle in open_ if is_idle]
    lines = [*idle, *lines]
    return FormerChanges(tuple(lines), expiring, past, tuple(each for each, _ in open_))


async def _open_operations(
    journal: Path, front_end: str, records: tuple[Numbered | Note, ...], now: datetime
) -> tuple[tuple[Operation, bool], ...]:
    """Return the open operations, each with True if no process works on it at present."""
    if not any(isinstance(each, OperationLine) for each in records):
        return ()
    from console.journal.entries import this_process
    from console.journal.operations import Lease, operations

    # Decide by the lease, not by a running process: a lease ends if the process hangs, and holds across hosts that
    # share the folder.
    holder = await asyncio.to_thread(Lease(journal, this_process(front_end)).holder, now)
    return tuple((each, holder is None) for each in operations(records).values() if each.ended is None)


async def read_open(journal: JournalFile) -> History:
    """Return the open changes of a cluster: those with an unknown outcome, those that were interrupted, and those
    applied for a limited time.

    Raises Refused if the journal exists but can't be read.
    """
    return await in_journal(journal, lambda file: history_of(file.open()))


def history_of(contents: Contents) -> History:
    """Return the changes that this content of a journal has."""
    from console.journal.entries import still_runs
    from console.journal.history import history

    return history(contents.records, contents.problems, still_runs)


class Found(Struct, frozen=True):
    """A change with edits of unknown outcome, after the cluster was searched for them."""

    change: Change
    edits: Mapping[int, Status]
    """Number of an edit within the change -> APPLIED if the cluster has the edit's value, otherwise UNKNOWN. It has
    only the edits whose outcome was unknown before.
    """


async def reconcile_open(client: Client, context: Context, known: Snapshot, journal: JournalFile) -> tuple[Found, ...]:
    """Read the open changes and call `reconcile_unfinished` for them. Raises Refused as `read_open` does, and
    AdminError.
    """
    return await reconcile_unfinished(client, context, known, journal, await read_open(journal))


async def reconcile_unfinished(
    client: Client, context: Context, known: Snapshot, journal: JournalFile, past: History
) -> tuple[Found, ...]:
    """Look in the cluster for the edits whose outcome is unknown, and record the edits that were found, if the journal
    can be written.

    The other edits stay unknown, because their requests may still arrive. For requests that were sent a moment ago,
    wait at most `IN_FLIGHT` seconds in total. Raises AdminError if the connection to the cluster is lost.
    """
    from console.admin.link import delays
    from console.journal.history import State
    from console.session.describe_again import describe_again

    open_ = past.unfinished()
    if not open_:
        return ()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + max(_may_arrive_within(change, _now()) for change in open_)
    # Begin with short delays: most late requests arrive within a moment, and a start should not wait a second for them.
    waits = delays(0.05, 1.0)
    while True:
        now = await describe_again(client, context, known, _unknown_edits(open_))
        seen = [seen_now(past, change, change.in_state(State.UNKNOWN), now) for change in open_]
        left = any(status is not Status.APPLIED for edits, _ in seen for status in edits.values())
        if not left or loop.time() >= deadline:
            break
        await asyncio.sleep(min(next(waits), max(0.0, deadline - loop.time())))
    settled, notes = [], []
    for change, (edits, topic_ids) in zip(open_, seen, strict=True):
        there = {index: status for index, status in edits.items() if status is Status.APPLIED}
        # Write down only edits that were found: a missing value proves nothing about its request.
        if there:
            created = {index: topic_id for index, topic_id in topic_ids.items() if index in there}
            notes.append(Settled(change.number, _now(), there, created))
        settled.append(Found(replace(change, found={**change.found, **there}), edits))
    if notes and _is_written(context):
        await _write_down(journal, notes)
    return tuple(settled)


def _may_arrive_within(change: Change, now: datetime) -> float:
    """Return the seconds during which a change's last request may still arrive. Return 0 if none may, and for a change
    that is dated in the future, whose age is unknown.
    """
    if change.last_sent is None:
        return 0.0
    age = (now - change.last_sent).total_seconds()
    return max(0.0, IN_FLIGHT - age) if age >= 0 else 0.0


def _unknown_edits(changes: Iterable[Change]) -> list[Edit]:
    """Return the edits whose outcome is unknown."""
    from console.journal.history import State

    return [change.entries[index].staged.edit for change in changes for index in change.in_state(State.UNKNOWN)]


def seen_now(
    past: History, change: Change, indexes: Iterable[int], now: Snapshot
) -> tuple[dict[int, Status], dict[int, str]]:
    """Return edit -> its status: APPLIED if the cluster has the edit's value, otherwise UNKNOWN; and edit -> id of the
    topic that it created. Both name an edit by its number within the change. An edit stays UNKNOWN if a later change
    may have changed the same key. Pure.

    Args:
        past: the change with the later changes of the same keys.
        indexes: the numbers of the edits to look for.
        now: the present state of the edits' targets.
    """
    from console.plan.reconcile import verdicts

    open_ = frozenset(indexes)
    edits = dict.fromkeys(sorted(open_), Status.UNKNOWN)
    topic_ids = {}
    for request in change.intent.requests:
        mine = [
            index
            for index in request.edits
            # A later change of the same key explains the present value equally well.
            if index in open_ and past.touched_later(change.number, change.entries[index].staged.edit.slot) is None
        ]
        verdict = verdicts([change.entries[index].staged for index in mine], now)
        for index in mine:
            edit = change.entries[index].staged.edit
            if verdict[edit.slot] is not Status.APPLIED:
                continue
            edits[index] = Status.APPLIED
            topic = now.topics.get(edit.new_topic) if edit.new_topic is not None else None
            if topic is not None and topic.topic_id is not None:
                topic_ids[index] = topic.topic_id
    return edits, topic_ids


def _is_written(context: Context) -> bool:
    """Return whether outcomes that were found are recorded in the journal of this context."""
    return context.journal and not context.read_only


async def _write_down(journal: JournalFile, notes: Iterable[Settled | Told]) -> None:
    from console.journal.segments import JournalError

    try:
        for note in notes:
            await asyncio.to_thread(journal.note, note)
    except JournalError as error:
        log.warning("the journal: %s", error.failure)


def _now() -> datetime:
    return datetime.now(UTC)
