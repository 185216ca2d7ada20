"""When the screen reads what, and whether the cluster answers.

The visible view on each tick, the header's facts now and then, slow sweeps in the background.
"""

from __future__ import annotations

import asyncio
import logging
import textwrap
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from console.log_file import INTERNAL
from console.model.config import ConfigResource
from console.model.failure import Failure
from console.present.columns import clock
from console.present.text import clean
from console.session.snapshot_reader import SessionEvent
from console.tui.places import Place

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.worker import Worker

    from console.session.session import Session
    from console.session.snapshot_reader import SessionEvent


def start(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, name: str, exclusive: bool = False
) -> Worker[None]:
    """Run a coroutine function as a worker of this node.

    Takes the function and not its coroutine: a worker that is cancelled before its first step, as at the end of the
    program, would leave a coroutine that was never awaited, for which Python prints a warning.
    """
    worker: Worker[None] = node.run_worker(work, group=group, name=name, exclusive=exclusive)
    return worker


class ReadView(Protocol):
    """The parts of the visible view (`console.tui.panes.view`) that `Reading` uses."""

    NAME: ClassVar[str]
    MORE_EVERY: ClassVar[int]
    place: Place

    def known(self) -> bool:
        """Return whether what the view shows has been read at least once."""
        ...

    async def read(self) -> None:
        """Read what the view shows. Raises AdminError."""
        ...

    async def read_more(self) -> None:
        """Read what the view does not wait for. Raises AdminError."""
        ...


class Contact(Struct, frozen=True):
    """Whether the cluster answers, as of the last poll.

    answered_at: UTC of the last answer, None before the first. lost: why no broker answers, None while one does. final:
    retrying automatically would do harm. silent: the brokers that do not answer while others do. unread: why the view
    that is shown can't be read although brokers answer, and unread_since, UTC, when it was read last.
    """

    answered_at: datetime | None = None
    lost: Failure | None = None
    final: bool = False
    silent: frozenset[int] = frozenset()
    unread: Failure | None = None
    unread_since: datetime | None = None

    @property
    def is_current(self) -> bool:
        """Whether what is shown is up to date."""
        return self.lost is None and self.unread is None


def answered(at: datetime, silent: frozenset[int]) -> Contact:
    """Return the contact after the cluster answered and the view was read."""
    return Contact(answered_at=at, silent=silent)


def heard(contact: Contact, at: datetime, silent: frozenset[int], unread: Failure, since: datetime) -> Contact:
    """Return the contact after brokers answered, but the view could not be read.

    The first of several failures of the same name stays, so that its text does not change with every poll.

    Args:
        at: UTC of the answer.
        since: UTC, when the view was read last, or first asked for.
    """
    before = contact.unread
    if before is not None:
        since = contact.unread_since or since
    kept = before if before is not None and before.name == unread.name else unread
    return Contact(answered_at=at, silent=silent, unread=kept, unread_since=since)


def lost(contact: Contact, failure: Failure, final: bool, read_at: Iterable[datetime]) -> Contact:
    """Return the contact after no broker answered.

    The first of several failures of the same name stays: their messages differ by the broker that was asked last.

    Args:
        final: retrying automatically would do harm.
        read_at: when the parts of the snapshot were read, UTC.
    """
    if contact.lost is not None and contact.lost.name == failure.name and contact.final == final:
        return contact
    at = (
        contact.answered_at
        if contact.lost is not None
        else max((*read_at, *filter(None, [contact.answered_at])), default=None)
    )
    return Contact(at, failure, final)


def elsewhere(contact: Contact) -> Contact:
    """Return the contact for another view, to which the failure to read the last one does not apply."""
    return replace(contact, unread=None, unread_since=None) if contact.unread is not None else contact


def unread_text(contact: Contact, noted: bool, width: int, door: str = "console") -> str:
    """Return the text of a view that has nothing to show: it is being read, or since when and why it can't be.

    Args:
        noted: the message line says why already.
        width: of the screen, in cells.
        door: the session's front end; in a ``replay`` nothing is read again.

    Returns:
        Lines of text, the last of which says what the operator can do.
    """
    failure = contact.lost or contact.unread
    if failure is None:
        return "not read" if noted else "reading…"
    since = contact.unread_since if contact.lost is None else None
    text = f"not read since {clock(since)}: {failure}" if since else failure.message or failure.name
    within = max(20, width - 6)
    lines = textwrap.wrap(clean(text, 600), within)
    lines += ["", *textwrap.wrap(clean(failure.remedy, 600), within)] if failure.remedy else []
    if door == "replay":
        again = "[ ] { } and :at TIME show other times of the record"
    else:
        again = "r tries again" if contact.final else "trying again by itself; r tries now"
    return "\n".join([*lines, "", again])


