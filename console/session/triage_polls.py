"""Reads what triage needs: brokers, quorum and partitions all the time, the rest now and then.

A part for which a broker is slow delays no poll: its read goes on, and its result counts in a later poll.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from console.admin.errors import AdminError, AuthenticationFailed, RequestTimedOut
from console.log_file import INTERNAL
from console.model import snapshot as refresh
from console.model.cluster import Silence
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.name_order import in_order
from console.model.snapshot import Snapshot
from console.session.former_changes import any_journal, in_journal
from console.session.own_throttles import OwnThrottles
from console.session.slow_polls import SlowPolls
from console.session.snapshot_reader import Refused, read_log_starts, read_reassignments
from console.triage.symptoms import Poll

if TYPE_CHECKING:
    from console.admin.errors import AdminError
    from console.session.session import Session

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds from one poll to the next."""
POLL_SECONDS, NOTICED_SECONDS = 1.0, 0.1
"""The longest that a poll waits for its parts; and where brokers just fell silent, since they do not answer what they
were asked."""
ANSWER_SECONDS, FIRST_ANSWER_SECONDS = 1.2, 5.0
"""The time in which a broker has to answer ApiVersions on a new connection; and before it is known how long they take,
the most."""
ASK_EVERY, ASK_REST, LONGEST_ASK_REST = 0.6, 5.0, 0.6
"""Seconds from one round of asking all brokers to the next, and so many times what the last one took from its end, to
a limit: with the time to answer this is less than two seconds where logins are quick."""
USUAL_TIMES = 3
"""Times what the slowest broker took last in which all have to answer: over a slow line a login takes its time."""
SHORT_SECONDS = 6.0
"""The longest that the reads of a poll's quick parts may take: they are small, and a broker that was just stopped would
hold them until the request times out."""
REST = 20
"""A part that took t seconds twice in a row is not read again for so many times t, at most LONGEST_REST seconds. One
slow answer alone must not make the console blind for a minute."""
LONGEST_REST = 60.0
CONFIGS_AT_ONCE = 10_000
"""Topics whose configs are read and kept together: to keep those of 100,000 at once would hold up keys."""
MOST_GROUPS = 500
"""Groups whose offsets are read in a round; of more, the next round reads others."""


class _Part(NamedTuple):
    """What is read together. every: seconds from one read to the next. after: parts that are read before it is read
    for the first time. quick: it asks for little."""

    name: str
    every: float
    read: Callable[[], Awaitable[object]]
    after: tuple[str, ...] = ("cluster",)
    quick: bool = False


