"""Record batches of format v2 (DefaultRecordBatch) as producers send them and as logs store them, and transaction
markers.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from crc32c import crc32c

from console.model.records import Record
from console.wire.record_batches import HEADER as _HEADER
from console.wire.record_batches import BatchHeader, batches, records

HEADER_SIZE = _HEADER.size
_AFTER_LENGTH, _MAGIC_AT, _CRC_AT, _CRC_FROM = 12, 16, 17, 21
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


class CorruptBatch(ValueError):
    """A batch is incomplete, or its checksum is wrong (CORRUPT_MESSAGE)."""


class InvalidBatch(ValueError):
    """A broker refuses a producer's batch (INVALID_RECORD). The exception's text says why."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch (DefaultRecordBatch). Timestamps are in milliseconds since 1970."""

    data: bytes
    """All bytes of the batch, including its header."""
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
        """The number of the compression codec, which may be unknown."""
        return self.attributes & _CODEC

    @property
    def transactional(self) -> bool:
        """Whether the batch is part of a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """Whether the batch is a control batch, with a transaction marker instead of records."""
        return bool(self.attributes & _CONTROL)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record."""
        return sequence_after(self.base_sequence, self.last_offset - self.base_offset)


def sequence_after(sequence: int, steps: int) -> int:
    """Return the sequence number that follows after `steps` records; 0 follows 2^31 - 1
    (DefaultRecordBatch.incrementSequence).
    """
    return (sequence + steps) % 2**31


def produced_batch(data: bytes) -> Batch:
    """Parse what a producer sent for a partition, which must be exactly one batch. Raises CorruptBatch,
    InvalidBatch.
    """
    if not data:
        raise InvalidBatch("Produce requests are only allowed to contain exactly one record batch per partition")
    batch = read_batch(data, 0)
    if len(batch.data) != len(data):
        raise InvalidBatch("Produce requests are only allowed to contain exactly one record batch per partition")
    # Batches from producers have no gaps between offsets; compaction makes gaps only later
    # (LogValidator.validateBatch).
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
    """Parse the batch that begins at the index `at`. Raises CorruptBatch, InvalidBatch."""
    if len(data) - at < HEADER_SIZE:
        raise CorruptBatch(f"{len(data) - at} bytes are no record batch")
    if data[at + _MAGIC_AT] != _MAGIC:
        raise InvalidBatch(f"Produce requests are only allowed to contain record batches with magic version {_MAGIC}")
    head = BatchHeader(*_HEADER.unpack_from(data, at))
    end = at + _AFTER_LENGTH + head.length
    if head.length < HEADER_SIZE - _AFTER_LENGTH or end > len(data):
        raise CorruptBatch(f"a record batch of {head.length} bytes in {len(data) - at - _AFTER_LENGTH}")
    # The checksum excludes the fields that the broker writes: the offset and the leader's epoch.
    if crc32c(data[at + _CRC_FROM : end]) != head.crc:
        raise CorruptBatch(f"the checksum {head.crc} is not that of the batch")
    return Batch(
        data[at:end] if (at, end) != (0, len(data)) else data,
        head.base_offset,
        head.base_offset + head.last_offset_delta,
        head.leader_epoch,
        head.attributes,
        head.base_timestamp,
        head.max_timestamp,
        head.producer_id,
        head.producer_epoch,
        head.base_sequence,
        head.records,
    )


