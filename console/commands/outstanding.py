"""What a start has to say of the journal: changes that nobody heard the end of, and what is due to be taken back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from console.log_file import state_directory

if TYPE_CHECKING:
    from console.commands.session import Session
    from console.journal.history import Due


@dataclass(frozen=True, slots=True)
class Outstanding:
    """lines: what to tell, a line each. expiring: what is to be taken back, now or later."""

    lines: tuple[str, ...] = ()
    expiring: tuple[Due, ...] = ()

    def due(self, now: datetime) -> tuple[Due, ...]:
        """What should have been taken back by now."""
        return tuple(due for due in self.expiring if due.until <= now)


NOTHING = Outstanding()


def any_journal(environ: Mapping[str, str]) -> bool:
    """Whether anything was ever written down on this host: where not, a start need not ask who the cluster is."""
    try:
        with os.scandir(state_directory(environ) / "journal") as found:
            return any(found)
    except OSError:
        return False


async def outstanding(session: Session) -> Outstanding:
    """Read the journal, look what became of what is unfinished, and say so. A journal that can't be opened is a
    line of its own. Raises AdminError where the cluster is lost, Refused."""
    if not any_journal(os.environ):
        return NOTHING
    from console.commands.opening_journal import journal_of
    from console.journal.errors import JournalError

    try:
        journal = await journal_of(session)
        if not await asyncio.to_thread(journal.anything_open):
            return NOTHING
    except JournalError as error:
        return Outstanding((str(error.failure),))
    # What follows is more to import, and seldom needed.
    from console.commands.history_results import due_line, found_lines
    from console.commands.past import read_history, settle_unfinished

    past = await read_history(session)
    lines = list(past.problems)
    for found in await settle_unfinished(session, past):
        lines += found_lines(found)
    expiring, now = past.expiring(), datetime.now(UTC)
    late = [due_line(due, now) for due in expiring if due.until <= now]
    if late:
        lines += [*late, "kac due --apply takes back what is due"]
    return Outstanding(tuple(lines), expiring)
