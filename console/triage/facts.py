"""What is read now and then, beside the snapshot: how logs move, open transactions, the newest records."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from console.model.certificates import Certificate
from console.model.log_course import LogCourses, Newest, Place
from console.model.metadata_views import Views
from console.model.transactions import NOTHING_SEEN, Transactions

OpenPlace = tuple[Place, int, int]
"""An open transaction: the partition, the producer's id, and the offset at which it begins."""


class Facts(Struct, frozen=True):
    """What was found so far. transactions: the last look at the partitions whose last stable offset stands still;
    open_before: the open transactions of the look before it. newest: the newest record of partitions, read hourly.
    certificates: of the listeners that were reached, read hourly. views: what each broker
    answers to Metadata."""

    logs: LogCourses = LogCourses()
    transactions: Transactions = NOTHING_SEEN
    open_before: frozenset[OpenPlace] = frozenset()
    newest: Mapping[Place, Newest] = field(default_factory=dict)
    certificates: tuple[Certificate, ...] = ()
    views: Views = Views()


def opened(seen: Transactions) -> frozenset[OpenPlace]:
    """The open transactions of a look."""
    return frozenset((each.place, each.producer.id, each.producer.start_offset) for each in seen.open)
