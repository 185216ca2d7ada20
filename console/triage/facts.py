"""What is read now and then, beside the snapshot: how logs move, open transactions, the newest records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct, field

from console.model.acl import Acl
from console.model.certificates import Certificate
from console.model.config import ConfigResource
from console.model.failure import Failure
from console.model.metadata_views import Views
from console.model.observed_logs import Newest, ObservedLogs, Place
from console.model.throttling import Client, Throttled
from console.model.transactions import NOTHING_SEEN, Transactions

OpenPlace = tuple[Place, int, int]
"""An open transaction: the partition, the producer's id, and the offset at which it begins."""


ConfigKey = tuple[ConfigResource, str, str | None]
"""A resource, a key that was changed, and its value since, None for one that is not set."""


AclKey = tuple[Acl, bool]
"""An ACL, and whether it was added; else it was removed."""


class Author(NamedTuple):
    """Who made a change, as this host's journal has it. number: of the change in the journal; at: when it was sent,
    UTC."""

    who: str
    number: int
    at: datetime


class RequestLogs(Struct, frozen=True):
    """What brokers' request logs say. throttled: the clients that were throttled of late, the most throttled first.
    files: the names of the logs. unread: path -> why a log says nothing."""

    throttled: Mapping[Client, Throttled] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    unread: Mapping[str, Failure] = field(default_factory=dict)


class Facts(Struct, frozen=True):
    """What was read so far. transactions: the last poll of the partitions whose last stable offset stands still;
    open_before: the open transactions of the poll before it, with the states that their coordinators had. newest: the
    newest record of partitions, read hourly. certificates: of the listeners that were reached, read hourly. views: what
    each broker answers to Metadata. request_logs: of those that were named. authors, acl_authors: who changed settings
    and ACLs, as far as this host's journal has it."""

    logs: ObservedLogs = ObservedLogs()
    transactions: Transactions = NOTHING_SEEN
    open_before: Mapping[OpenPlace, str] = field(default_factory=dict)
    newest: Mapping[Place, Newest] = field(default_factory=dict)
    certificates: tuple[Certificate, ...] = ()
    views: Views = Views()
    request_logs: RequestLogs = RequestLogs()
    authors: Mapping[ConfigKey, Author] = field(default_factory=dict)
    acl_authors: Mapping[AclKey, Author] = field(default_factory=dict)


def opened(seen: Transactions) -> Mapping[OpenPlace, str]:
    """Return the open transactions of a poll, each with the state that its coordinator has, ``""`` without one."""
    known = seen.by_producer
    return {
        (each.place, id_, each.producer.start_offset): known[id_].state if id_ in known else ""
        for each in seen.open
        for id_ in (each.producer.id,)
    }
