"""The past of the cluster on the screen: this host's journal, and the lake.

Both are read in the background, with modules that the first screen does not load.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from console.contexts.context import lake_place
from console.model.changes import Status
from console.present.text import clean
from console.tui.reading import start

if TYPE_CHECKING:
    from textual.app import App

    from console.journal.history import Due
    from console.lake.reader import Tables
    from console.model.snapshot import Snapshot
    from console.operations.operation import Operation, Progress
    from console.present.graphs import Mark
    from console.session.former_changes import FormerChanges
    from console.tui.event_watch import EventWatch
    from console.tui.reading import Reading
    from console.tui.text_lines import MessageLine

log = logging.getLogger(__name__)

LONGEST_WAIT = 60.0
"""Maximum seconds until the header is written again while an edit is due for reversal at a known time."""


def operation_text(operation: Operation) -> str:
    """Return an open operation for the header: ``op 7 running``; ``OP 7 STALLED`` if it is held up."""
    if operation.progress is None:
        return f"op {operation.number} {operation.state.value}"
    return progress_text(operation.number, operation.progress)


def progress_text(number: int, progress: Progress) -> str:
    """Return the progress of an operation for the header, with the share copied: ``op 7 running 43%``."""
    whole = progress.copied + progress.left
    share = f" {100 * progress.copied // whole}%" if whole else ""
    text = f"op {number} {progress.state.value}{share}"
    return text.upper() if progress.is_held_up else text


class Journal:
    """This host's journal of the cluster: unfinished and expiring changes, and operations."""

    def __init__(
        self,
        app: App[Any],
        reading: Reading,
        message: MessageLine,
        redraw: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        """Create the watch of the journal; `read_once` reads the journal.

        Args:
            app: runs its workers and timers.
            reading: the reads, which have the session.
            redraw: redraws the visible view.
            changed: called when the value of `due` may have changed.
        """
        self._app, self._session, self._reads = app, reading.session, reading
        self._message, self._redraw, self._changed = message, redraw, changed
        self._known: FormerChanges | None = None
        self._was_read = False
        self._reading = False
        self._watches = False
        self._at_work = ""

    @cached_property
    def events(self) -> EventWatch:
        """The changes since the cluster first answered, by other clients and by this host."""
        from console.tui.event_watch import EventWatch

        return EventWatch(self._app, self._reads, self._redraw)

    def marks(self) -> list[Mark]:
        """Return the recorded events as marks on a time axis."""
        from console.present.graphs import Mark

        record = self.events.record
        return [Mark(each.until, each.trouble) for each in record.events] if record is not None else []

    def lines_between(self, begins: datetime, ends: datetime) -> list[str]:
        """Return the events of a time range, each as a line; its end is not part of it."""
        from console.present.events import line

        record = self.events.record
        return [line(each) for each in record.events if begins <= each.until < ends] if record is not None else []

    def read_once(self) -> None:
        """Read the journal when the cluster first answers, and show unfinished and due changes."""
        if not self._was_read:
            self._was_read = True
            start(self._app, partial(self._read, say=True), group="past", name="past")

    def tell(self, at_work: str) -> None:
        """Show the state of the operation that this console runs; ``""`` if it runs none."""
        if at_work != self._at_work:
            self._at_work = at_work
            self._changed()

    def read(self) -> None:
        """Read the journal in the background, for the header."""
        start(self._app, partial(self._read, say=False), group="past", name="past")

    def snapshot_changed(self, snapshot: Snapshot) -> None:
        """Read the journal again if a snapshot has the values of a change of unknown outcome: it was applied."""
        known = self._known
        if known is None or known.past is None or self._reading or not (open_ := known.past.unfinished()):
            return
        from console.journal.history import State
        from console.session.former_changes import seen_now

        for change in open_:
            edits, _ = seen_now(known.past, change, change.in_state(State.UNKNOWN), snapshot)
            if Status.APPLIED in edits.values():
                self._reading = True
                self.read()
                return

    async def _read(self, *, say: bool) -> None:
        from console.admin.errors import AdminError
        from console.session.former_changes import former_changes
        from console.session.snapshot_reader import Refused

        self._reading = True
        self.events.begin()
        try:
            self._known = await former_changes(self._session)
        except (AdminError, Refused) as error:
            log.warning("the journal was not read: %s", error.failure)
            return
        finally:
            self._reading = False
        if say and (lines := self._known.lines):
            more = f" (and {len(lines) - 1} more: :history)" if len(lines) > 1 else ""
            self._message.say(clean(lines[0], 400) + more, "failed")
        self._update()

    def _update(self) -> None:
        """Report a change now, and again when the next edit is due, or after `LONGEST_WAIT`. If an operation is open,
        also read the journal again after that time.
        """
        self._changed()
        now = datetime.now(UTC)
        waits = [(due.until - now).total_seconds() for due in self._expiring if due.until > now]
        if self._known is not None and self._known.operations and not self._watches:
            self._watches = True
            # Set one timer at a time, however often this method is called.
            self._app.set_timer(LONGEST_WAIT, self._read_again)
        if waits:
            # Check again after a minute at most, as the clock may be set during the wait.
            self._app.set_timer(min(*waits, LONGEST_WAIT) + 0.1, self._update)

    def _read_again(self) -> None:
        """Read the state of an operation that another process runs."""
        self._watches = False
        self.read()

    @property
    def _expiring(self) -> tuple[Due, ...]:
        return self._known.expiring if self._known is not None else ()

    @property
    def due(self) -> str:
        """The header's text: ``NO JOURNAL`` without a journal, ``DUE 2`` for edits overdue for reversal, ``op 7
        running`` for an operation, ``until 14:05`` for the next reversal; else ``""``."""
        if not self._session.context.journal:
            return "NO JOURNAL"
        if self._known is not None and (late := self._known.due(datetime.now(UTC))):
            return f"DUE {len(late)}"
        if self._at_work:
            return self._at_work
        if self._known is not None and self._known.operations:
            return operation_text(self._known.operations[0])
        if self._expiring:
            return f"until {self._expiring[0].until.astimezone():%H:%M}"
        return ""


class OpenLake:
    """The lake that the panes read: opened when the first of them is shown, and again when a table has a newer version.

    Attributes:
        where: the path or URI of the lake.
        problem: the reason why it can't be read, as text for the operator.
        is_missing: whether there is no lake at `where`.
    """

    def __init__(self, given: str | None, setting: str | None) -> None:
        """Keep the lake's place, without opening the lake.

        Args:
            given: the value of ``--lake``; None without the option.
            setting: the context's setting; None without one.
        """
        self.where = lake_place(given, os.environ, setting, Path.home())
        self.problem = ""
        self.is_missing = False
        self._tables: Tables | None = None
        self._lock = Lock()
        self._is_closed = False

    async def tables(self) -> Tables | None:
        """Return the tables, opened on another thread; None if they can't be read, with the reason in `problem`, or
        after `close`.
        """
        return await asyncio.to_thread(self._open)

    def close(self) -> None:
        """Close the files permanently, after a query under way has ended."""
        with self._lock:
            self._is_closed = True
            if self._tables is not None:
                self._tables.close()
                self._tables = None

    def _open(self) -> Tables | None:
        from console.contexts.lake_files import lake_files
        from console.lake.files import LakeError
        from console.lake.lake import NoLake
        from console.lake.reader import Tables

        with self._lock:
            try:
                if self._is_closed:
                    return None
                if self._tables is None or not self._tables.is_latest:
                    self._tables = Tables(self.where, lake_files(self.where), self._tables)
                self.problem, self.is_missing = "", False
            except (LakeError, OSError) as error:
                self._tables, self.problem, self.is_missing = None, str(error), isinstance(error, NoLake)
            return self._tables
