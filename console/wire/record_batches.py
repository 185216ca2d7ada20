"""Decoder of the record batches in Fetch responses: format v2 (KIP-98), and the message formats v0 and v1 of old logs.

The data is untrusted: checksums are verified, sizes and counts are compared with the actual bytes, and decompression
stops at a limit. A batch that can't be decoded is yielded with a `problem`; the batches after it are decoded.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from crc32c import crc32c

from console.lean_imports import import_alone
from console.model.records import NO_TIMESTAMP, BatchFacts, Header, Record
from console.wire.compression import Codec, DamagedData, Scratch, decompress

_ENTRY = struct.Struct(">qi")
"""The first twelve bytes of a batch or an old message: its offset, and the number of bytes after these twelve."""
HEADER = struct.Struct(">qiibIhiqqqhii")
"""The header of a batch in format v2; `BatchHeader` names its fields."""
_MAGIC_AT, _CRC_FROM, _LAST_DELTA_AT = 16, 21, 23
_LAST_DELTA = struct.Struct(">i")
_V0, _V1 = struct.Struct(">Ibb"), struct.Struct(">Ibbq")
"""crc, magic and attributes; v1 also has a timestamp."""
_SIZE = struct.Struct(">i")
_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_MESSAGE_LEAST = _V0.size + 2 * _SIZE.size

MOST_UNPACKED = 32 << 20
"""Maximum size in bytes of a batch's decompressed records."""
_LEAST_RECORD = 7
"""Size in bytes of the smallest possible record: seven fields of one byte each."""


_AT_ONCE = 1 << 12
"""Number of records that are skipped between two checks of the time limit."""


class BatchHeader(NamedTuple):
    """The fields of a batch's header in format v2, under Kafka's names."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int


class BatchDamage(ValueError):
    """A batch, or the rest of it after some records, can't be decoded. The exception's text says why."""


class Batch(NamedTuple):
    """One batch of format v2, or one old message, whose records are still encoded."""

    base_offset: int
    """The offset of the first record, as the header states it; it may be wrong, because the checksum does not cover
    this field. For a compressed old message, the offset of its last record.
    """
    last_offset: int
    """The offset of the last record, as the header states it."""
    facts: BatchFacts
    control: bool
    base_timestamp: int
    max_timestamp: int
    codec: int
    body: memoryview
    problem: str = ""
    """The reason why the batch can't be decoded; ``""`` if none is known yet."""

    @property
    def aborts(self) -> bool:
        """Whether the batch is a control batch that marks an aborted transaction (EndTransactionMarker). Raises
        BatchDamage.
        """
        if not self.control:
            return False
        for record in records(self, "", 0):
            # The key of a control record has a version and a type, both int16; type 0 is ABORT (ControlRecordType).
            return record.key is not None and record.key[2:4] == b"\x00\x00"
        return False


def batches(data: bytes) -> Iterator[Batch]:
    """Yield the batches in a partition's bytes from a Fetch response, in order.

    A batch that is cut off at the end is left out, since brokers cut batches off; if it is the only one, it is yielded
    with a problem. A batch with an impossible length is yielded with a problem, and ends the iteration.
    """
    view, at = memoryview(data), 0
    while len(data) - at >= _ENTRY.size:
        base, length = _ENTRY.unpack_from(data, at)
        end = at + _ENTRY.size + length
        if length < _MESSAGE_LEAST or end > len(data):
            if at == 0 or length < _MESSAGE_LEAST:
                why = f"it claims {length:,} bytes, and {len(data) - at - _ENTRY.size:,} are there"
                yield _damaged(base, base, -1, why)
            return
        yield _batch(data, view, at, end)
        at = end
    if at == 0 and data:
        yield _damaged(-1, -1, -1, f"{len(data)} bytes are no record batch")


def end_of_batches(data: bytes) -> int | None:
    """Return the Kafka offset that follows the last record of the last complete batch, by the batches' headers alone;
    None if no batch is complete, or if the offsets in the headers are impossible.
    """
    end, at = None, 0
    while len(data) - at >= HEADER.size:
        base, length = _ENTRY.unpack_from(data, at)
        after = at + _ENTRY.size + length
        if length < _MESSAGE_LEAST or after > len(data):
            break
        last = _LAST_DELTA.unpack_from(data, at + _LAST_DELTA_AT)[0] if data[at + _MAGIC_AT] == 2 else 0
        if base < 0 or last < 0 or (end is not None and base < end):
            return None
        end, at = base + last + 1, after
    return end


