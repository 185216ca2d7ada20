"""Whether the cluster answers: what the header, the message line and the panes say about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from console.model.failure import Failure


@dataclass(frozen=True, slots=True)
class Contact:
    """How the last looks at the cluster went.

    answered_at: UTC of the last answer, None before the first. lost: why no broker answers, None while one does. final:
    another try by itself would do harm. silent: the brokers that do not answer while others do. unread: why the view
    that is shown can't be read although brokers answer, and unread_since, UTC, the last time that it was.
    """

    answered_at: datetime | None = None
    lost: Failure | None = None
    final: bool = False
    silent: frozenset[int] = frozenset()
    unread: Failure | None = None
    unread_since: datetime | None = None

    @property
    def is_current(self) -> bool:
        """Whether what is shown can be taken for what is so now."""
        return self.lost is None and self.unread is None


def answered(at: datetime, silent: frozenset[int]) -> Contact:
    """The cluster answered, and the view was read."""
    return Contact(answered_at=at, silent=silent)


def heard(contact: Contact, at: datetime, silent: frozenset[int], unread: Failure, since: datetime) -> Contact:
    """The cluster answers, but what the view wants could not be read."""
    before = contact.unread
    if before is not None:
        since = contact.unread_since or since
    kept = before if before is not None and before.name == unread.name else unread
    return Contact(answered_at=at, silent=silent, unread=kept, unread_since=since)


def lost(contact: Contact, failure: Failure, final: bool, read_at: Iterable[datetime]) -> Contact:
    """No broker answers. The first reason of a kind stays: its words differ by the broker that was asked last. read_at:
    when parts of the cluster were read."""
    if contact.lost is not None and contact.lost.name == failure.name and contact.final == final:
        return contact
    at = (
        contact.answered_at
        if contact.lost is not None
        else max((*read_at, *filter(None, [contact.answered_at])), default=None)
    )
    return Contact(at, failure, final)


def elsewhere(contact: Contact) -> Contact:
    """Another view is shown: why the one before could not be read does not concern it."""
    return replace(contact, unread=None, unread_since=None) if contact.unread is not None else contact
