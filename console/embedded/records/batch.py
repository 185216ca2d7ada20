"""Record batches of format v2: read from what producers send, kept as bytes (DefaultRecordBatch)."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
"""Bytes of a batch's records, unpacked, that are looked at."""


class Codec(IntEnum):
    """How a batch's records are compressed (CompressionType)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CorruptBatch(ValueError):
    """The bytes are no whole batch, or its checksum is not theirs (CORRUPT_MESSAGE)."""


class InvalidBatch(ValueError):
    """A batch that no broker takes from a producer; the text says why (INVALID_RECORD)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch. data: all its bytes. Timestamps are milliseconds since 1970."""

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
        """How its records are compressed: a Codec, or a number that is none."""
        return self.attributes & _CODEC

    @property
    def last_sequence(self) -> int:
        """The sequence number of its last record; they go on from 0 after 2^31 - 1."""
        return sequence_after(self.base_sequence, self.last_offset - self.base_offset)


def sequence_after(sequence: int, steps: int) -> int:
    """The sequence number so many steps on (DefaultRecordBatch.incrementSequence)."""
    return (sequence + steps) % 2**31


def produced(data: bytes) -> Batch:
    """The one batch that a producer sent for a partition. Raises CorruptBatch, InvalidBatch."""
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
    """The batch that begins there. Raises CorruptBatch, InvalidBatch."""
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


def placed(batch: Batch, offset: int, leader_epoch: int, append_time: int | None = None) -> Batch:
    """The batch as it is kept: at an offset, under a leader's epoch; append_time puts that in the place of the
    producer's timestamps (message.timestamp.type=LogAppendTime)."""
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
    """Timestamp and offset of the batch's first record that is no older than a moment, of which it has one.

    Where its codec is not at hand here, that of its first record stands for it.
    """
    if batch.attributes & _LOG_APPEND_TIME:
        return batch.max_timestamp, batch.base_offset
    for place, record_time in enumerate(record_times(batch)):
        if record_time >= timestamp:
            return record_time, batch.base_offset + place
    return batch.base_timestamp, batch.base_offset


def newest(batch: Batch) -> tuple[int, int]:
    """Timestamp and offset of the batch's first record with its highest timestamp."""
    return batch.max_timestamp, first_since(batch, batch.max_timestamp)[1]


def record_times(batch: Batch) -> Sequence[int]:
    """Timestamps of the records, in their order; none where the records can't be unpacked (see `_unpacked`)."""
    return _of_records(batch, lambda record: record.timestamp)


def keyless(batch: Batch) -> list[int]:
    """The places, from 0 on, of the batch's records that have no key; none where they can't be unpacked."""
    without = _of_records(batch, lambda record: record.key is None)
    return [place for place, missing in enumerate(without) if missing]


def _of_records(batch: Batch, look: Callable[[Any], int]) -> Sequence[int]:
    """What `look` returns for each of aiokafka's records of a batch."""
    from aiokafka.errors import KafkaError  # type: ignore[import-untyped]
    from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]

    plain = _unpacked(batch)
    if plain is None:
        return ()
    try:
        return array("q", map(look, DefaultRecordBatch(plain)))
    except (KafkaError, RuntimeError, ValueError, OverflowError):  # records that are none
        return ()


def _unpacked(batch: Batch) -> bytes | None:
    """The batch without compression; None for a codec that Python lacks, for damaged data, and for more than
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
