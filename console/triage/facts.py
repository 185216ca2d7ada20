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
    """The author of a change according to this host's journal. number: of the change in the journal; at: time of
    sending, UTC; reverts: whether it reverts an earlier change.
    """

    who: str
    number: int
    at: datetime
    reverts: bool = False


class RequestLogs(Struct, frozen=True):
    """Facts from brokers' request logs. throttled: the recently throttled clients, the most throttled first. files: the
    names of the logs. unread: path -> why a log could not be read.
    """

    throttled: Mapping[Client, Throttled] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    unread: Mapping[str, Failure] = field(default_factory=dict)


class Facts(Struct, frozen=True):
    """All facts so far. transactions: the last poll of the partitions whose last stable offset does not move;
    open_before: the open transactions of the poll before it, with the states at their coordinators. newest: the newest
    record of partitions, read hourly. certificates: of the reachable listeners, read hourly. views: each broker's
    response to Metadata. request_logs: of the configured logs. authors: of changes that clients made, as far as this
    host's journal has them. taken_back: places, with the value that a change of the journal took back.
    """

    logs: ObservedLogs = ObservedLogs()
    transactions: Transactions = NOTHING_SEEN
    open_before: Mapping[OpenPlace, str] = field(default_factory=dict)
    newest: Mapping[Place, Newest] = field(default_factory=dict)
    certificates: tuple[Certificate, ...] = ()
    views: Views = Views()
    request_logs: RequestLogs = RequestLogs()
    authors: Mapping[ChangeKey, Author] = field(default_factory=dict)
    taken_back: frozenset[ChangeKey] = frozenset()
    restarts: Mapping[str, Author] = field(default_factory=dict)


def opened(seen: Transactions) -> Mapping[OpenPlace, str]:
    """Return the open transactions of a poll, each with its state at the coordinator; ``""`` without one."""
    known = seen.by_producer
    return {
        (each.place, id_, each.producer.start_offset): known[id_].state if id_ in known else ""
        for each in seen.open
        for id_ in (each.producer.id,)
    }
