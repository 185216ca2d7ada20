"""The idempotent producer of a client: its id, its sequence numbers, and the batches with an unknown outcome. Pure.

A broker writes only one batch for a producer id, an epoch and a sequence number, so kac may send the same batch again.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from console.model.changes import NewRecords
from console.model.secret import Contents

Place = tuple[str, int]
_SEQUENCES = 2**31


class Numbers(NamedTuple):
    """The producer id, epoch and sequence number by which a broker recognizes a batch that it already has."""

    producer_id: int
    epoch: int
    sequence: int


class Producer(Struct):
    """An id that a broker gave, and the next sequence number of each partition."""

    id: int
    epoch: int
    next: dict[Place, int] = field(default_factory=dict)

    def numbers(self, place: Place, count: int) -> Numbers:
        """Return the numbers of the next batch of a partition, and count its records."""
        sequence = self.next.get(place, 0)
        self.next[place] = (sequence + count) % _SEQUENCES
        return Numbers(self.id, self.epoch, sequence)


class Sending(Struct):
    """A batch on its way.

    Attributes:
        records: the records of the batch.
        numbers: the sequence numbers; None until the batch is sent for the first time.
        since: the end of the partition before the batch is first sent; None if it is not known yet.
        timestamp: the time of records without one, ms since 1970.
        in_doubt: whether a request with the batch got no answer, or an answer that does not show whether the broker
            wrote it.
    """

    records: Contents
    numbers: Numbers | None = None
    since: int | None = None
    timestamp: int = -1
    in_doubt: bool = False


class Producing(Struct):
    """The producer of a client, and the batches that may or may not have been written.

    Attributes:
        producer: the id and epoch; None before the first batch, and once an outcome is unknown: later batches have
            another id, because their sequence numbers depend on whether that batch was written.
        unknown: batches with an unknown outcome; each keeps its numbers when it is sent again.
        ready_at: the time, on the loop's clock, until which brokers accept no batch because of a quota.
    """

    producer: Producer | None = None
    unknown: dict[tuple[NewRecords, Contents], Sending] = field(default_factory=dict)
    ready_at: float = 0.0

    def give_back(self, place: Place, numbers: Numbers | None) -> None:
        """Release the sequence numbers of a partition's last batch, which no broker wrote, for its next batch: brokers
        accept no gap in them. Do nothing if the client has another producer since.
        """
        if numbers is not None and self.producer is not None and numbers[:2] == (self.producer.id, self.producer.epoch):
            self.producer.next[place] = numbers.sequence