def _batch(data: bytes, view: memoryview, at: int, end: int) -> Batch:
    magic = data[at + _MAGIC_AT]
    if magic < 2:
        return _message(view[at:end])
    if magic > 2:
        return _damaged(_ENTRY.unpack_from(data, at)[0], -1, magic, f"its format {magic} is unknown")
    if end - at < HEADER.size:
        base = _ENTRY.unpack_from(data, at)[0]
        return _damaged(base, base, magic, f"its {end - at} bytes are less than a header")
    head = BatchHeader(*HEADER.unpack_from(data, at))
    base, attributes = head.base_offset, head.attributes
    codec = attributes & _CODEC
    facts = BatchFacts(
        base,
        head.leader_epoch,
        head.producer_id,
        head.producer_epoch,
        head.base_sequence,
        _codec_name(codec),
        bool(attributes & _APPEND_TIME),
        bool(attributes & _TRANSACTIONAL),
        magic,
        end - at,
        head.records,
    )
    problem = ""
    if crc32c(view[at + _CRC_FROM : end]) != head.crc:
        problem = "its checksum is wrong"
    elif head.last_offset_delta < 0:
        problem = f"its last offset is {head.last_offset_delta} from its first"
    return Batch(
        base,
        base + max(head.last_offset_delta, 0),
        facts,
        bool(attributes & _CONTROL),
        head.base_timestamp,
        head.max_timestamp,
        codec,
        view[at + HEADER.size : end],
        problem,
    )


def _damaged(base: int, last: int, magic: int, problem: str) -> Batch:
    facts = BatchFacts(base, magic=magic, claimed=0)
    return Batch(base, last, facts, False, NO_TIMESTAMP, NO_TIMESTAMP, 0, memoryview(b""), problem)


def _codec_name(codec: int) -> str:
    try:
        return Codec(codec).name.lower()
    except ValueError:
        return f"unknown ({codec})"


class OutOfTime(Exception):
    """The time limit was reached while the records before the first wanted record were skipped."""


def _never() -> bool:
    return False


def unpack(batch: Batch, scratch: Scratch, limit: int = MOST_UNPACKED) -> None:
    """Decompress the records of a batch of format v2 into the reusable buffer `scratch`. limit: the maximum size of the
    decompressed records in bytes. Raises BatchDamage.
    """
    if batch.problem:
        raise BatchDamage(batch.problem)
    try:
        scratch.unpack(batch.codec, batch.body, limit)
    except DamagedData as error:
        raise BatchDamage(str(error)) from error


def unpacked_records(batch: Batch, scratch: Scratch, topic: str, partition: int, start: int = -1) -> Iterator[Record]:
    """Yield the records from the offset `start` on of a batch whose body `unpack` has put into the buffer `scratch`.

    aiokafka's decoder in C decodes them; where it fails, this module's own decoder continues and reports the fault. The
    caller must not use `scratch` for another batch before the last record.

    Raises:
        BatchDamage: the batch, or the rest of it, can't be decoded.
    """
    facts, last, size = batch.facts, batch.last_offset, scratch.end - scratch.GAP
    done = 0
    if 0 <= facts.claimed * _LEAST_RECORD <= size:
        begin = scratch.GAP - HEADER.size
        scratch.data[begin : scratch.GAP] = _plain_header(batch, size)
        with memoryview(scratch.data)[begin : scratch.end] as whole:
            try:
                for each in _fast().DefaultRecordBatch(whole):
                    offset = each.offset
                    if not batch.base_offset <= offset <= last:
                        break
                    done += 1
                    if offset < start:
                        continue
                    headers = each.headers
                    made = tuple([(name.encode(), value) for name, value in headers]) if headers else ()
                    yield Record(topic, partition, offset, each.timestamp, each.key, each.value, made, facts)
                else:
                    return
            except _FAST_FAULTS:
                pass
    body = bytes(memoryview(scratch.data)[scratch.GAP : scratch.end])
    yield from _records(batch, body, topic, partition, start, _never, done)


def _plain_header(batch: Batch, size: int) -> bytes:
    """Return a header with which the decoder in C reads the batch's decompressed records: that of an uncompressed
    batch with the same records. size: the size of the decompressed records in bytes.
    """
    facts = batch.facts
    return HEADER.pack(
        batch.base_offset,
        size + HEADER.size - _ENTRY.size,
        facts.leader_epoch,
        2,
        0,
        _APPEND_TIME if facts.append_time else 0,
        batch.last_offset - batch.base_offset,
        batch.base_timestamp,
        batch.max_timestamp,
        facts.producer_id,
        facts.producer_epoch,
        facts.base_sequence,
        facts.claimed,
    )


