"""What views read of the cluster, how often and how fresh it is, and whether the cluster answers.

`console.tui.polling` reads for the view that is visible.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from console.model.config import ConfigResource
from console.model.failure import Failure
from console.present.columns import clock
from console.present.text import clean
from console.session.scheduler import Pace, Turns
from console.session.snapshot_reader import SessionEvent

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
    # Without a description Textual makes one of all that the function is bound to, which may be the whole cluster.
    worker: Worker[None] = node.run_worker(work, group=group, name=name, description=name, exclusive=exclusive)
    return worker


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


def unread_text(contact: Contact, noted: bool, width: int, front_end: str = "console") -> str:
    """Return the text of a view that has nothing to show: it is being read, or since when and why it can't be.

    Args:
        noted: the message line says why already.
        width: of the screen, in cells.
        front_end: the session's front end; in a ``replay`` nothing is read again.

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
    if front_end == "replay":
        again = "[ ] { } and :at TIME show other times of the record"
    else:
        again = "r tries again" if contact.final else "trying again by itself; r tries now"
    return "\n".join([*lines, "", again])


REST = 10
"""A read that took t seconds is followed by at least this many times t without one, so that brokers stay under a tenth
of their time."""


class Live:
    """Polls every few seconds, one poll at a time, and none while paused unless asked."""

    def __init__(self, every: float) -> None:
        """Create it; `run` polls.

        Args:
            every: seconds from the end of a poll to the next, 0 for none but those asked for.
        """
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

    async def run(self, read: Callable[[], Awaitable[bool]]) -> None:
        """Poll until cancelled.

        Args:
            read: polls once, and returns whether the cluster answered.
        """
        loop = asyncio.get_running_loop()
        while True:
            # Whatever asked for this read is answered by it; what asks from here on wants another.
            self._wake.clear()
            self.resting = False
            began = loop.time()
            # Brokers that did not answer need no rest; that they answer again is to be seen soon.
            rest = REST * (loop.time() - began) if await read() else 0.0
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


class SessionChanged(Message):
    """The session knows more, or the plan is another."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class StatusMessage(Message):
    """A worker has something for the message line."""

    def __init__(self, text: str, meaning: str = "") -> None:
        self.text = text
        self.meaning = meaning
        super().__init__()


VITALS_EVERY = 10.0
"""Seconds between reads of what the header shows."""
SWEEP_CHUNK = 2_000
"""Resources that a background sweep reads at once, before it rests."""
SWEEP_EVERY = 12
"""Ticks between two background sweeps."""
OLD_AFTER = 60.0
"""Seconds that a background sweep may take before its age is shown."""
WHOLE_REST = 20
"""All topics' metadata, and all ACLs, are read again after this many times the last read's duration, or later."""


class Swept(NamedTuple):
    """A background sweep that ended: when it began, UTC, and how many seconds it took."""

    at: datetime
    seconds: float

    @property
    def is_old(self) -> bool:
        """Whether what it read first is so old by its end that an operator has to know."""
        return self.seconds > OLD_AFTER


class Reading:
    """Reads of the session that several views share, each at its pace, and what is known of their freshness.

    contact: whether the cluster answers. live: when the visible view is read. lost: no broker answers. held: true while
    a plan is being applied: half of it must not look like another client's change.
    """

    def __init__(self, session: Session, refresh: float) -> None:
        """Create it; `console.tui.polling` reads for the visible view.

        Args:
            refresh: seconds between ticks, 0 for none.
        """
        self.session = session
        self.refresh = refresh
        self.contact = Contact()
        self.live = Live(refresh)
        self.lost = False
        self.held = False
        self.vitals = Turns(Pace(VITALS_EVERY))
        # A little less than a tick: a tick that comes early must not skip the read until the next one.
        self._topics = Turns(Pace(refresh * 0.9, WHOLE_REST))
        self._acls = Turns(Pace(refresh * 0.9, WHOLE_REST))

    def is_late(self, at: datetime) -> bool:
        """Return whether what was read at this time (UTC) should have been read again by now."""
        return (self.session.clock.now() - at).total_seconds() > 2 * self.refresh + 1

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
        for turns in (self.vitals, self._topics, self._acls):
            turns.hurry()
        self.live.now()

    @property
    def at_controllers(self) -> bool:
        """Whether controllers are asked, who know no topics."""
        return self.session.context.settings.controllers

    async def all_topics(self) -> bool:
        """Read the metadata of all topics if that is due. Return whether it was."""
        if not self._topics.is_due():
            return False
        with self._topics:
            await self.session.read_topics()
        return True

    async def all_acls(self) -> None:
        """Read all ACLs if that is due: DescribeAcls has no pages."""
        if self._acls.is_due():
            with self._acls:
                await self.session.read_acls()

    async def sweep(self, resources: Sequence[ConfigResource]) -> Swept:
        """Read the configs of many resources, `SWEEP_CHUNK` at a time.

        After each chunk it sleeps nine times as long as the chunk took, so that brokers spend at most a tenth of their
        time on it.

        Returns:
            When the sweep began and how many seconds it took, with the pauses.
        """
        loop = asyncio.get_running_loop()
        first, at = loop.time(), self.session.clock.now()
        for start in range(0, len(resources), SWEEP_CHUNK):
            began = loop.time()
            await self.session.read_configs(resources[start : start + SWEEP_CHUNK], at_once=True)
            if start + SWEEP_CHUNK < len(resources):
                await asyncio.sleep((REST - 1) * (loop.time() - began))
        return Swept(at, loop.time() - first)
