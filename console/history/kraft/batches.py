"""Record batches of format v2 (KIP-98): their headers, checksums and what is compressed in them."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
from crc32c import crc32c

HEADER_BYTES = 61
LENGTH_AT = 12
"""What a batch's length does not count."""

LEAST_LENGTH = HEADER_BYTES - LENGTH_AT

CRC_AT = 17
CRC_FROM = 21
MAGIC_AT = 16
MAGIC = 2
COMPRESSION = 0x07
LOG_APPEND_TIME = 0x08
CONTROL = 0x20
MOST_BYTES = 128 << 20
"""The most that a batch may unpack to; more is an attack or damage."""

unpack_header = struct.Struct(">qiiBIhiqq14xi").unpack_from
_XERIAL = b"\x82SNAPPY\x00"


class Header(NamedTuple):
    """A batch's header. length: bytes after the first twelve. Timestamps in milliseconds."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_delta: int
    base_ts: int
    max_ts: int
    records: int


def is_whole(data: bytes | memoryview, at: int, end: int, crc: int) -> bool:
    """Whether the batch at these bytes has its checksum."""
    return bool(crc32c(memoryview(data)[at + CRC_FROM : end]) == crc)


def unpacked(codec: int, data: bytes) -> bytes:
    """The records of a compressed batch. Raises ValueError where they can't be unpacked, or are too many."""
    unpack = _CODECS.get(codec)
    if unpack is None:
        raise ValueError(f"compression {codec} is not known")
    try:
        made = unpack(data)
    except (OSError, EOFError, zlib.error, struct.error, IndexError) as reason:
        raise ValueError(f"its compression is damaged: {reason}") from reason
    _check_size(len(made))
    return made


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"it unpacks to more than {MOST_BYTES >> 20} MiB")


def _gzip(data: bytes) -> bytes:
    with gzip.open(pa.BufferReader(data)) as file:
        made: bytes = file.read(MOST_BYTES + 1)
    return made


def _streamed(name: str) -> Callable[[bytes], bytes]:
    def unpack(data: bytes) -> bytes:
        with pa.CompressedInputStream(pa.BufferReader(data), name) as stream:
            made: bytes = stream.read(MOST_BYTES + 1)
        return made

    return unpack


def _snappy(data: bytes) -> bytes:
    """Raw, or in the frames of snappy-java: a magic, two versions, then blocks behind their sizes."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data)
    at, made = 16, bytearray()
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        # Each block alone may be small enough, and all of them together too many.
        made += _snappy_block(data[at + 4 : at + 4 + size], len(made))
        at += 4 + size
    return bytes(made)


def _snappy_block(data: bytes, before: int = 0) -> bytes:
    """before: bytes that the blocks before it unpacked to."""
    size = shift = 0
    for byte in data[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    _check_size(before + size)
    made: bytes = pa.Codec("snappy").decompress(data, size, asbytes=True)
    return made


_CODECS: dict[int, Callable[[bytes], bytes]] = {
    1: _gzip,
    2: _snappy,
    3: _streamed("lz4"),
    4: _streamed("zstd"),
}
