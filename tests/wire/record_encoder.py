"""An encoder of record batches and old message sets, for forms that aiokafka's builder can't make: certain headers,
transaction markers, damage.
"""

import gzip
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import cramjam
from crc32c import crc32c

from console.model.records import Header


class Plain(NamedTuple):
    """A record before it is encoded. delta: its offset minus the first offset of its batch."""

    delta: int
    time: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


def varint(number: int) -> bytes:
    """Return a number as a zigzag varint, in the encoding of Protocol Buffers."""
    left, made = (number << 1) ^ (number >> 63), bytearray()
    left &= 2**64 - 1
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*made, left])


def sized(data: bytes | None) -> bytes:
    """Return the data with its length as a varint before it; only the length -1 for None."""
    return varint(-1) if data is None else varint(len(data)) + data


def record(plain: Plain, base_time: int) -> bytes:
    """Return the bytes of a record in format v2, with its length before it. base_time: the batch's first timestamp,
    Unix milliseconds.
    """
    headers = b"".join(sized(key) + sized(value) for key, value in plain.headers)
    body = b"".join(
        (
            b"\0",
            varint(plain.time - base_time),
            varint(plain.delta),
            sized(plain.key),
            sized(plain.value),
            varint(len(plain.headers)),
            headers,
        )
    )
    return varint(len(body)) + body


def xerial(data: bytes, block: int = 32 << 10) -> bytes:
    """Return the data compressed by Snappy, in the framing of snappy-java. block: the number of uncompressed bytes in
    each block.
    """
    made = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), block):
        part = bytes(cramjam.snappy.compress_raw(data[at : at + block]))
        made += struct.pack(">i", len(part)) + part
    return made


COMPRESS = {
    0: lambda data: data,
    1: lambda data: gzip.compress(data, 6),
    2: xerial,
    3: lambda data: bytes(cramjam.lz4.compress(data)),
    4: lambda data: bytes(cramjam.zstd.compress(data)),
    "raw snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
}
"""Codec -> the function that compresses bytes."""


def batch_of(body: bytes, count: int, last_delta: int, *, base: int = 0, attributes: int = 0, **header: int) -> bytes:
    """Return a batch (format v2) of records that are already encoded and compressed.

    Args:
        count: the number of records that the header claims.
        last_delta: the last offset minus the first.
        base: the first offset.
        header: fields that differ from those of a batch without a producer.
    """
    rest = struct.pack(
        ">hiqqqhii",
        attributes,
        last_delta,
        header.get("base_time", 0),
        header.get("max_time", 0),
        header.get("producer", -1),
        header.get("epoch", -1),
        header.get("sequence", -1),
        count,
    )
    rest += body
    crc = header.get("crc", crc32c(rest))
    length = 9 + len(rest)
    return struct.pack(">qiibI", base, length, header.get("leader_epoch", 0), 2, crc) + rest


def batch(
    records: Sequence[Plain], *, base: int = 0, codec: int | str = 0, attributes: int = 0, **header: int
) -> bytes:
    """Return a batch of these records. codec: Kafka's number of the compression, or ``raw snappy`` for Snappy without
    snappy-java's framing. base: the first offset.
    """
    base_time = records[0].time if records else 0
    body = COMPRESS[codec](b"".join(record(each, base_time) for each in records))
    number = codec if isinstance(codec, int) else 2
    last = max((each.delta for each in records), default=0)
    newest = max((each.time for each in records), default=0)
    times = {"base_time": base_time, "max_time": newest}
    return batch_of(body, len(records), last, base=base, attributes=attributes | number, **{**times, **header})


def marker(base: int, producer: int, *, commit: bool) -> bytes:
    """Return the control batch that commits or aborts a transaction. base: its offset. producer: the producer id."""
    ended = Plain(0, 0, struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 0))
    return batch([ended], base=base, attributes=0x30, producer=producer, epoch=0)


def message(offset: int, magic: int, time: int, key: bytes | None, value: bytes | None, attributes: int = 0) -> bytes:
    """Return a message of an old message set. magic: its format, 0 or 1. time: Unix milliseconds."""

    def old(data: bytes | None) -> bytes:
        return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data

    rest = struct.pack(">bb", magic, attributes) + (struct.pack(">q", time) if magic else b"") + old(key) + old(value)
    return struct.pack(">qiI", offset, 4 + len(rest), zlib.crc32(rest)) + rest
