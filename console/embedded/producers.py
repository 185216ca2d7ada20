"""The state of the producers in a partition (ProducerStateManager), both idempotent (KIP-98) and transactional ones;
and transactional ids as their coordinators store them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from console.embedded.record_batch import NO_PRODUCER, Batch, marker_of, sequence_after

_REMEMBERED = 5
"""Number of a producer's latest batches by which a repeated batch is recognized."""
MAX_PRODUCERS = 1000
"""Maximum number of producers of a partition that are remembered; the producer with the oldest write is dropped
first.
"""
NONE = -1


class OutOfOrderSequence(ValueError):
    """The sequence number of a producer's batch does not follow that of its previous batch
    (OUT_OF_ORDER_SEQUENCE_NUMBER).
    """


class FencedProducer(ValueError):
    """The producer id has a newer epoch than that in the request (INVALID_PRODUCER_EPOCH)."""


class FencedCoordinator(ValueError):
    """A marker of a newer coordinator epoch was written already (TRANSACTION_COORDINATOR_FENCED)."""


class AbortedTransaction(NamedTuple):
    """An aborted transaction in a log (AbortedTxn)."""

    producer_id: int
    first: int
    last: int
    """The offset of the transaction's abort marker."""
    stable: int
    """The last stable offset after that marker was written."""


@dataclass(slots=True)
class ProducerEntry:
    """The state of a producer in a partition."""

    epoch: int
    timestamp: int = NONE
    coordinator_epoch: int = NONE
    start: int = NONE
    """The first offset of the producer's open transaction; -1 if it has none."""
    batches: deque[Batch] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """The producer's latest batches in order; their `data` is empty."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of the producer's last record; -1 if a marker with a newer epoch followed."""
        return self.batches[-1].last_sequence if self.batches else NONE


class Producers:
    """The producers of one partition, and their aborted transactions."""

    def __init__(self) -> None:
        self._producers: dict[int, ProducerEntry] = {}
        self._aborted: list[AbortedTransaction] = []

    def entries(self) -> Iterable[tuple[int, ProducerEntry]]:
        """Return all producers with their ids."""
        return self._producers.items()

    def stable(self, end: int) -> int:
        """Return the last stable offset of a log whose end offset is `end`: the first offset of the earliest open
        transaction; `end` if none is open.
        """
        return min((each.start for each in self._producers.values() if each.start != NONE), default=end)

    def has_open(self, producer_id: int) -> bool:
        """Return whether the producer has an open transaction."""
        known = self._producers.get(producer_id)
        return known is not None and known.start != NONE

    def aborted(self, offset: int, end: int) -> list[AbortedTransaction]:
        """Return the aborted transactions that have records between the offsets `offset` and `end`
        (LogSegment.collectAbortedTxns).
        """
        found = []
        for each in self._aborted:
            if each.last >= offset and each.first < end:
                found.append(each)
            # The transactions are sorted by last stable offset, so all further ones ended after the range (Kafka's
            # TransactionIndex).
            if each.stable >= end:
                break
        return found

    def duplicate(self, batch: Batch) -> Batch | None:
        """Return the appended batch that this batch repeats; None if this batch is new. Raises FencedProducer for an
        old epoch, and OutOfOrderSequence if its first sequence number is not the next one.
        """
        known = self._producers.get(batch.producer_id) if batch.producer_id > NO_PRODUCER else None
        if known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise FencedProducer(f"epoch {batch.producer_epoch} of producer {batch.producer_id} is below {known.epoch}")
        # After a marker with a newer epoch, the producer's sequence starts again.
        if batch.producer_epoch > known.epoch or not known.batches:
            if batch.base_sequence != 0:
                raise OutOfOrderSequence(f"a new epoch begins with sequence {batch.base_sequence}, not 0")
            return None
        # If a producer retries a batch after a lost response, the batch is acknowledged instead of appended again; a
        # broker remembers the last five batches.
        for was in known.batches:
            if (was.base_sequence, was.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return was
        last = known.last_sequence
        if batch.base_sequence != sequence_after(last, 1):
            raise OutOfOrderSequence(f"sequence {batch.base_sequence} comes after {last}")
        return None

    def check_marker(self, batch: Batch) -> None:
        """Raise FencedProducer or FencedCoordinator if this marker must not be appended."""
        known, marker = self._producers.get(batch.producer_id), marker_of(batch)
        if known is None or marker is None:
            return
        if batch.producer_epoch < known.epoch:
            raise FencedProducer(f"epoch {batch.producer_epoch} of producer {batch.producer_id} is below {known.epoch}")
        if marker[1] < known.coordinator_epoch:
            raise FencedCoordinator(f"coordinator epoch {marker[1]} is below {known.coordinator_epoch}")

    def wrote(self, batch: Batch) -> None:
        """Update the state of the producer after this batch or marker was appended; do nothing for a batch without a
        producer id.
        """
        if batch.producer_id <= NO_PRODUCER:
            return
        # Move the producer to the end, so that the producer with the oldest write is the first to be dropped.
        known = self._producers.pop(batch.producer_id, None)
        if known is None:
            known = ProducerEntry(batch.producer_epoch)
        elif known.epoch != batch.producer_epoch:
            known.batches.clear()
            known.epoch = batch.producer_epoch
        self._producers[batch.producer_id] = known
        known.timestamp = batch.max_timestamp
        marker = marker_of(batch)
        if marker is not None:
            self._ended(known, batch, *marker)
        else:
            # Later checks compare only sequence numbers, and the bytes are in the log.
            known.batches.append(replace(batch, data=b""))
            if batch.transactional and known.start == NONE:
                known.start = batch.base_offset
        while len(self._producers) > MAX_PRODUCERS:
            self._producers.pop(next(iter(self._producers)))

    def _ended(self, known: ProducerEntry, batch: Batch, commits: bool, coordinator_epoch: int) -> None:
        start, known.start = known.start, NONE
        known.coordinator_epoch = coordinator_epoch
        if not commits and start != NONE:
            stable = self.stable(batch.last_offset + 1)
            self._aborted.append(AbortedTransaction(batch.producer_id, start, batch.last_offset, stable))


# -- coordinators ------------------------------------------------------------------------------------------------------

Place = tuple[str, int]

EMPTY, ONGOING = "Empty", "Ongoing"
PREPARE = {True: "PrepareCommit", False: "PrepareAbort"}
COMPLETE = {True: "CompleteCommit", False: "CompleteAbort"}
STATES = (EMPTY, ONGOING, *PREPARE.values(), *COMPLETE.values(), "Dead", "PrepareEpochFence")


@dataclass(slots=True, eq=False)
class Transaction:
    """A transactional id with its producer and its present transaction."""

    id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: str = EMPTY
    """Kafka's name of the state."""
    started: int = NONE
    """The start of the transaction, in milliseconds since 1970; -1 if there is none."""
    partitions: set[Place] = field(default_factory=set)
    """The partitions of the transaction to which no marker was written yet."""
    last_epoch: int = NONE
    """The producer's epoch before the present one. A producer that did not get the response with its present epoch
    may request that epoch again with this one. -1 if another producer has taken over the transactional id.
    """
