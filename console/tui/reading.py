"""What views read of the cluster, how often and how fresh it is, and whether the cluster answers.

`console.tui.polling` reads for the view that is visible.
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
from console.model.parts import Part
from console.present.columns import clock
from console.present.text import clean
from console.session.event_reads import EventReads
from console.session.parts import FOR_SCREEN
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


VIEW, MORE = "view", "more of the view"
"""What the visible view reads on each tick, and what it reads beside that."""
HEADER = (Part.CLUSTER, Part.QUORUM, Part.VERSIONS, Part.TOPICS)
"""What the lines around each view show."""
SLOW_EVERY = 12
"""Ticks between two slow reads of a view."""
WHOLE_REST = 20
"""All topics' metadata, and all ACLs, are read again after this many times the last read's duration, or later."""


class Reading:
    """What the screen reads, by one scheduler, and what is known of its freshness.

    reads: the scheduler; the view, the half hour and others add their parts to those that are watched for changes.
    contact: whether the cluster answers. paused: only what is asked for is read. lost: no broker answers. held: true
    while a plan is being applied: half of it must not look like another client's change.
    """

    def __init__(self, session: Session, refresh: float) -> None:
        """Create it; `console.tui.polling` reads for the visible view.

        Args:
            refresh: seconds between ticks, 0 for none but those asked for.
        """
        self.session = session
        self.refresh = refresh
        self.contact = Contact()
        self.paused = refresh <= 0
        self.lost = False
        self.held = False
        self.reads = EventReads(session, FOR_SCREEN, self._may)
        # A little less than a tick: a tick that comes early must not skip the read until the next one.
        self._whole = {part: Turns(Pace(refresh * 0.9, WHOLE_REST)) for part in (Part.TOPICS, Part.ACLS)}

    def _may(self, part: Scheduled, turn: Turn) -> bool:
        """Return whether a part may be read now. What is next to the view waits for the cluster's first answer; while
        paused, the header is read once."""
        if self.held or (self.paused and not turn.asked and (turn.was_read or part.name not in HEADER)):
            return False
        if part.name == VIEW:
            return True
        if self.lost or self.contact.answered_at is None:
            return False
        # A broker that does not answer would be waited for.
        return not (part.name == Part.VERSIONS and self.contact.silent)

    @property
    def resting(self) -> bool:
        """Whether the view was read, is not being read, and no read was asked for."""
        return self.reads.rests(VIEW)

    def age(self, at: datetime | None, ticks: int) -> str:
        """Return ``as of 09:41:07`` for what should have been read again by now, ``""`` for anything else.

        Args:
            at: when it was read, UTC; None if it was not yet.
            ticks: after which it is read again.
        """
        if at is None:
            return ""
        late = (self.session.clock.now() - at).total_seconds() > 2 * ticks * self.refresh + 1
        return f"as of {clock(at)}" if late or self.paused else ""

    def tick(self) -> None:
        """Read the view at once, or as soon as the read under way has ended; also while paused."""
        self.reads.hurry(VIEW)

    def now(self) -> None:
        """Read everything that is visible at once, however recently it was read."""
        for turns in self._whole.values():
            turns.hurry()
        self.reads.hurry(VIEW, *HEADER)

    @property
    def at_controllers(self) -> bool:
        """Whether controllers are asked, who know no topics."""
        return self.session.context.settings.controllers

    async def whole(self, part: Part) -> bool:
        """Read all topics or all ACLs if that is due. Return whether it was: they have no pages."""
        turns = self._whole[part]
        turns.note(read_ago(self.session.snapshot, part))
        if not turns.is_due():
            return False
        with turns:
            await self.session.read_whole(part)
        return True
