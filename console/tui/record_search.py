"""The search behind the records pane. It runs to its end unless Esc stops it; `m` continues it; it may follow new
records.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from console.admin.errors import AdminError
from console.language.quoting import quote_pattern
from console.language.unparse import unparse
from console.language.verbs.records import Bound, Records
from console.model import records as model
from console.model.failure import Failure
from console.model.per_second import PerSecond
from console.model.records import Portion, Record, RecordsRead, Search
from console.session.snapshot_reader import Refused
from console.tui.places import records_in
from console.tui.tools import Tools

if TYPE_CHECKING:
    from console.admin.record_search import Halt
    from console.session.record_reading import Collected

SHOWN_EVERY = 0.25
"""Minimum seconds between two updates of the rows during a search."""
SHARE = 4
"""Minimum pause between two updates of the rows during a search, as a multiple of the time that the last update
took.
"""
SOON = 0.5
"""Seconds for which the view's read waits for the end of a search, so that keys typed ahead apply to its rows."""
LIVE = 50
"""Maximum number of records per second that are shown while the search follows new records."""
LIVE_KEPT = 2_000
"""Maximum number of records that are kept while the search follows new records: the newest ones."""


class _Run(NamedTuple):
    """One run of a search: the search may be stopped, and continued in another run."""

    wanted: Records
    further: model.Start | None
    halt: Halt
    before: model.Progress
    """The progress of the earlier runs that this one continues."""


