"""One partition's log: record batches of format v2, idempotent producers, offsets and leader epochs."""

from __future__ import annotations

import asyncio
import struct
import zlib
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from crc32c import crc32c

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""baseOffset, length, partitionLeaderEpoch, magic, crc, attributes, lastOffsetDelta, baseTimestamp, maxTimestamp,
producerId, producerEpoch, baseSequence, records."""
HEADER_SIZE = _HEADER.size
_LENGTH_AT, _AFTER_LENGTH, _MAGIC_AT, _CRC_AT, _CRC_FROM = 8, 12, 16, 17, 21
_EPOCH, _CRC, _ATTRIBUTES, _MAX_TIME = (
    struct.Struct(">i"),
    struct.Struct(">I"),
    struct.Struct(">h"),
    struct.Struct(">q"),
)
_OFFSET = struct.Struct(">q")
_MAX_TIME_AT = 35
_CODEC, _LOG_APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_MAGIC = 2
NO_PRODUCER = -1
MAX_UNPACKED = 32 * 1024 * 1024
"""Most bytes of a batch's decompressed records."""


class Codec(IntEnum):
    """How a batch's records are compressed (CompressionType)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CorruptBatch(ValueError):
    """Not a complete batch, or a wrong checksum (CORRUPT_MESSAGE)."""


class InvalidBatch(ValueError):
    """A batch that a broker refuses from a producer (INVALID_RECORD). The text says why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch (DefaultRecordBatch). data: all its bytes. Timestamps: milliseconds since 1970."""

    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def codec(self) -> int:
        """How the records are compressed: a Codec, or an unknown number."""
        return self.attributes & _CODEC

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return sequence_after(self.base_sequence, self.last_offset - self.base_offset)


def sequence_after(sequence: int, steps: int) -> int:
    """The sequence number so many steps later. After 2^31 - 1 comes 0 (DefaultRecordBatch.incrementSequence)."""
    return (sequence + steps) % 2**31


def produced_batch(data: bytes) -> Batch:
    """The single batch that a producer sent for a partition. Raises CorruptBatch, InvalidBatch."""
    if not data:
        raise InvalidBatch("Produce requests are only allowed to contain exactly one record batch per partition")
    batch = read_batch(data, 0)
    if len(batch.data) != len(data):
        raise InvalidBatch("Produce requests are only allowed to contain exactly one record batch per partition")
    if batch.records <= 0 or batch.records != batch.last_offset - batch.base_offset + 1:
        raise InvalidBatch(
            f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count of records "
            f"{batch.records}"
        )
    if batch.attributes & _CONTROL:
        raise InvalidBatch("Clients are not allowed to write control records")
    if batch.producer_id > NO_PRODUCER and batch.base_sequence < 0:
        raise InvalidBatch(f"Invalid sequence number {batch.base_sequence} in record batch with producerId")
    return batch


def read_batch(data: bytes, at: int) -> Batch:
    """The batch at this position. Raises CorruptBatch, InvalidBatch."""
    if len(data) - at < HEADER_SIZE:
        raise CorruptBatch(f"{len(data) - at} bytes are no record batch")
    if data[at + _MAGIC_AT] != _MAGIC:
        raise InvalidBatch(f"Produce requests are only allowed to contain record batches with magic version {_MAGIC}")
    (
        base,
        length,
        epoch,
        _,
        crc,
        attributes,
        delta,
        first_time,
        max_time,
        producer,
        producer_epoch,
        sequence,
        records,
    ) = _HEADER.unpack_from(data, at)
    end = at + _AFTER_LENGTH + length
    if length < HEADER_SIZE - _AFTER_LENGTH or end > len(data):
        raise CorruptBatch(f"a record batch of {length} bytes in {len(data) - at - _AFTER_LENGTH}")
    if crc32c(data[at + _CRC_FROM : end]) != crc:
        raise CorruptBatch(f"the checksum {crc} is not that of the batch")
    return Batch(
        data[at:end] if (at, end) != (0, len(data)) else data,
        base,
        base + delta,
        epoch,
        attributes,
        first_time,
        max_time,
        producer,
        producer_epoch,
        sequence,
        records,
    )


def placed_batch(batch: Batch, offset: int, leader_epoch: int, append_time: int | None = None) -> Batch:
    """The batch as the log stores it: with its offset and the leader's epoch.

    append_time: replaces the producer's timestamps (message.timestamp.type=LogAppendTime), milliseconds.
    """
    data = bytearray(batch.data)
    _OFFSET.pack_into(data, 0, offset)
    _EPOCH.pack_into(data, _AFTER_LENGTH, leader_epoch)
    attributes, max_timestamp = batch.attributes, batch.max_timestamp
    if append_time is not None:
        attributes, max_timestamp = attributes | _LOG_APPEND_TIME, append_time
        _ATTRIBUTES.pack_into(data, _CRC_FROM, attributes)
        _MAX_TIME.pack_into(data, _MAX_TIME_AT, max_timestamp)
        _CRC.pack_into(data, _CRC_AT, crc32c(bytes(data[_CRC_FROM:])))
    return Batch(
        bytes(data),
        offset,
        offset + batch.last_offset - batch.base_offset,
        leader_epoch,
        attributes,
        batch.base_timestamp,
        max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.records,
    )


def first_since(batch: Batch, timestamp: int) -> tuple[int, int]:
    """Timestamp and offset of the first record that is not older than a time; the batch must have one.

    If the records can't be decompressed, those of the first record.
    """
    if batch.attributes & _LOG_APPEND_TIME:
        return batch.max_timestamp, batch.base_offset
    for place, record_time in enumerate(record_times(batch)):
        if record_time >= timestamp:
            return record_time, batch.base_offset + place
    return batch.base_timestamp, batch.base_offset


def newest(batch: Batch) -> tuple[int, int]:
    """Timestamp and offset of the first record with the batch's highest timestamp."""
    return batch.max_timestamp, first_since(batch, batch.max_timestamp)[1]