REST = 10
"""A read that took t seconds is followed by at least this many times t without one, so that brokers stay under a tenth
of their time."""


class Live:
    """Polls every few seconds, one poll at a time, and none while paused unless asked."""

    def __init__(self, read: Callable[[], Awaitable[bool]], every: float) -> None:
        """Create it; `run` polls.

        Args:
            read: polls once, and returns whether the cluster answered.
            every: seconds from the end of a poll to the next, 0 for none but those asked for.
        """
        self._read = read
        self._every = every
        self._wake = asyncio.Event()
        self.resting = False
        """Whether nothing is being read, and no read was asked for."""
        self.paused = every <= 0

    @property
    def is_wanted(self) -> bool:
        """Whether a read was asked for since the one under way began."""
        return self._wake.is_set()

    def now(self) -> None:
        """Poll at once, or as soon as the poll under way has ended; also while paused."""
        self.resting = False
        self._wake.set()

    async def run(self) -> None:
        """Poll until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            # Whatever asked for this read is answered by it; what asks from here on wants another.
            self._wake.clear()
            self.resting = False
            began = loop.time()
            # Brokers that did not answer need no rest; that they answer again is to be seen soon.
            rest = REST * (loop.time() - began) if await self._read() else 0.0
            await self._sleep(max(self._every, rest))

    async def _sleep(self, seconds: float) -> None:
        """Wait until the next poll is due or asked for. While paused, only one that is asked for ends it."""
        self.resting = not self._wake.is_set()
        while True:
            try:
                async with asyncio.timeout(None if self.paused else seconds):
                    await self._wake.wait()
            except TimeoutError:
                if self.paused:
                    continue
            return


class Pace:
    """Limits how often a costly read is repeated: not before `every` seconds, nor before `rest` times its duration.

    A read that is repeated runs in a ``with`` block of it, which measures the duration.
    """

    def __init__(self, every: float, rest: float = REST) -> None:
        self._every = every
        self._rest = rest
        self._next = 0.0
        self._began = 0.0

    def due(self) -> bool:
        """Return whether it may be read now."""
        return time.monotonic() >= self._next

    def hurry(self) -> None:
        """Make it due now: the operator asked."""
        self._next = 0.0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        self._next = now + max(self._every, self._rest * (now - self._began))


class SessionChanged(Message):
    """The session knows more, or the plan is another."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class ClusterReached(Message):
    """A poll for a place was answered.

    silent: the brokers that do not answer. unread: why what the place shows could not be read nevertheless, None if it
    was. since: UTC, when it was read last, or first asked for.
    """

    def __init__(self, silent: frozenset[int], place: Place, since: datetime, unread: Failure | None = None) -> None:
        self.silent = silent
        self.place = place
        self.since = since
        self.unread = unread
        super().__init__()


class ClusterLost(Message):
    """No broker answered a poll and its repetition.

    final: retrying automatically would do harm, as wrong credentials lock accounts.
    """

    def __init__(self, failure: Failure, final: bool) -> None:
        self.failure = failure
        self.final = final
        super().__init__()


class StatusMessage(Message):
    """A worker has something for the message line."""

    def __init__(self, text: str, meaning: str = "") -> None:
        self.text = text
        self.meaning = meaning
        super().__init__()


SWEEP_CHUNK = 2_000
"""Resources that a background sweep reads at once, before it rests."""
VITALS_EVERY = 10.0
"""Seconds between reads of what the header shows."""
VERSIONS_EVERY = 60.0
SWEEP_EVERY = 12
"""Ticks between two background sweeps."""
OLD_AFTER = 60.0
"""Seconds that a background sweep may take before its age is shown."""
WHOLE_REST = 20
"""All topics' metadata, and all ACLs, are read again after this many times the last read's duration, or later."""
PATIENCE = 5.0
"""Seconds without an answer after which each broker gets a small request instead; after as many again without one the
cluster counts as silent."""
LONGEST_LOOK = 10.0
"""Seconds: a poll counts as late after twice the duration of the one before, of which no more than this counts."""

log = logging.getLogger(__name__)


