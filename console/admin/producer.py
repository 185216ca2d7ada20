"""The idempotent producer of a client: its id, its sequence numbers, and the batches whose outcome is unknown. Pure.

A broker writes only one batch for each combination of producer id, epoch and sequence number, so kac may send the same
batch again.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field

from console.model.changes import NewRecords
from console.model.secret import Contents

Place = tuple[str, int]
_SEQUENCES = 2**31


class Numbers(NamedTuple):
    """The producer id, epoch and first sequence number of a batch, by which a broker recognizes a batch that it has
    already.
    """

    producer_id: int
    epoch: int
    sequence: int


class Producer(Struct):
    """A producer id that a broker assigned, its epoch, and the next sequence number of each partition."""

    id: int
    epoch: int
    next: dict[Place, int] = field(default_factory=dict)

    def numbers(self, place: Place, count: int) -> Numbers:
        """Return the numbers of the next batch of a partition, and advance its sequence number. count: the records in
        the batch.
        """
        sequence = self.next.get(place, 0)
        self.next[place] = (sequence + count) % _SEQUENCES
        return Numbers(self.id, self.epoch, sequence)


class Sending(Struct):
    """The state of a batch that is being sent.

    Attributes:
        records: the records of the batch.
        numbers: the producer's numbers; None until the batch is sent for the first time.
        since: the end offset of the partition before the batch was first sent; None if it is not known yet.
        timestamp: the timestamp of records that have none of their own, milliseconds since 1970.
        in_doubt: whether a request with the batch got no response, or one that does not show whether the broker wrote
            the batch.
    """

    records: Contents
    numbers: Numbers | None = None
    since: int | None = None
    timestamp: int = -1
    in_doubt: bool = False


class Producing(Struct):
    """The producer of a client, and the batches whose outcome is unknown.

    Attributes:
        producer: the present producer. None before the first batch, and after an unknown outcome: since it is then
            unknown which sequence number is next, later batches get another producer id.
        unknown: the batches with an unknown outcome. A batch keeps its numbers if it is sent again.
        ready_at: the time, on the loop's clock, before which no batch is sent because a broker reported an exceeded
            quota.
    """

    producer: Producer | None = None
    unknown: dict[tuple[NewRecords, Contents], Sending] = field(default_factory=dict)
    ready_at: float = 0.0

    def give_back(self, place: Place, numbers: Numbers | None) -> None:
        """Use the sequence numbers of a partition's last batch again for its next batch. Call this for a batch that
        no broker wrote, because brokers accept no gap in the numbers. Do nothing if the client has another
        producer now.
        """
        if numbers is not None and self.producer is not None and numbers[:2] == (self.producer.id, self.producer.epoch):
            self.producer.next[place] = numbers.sequence
