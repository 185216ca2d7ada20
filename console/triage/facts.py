"""Facts that are not in the snapshot and are read less often: offsets of logs, open transactions, the newest
records.
"""

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
"""An open transaction in a partition: the partition, the producer's id, and the first offset of the transaction."""


ChangeKey = tuple[Target, str, str | None]
"""A changed entity, the changed key (``""`` for the whole entity), and the new value as in `events.Difference`."""


class Author(NamedTuple):
    """The author of a change, as this host's journal has it."""

    who: str
    number: int
    """The number of the change in the journal."""
    at: datetime
    """The time at which the change was sent, UTC."""
    reverts: bool = False
    """Whether the change reverts an earlier one."""


class RequestLogs(Struct, frozen=True):
    """Facts from the brokers' request logs on this host: the throttled clients, and the logs that could not be read."""

    throttled: Mapping[Client, Throttled] = field(default_factory=dict)
    """Client -> its throttling; only clients that were throttled lately, those throttled most first."""
    files: tuple[str, ...] = ()
    """The names of the logs."""
    unread: Mapping[str, Failure] = field(default_factory=dict)
    """Path -> the reason why a log could not be read."""


class Former(NamedTuple):
    """The end offsets of a log at earlier times, which kac found by the timestamps of records."""

    at: float
    """The time at which kac read them, Unix seconds."""
    end: int
    """The end offset at the time of the read."""
    ends: tuple[tuple[float, int], ...]
    """Pairs of a time in Unix seconds and the end offset of the log at that time, the earliest first; times before the
    first record are missing.
    """


class Facts(Struct, frozen=True):
    """All facts that are not in the snapshot, as of the last poll."""

    logs: ObservedLogs = ObservedLogs()
    transactions: Transactions = NOTHING_SEEN
    """The result of the last read of open transactions, in partitions whose last stable offset does not move."""
    open_before: Mapping[OpenPlace, str] = field(default_factory=dict)
    """The open transactions in the read before that one -> their states at the coordinators."""
    newest: Mapping[Place, Newest] = field(default_factory=dict)
    """The newest record of each partition, read hourly."""
    certificates: tuple[Certificate, ...] = ()
    """The certificates of the listeners that kac can reach, read hourly."""
    views: Views = Views()
    """The response of each broker to the same Metadata request."""
    request_logs: RequestLogs = RequestLogs()
    """The facts from the configured request logs."""
    authors: Mapping[ChangeKey, Author] = field(default_factory=dict)
    """Change by a client -> its author, for changes that this host's journal has."""
    taken_back: frozenset[ChangeKey] = frozenset()
    """The values that a later change in this host's journal reverted, each with its entity and key."""
    restarts: Mapping[str, Author] = field(default_factory=dict)
    former: Mapping[Place, Former] = field(default_factory=dict)
    """Partition -> the earlier end offsets of its log, for groups whose lag grows."""


def opened(seen: Transactions) -> Mapping[OpenPlace, str]:
    """Return the open transactions in a read -> their states at the coordinators; ``""`` if no coordinator
    knows one.
    """
    known = seen.by_producer
    return {
        (each.place, id_, each.producer.start_offset): known[id_].state if id_ in known else ""
        for each in seen.open
        for id_ in (each.producer.id,)
    }
