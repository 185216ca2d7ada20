"""The file's frames: a length, a checksum and a payload each.

    file    = MAGIC part…
    part    = HEADER frame…                    a new part begins where a record is appended to, and holds by itself
    frame   = length u32, CRC-32 of what follows u32, kind u8, payload
    HEADER  = JSON of `Header`
    BLOCK   = what was asked and answered within about a second (`block`)

Parts of the first format have other frames in place of blocks (`first_format`). All numbers in payloads are as
`delta.put_number` writes them. A file that ends within a frame is whole up to there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from console.flight.delta import number_at, put_number
from console.wire.compression import Codec, DamagedData, decompress

MAGIC = b"kacflight\n"
HEADER, BLOCK = 0, 5
MOST_BYTES = 100 << 20
"""Bytes of an answer: as many as are read from a broker."""
MOST_FRAME = MOST_BYTES + (1 << 16)
WHOLE_LEVEL = 9
"""zstd: twice the time of level 3 for a twelfth less, and whole answers are rare."""

_HEAD = struct.Struct("<II")
RAW, ZSTD = range(2)
_SMALL = 64
"""Bytes below which compression gains nothing."""


class DamagedFrame(ValueError):
    """A frame that can't be read."""


class Held:
    """The memory that a file may take for what is kept of it as long as it is open: one budget for all of it."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, size: int) -> None:
        """Hold so many bytes more. Raises DamagedFrame where that is too much."""
        self._left -= size
        if self._left < 0:
            raise DamagedFrame(f"it takes more than {self._most >> 20} MiB of memory")


class Frame(NamedTuple):
    """A frame in a file. start, end: of the payload."""

    kind: int
    start: int
    end: int


def framed(kind: int, payload: bytes | bytearray) -> bytes:
    """A frame of this payload."""
    content = bytes((kind,)) + payload
    return _HEAD.pack(len(content), zlib.crc32(content)) + content


def frames_of(data: bytes, at: int) -> Iterator[Frame]:
    """The frames from there on; ends where the data end within one. Raises DamagedFrame."""
    while at + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, at)
        start, end = at + _HEAD.size, at + _HEAD.size + length
        if not 1 <= length <= MOST_FRAME:
            raise DamagedFrame(f"byte {at:,}: a frame of {length:,} bytes")
        if end > len(data):
            return
        if zlib.crc32(memoryview(data)[start:end]) != checksum:
            raise DamagedFrame(f"byte {at:,}: the checksum of a frame is wrong")
        yield Frame(data[start], start + 1, end)
        at = end


def squeezed(data: bytes) -> bytes:
    """The bytes compressed, if that makes them shorter."""
    if len(data) >= _SMALL:
        import cramjam

        made = bytes(cramjam.zstd.compress(data, WHOLE_LEVEL))
        if len(made) < len(data):
            head = bytearray((ZSTD,))
            put_number(head, len(data))
            return bytes(head) + made
    return bytes((RAW,)) + data


def unsqueezed(data: bytes) -> bytes:
    """What was compressed. Raises DamagedFrame."""
    try:
        code, at = number_at(data, 0)
        if code == RAW:
            return data[at:]
        size, at = number_at(data, at)
        if size > MOST_BYTES:
            raise DamagedFrame(f"it holds {size:,} bytes")
        if code != ZSTD:
            raise DamagedFrame(f"its form is {code}")
        return bytes(decompress(Codec.ZSTD, data[at:], size))
    except (DamagedData, IndexError, ValueError) as error:
        raise DamagedFrame(str(error)) from error
