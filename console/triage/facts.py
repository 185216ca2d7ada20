"""Facts that are read occasionally, in addition to the snapshot: log offsets, open transactions, the newest records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from console.model.certificates import Certificate
from console.model.changes import Target
from console.model.failure import Failure
from console.model.metadata_views import Views
from console.model.observed_logs import Newest, ObservedLogs, Place
from console.model.throttling import Client, Throttled
from console.model.transactions import NOTHING_SEEN, Transactions

OpenPlace = tuple[Place, int, int]
"""An open transaction: the partition, the producer's id, and its first offset."""


ChangeKey = tuple[Target, str, str | None]
"""A changed target, its key (``""`` for the whole target), and its new value as in `events.Difference`."""


class Author(NamedTuple):
    """The author of a change according to this host's journal."""

    who: str
    number: int
    """The number of the change in the journal."""
    at: datetime
    """The time of sending, UTC."""
    reverts: bool = False
    """Whether the change reverts an earlier one."""


class RequestLogs(Struct, frozen=True):
    """Facts from brokers' request logs: the throttled clients, and the logs that could not be read."""

    throttled: Mapping[Client, Throttled] = field(default_factory=dict)
    """The recently throttled clients, the most throttled first."""
    files: tuple[str, ...] = ()
    """The names of the logs."""
    unread: Mapping[str, Failure] = field(default_factory=dict)
    """Path -> the reason why a log could not be read."""


class Former(NamedTuple):
    """The ends of a log at some times before kac read it, by the times of its records."""

    at: float
    """The time of the read, Unix seconds."""
    end: int
    """The end of the log then."""
    ends: tuple[tuple[float, int], ...]
    """Times in Unix seconds, each with the end of the log at that time, the earliest first; those before its first
    record are missing."""


class Facts(Struct, frozen=True):
    """All facts besides the snapshot, as of the last poll."""

    logs: ObservedLogs = ObservedLogs()
    transactions: Transactions = NOTHING_SEEN
    """The last read of the partitions whose last stable offset does not move."""
    open_before: Mapping[OpenPlace, str] = field(default_factory=dict)
    """The open transactions of the read before, with the states at their coordinators."""
    newest: Mapping[Place, Newest] = field(default_factory=dict)
    """The newest record of each partition, read hourly."""
    certificates: tuple[Certificate, ...] = ()
    """The certificates of the reachable listeners, read hourly."""
    views: Views = Views()
    """Each broker's response to Metadata."""
    request_logs: RequestLogs = RequestLogs()
    """The facts from the configured request logs."""
    authors: Mapping[ChangeKey, Author] = field(default_factory=dict)
    """The authors of changes that clients made, as far as this host's journal has them."""
    taken_back: frozenset[ChangeKey] = frozenset()
    """Places, each with the value that a change in the journal reverted."""
    restarts: Mapping[str, Author] = field(default_factory=dict)
    former: Mapping[Place, Former] = field(default_factory=dict)
    """The logs that groups read whose lag grows, before it did."""


def opened(seen: Transactions) -> Mapping[OpenPlace, str]:
    """Return the open transactions of a poll, each with its state at the coordinator; ``""`` without one."""
    known = seen.by_producer
    return {
        (each.place, id_, each.producer.start_offset): known[id_].state if id_ in known else ""
        for each in seen.open
        for id_ in (each.producer.id,)
    }