def record_times(batch: Batch) -> Sequence[int]:
    """The records' timestamps in their order; empty if the records can't be decompressed (see `_unpacked`)."""
    return _of_records(batch, lambda record: record.timestamp)


def keyless_records(batch: Batch) -> list[int]:
    """The positions, from 0 on, of the records without a key; empty if the records can't be decompressed."""
    without = _of_records(batch, lambda record: record.key is None)
    return [place for place, missing in enumerate(without) if missing]


def _of_records(batch: Batch, look: Callable[[Any], int]) -> Sequence[int]:
    """The result of a function for each record of a batch, as aiokafka decodes it."""
    from aiokafka.errors import KafkaError  # type: ignore[import-untyped]
    from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]

    plain = _unpacked(batch)
    if plain is None:
        return ()
    try:
        return array("q", map(look, DefaultRecordBatch(plain)))
    except (KafkaError, RuntimeError, ValueError, OverflowError):  # not records
        return ()


def _unpacked(batch: Batch) -> bytes | None:
    """The batch without compression. None for a codec that Python lacks, for damaged data, and for more than
    MAX_UNPACKED bytes: a megabyte of gzip may be a gigabyte of zeros."""
    if batch.codec == Codec.NONE:
        return batch.data
    if batch.codec != Codec.GZIP:
        return None
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        records = unpacking.decompress(batch.data[HEADER_SIZE:], MAX_UNPACKED)
    except zlib.error:
        return None
    if not unpacking.eof:
        return None
    header = bytearray(batch.data[:HEADER_SIZE])
    _ATTRIBUTES.pack_into(header, _CRC_FROM, batch.attributes & ~_CODEC)
    return bytes(header) + records


_REMEMBERED = 5
"""Last batches of a producer that are recognised when they are sent again."""
MAX_PRODUCERS = 1000
"""Most producers of a partition; the one that wrote longest ago is forgotten first."""


class OutOfOrderSequence(ValueError):
    """A producer's batch does not follow its last one (OUT_OF_ORDER_SEQUENCE_NUMBER)."""


class FencedProducer(ValueError):
    """The producer has a newer epoch already (INVALID_PRODUCER_EPOCH)."""


@dataclass(slots=True)
class _Producer:
    epoch: int
    batches: deque[Batch] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """Its last batches without their bytes, the newest last."""


