"""What a partition remembers of idempotent producers (ProducerStateManager, KIP-98)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from console.embedded.records.batch import NO_PRODUCER, Batch, sequence_after

_REMEMBERED = 5
"""Batches of a producer that are known when they come again."""
MAX_PRODUCERS = 1000
"""Producers that a partition remembers; the one that wrote longest ago goes first."""


class OutOfOrderSequence(ValueError):
    """A producer's batch does not follow its last one (OUT_OF_ORDER_SEQUENCE_NUMBER)."""


class FencedProducer(ValueError):
    """A producer with a newer epoch wrote already (INVALID_PRODUCER_EPOCH)."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[Batch] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """As they were appended, the newest last; without their bytes."""


class Producers:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def duplicate(self, batch: Batch) -> Batch | None:
        """The batch as it was appended already, None for one that is new. Raises FencedProducer, OutOfOrderSequence."""
        known = self._producers.get(batch.producer_id) if batch.producer_id > NO_PRODUCER else None
        if known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise FencedProducer(f"epoch {batch.producer_epoch} of producer {batch.producer_id} is below {known.epoch}")
        if batch.producer_epoch > known.epoch:
            if batch.base_sequence != 0:
                raise OutOfOrderSequence(f"a new epoch begins with sequence {batch.base_sequence}, not 0")
            return None
        for was in known.batches:
            if (was.base_sequence, was.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return was
        last = known.batches[-1].last_sequence
        if batch.base_sequence != sequence_after(last, 1):
            raise OutOfOrderSequence(f"sequence {batch.base_sequence} comes after {last}")
        return None

    def wrote(self, batch: Batch) -> None:
        """Remember a batch that was appended."""
        if batch.producer_id <= NO_PRODUCER:
            return
        known = self._producers.pop(batch.producer_id, None)
        if known is None or known.epoch != batch.producer_epoch:
            known = _Producer(batch.producer_epoch)
        known.batches.append(replace(batch, data=b""))
        self._producers[batch.producer_id] = known
        while len(self._producers) > MAX_PRODUCERS:
            self._producers.pop(next(iter(self._producers)))