class AskedRecords:
    """The search for the records that a statement selects, and the keys that change the statement. The search runs
    once, and again only on a key.

    Attributes:
        wanted: the statement.
        answer: the records found so far, masked if the context hides contents; None before the first result.
        problem: the reason why the search failed; None if it did not.
        is_searching: whether a search runs.
        left_out: the number of records that arrived too fast to be shown while the search followed new records.
    """

    def __init__(self, tools: Tools) -> None:
        self._cluster, self._navigator = tools.cluster, tools.navigator
        self._editing, self._message = tools.editing, tools.message
        self.wanted = Records(("",))
        self.answer: RecordsRead | None = None
        self.problem: Failure | None = None
        self.is_searching = False
        self._is_due = True
        self._further: model.Start | None = None
        self._collected: Collected | None = None
        self._live: deque[Record] = deque(maxlen=LIVE_KEPT)
        self._cap = PerSecond(LIVE)
        self._run: _Run | None = None
        self._resumed = asyncio.Event()
        self.settled = asyncio.Event()
        """Set while no search is running."""

    @property
    def left_out(self) -> int:
        """The number of records that arrived too fast to be shown while the search followed new records."""
        return self._cap.left_out

    @property
    def is_at_group(self) -> bool:
        """Whether the search begins at a group's committed offset, so that its first record is the next one that the
        group reads.
        """
        return self.wanted.begins.word == "group"

    def take_due(self) -> bool:
        """Return whether a search has to begin; True only at the first call after `begin` or a key requested it."""
        due, self._is_due = self._is_due, False
        return due

    def begin(self, wanted: Records) -> None:
        """Set another statement, discard the records found, and request a search."""
        self.stop()
        self.wanted, self._is_due, self._further = wanted, True, None
        self.answer, self.problem, self._collected, self._run = None, None, None, None
        self._live.clear()
        self._cap = PerSecond(LIVE)
        self.settled.clear()

    def stop(self) -> bool:
        """Stop the search, and keep the records that it found. Return whether a search was under way."""
        if self._run is None or not self.is_searching:
            return False
        self._run.halt.ask()
        self._resumed.set()  # a paused search would not notice the end
        return True

    def resume(self) -> None:
        """Continue a search that waits for the end of a pause of the live refresh; no-op while paused."""
        if not self._cluster.reading.paused:
            self._resumed.set()

    async def search(self, changed: Callable[[], None]) -> None:
        """Search until the end, until `stop`, or until an error.

        Args:
            changed: called after each change of the attributes.
        """
        from console.admin.record_search import Halt

        before = self.answer.progress if self.answer is not None and self._further is not None else model.Progress()
        run = self._run = _Run(self.wanted, self._further, Halt(), before)
        self.is_searching = True
        self.settled.clear()
        try:
            await self._searched(run, changed)
        except (AdminError, Refused) as error:
            if self._run is run:
                self.problem = error.failure
        except OSError as error:
            why = f"the file of found records can't be written: {error.strerror or error}"
            self._message.say(f"the search ended: {why}", "failed")
        finally:
            if self._run is run:
                self.is_searching = False
                self.settled.set()
                changed()
        # Learn the names of schemas after the records are shown: a registry may be slow, or not answer.
        if self._run is run:
            await self._learn(run, changed)

    async def _searched(self, run: _Run, changed: Callable[[], None]) -> None:
        from console.session.record_reading import Collected, filter_of, search_of

        reader = self._cluster.session.records
        topics = await reader.topics(run.wanted)
        wanted = search_of(run.wanted, topics, datetime.now(UTC), run.further)
        if self._collected is None:
            self._collected = Collected(wanted)
        due, collected = 0.0, self._collected
        async with aclosing(reader.search(wanted, filter_of(run.wanted), run.halt)) as portions:
            async for portion in portions:
                if self._run is not run:
                    return  # another statement replaced this one
                self._take(portion, collected, run)
                if (began := time.monotonic()) >= due:
                    await self._show(wanted, collected)
                    changed()
                    due = time.monotonic() + max(SHOWN_EVERY, SHARE * (time.monotonic() - began))
                if run.wanted.follow:
                    await self._pause()
        if self._run is run:
            await self._show(wanted, collected)

    def _take(self, portion: Portion, collected: Collected, run: _Run) -> None:
        """Keep a portion of records. If the search follows new records, keep only the newest `LIVE_KEPT`, at most
        `LIVE` per second.
        """
        portion = portion._replace(progress=_together(run.before, portion.progress))
        if run.wanted.follow:
            self._live.extend(self._cap.passed(portion.records, time.monotonic()))
            portion = portion._replace(records=())
        collected.add(portion)

    async def _show(self, wanted: Search, collected: Collected) -> None:
        """Update `answer` from the records found so far."""
        read = collected.read()
        if wanted.follow:
            # Take the records from `_live`, which drops old ones when new ones come; `collected` has only counts here.
            read = replace(read, records=tuple(reversed(self._live)))
        shown = await self._cluster.session.records.readable(read)
        if self._collected is collected:
            self.answer = shown

    async def _learn(self, run: _Run, changed: Callable[[], None]) -> None:
        """Read from the registry the schemas that the records name, and decode the records again with them."""
        collected, reader = self._collected, self._cluster.session.records
        if collected is None or self.answer is None:
            return
        read = collected.read()
        if await reader.learn(read.records) and self._run is run:
            await self._show(read.search, collected)
            changed()

    async def _pause(self) -> None:
        """Wait while the live refresh is paused; no records are fetched during that time."""
        if self._cluster.reading.paused:
            self._resumed.clear()
            await self._resumed.wait()

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def do_back(self) -> None:
        """Stop the search, and keep the records that it found. If no search is under way, go back to the previous
        place.
        """
        if not self.stop():
            await self._navigator.do_back()

    def do_further(self) -> None:
        """Continue the search from the position at which it was stopped. If it still runs, or has reached its end, only
        show a message.
        """
        more = self.answer.progress.more if self.answer is not None else None
        if more is None or self.is_searching:
            said = "it still searches: Esc stops it" if self.is_searching else "there is nothing further: r reads again"
            self._message.say(said, "muted")
            return
        self._further, self._is_due = more, True
        self.settled.clear()
        self._cluster.reading.now()

    def do_refresh(self) -> None:
        """Search again from the start that the statement names."""
        self.begin(self.wanted)
        self._cluster.reading.now()

    async def _goto(self, wanted: Records) -> None:
        await self._navigator.goto(records_in(self._navigator.place, wanted))

    async def do_newest(self) -> None:
        """Show the newest records."""
        await self._goto(replace(self.wanted, start=Bound("last", "10"), until=None, follow=False))

    async def do_oldest(self) -> None:
        """Show the oldest records."""
        await self._goto(replace(self.wanted, start=Bound("start"), until=None, follow=False))

    async def do_isolation(self) -> None:
        """Switch between committed records only, and all records, including those of open and aborted transactions."""
        await self._goto(replace(self.wanted, committed=not self.wanted.committed))

    async def do_follow(self) -> None:
        """Show the records that are written from now on, or stop following new records."""
        follow = not self.wanted.follow
        await self._goto(replace(self.wanted, follow=follow, start=None, until=None, latest=False, limit=None))

    def do_start_at(self) -> None:
        """Open the command bar with the command that shows records from an offset or a time on."""
        partition = "" if self.wanted.partition is None else f"partition {self.wanted.partition} "
        start = "from time " if self.wanted.partition is None else "from offset "
        topics = ",".join(map(quote_pattern, self.wanted.topics))
        self._editing.begin(f"records {topics} {partition}{start}")

    def do_ask(self) -> None:
        """Open the command bar with the statement, to change it."""
        self._editing.begin(f"{unparse(self.wanted)} ")


def _together(before: model.Progress, now: model.Progress) -> model.Progress:
    """Return the progress of a run and of the earlier runs that it continues, as one."""
    if not before.scanned:
        return now
    spans = {(each.topic, each.partition): each for each in before.scanned}
    for each in now.scanned:
        was = spans.get((each.topic, each.partition), each)
        spans[each.topic, each.partition] = _joined(was, each)
    return replace(
        now,
        scanned=tuple(spans.values()),
        looked_at=before.looked_at + now.looked_at,
        of=max(before.of, before.looked_at + now.of),
        done=before.done + now.done,
        bytes=before.bytes + now.bytes,
        found=before.found + now.found,
        seconds=before.seconds + now.seconds,
    )


def _joined(was: model.Scanned, now: model.Scanned) -> model.Scanned:
    """Return two searched ranges of a partition as one. An empty range is ignored; if both are empty, return `now`."""
    ranges = [each for each in (was, now) if each.next > each.first] or [now]
    return now._replace(first=min(each.first for each in ranges), next=max(each.next for each in ranges))