@cache
def _fast() -> Any:
    """Return aiokafka's decoder in C."""
    return import_alone("aiokafka.record._crecords.default_records")


_FAST_FAULTS = (Exception,)
"""The errors of the decoder in C after which this module's own decoder continues: all errors."""


def records(
    batch: Batch,
    topic: str,
    partition: int,
    start: int = -1,
    limit: int = MOST_UNPACKED,
    is_over: Callable[[], bool] = _never,
) -> Iterator[Record]:
    """Return an iterator over the records of a batch from the offset `start` on. It decodes each record when it is
    needed.

    Args:
        limit: the maximum size of the batch's decompressed records in bytes.
        is_over: function that is called after every 4,096 skipped records before `start`; if it returns True, the
            iteration ends with OutOfTime.

    Raises:
        BatchDamage: the batch, or the rest of it, can't be decoded.
        OutOfTime: `is_over` returned True.
    """
    if batch.problem:
        raise BatchDamage(batch.problem)
    try:
        body = decompress(batch.codec, batch.body, limit)
    except DamagedData as error:
        raise BatchDamage(str(error)) from error
    if batch.facts.magic < 2:
        return _old_records(batch, bytes(body), topic, partition, start, is_over)
    return _records(batch, bytes(body), topic, partition, start, is_over)


class _Truncated(Exception):
    """Raised for an invalid field of a record: a varint, a length, an offset or a count."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a zigzag varint of up to 64 bits; return it and the index after it. Raises IndexError at the end of the
    data, and _Truncated for a longer varint.
    """
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + 1
        shift += 7
        if shift > 63:
            raise _Truncated("a varint of more than ten bytes")


def _records(
    batch: Batch, body: bytes, topic: str, partition: int, start: int, is_over: Callable[[], bool], done: int = 0
) -> Iterator[Record]:
    """Yield the records of a decompressed batch of format v2, except those before the offset `start` and the first
    `done` records, which the caller has yielded before. Raises BatchDamage, OutOfTime.
    """
    facts, base, count = batch.facts, batch.base_offset, batch.facts.claimed
    if count < 0 or count * _LEAST_RECORD > len(body):
        raise BatchDamage(f"it claims {count:,} records in {len(body):,} bytes")
    last_delta = batch.last_offset - base
    at, size = 0, len(body)
    offset = base - 1
    try:
        for place in range(count):
            length, at = _varint(body, at)
            end = at + length
            if length < _LEAST_RECORD - 1 or end > size:
                raise _Truncated(f"a record of {length:,} bytes, and {size - at:,} are left")
            time_delta, at = _varint(body, at + 1)
            delta, at = _varint(body, at)
            if not 0 <= delta <= last_delta:
                raise _Truncated(f"a record {delta} offsets after the first of {last_delta + 1}")
            offset = base + delta
            if offset < start or place < done:
                at = end
                if place % _AT_ONCE == _AT_ONCE - 1 and is_over():
                    raise OutOfTime
                continue
            key, at = _field(body, at, end)
            value, at = _field(body, at, end)
            headers: tuple[Header, ...] = ()
            if body[at]:
                headers, at = _headers(body, at, end)
            else:
                at += 1
            if at != end:
                raise _Truncated(f"a record that is {end - at} bytes longer than its fields")
            time = batch.max_timestamp if facts.append_time else batch.base_timestamp + time_delta
            yield Record(topic, partition, offset, time, key, value, headers, facts)
    except (IndexError, _Truncated) as error:
        raise BatchDamage(f"after offset {offset} comes {_why(error)}") from error
    if at != size:
        raise BatchDamage(f"{size - at:,} bytes follow its last record")


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, _Truncated) else "the end of the batch within a record"


