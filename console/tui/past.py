"""The past of the cluster, for the screen: this host's journal, and the lake.

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
"""Maximum seconds between two updates of the header while it has the time at which an edit is due to be reverted."""


def operation_text(operation: Operation) -> str:
    """Return the text of the header about an open operation: ``op 7 running``, or in capitals ``OP 7 STALLED`` if it
    can't go on.
    """
    if operation.progress is None:
        return f"op {operation.number} {operation.state.value}"
    return progress_text(operation.number, operation.progress)


def progress_text(number: int, progress: Progress) -> str:
    """Return the text of the header about the progress of an operation, with the percentage of bytes copied: ``op 7
    running 43%``; in capitals if it can't go on.
    """
    whole = progress.copied + progress.left
    share = f" {100 * progress.copied // whole}%" if whole else ""
    text = f"op {number} {progress.state.value}{share}"
    return text.upper() if progress.is_held_up else text


class Journal:
    """This host's journal about the cluster: unfinished changes, temporary changes, and operations."""

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
            message: the message line.
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
        """The recorder of changes since the cluster first answered, by other clients and by this host."""
        from console.tui.event_watch import EventWatch

        return EventWatch(self._app, self._reads, self._redraw)

    def marks(self) -> list[Mark]:
        """Return a mark for the time axis of graphs for each recorded event; empty before events are recorded."""
        from console.present.graphs import Mark

        record = self.events.record
        return [Mark(each.until, each.trouble) for each in record.events] if record is not None else []

    def lines_between(self, begins: datetime, ends: datetime) -> list[str]:
        """Return the events from `begins` (inclusive) to `ends` (exclusive), each as a line."""
        from console.present.events import line

        record = self.events.record
        return [line(each) for each in record.events if begins <= each.until < ends] if record is not None else []

    def read_once(self) -> None:
        """Read the journal when the cluster first answers, and show unfinished changes and edits due to be reverted."""
        if not self._was_read:
            self._was_read = True
            start(self._app, partial(self._read, say=True), group="past", name="past")

    def tell(self, at_work: str) -> None:
        """Set the header's text about the operation that this console runs; ``""`` if it runs none."""
        if at_work != self._at_work:
            self._at_work = at_work
            self._changed()

    def read(self) -> None:
        """Read the journal again in the background, and update the header."""
        start(self._app, partial(self._read, say=False), group="past", name="past")

    def snapshot_changed(self, snapshot: Snapshot) -> None:
        """Read the journal again if the snapshot shows that a change of unknown outcome was applied."""
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
        """Report a change of `due` now. If an edit is due to be reverted later, report again at that time, but after
        at most `LONGEST_WAIT` seconds. If an operation is open, also read the journal again after `LONGEST_WAIT`
        seconds.
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
        """Read the journal again, for the state of an operation that another process runs."""
        self._watches = False
        self.read()

    @property
    def _expiring(self) -> tuple[Due, ...]:
        return self._known.expiring if self._known is not None else ()

    @property
    def due(self) -> str:
        """The header's text about the journal, the first that applies: ``NO JOURNAL`` if the context keeps none, ``DUE
        2`` for edits that should have been reverted, ``op 7 running`` for an operation, ``until 14:05`` for the time
        at which the next edit is due to be reverted; else ``""``.
        """
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
    """The lake that the panes read. It is opened on first use, and again when a table has a newer version.

    Attributes:
        where: the path or URI of the lake.
        problem: the reason why it can't be read; ``""`` if it can.
        is_missing: whether there is no lake at `where`.
    """

    def __init__(self, given: str | None, setting: str | None) -> None:
        """Find out the path of the lake, without opening the lake.

        Args:
            given: the value of ``--lake``; None without the option.
            setting: the value in the context; None if it has none.
        """
        self.where = lake_place(given, os.environ, setting, Path.home())
        self.problem = ""
        self.is_missing = False
        self._tables: Tables | None = None
        self._lock = Lock()
        self._is_closed = False

    async def tables(self) -> Tables | None:
        """Open the lake on another thread if necessary, and return its tables. Return None after `close`, and if they
        can't be read; `problem` then has the reason.
        """
        return await asyncio.to_thread(self._open)

    def close(self) -> None:
        """Close the files, after a query under way has ended. The lake is not opened again."""
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
