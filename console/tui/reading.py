"""The reads of the views: their pace, the age of data, and whether the cluster answers.

`console.tui.polling` reads for the visible view.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from console.model.failure import Failure
from console.model.parts import FOR_SCREEN, Part
from console.present.columns import clock
from console.present.text import clean
from console.session.event_reads import EventReads
from console.session.scheduler import Pace, Scheduled, Turn, Turns, read_ago
from console.session.snapshot_reader import SessionEvent

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.worker import Worker

    from console.session.session import Session
    from console.session.snapshot_reader import SessionEvent


def start(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str, name: str, exclusive: bool = False
) -> Worker[None]:
    """Run a coroutine function as a worker of this node, and return the worker.

    It takes the function, not its coroutine: a worker that is cancelled before its first step, as on exit, would leave
    a coroutine that was never awaited, for which Python prints a warning.
    """
    # Pass a description: without one, Textual formats the bound object, which may be the whole cluster.
    worker: Worker[None] = node.run_worker(work, group=group, name=name, description=name, exclusive=exclusive)
    return worker


class Contact(Struct, frozen=True):
    """The contact with the cluster: when and whether brokers answered the last poll."""

    answered_at: datetime | None = None
    """The time of the last response, UTC; None before the first."""
    lost: Failure | None = None
    """The reason why no broker answers; None while at least one does."""
    final: bool = False
    """Whether kac must not try again by itself; wrong credentials, for example, may lock the account."""
    silent: frozenset[int] = frozenset()
    """The ids of the brokers that do not answer while others do."""
    unread: Failure | None = None
    """The reason why the visible view can't be read although brokers answer; None if it can."""
    unread_since: datetime | None = None
    """The time of the view's last successful read, UTC; None if the view can be read."""

    @property
    def is_current(self) -> bool:
        """Whether the data shown is up to date."""
        return self.lost is None and self.unread is None


def answered(at: datetime, silent: frozenset[int]) -> Contact:
    """Return the contact after the cluster answered and the view was read. at: the time, UTC."""
    return Contact(answered_at=at, silent=silent)


def heard(contact: Contact, at: datetime, silent: frozenset[int], unread: Failure, since: datetime) -> Contact:
    """Return the contact after brokers answered but the view could not be read.

    If the failure has the same name as the one before, keep that one, so that the text does not change with every poll.

    Args:
        contact: the contact before.
        at: time of the response, UTC.
        silent: the ids of the brokers that do not answer.
        unread: the reason why the view could not be read.
        since: time of the view's last successful read, or of the first attempt, UTC.
    """
    before = contact.unread
    if before is not None:
        since = contact.unread_since or since
    kept = before if before is not None and before.name == unread.name else unread
    return Contact(answered_at=at, silent=silent, unread=kept, unread_since=since)


def lost(contact: Contact, failure: Failure, final: bool, read_at: Iterable[datetime]) -> Contact:
    """Return the contact after no broker answered.

    If the failure has the same name as the one before, keep that one: their messages differ only by the broker that was
    tried last.

    Args:
        contact: the contact before.
        final: whether kac must not try again by itself.
        read_at: the read times of the snapshot's parts, UTC.
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
    """Return the contact for another view: without the read failure of the view before."""
    return replace(contact, unread=None, unread_since=None) if contact.unread is not None else contact


def unread_text(contact: Contact, noted: bool, width: int, front_end: str = "console") -> str:
    """Return the text of a view without data: that it is being read, or since when and why it can't be read.

    Args:
        noted: whether the message line already shows the reason.
        width: width of the screen, in cells.
        front_end: the session's front end; a ``replay`` does not try again by itself.

    Returns:
        Lines of text. After a failure, the last line is whether kac tries again by itself, and the key that tries at
        once.
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


class SessionChanged(Message):
    """The session has another snapshot or plan."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class StatusMessage(Message):
    """A text from a worker for the message line."""

    def __init__(self, text: str, meaning: str = "") -> None:
        self.text = text
        self.meaning = meaning
        super().__init__()


VIEW, MORE = "view", "more of the view"
"""The scheduled reads of the visible view: on each tick, and between ticks."""
HEADER = (Part.CLUSTER, Part.QUORUM, Part.VERSIONS, Part.TOPICS)
"""The parts of the snapshot that the lines around each view use."""
SLOW_EVERY = 12
"""Number of ticks between two calls of a view's `read_more`."""
WHOLE_REST = 20
"""Pause before the metadata of all topics, or all ACLs, are read again: at least this many times the duration of their
last read.
"""


class Reading:
    """All reads of the screen, which one scheduler runs, and the age of their data.

    Attributes:
        reads: the scheduler; views, graphs and others add the parts that they read.
        contact: when and whether the cluster answered.
        paused: whether only requested reads run.
        lost: whether no broker answers.
        held: whether a plan is being applied. Reads wait until the end of an apply, because the effects of a part of
            the plan would look like another client's change.
    """

    def __init__(self, session: Session, refresh: float) -> None:
        """Create the reads; `console.tui.polling` adds those of the visible view.

        Args:
            session: the session whose snapshot gets the data.
            refresh: seconds between ticks; 0: only requested reads run.
        """
        self.session = session
        self.refresh = refresh
        self.contact = Contact()
        self.paused = refresh <= 0
        self.lost = False
        self.held = False
        self.reads = EventReads(session, FOR_SCREEN, self._may)
        # Take a little less than a tick, so that a tick that comes early does not skip the read.
        self._whole = {part: Turns(Pace(refresh * 0.9, WHOLE_REST)) for part in (Part.TOPICS, Part.ACLS)}

    def _may(self, part: Scheduled, turn: Turn) -> bool:
        """Return whether a part may be read now: no part during an apply, and parts other than the view's only after
        the cluster's first response. While paused, only requested reads run, and the parts of `HEADER` are read
        once.
        """
        if self.held or (self.paused and not turn.asked and (turn.was_read or part.name not in HEADER)):
            return False
        if part.name == VIEW:
            return True
        if self.lost or self.contact.answered_at is None:
            return False
        # Skip this read: it would wait for a broker that does not answer.
        return not (part.name == Part.VERSIONS and self.contact.silent)

    @property
    def resting(self) -> bool:
        """Whether the view has been read, and no read of it is under way or requested."""
        return self.reads.rests(VIEW)

    def age(self, at: datetime | None, ticks: int) -> str:
        """Return ``as of 09:41:07`` if the next read of the data is overdue, or while reads are paused; else ``""``.

        Args:
            at: time of the read, UTC; None if the data have not been read, for which the result is ``""``.
            ticks: number of ticks between two reads.
        """
        if at is None:
            return ""
        late = (self.session.clock.now() - at).total_seconds() > 2 * ticks * self.refresh + 1
        return f"as of {clock(at)}" if late or self.paused else ""

    def tick(self) -> None:
        """Read the view at once, or, if a read of it is under way, after that; also while paused."""
        self.reads.hurry(VIEW)

    def now(self) -> None:
        """Read everything that the screen shows at once, however new it is."""
        for turns in self._whole.values():
            turns.hurry()
        self.reads.hurry(VIEW, *HEADER)

    @property
    def at_controllers(self) -> bool:
        """Whether the context connects to controllers, which have no data about topics."""
        return self.session.context.settings.controllers

    async def whole(self, part: Part) -> bool:
        """Read all topics or all ACLs if that is due. Return whether it read them. Such a request can't be split into
        pages, so it is costly in a large cluster.
        """
        turns = self._whole[part]
        turns.note(read_ago(self.session.snapshot, part))
        if not turns.is_due():
            return False
        with turns:
            await self.session.read_whole(part)
        return True