def _field(body: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = _varint(body, at)
    if length < 0:
        return None, at
    stop = at + length
    if stop > end:
        raise _Truncated(f"a key or value of {length:,} bytes, and {end - at:,} are left")
    return body[at:stop], stop


def _headers(body: bytes, at: int, end: int) -> tuple[tuple[Header, ...], int]:
    count, at = _varint(body, at)
    if count < 0 or count * 2 > end - at:
        raise _Truncated(f"{count:,} headers in {end - at:,} bytes")
    found: list[Header] = []
    for _ in range(count):
        key, at = _field(body, at, end)
        if key is None:
            raise _Truncated("a header without a key")
        value, at = _field(body, at, end)
        found.append((key, value))
    return tuple(found), at


# -- message sets (before Kafka 0.11) ----------------------------------------------------------------------------------


def _message(data: memoryview) -> Batch:
    """Return a message of format v0 or v1 as a batch. If the message is compressed, its value is a compressed set of
    messages, which becomes the batch's body.
    """
    offset, _ = _ENTRY.unpack_from(data, 0)
    at = _ENTRY.size
    magic = data[_MAGIC_AT]
    head = _V1 if magic else _V0
    timestamp = NO_TIMESTAMP
    if len(data) < at + head.size + 2 * _SIZE.size:
        return _damaged(offset, offset, magic, f"its {len(data)} bytes are less than a message")
    if magic:
        crc, _, attributes, timestamp = _V1.unpack_from(data, at)
    else:
        crc, _, attributes = _V0.unpack_from(data, at)
    codec = attributes & _CODEC
    append_time = bool(magic and attributes & _APPEND_TIME)
    facts = BatchFacts(offset, codec=_codec_name(codec), append_time=append_time, magic=magic)
    problem = "" if zlib.crc32(data[at + 4 :]) == crc else "its checksum is wrong"
    body = data[at + head.size :]
    if codec and not problem:
        body, problem = _inner_set(body)
    return Batch(offset, offset, facts, False, timestamp, timestamp, codec, body, problem)


def _inner_set(body: memoryview) -> tuple[memoryview, str]:
    """Return the value of a compressed message, and ``""``; if it has no valid value, return its body, and the
    reason.
    """
    try:
        _, at = _old_field(body, 0)
        value, _ = _old_field(body, at)
    except _Truncated as error:
        return body, str(error)
    return (memoryview(value), "") if value is not None else (body, "its set of messages is null")


def _old_records(
    batch: Batch, body: bytes, topic: str, partition: int, start: int, is_over: Callable[[], bool]
) -> Iterator[Record]:
    """Yield the record of an uncompressed message, or the records in a compressed one, from the offset `start` on. In
    format v1 the offsets in a compressed message are relative to its first record (KIP-31). Raises BatchDamage,
    OutOfTime.
    """
    if batch.codec == Codec.NONE:
        if batch.base_offset >= start:
            yield _old_record(batch, body, topic, partition, batch.base_offset, batch.base_timestamp)
        return
    moved = batch.base_offset - _last_offset(body) if batch.facts.magic else 0
    for place, message in enumerate(batches(body)):
        if place % _AT_ONCE == _AT_ONCE - 1 and is_over():
            raise OutOfTime
        if message.problem or message.codec or message.facts.magic != batch.facts.magic:
            raise BatchDamage(message.problem or "its set of messages is nested")
        offset = message.base_offset + moved
        if offset >= start:
            time = batch.base_timestamp if batch.facts.append_time else message.base_timestamp
            yield _old_record(batch, bytes(message.body), topic, partition, offset, time)


def _last_offset(body: bytes) -> int:
    """Return the offset of the last message in a decompressed set of messages. Raises BatchDamage for an empty set."""
    at, last = 0, None
    while len(body) - at >= _ENTRY.size:
        offset, length = _ENTRY.unpack_from(body, at)
        at += _ENTRY.size + max(length, _MESSAGE_LEAST)
        last = offset if at <= len(body) else last
    if last is None:
        raise BatchDamage("its set of messages is empty")
    return int(last)


def _old_record(batch: Batch, body: bytes, topic: str, partition: int, offset: int, time: int) -> Record:
    try:
        key, at = _old_field(body, 0)
        value, at = _old_field(body, at)
    except _Truncated as error:
        raise BatchDamage(str(error)) from error
    if at != len(body):
        raise BatchDamage(f"{len(body) - at:,} bytes follow its value")
    return Record(topic, partition, offset, time, key, value, (), batch.facts)


def _old_field(body: bytes | memoryview, at: int) -> tuple[bytes | None, int]:
    if at + _SIZE.size > len(body):
        raise _Truncated("a message that ends within a length")
    (length,) = _SIZE.unpack_from(body, at)
    at += _SIZE.size
    if length == -1:
        return None, at
    if not 0 <= length <= len(body) - at:
        raise _Truncated(f"a key or value of {length:,} bytes, and {len(body) - at:,} are left")
    return bytes(body[at : at + length]), at + length