class Producers:
    """The idempotent producers of one partition (ProducerStateManager, KIP-98)."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def duplicate(self, batch: Batch) -> Batch | None:
        """The same batch as it was appended before; None for a new one. Raises FencedProducer, OutOfOrderSequence."""
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
        """Remember an appended batch."""
        if batch.producer_id <= NO_PRODUCER:
            return
        known = self._producers.pop(batch.producer_id, None)
        if known is None or known.epoch != batch.producer_epoch:
            known = _Producer(batch.producer_epoch)
        known.batches.append(replace(batch, data=b""))
        self._producers[batch.producer_id] = known
        while len(self._producers) > MAX_PRODUCERS:
            self._producers.pop(next(iter(self._producers)))


MAX_BYTES = 8 * 2**20
"""Most bytes of one partition in memory, whatever its retention."""
NO_OFFSET = -1


class PartitionLog:
    """The records of a partition (UnifiedLog). Replicas in sync have all of them, so the high watermark is the end.

    start: the first readable offset. end: the next record's offset. size: bytes in memory. older_bytes: bytes that a
    scenario says are on disk, which can't be read. looked_after: when retention was last applied, Unix seconds.
    behind: replica out of sync -> the end of its own log.
    """

    def __init__(self, start: int = 0, older_bytes: int = 0) -> None:
        self.start = self.end = start
        self.size = 0
        self.older_bytes = older_bytes
        self.producers = Producers()
        self.looked_after: float | None = None
        self.behind: dict[int, int] = {}
        self._batches: list[Batch] = []
        self._epochs: list[tuple[int, int]] = []
        self._watching: set[asyncio.Event] = set()

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches in memory, oldest first."""
        return tuple(self._batches)

    def append(self, batch: Batch, leader_epoch: int, append_time: int | None = None) -> int:
        """Append a batch, and return the offset of its first record. append_time: as in `placed_batch`."""
        kept = placed_batch(batch, self.end, leader_epoch, append_time)
        self.producers.wrote(kept)
        self.keep(kept)
        for event in self._watching:
            event.set()
        return kept.base_offset

    def keep(self, batch: Batch) -> None:
        """Append a batch that has its offset already."""
        if not self._epochs or self._epochs[-1][0] != batch.leader_epoch:
            self._epochs.append((batch.leader_epoch, batch.base_offset))
        self._batches.append(batch)
        self.size += len(batch.data)
        self.end = batch.last_offset + 1
        self.evict(MAX_BYTES)

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool) -> bytes:
        """Whole batches from the one with this offset on, up to max_bytes.

        at_least_one: return the first batch even if it is larger.
        """
        found: list[bytes] = []
        for batch in self._batches[self._place(offset) :]:
            max_bytes -= len(batch.data)
            if max_bytes < 0 and (found or not at_least_one):
                break
            found.append(batch.data)
        return b"".join(found)

    def _place(self, offset: int) -> int:
        return bisect_left(self._batches, offset, key=lambda batch: batch.last_offset)

    def since(self, timestamp: int) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the first record not older than a time; None if all are older."""
        for batch in self._batches:
            if batch.max_timestamp >= timestamp:
                moment, offset = first_since(batch, timestamp)
                return moment, max(offset, self.start), batch.leader_epoch
        return None

    def newest(self) -> tuple[int, int, int] | None:
        """Timestamp, offset and leader epoch of the record with the highest timestamp; None for an empty log."""
        if not self._batches:
            return None
        batch = max(self._batches, key=lambda each: each.max_timestamp)
        moment, offset = newest(batch)
        return moment, max(offset, self.start), batch.leader_epoch

    def epoch_at_start(self) -> int | None:
        """The leader epoch of the oldest batch; None for an empty log."""
        return self._batches[0].leader_epoch if self._batches else None

    def end_of_epoch(self, epoch: int, current: int) -> tuple[int, int]:
        """The largest known epoch up to this one, and its end offset (KIP-320); (-1, -1) if it is unknown."""
        if epoch == current:
            return epoch, self.end
        known = [*self._epochs, (current, self.end)]
        if epoch < known[0][0] or epoch > current:
            return -1, NO_OFFSET
        place = max(place for place, (begun, _) in enumerate(known) if begun <= epoch)
        return known[place][0], known[place + 1][1]

    # Deletion, whole batches only, oldest first.

    def delete_before(self, offset: int) -> None:
        """Advance the start to an offset, at most the end (DeleteRecords)."""
        self.start = max(self.start, min(offset, self.end))
        self._drop(self._place(self.start))

    def trim(self, max_bytes: int) -> None:
        """Drop the oldest batches beyond this size. The newest stays."""
        self._drop(self._too_many(max_bytes))

    def evict(self, max_bytes: int) -> None:
        """The same to free memory. If the log has older_bytes, the dropped batches count as on disk."""
        count = self._too_many(max_bytes)
        if not self.older_bytes:
            self._drop(count)
            return
        gone = sum(len(batch.data) for batch in self._batches[:count])
        self.size, self.older_bytes = self.size - gone, self.older_bytes + gone
        del self._batches[:count]

    def _too_many(self, max_bytes: int) -> int:
        """How many of the oldest batches are beyond this size, without the newest."""
        size, count = self.size, 0
        while size > max_bytes and count < len(self._batches) - 1:
            size -= len(self._batches[count].data)
            count += 1
        return count

    def expire(self, oldest: int) -> None:
        """Drop the oldest batches while their newest record is older than a time."""
        place = 0
        while place < len(self._batches) and self._batches[place].max_timestamp < oldest:
            place += 1
        self._drop(place)

    def _drop(self, count: int) -> None:
        if count == 0:
            return
        self.size -= sum(len(batch.data) for batch in self._batches[:count])
        self.start = max(self.start, self._batches[count - 1].last_offset + 1)
        del self._batches[:count]
        self.older_bytes = 0
        later = [entry for entry in self._epochs if entry[1] > self.start]
        if len(later) < len(self._epochs):
            self._epochs = [(self._epochs[-len(later) - 1][0], self.start), *later]

    # Waiting for appends.

    def end_of(self, replica: int) -> int:
        """The end of a replica's own log."""
        return min(self.behind.get(replica, self.end), self.end)

    def truncate(self, end: int) -> None:
        """Drop the records from this offset on, which no replica has any more."""
        while self._batches and self._batches[-1].last_offset >= end:
            self.size -= len(self._batches.pop().data)
        self._epochs = [each for each in self._epochs if each[1] < end]
        self.start, self.end = min(self.start, end), min(self.end, end)

    def watch(self, event: asyncio.Event) -> None:
        """Set an event at every append, until `unwatch`."""
        self._watching.add(event)

    def unwatch(self, event: asyncio.Event) -> None:
        """Stop setting this event."""
        self._watching.discard(event)