class Poller:
    """Takes one poll after another of a session's cluster; use as an async context manager."""

    def __init__(self, session: Session, request_logs: Sequence[Path] = (), slow: SlowPolls | None = None) -> None:
        """Poll a session's cluster. request_logs: those of brokers, as files on this host. slow: what is read beside
        the snapshot; for a record another one."""
        self._session = session
        self.asked = session.context.settings.asked
        """What is polled, in a word: brokers or controllers."""
        self._next_group = ""
        self._silence = Silence()
        self._limit = FIRST_ANSWER_SECONDS
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._due: dict[str, float] = {}
        self._took: dict[str, float] = {}
        self._read: set[str] = set()
        self._unread: dict[str, Failure] = {}
        self._answered_at = float("-inf")
        self._lost: AdminError | None = None
        self._refused: AdminError | Refused | None = None
        self._noticed = asyncio.Event()
        self._began = float("-inf")
        self._asking: asyncio.TimerHandle | None = None
        self._slow = slow or SlowPolls(session, request_logs)
        self._own = OwnThrottles(session.context.throttles)
        self._parts = self._of_controllers() if session.context.settings.controllers else self._of_brokers()

    def _of_controllers(self) -> tuple[_Part, ...]:
        """Return what controllers know: each other, the quorum, and whether one of them is a broker as well."""
        return (
            _Part("cluster", 1.5, self._session.read_cluster, (), quick=True),
            _Part("silent", ASK_EVERY, self._ask_brokers, quick=True),
            _Part("quorum", 2, self._session.read_quorum, quick=True),
            _Part("configs", 60, self._read_roles),
        )

    def _of_brokers(self) -> tuple[_Part, ...]:
        session = self._session
        return (
            _Part("cluster", 1.5, session.read_cluster, (), quick=True),
            _Part("silent", ASK_EVERY, self._ask_brokers, quick=True),
            _Part("quorum", 2, session.read_quorum, quick=True),
            _Part("topics", 2, session.read_topics),
            _Part("groups", 2, session.read_groups),
            _Part("offsets", 2.5, self._read_offsets, ("groups",)),
            _Part("reassignments", 10, self._read_reassignments),
            _Part("log_dirs", 10, session.read_log_dirs),
            _Part("configs", 60, self._read_configs, ("topics",)),
            *(_Part(part.name, part.every, part.read, ("topics",)) for part in self._slow.parts),
        )

    async def __aenter__(self) -> Poller:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Cancel what is still being read."""
        if self._asking is not None:
            self._asking.cancel()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def poll(self, *, whole: bool = False) -> Poll:
        """Read what is due, and return what is known.

        Args:
            whole: wait for every part, not only POLL_SECONDS.

        Raises:
            Refused: another cluster answers than the context expects; the next poll tries again.
            AdminError: no broker answers; the next poll tries again.
        """
        limit = NOTICED_SECONDS if self._noticed.is_set() else POLL_SECONDS
        self._noticed.clear()
        self._began = time.monotonic()
        if not self._tasks:
            self._take_known()
        for part in self._parts:
            self._start(part)
        if "cluster" not in self._read:  # of nothing at all nothing can be said
            await asyncio.wait({self._tasks["cluster"]})
        await self._wait(None if whole else limit)
        return self._seen(datetime.now(UTC))

    def _start(self, part: _Part) -> None:
        """Begin to read a part that is due, unless it is being read."""
        now, running = time.monotonic(), self._tasks.get(part.name)
        if (running is None or running.done()) and now >= self._due.get(part.name, now):
            self._due[part.name] = now + part.every
            self._tasks[part.name] = asyncio.create_task(self._read_part(part))

    def _ask_on(self) -> None:
        """Ask the brokers between polls, too, for as long as these go on."""
        if time.monotonic() - self._began < EVERY + POLL_SECONDS:
            self._start(next(part for part in self._parts if part.name == "silent"))

    def _seen(self, at: datetime) -> Poll:
        """Return what is known at a time. Raises as `poll` does."""
        if (why := self._refused or self._lost) is not None:
            raise why
        silent, refusing = self._silence
        unread = tuple(part.name for part in self._parts if part.name not in self._read)
        snapshot = self._with_failures(self._session.snapshot)
        return Poll(at, snapshot, silent, refusing, unread, self._slow.facts, self._own.held)

    def _take_known(self) -> None:
        """Count brokers and topics as read where the session read them a moment ago, as for the first rows of a
        screen."""
        now = datetime.now(UTC)
        for name in ("cluster", "topics"):
            at = self._session.snapshot.read_at.get(name)
            if at is not None and 0 <= (age := (now - at).total_seconds()) < EVERY:
                self._read.add(name)
                self._due[name] = self._began + EVERY - age

    async def rest(self) -> None:
        """Wait until the next poll is due: at once where brokers fell silent, or answer again."""
        left = self._began + EVERY - time.monotonic()
        noticed = asyncio.ensure_future(self._noticed.wait())
        try:
            # Not `asyncio.timeout`: one of no time takes a cancellation from before it, as by Ctrl-C, for its own.
            await asyncio.wait({noticed}, timeout=max(0.0, left))
        finally:
            noticed.cancel()

    async def _wait(self, seconds: float | None) -> None:
        """Wait until all parts are read, the brokers' silence changes, or the time is over."""
        read = asyncio.ensure_future(asyncio.wait(self._tasks.values()))
        noticed = asyncio.ensure_future(self._noticed.wait())
        until = {read} if seconds is None else {read, noticed}
        try:
            await asyncio.wait(until, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            read.cancel()
            noticed.cancel()

    async def _read_part(self, part: _Part) -> None:
        """Read a part, and keep why it could not be read until it is."""
        from console.admin import cluster

        for name in part.after:
            if name not in self._read:
                await asyncio.wait({self._tasks[name]})
            if name not in self._read:
                self._due[part.name] = 0.0
                return
        began = time.monotonic()
        try:
            async with asyncio.timeout(SHORT_SECONDS if part.quick else None):
                await part.read()
        except TimeoutError:
            text = f"{part.name} was not answered within {SHORT_SECONDS:g} s"
            remedy = f"Look at the {self.asked}s' load."
            if part.name == "quorum" and not self._session.context.settings.controllers:
                from console.admin.link_errors import WAITS_FOR_CONTROLLER

                remedy = WAITS_FOR_CONTROLLER
            self._unread[part.name] = Failure("TIMED_OUT", text, remedy)
            if part.name == "cluster":
                if part.name not in self._read:
                    self._lost = RequestTimedOut(self._no_brokers())
                # What is asked on a connection waits for what was asked there before.
                await self._session.client.run(cluster.reconnect)
        except AdminError as error:
            self._unread[part.name] = error.failure
            # A wrong password fails on every connection: it is shown at once, and not as a broken cluster.
            if isinstance(error, AuthenticationFailed):
                self._refused = error
            elif part.name == "cluster" and part.name not in self._read:
                self._lost = error
        except Refused as error:
            self._unread[part.name] = error.failure
            self._refused = error
        except Exception:  # a part that goes wrong must not end the others
            log.exception("reading %s for triage", part.name)
            self._unread[part.name] = Failure("INTERNAL", INTERNAL)
        else:
            now = time.monotonic()
            self._unread.pop(part.name, None)
            self._read.add(part.name)
            if part.name == "cluster":
                self._answered_at, self._lost, self._refused = now, None, None
            if not part.quick:
                took, before = now - began, self._took.get(part.name, 0.0)
                self._took[part.name] = took
                self._due[part.name] = max(self._due[part.name], now + min(LONGEST_REST, REST * min(took, before)))

    def _no_brokers(self) -> Failure:
        from console.admin.settings import show_address

        asked = ", ".join(map(show_address, self._session.context.settings.bootstrap[:3]))
        text = f"which {self.asked}s there are was not answered within {SHORT_SECONDS:g} s, asked at {asked}"
        return Failure("TIMED_OUT", text, f"Name more of the {self.asked}s, or look at those: they may hang.")

    async def _ask_brokers(self) -> None:
        """Find out which brokers do not answer. What was asked of one that fell silent may never be answered: it is
        asked again, of others. Raises AdminError if no broker answers."""
        from console.admin import cluster

        began = time.monotonic()
        try:
            silence = await self._session.client.run(cluster.silence, self._limit)
        except AdminError as error:
            # The cluster may have answered another part meanwhile; then it is not lost.
            if self._answered_at < began:
                if self._lost is None:
                    self._noticed.set()
                self._lost = error
            raise
        took = time.monotonic() - began
        rest = min(LONGEST_ASK_REST, ASK_REST * took) if not silence.brokers else 0.0
        self._ask_again(max(began + ASK_EVERY, began + took + rest))
        if not silence.brokers:
            self._limit = min(FIRST_ANSWER_SECONDS, max(ANSWER_SECONDS, USUAL_TIMES * took))
        was_lost, self._lost = self._lost is not None, None
        if self._silence.brokers - silence.brokers:
            await self._session.read_cluster()  # it answers again, or was fenced and is asked no more
        fell_silent = silence.brokers - self._silence.brokers
        if was_lost or fell_silent or silence != self._silence:
            self._noticed.set()
        self._silence = silence
        # Requests to a silent broker would hold their parts until they time out; new ones go to brokers that answer.
        if fell_silent or was_lost:
            for name, task in self._tasks.items():
                if name != "silent":
                    task.cancel()
                    self._due[name] = 0.0

    def _ask_again(self, at: float) -> None:
        """Schedule the next round of asking the brokers. at: monotonic seconds."""
        self._due["silent"] = at
        if self._asking is not None:
            self._asking.cancel()
        self._asking = asyncio.get_running_loop().call_later(max(0.0, at - time.monotonic()) + 0.001, self._ask_on)

    async def _read_offsets(self) -> None:
        """Read the lags of the next groups, in turn where there are many, and the start offsets of the logs that they
        still have to read."""
        names = in_order(self._session.snapshot.groups)
        first = bisect_left(names, self._next_group)
        chosen = [*names[first : first + MOST_GROUPS], *names[: min(first, max(0, first + MOST_GROUPS - len(names)))]]
        # The name right after the last one, also where groups come and go between rounds.
        self._next_group = chosen[-1] + "\0" if chosen else ""
        await self._session.poll_groups(chosen)
        if ends := _behind(self._session.snapshot, chosen):
            await self._session.keep(read_log_starts(self._session.client, ends))

    async def _read_reassignments(self) -> None:
        """Read the reassignments, and then which operations work on them."""
        await self._session.keep(read_reassignments(self._session.client))
        await self._read_operations()

    async def _read_configs(self) -> None:
        """Read the configs of all topics, and of the brokers that can be asked; then the journal: an operation is there
        before its throttles are set, and ends after they are taken off."""
        over = self._own.over
        snapshot = self._session.snapshot
        silent = self._silence.brokers
        brokers = [each.id for each in snapshot.cluster.brokers if not each.fenced and each.id not in silent]
        await self._session.read_configs([*map(broker_resource, brokers), CLUSTER_DEFAULT], at_once=True)
        names = [*snapshot.topics]
        for start in range(0, len(names), CONFIGS_AT_ONCE):
            some = names[start : start + CONFIGS_AT_ONCE]
            await self._session.read_configs([*map(topic_resource, some)], at_once=True)
        await self._read_operations()
        self._own.forget(over)

    async def _read_roles(self) -> None:
        """Read the configs of the controllers that can be asked, for the roles of their processes."""
        asked = [each.id for each in self._session.snapshot.cluster.controllers if each.id not in self._silence.brokers]
        await self._session.read_configs([*map(broker_resource, asked)], at_once=True)

    async def _read_operations(self) -> None:
        """Read the open operations from the journal. Where it can't be read, what is known stays. Raises AdminError."""
        session = self._session
        if session.front_end == "replay" or not session.context.journal or not any_journal(os.environ):
            return
        from console.journal.file import JournalFile
        from console.model.journal_lines import OperationLine

        try:
            contents = await in_journal(await session.journal(), JournalFile.open)
        except Refused as error:
            log.warning("operations are not known: %s", error.failure)
            return
        lines = [each for each in contents.records if isinstance(each, OperationLine)]
        if lines:  # it brings the plan's kinds, a megabyte, and most journals have none
            from console.journal.operations import operations

            self._own.take(each for each in operations(lines).values() if each.ended is None)
        else:
            self._own.take(())

    def _with_failures(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the failures of parts that could not be read. The session's own snapshot stays
        without them: no other reader would take them out again."""
        for name, why in self._unread.items():
            known = [(each.entity, each.failure) for each in snapshot.failures if each.part == name]
            if why not in [failure for _, failure in known]:
                snapshot = refresh.with_failures(snapshot, name, [*known, ("", why)])
        return snapshot


def _behind(snapshot: Snapshot, groups: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the ends of the partitions where groups have records to read: only there can a log begin behind their
    offset."""
    ends = {
        (each.topic, each.partition): each.end
        for name in groups
        if (lag := snapshot.lags.get(name)) is not None
        for each in lag.partitions
        if each.lag > 0
    }
    return dict(sorted(ends.items()))