class Swept(NamedTuple):
    """A background sweep that ended: when it began, UTC, and how many seconds it took."""

    at: datetime
    seconds: float

    @property
    def is_old(self) -> bool:
        """Whether what it read first is so old by its end that an operator has to know."""
        return self.seconds > OLD_AFTER


class Reading:
    """Reads for the view that is visible. Hidden views read nothing; failures are shown, and the loop goes on.

    Three paces: what the view shows on every tick (`View.read`), what the header shows every `VITALS_EVERY` seconds,
    and slow reads of the view (`slowly`), which rest ten times as long as they take.
    """

    def __init__(
        self, session: Session, view: Callable[[], ReadView], post: Callable[[Message], bool], refresh: float
    ) -> None:
        """Create it; `live.run` and `slowly` read, each in a worker.

        Args:
            view: returns the visible view.
            post: sends the app a message.
            refresh: seconds between ticks, 0 for none.
        """
        self._session = session
        self._view = view
        self._post = post
        self._vitals = Pace(VITALS_EVERY)
        self._versions = Pace(VERSIONS_EVERY)
        # A little less than a tick: a tick that comes early must not skip the read until the next one.
        self._topics = Pace(refresh * 0.9, WHOLE_REST)
        self._acls = Pace(refresh * 0.9, WHOLE_REST)
        self._refresh = refresh
        self.live = Live(self._read, refresh)
        self.lost = False
        """Whether no broker answers."""
        self._lost_since_asked = False
        self._silent: frozenset[int] = frozenset()
        self._was_read = (view().place, self._session.clock.now())
        self._looks_take = 0.0
        self._slow_rests = False
        self.held = False
        """True while a plan is being applied: half of it must not look like another client's change."""

    def is_late(self, at: datetime) -> bool:
        """Return whether what was read at this time (UTC) should have been read again by now."""
        return (self._session.clock.now() - at).total_seconds() > 2 * self._refresh + 1

    def age(self, swept: Swept | None, *, each_tick: bool) -> str:
        """Return ``as of 09:41:07`` for a sweep that is old, ``""`` for a recent one.

        Args:
            swept: None if there was no sweep yet.
            each_tick: it is repeated on every tick, and so is old once two ticks have passed without one.
        """
        if swept is None:
            return ""
        late = each_tick and self.is_late(swept.at)
        return f"as of {clock(swept.at)}" if swept.is_old or late or self.live.paused else ""

    def now(self) -> None:
        """Read everything that is visible at once, however recently it was read."""
        for pace in (self._vitals, self._topics, self._acls):
            pace.hurry()
        self.live.now()

    async def _read(self) -> bool:
        """Poll the cluster once and post what came of it. Return whether the cluster answered."""
        if self.held:
            return True
        if self._was_read[0] != (place := self._view().place):
            self._was_read = place, self._session.clock.now()
        known = self._session.snapshot
        self._lost_since_asked = False
        look = asyncio.ensure_future(self._look())
        try:
            if not await self._wait_for(look):
                return False
            if (error := look.exception()) is not None:
                return await self._failed(error)
        finally:
            look.cancel()
        if self.lost and (self._lost_since_asked or self._session.snapshot.read_at is known.read_at):
            # The answers may be older than the loss, or the view read no part of the cluster: neither shows that
            # brokers answer again.
            return await self._is_heard()
        if self._session.snapshot is not known:
            self.lost = False
            self._was_read = place, self._session.clock.now()
            if self._silent:
                return await self._is_heard()
            self._reached()
        return True

    async def _wait_for(self, look: asyncio.Future[None]) -> bool:
        """Wait until a poll ends, and while it takes long, check which brokers answer at all.

        Returns:
            False if the poll is given up for another one on new connections: brokers answer again, other brokers than
            before do, or the operator asked again or went elsewhere.
        """
        loop = asyncio.get_running_loop()
        began, at = loop.time(), self._session.clock.now()
        patience = max(PATIENCE, 2 * self._looks_take)
        while not (await asyncio.wait({look}, timeout=patience))[0]:
            were_lost, were_silent = self.lost, self._silent
            late = f"asked at {clock(at)}, not answered yet"
            heard = await self._is_heard(Failure("TIMED_OUT", late, "The brokers answer other requests; r asks again."))
            if heard and (were_lost or self._silent != were_silent or self.live.is_wanted):
                await self._session.begin_anew()
                self.live.now()
                return False
            patience = PATIENCE
        self._looks_take = min(loop.time() - began, LONGEST_LOOK)
        return True

    async def _failed(self, error: BaseException) -> bool:
        """Post why a poll failed. Return whether the loop goes on at its usual pace."""
        from console.admin.errors import AdminError, AuthenticationFailed
        from console.session.snapshot_reader import Refused

        if isinstance(error, AuthenticationFailed | Refused):
            self._lost(error.failure, final=True)
            return False
        if isinstance(error, AdminError):
            await self._is_heard(error.failure)
            return False
        # The loop has to go on, whatever one read ran into.
        log.error("reading for %s", self._view().NAME, exc_info=error)
        self._post(StatusMessage(INTERNAL, "failed"))
        return True

    async def _is_heard(self, unread: Failure | None = None) -> bool:
        """Check which brokers answer, and post the outcome. Return whether any does.

        Args:
            unread: why the poll itself was not answered.
        """
        from console.admin.errors import AdminError, AuthenticationFailed

        try:
            self._silent = await self._session.silent_brokers(PATIENCE)
        except AdminError as error:
            # That a poll took too long says less than why brokers do not even answer this.
            known = unread is not None and unread.name != "TIMED_OUT"
            self._lost(unread if unread and known else error.failure, final=isinstance(error, AuthenticationFailed))
            return False
        except Exception:  # as in `_failed`
            log.exception("asking which brokers answer")
            return False
        self.lost = False
        self._reached(unread)
        return True

    def _lost(self, failure: Failure, final: bool) -> None:
        self.lost = self._lost_since_asked = True
        self._post(ClusterLost(failure, final))

    def _reached(self, unread: Failure | None = None) -> None:
        self._post(ClusterReached(self._silent, *self._was_read, unread))

    async def _look(self) -> None:
        """Read what the view shows, and what the header shows if that is due."""
        session, view = self._session, self._view()
        if not session.snapshot.cluster.brokers:
            await asyncio.gather(session.read_cluster(), view.read())
            if not self.lost:
                self._reached()  # what is read beside may wait for a broker that hangs
        else:
            await view.read()
        if self._vitals.due():
            with self._vitals:
                await asyncio.gather(session.read_cluster(), session.read_quorum(), self._read_versions())
                await self.all_topics()

    async def _read_versions(self) -> None:
        known = self._session.snapshot.versions.keys()
        if self._silent:
            return  # who does not answer would be waited for
        if self._versions.due() or known != {broker.id for broker in self._session.snapshot.cluster.brokers}:
            with self._versions:
                await self._session.read_versions()

    async def all_topics(self) -> bool:
        """Read the metadata of all topics if that is due. Return whether it was."""
        if not self._topics.due():
            return False
        with self._topics:
            await self._session.read_topics()
        return True

    async def all_acls(self) -> None:
        """Read all ACLs if that is due: DescribeAcls has no pages."""
        if self._acls.due():
            with self._acls:
                await self._session.read_acls()

    @property
    def rests(self) -> bool:
        """Whether everything that the view shows has been read, until the next tick."""
        return self.live.resting and self._slow_rests

    async def slowly(self) -> None:
        """Run the slow reads of the visible view, with pauses between them, until cancelled."""
        from console.admin.errors import AdminError

        self._slow_rests = False
        pace = Pace(self._refresh * self._view().MORE_EVERY)
        while True:
            await asyncio.sleep(0.5)
            if self.live.paused or self.lost or self.held or not pace.due() or not self._view().known():
                continue  # of what is not known yet, nothing more can be read
            try:
                with pace:
                    await self._view().read_more()
            except AdminError as error:
                log.info("background read: %s", error.failure)
            except Exception:  # as above
                log.exception("background read for %s", self._view().NAME)
            self._slow_rests = True

    async def sweep(self, resources: Sequence[ConfigResource]) -> Swept:
        """Read the configs of many resources, `SWEEP_CHUNK` at a time.

        After each chunk it sleeps nine times as long as the chunk took, so that brokers spend at most a tenth of their
        time on it.

        Returns:
            When the sweep began and how many seconds it took, with the pauses.
        """
        loop = asyncio.get_running_loop()
        first, at = loop.time(), self._session.clock.now()
        for start in range(0, len(resources), SWEEP_CHUNK):
            began = loop.time()
            await self._session.read_configs(resources[start : start + SWEEP_CHUNK], at_once=True)
            if start + SWEEP_CHUNK < len(resources):
                await asyncio.sleep((REST - 1) * (loop.time() - began))
        return Swept(at, loop.time() - first)