def placed_batch(batch: Batch, offset: int, leader_epoch: int, append_time: int | None = None) -> Batch:
    """Return the batch as the log stores it, with its offset and the leader epoch.

    Args:
        append_time: the broker's time in milliseconds since 1970, which replaces the producer's timestamps
            (message.timestamp.type=LogAppendTime); None to keep these.
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
    return replace(
        batch,
        data=bytes(data),
        base_offset=offset,
        last_offset=offset + batch.last_offset - batch.base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        max_timestamp=max_timestamp,
    )


def transactional_batch(batch: Batch, producer: int, epoch: int, sequence: int) -> Batch:
    """Return the batch as a part of the transaction of this producer. sequence: the sequence number of its first
    record.
    """
    head = _header(batch.data)._replace(
        attributes=batch.attributes | _TRANSACTIONAL,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return read_batch(_with_header(batch.data, head), 0)


def moved_batches(data: bytes, by: timedelta) -> bytes:
    """Return the encoded batches with all timestamps moved by `by`. Raises CorruptBatch."""
    moved, at, later = bytearray(), 0, by // timedelta(milliseconds=1)
    while at < len(data):
        batch = read_batch(data, at).data
        head = _header(batch)
        times = {"base_timestamp": head.base_timestamp + later, "max_timestamp": head.max_timestamp + later}
        moved += _with_header(batch, head._replace(**times))
        at += len(batch)
    return bytes(moved)


def _header(data: bytes) -> BatchHeader:
    return BatchHeader(*_HEADER.unpack_from(data))


def _with_header(data: bytes, head: BatchHeader) -> bytes:
    """Return an encoded batch with another header and the matching checksum."""
    changed = bytearray(data)
    _HEADER.pack_into(changed, 0, *head)
    _CRC.pack_into(changed, _CRC_AT, crc32c(bytes(changed[_CRC_FROM:])))
    return bytes(changed)


def first_since(batch: Batch, timestamp: int) -> tuple[int, int]:
    """Return timestamp and offset of the first record with this timestamp (ms since 1970) or a later one. The batch
    must have such a record. If the records can't be decompressed, return those of the first record.
    """
    # With LogAppendTime, all records have the batch's timestamp, whatever their own fields contain.
    if batch.attributes & _LOG_APPEND_TIME:
        return batch.max_timestamp, batch.base_offset
    for place, record_time in enumerate(record_times(batch)):
        if record_time >= timestamp:
            return record_time, batch.base_offset + place
    return batch.base_timestamp, batch.base_offset


def newest(batch: Batch) -> tuple[int, int]:
    """Return the highest timestamp in a batch, and the offset of the first record that has it. If the records can't be
    decompressed, return the batch's highest timestamp and the offset of the first record.
    """
    return batch.max_timestamp, first_since(batch, batch.max_timestamp)[1]


def record_times(batch: Batch) -> Sequence[int]:
    """Return the timestamp of each record, in ms since 1970; empty if the records can't be decoded."""
    return _of_records(batch, lambda record: record.timestamp)


def keyless_records(batch: Batch) -> list[int]:
    """Return the positions in the batch, from 0, of the records without a key; empty if the records can't be
    decoded.
    """
    without = _of_records(batch, lambda record: record.key is None)
    return [place for place, missing in enumerate(without) if missing]


def _of_records(batch: Batch, value_of: Callable[[Record], int]) -> Sequence[int]:
    """Return the result of `value_of` for each record of a batch; empty if the records can't be decoded."""
    try:
        (decoded,) = batches(batch.data)
        return array("q", map(value_of, records(decoded, "", 0)))
    except (ValueError, OverflowError):  # not records, or too many bytes (see `wire.record_batches`)
        return ()


# -- markers (EndTransactionMarker, ControlRecordType) -----------------------------------------------------------------

_MARKER_KEY, _MARKER_VALUE = struct.Struct(">hh"), struct.Struct(">hi")
_ABORT, _COMMIT = 0, 1


def marker_batch(producer: int, epoch: int, coordinator_epoch: int, now: int, *, commit: bool) -> Batch:
    """Return the control batch with the marker that ends a transaction. now: milliseconds since 1970. commit: whether
    it commits; otherwise it aborts.
    """
    key = _MARKER_KEY.pack(0, _COMMIT if commit else _ABORT)
    value = _MARKER_VALUE.pack(0, coordinator_epoch)
    # The record consists of attributes, timestamp and offset delta; key and value, each after its length as a zigzag
    # varint; and the number of headers, 0.
    record = b"\0\0\0" + bytes([len(key) * 2]) + key + bytes([len(value) * 2]) + value + b"\0"
    data = bytearray(HEADER_SIZE) + bytes([len(record) * 2]) + record
    attributes = _TRANSACTIONAL | _CONTROL
    length = len(data) - _AFTER_LENGTH
    _HEADER.pack_into(data, 0, 0, length, 0, _MAGIC, 0, attributes, 0, now, now, producer, epoch, -1, 1)
    _CRC.pack_into(data, _CRC_AT, crc32c(bytes(data[_CRC_FROM:])))
    return read_batch(bytes(data), 0)


def marker_of(batch: Batch) -> tuple[bool, int] | None:
    """Return whether a marker commits, and its coordinator epoch; None if the batch is no control batch, or too
    short.
    """
    at = HEADER_SIZE + 5  # after the record's length, attributes, timestamp, offset delta and length of the key
    if not batch.control or len(batch.data) < at + _MARKER_KEY.size + 1 + _MARKER_VALUE.size:
        return None
    _, type_ = _MARKER_KEY.unpack_from(batch.data, at)
    _, epoch = _MARKER_VALUE.unpack_from(batch.data, at + _MARKER_KEY.size + 1)
    return type_ == _COMMIT, epoch
