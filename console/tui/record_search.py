"""The search behind the records on the screen: it runs to its end, Esc stops it, `m` continues it, and it may follow
new records.
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
"""Minimum seconds between two changes of the rows during a search."""
SHARE = 4
"""Making the rows again waits at least this many times as long as making them took the last time."""
SOON = 0.5
"""Seconds for which a read of the view waits for the end of its search, so that keys typed ahead find its rows."""
LIVE = 50
"""Maximum number of records per second that a search which follows shows."""
LIVE_KEPT = 2_000
"""Maximum number of records that a search which follows keeps: the newest ones."""


class _Run(NamedTuple):
    """One run of a search."""

    wanted: Records
    further: model.Start | None
    halt: Halt
    before: model.Progress
    """The progress of the former runs that this one continues."""


class AskedRecords:
    """The records of a statement, searched once and again only on a key, and the keys that change the statement.

    Attributes:
        wanted: the statement.
        answer: the records found so far, in the form that may be shown; None before the first are known.
        problem: the reason why the search failed; None if it did not.
        is_searching: whether a search runs.
        left_out: the number of records that arrived too fast to be shown while the search followed.
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
        """The number of records that arrived too fast to be shown."""
        return self._cap.left_out

    @property
    def is_at_group(self) -> bool:
        """Whether the first record is the next one that a group reads."""
        return self.wanted.begins.word == "group"

    def take_due(self) -> bool:
        """Return whether a search has to begin; True only once for each search."""
        due, self._is_due = self._is_due, False
        return due

    def begin(self, wanted: Records) -> None:
        """Take another statement, and discard the records found."""
        self.stop()
        self.wanted, self._is_due, self._further = wanted, True, None
        self.answer, self.problem, self._collected, self._run = None, None, None, None
        self._live.clear()
        self._cap = PerSecond(LIVE)
        self.settled.clear()

    def stop(self) -> bool:
        """Stop the search under way, and keep the records that it found. Return whether a search was under way."""
        if self._run is None or not self.is_searching:
            return False
        self._run.halt.ask()
        self._resumed.set()  # a paused search would not notice the end
        return True

    def resume(self) -> None:
        """Let a search that waits for the end of a pause continue."""
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
        """Keep a portion: of a search that follows, the newest records up to the cap."""
        portion = portion._replace(progress=_together(run.before, portion.progress))
        if run.wanted.follow:
            self._live.extend(self._cap.passed(portion.records, time.monotonic()))
            portion = portion._replace(records=())
        collected.add(portion)

    async def _show(self, wanted: Search, collected: Collected) -> None:
        """Make the answer from the records found so far."""
        read = collected.read()
        if wanted.follow:
            # Take the records from `_live`, as `collected` has only the counts: records come and go, up to a limit.
            read = replace(read, records=tuple(reversed(self._live)))
        shown = await self._cluster.session.records.readable(read)
        if self._collected is collected:
            self.answer = shown

    async def _learn(self, run: _Run, changed: Callable[[], None]) -> None:
        """Fetch the schemas that the records name, and decode the records with them."""
        collected, reader = self._collected, self._cluster.session.records
        if collected is None or self.answer is None:
            return
        read = collected.read()
        if await reader.learn(read.records) and self._run is run:
            await self._show(read.search, collected)
            changed()

    async def _pause(self) -> None:
        """Wait while the screen is paused: then no records are fetched."""
        if self._cluster.reading.paused:
            self._resumed.clear()
            await self._resumed.wait()

    # -- keys ----------------------------------------------------------------------------------------------------------

    async def do_back(self) -> None:
        """Stop the search and keep what it found; without one, go back as everywhere."""
        if not self.stop():
            await self._navigator.do_back()

    def do_further(self) -> None:
        """Continue the search from the position at which it was stopped. If it still runs, or has ended, only say
        so.
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
        """Search again from the statement's own start."""
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
        """Show records of open and aborted transactions as well, or only committed records."""
        await self._goto(replace(self.wanted, committed=not self.wanted.committed))

    async def do_follow(self) -> None:
        """Follow the records that are written from now on, or stop following."""
        follow = not self.wanted.follow
        await self._goto(replace(self.wanted, follow=follow, start=None, until=None, latest=False, limit=None))

    def do_start_at(self) -> None:
        """Begin the command that shows records from an offset or a time."""
        partition = "" if self.wanted.partition is None else f"partition {self.wanted.partition} "
        start = "from time " if self.wanted.partition is None else "from offset "
        topics = ",".join(map(quote_pattern, self.wanted.topics))
        self._editing.begin(f"records {topics} {partition}{start}")

    def do_ask(self) -> None:
        """Edit the statement in the command bar."""
        self._editing.begin(f"{unparse(self.wanted)} ")


def _together(before: model.Progress, now: model.Progress) -> model.Progress:
    """Return the progress of a search and of the runs that it continues."""
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
    """Return two ranges of a partition as one. Leave out a range that was not searched; if neither was, return the
    second.
    """
    ranges = [each for each in (was, now) if each.next > each.first] or [now]
    return now._replace(first=min(each.first for each in ranges), next=max(each.next for each in ranges))
