"""The lease by which one process at a time may work on a cluster's operations, and the notes of that work in the
journal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from console.journal import operations as journal_operations
from console.journal.file import JournalFile
from console.journal.segments import Where
from console.model.failure import Failure
from console.model.journal_lines import Origin
from console.model.numbers import time_of_day
from console.operations.operation import Operation
from console.session.journal_access import in_journal
from console.session.snapshot_reader import Clock, Refused

log = logging.getLogger(__name__)


class Pace(Struct, frozen=True):
    """The intervals between the polls of an operation, and the time without progress after which it is stalled."""

    first: float = 0.5
    """Seconds between two polls while there is progress."""
    most: float = 5.0
    """Maximum seconds between two polls, without progress."""
    patience: float = 120.0
    """Seconds without progress after which an operation is stalled."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """The function that waits for some seconds."""
    leaves: bool = True
    """Whether this process stops its work on a stalled operation; if False, it continues to poll."""


class OperationWork:
    """The lease on a cluster's operations, and access to their journal while the process has the lease. Use it as an
    asynchronous context manager, which raises Refused if another process has the lease.
    """

    def __init__(self, journal: JournalFile, mine: Origin, clock: Clock) -> None:
        self.journal = journal
        self._lease = journal_operations.Lease(journal.path, mine)
        self.clock = clock
        self._folded = journal_operations.Folded()
        self._through: Where | None = None
        """The position in the journal after the lines that `_folded` has taken; None before the first read."""

    async def __aenter__(self) -> OperationWork:
        await self.renew()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.to_thread(self._lease.free)
        except OSError as error:
            log.warning("the lease is not given back, and ends by itself: %s", error)

    async def renew(self) -> None:
        """Acquire the lease, or extend it. Raises Refused if another process has it, or if it can't be written."""
        try:
            holder = await asyncio.to_thread(self._lease.take, self.clock.now())
        except OSError as error:
            remedy = "Make room or set XDG_STATE_HOME to a folder that can be written."
            raise Refused(Failure("LEASE_FAILED", f"the lease can't be written: {error}", remedy)) from error
        if holder is not None:
            by = holder.by
            raise Refused(
                Failure(
                    "HELD",
                    f"process {by.pid} on {by.host} works on operations of this cluster",
                    "kac moves shows how far it is; end it to go on here. "
                    f"Where it hangs, its lease ends at {time_of_day(holder.until)} by this host's clock.",
                )
            )

    async def note(self, number: int, what: journal_operations.Noted) -> None:
        """Write a line about an operation to the journal. Raises Refused if that fails. number: the operation's
        number.
        """
        line = journal_operations.operation_line(number, self.clock.now(), what)
        await in_journal(self.journal, lambda journal: journal.note(line))

    async def read(self, number: int) -> Operation:
        """Return an operation as in the journal now, with the requests that operators made meanwhile. Raises
        Refused.
        """
        return await in_journal(self.journal, lambda file: self._read(file, number))

    def _read(self, file: JournalFile, number: int) -> Operation:
        # Read only new lines: one redrive may have a hundred thousand, and this is called once a second.
        found = file.open() if self._through is None else file.since(self._through)
        self._folded.take(found.records)
        if self._through is None and number not in self._folded.begun:
            # The open part of a journal lacks ended operations; read the whole journal only for these.
            found = file.read()
            self._folded = journal_operations.Folded()
            self._folded.take(found.records)
        self._through = found.through
        if number not in self._folded.begun:
            failure = Failure("NO_SUCH_OPERATION", f"the journal has no operation {number}", "See: kac moves")
            raise Refused(failure)
        return self._folded.operation(number)
