"""What former changes left open: unknown outcomes, and edits that are due to be taken back."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from console.log_file import state_directory
from console.model.changes import Status
from console.model.journal_lines import OperationLine

if TYPE_CHECKING:
    from pathlib import Path

    from console.journal.history import Due, History
    from console.journal.records import Note, Numbered
    from console.operations.operation import Operation
    from console.session.session import Session


class FormerChanges(Struct, frozen=True):
    """lines: what to show at a start. expiring: edits to be taken back, now or later. past: the open changes, None
    without a journal. operations: those that are open."""

    lines: tuple[str, ...] = ()
    expiring: tuple[Due, ...] = ()
    past: History | None = None
    operations: tuple[Operation, ...] = ()

    def due(self, now: datetime) -> tuple[Due, ...]:
        """The edits that are due to be taken back."""
        return tuple(due for due in self.expiring if due.until <= now)


NOTHING = FormerChanges()
_ATTENDED = frozenset({"console", "shell"})
"""Front ends where an operator reads the lines of a start; elsewhere only a terminal makes that sure."""


def any_journal(environ: Mapping[str, str]) -> bool:
    """Whether there is any journal on this host. If not, a start need not ask for the cluster's id."""
    try:
        with os.scandir(state_directory(environ) / "journal") as found:
            return any(found)
    except OSError:
        return False


async def former_lines(session: Session) -> tuple[str, ...]:
    """Return the lines of `former_changes`, once for a session. Raises Refused, AdminError."""
    if session.former_told:
        return ()
    lines = (await former_changes(session)).lines
    session.former_told = True
    return lines


async def former_changes(session: Session) -> FormerChanges:
    """Read the journal, and settle unknown outcomes that the cluster shows. A journal that can't be opened is a line of
    its own. Raises AdminError if the cluster is lost, Refused."""
    if not any_journal(os.environ):
        return NOTHING
    from console.journal.records import still_runs
    from console.journal.segments import JournalError
    from console.session.recording import journal_of

    try:
        journal = await journal_of(session)
        contents = await asyncio.to_thread(journal.open)
        if not contents.records and not contents.problems:
            return NOTHING
    except JournalError as error:
        return FormerChanges((str(error.failure),))
    # These imports take long, and are seldom needed.
    from console.answers.history_results import ahead_lines, due_line, open_lines
    from console.journal.history import history
    from console.session.journal_changes import read_open, record_shown, settle_unfinished

    past = history(contents.records, contents.problems, still_runs)
    untold = past.untold()
    found = await settle_unfinished(session, past)
    if any(Status.APPLIED in each.edits.values() for each in found):
        past = await read_open(session)
    lines = list(past.problems)
    shown = {change.number: change for change in untold} | {each.change.number: each.change for each in found}
    for _, change in sorted(shown.items()):
        lines += open_lines(change)
    if untold and (session.door in _ATTENDED or sys.stderr.isatty()):
        await record_shown(session, untold)
    expiring, now = past.expiring(), datetime.now(UTC)
    lines += ahead_lines(past.changes.values(), now)
    late = [due_line(due, now) for due in expiring if due.until <= now]
    if late:
        lines += [*late, "kac due --apply takes back what is due"]
    open_ = await _open_operations(journal.path, session.door, contents.records, now)
    how = "W goes on with it here, w shows it" if session.door == "console" else "kac moves shows it"
    idle = [f"operation {each.number} ({each.goal}) is open: {how}" for each, is_idle in open_ if is_idle]
    lines = [*idle, *lines]
    return FormerChanges(tuple(lines), expiring, past, tuple(each for each, _ in open_))


async def _open_operations(
    journal: Path, door: str, records: tuple[Numbered | Note, ...], now: datetime
) -> tuple[tuple[Operation, bool], ...]:
    """The open operations, each with whether no process works on it."""
    if not any(isinstance(each, OperationLine) for each in records):
        return ()
    from console.journal.operations import Lease, operations
    from console.journal.records import this_process

    holder = await asyncio.to_thread(Lease(journal, this_process(door)).holder, now)
    return tuple((each, holder is None) for each in operations(records).values() if each.ended is None)
