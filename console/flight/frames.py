"""The file's frames: a length, a checksum and a payload each, which is compressed by itself.

    file    = MAGIC part…
    part    = HEADER frame…                    a new part begins where a record is appended to, and holds by itself
    frame   = length u32, CRC-32 of what follows u32, kind u8, payload
    HEADER  = JSON of `Header`
    KEY     = what was asked; its number is that of KEY frames before it in the part
    BODY    = what was answered, whole or as a delta on a BODY before it; numbered likewise
    PROBLEM = why there was no answer
    SAME    = which keys had the same answer, or problem, again, and when

All numbers in payloads are as `delta.put_number` writes them. A file that ends within a frame is whole up to there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from console.flight.delta import DamagedDelta, applied, difference, number_at, put_number
from console.wire.compression import Codec, DamagedData, decompress

MAGIC = b"kacflight\n"
HEADER, KEY, BODY, PROBLEM, SAME = range(5)
MOST_BYTES = 100 << 20
"""Bytes of an answer: as many as are read from a broker."""
MOST_FRAME = MOST_BYTES + (1 << 16)
WHOLE_LEVEL = 9
"""zstd: twice the time of level 3 for a twelfth less, and whole answers are rare."""

_HEAD = struct.Struct("<II")
_RAW, _ZSTD, _DELTA = range(3)
_SMALL = 64
"""Bytes below which compression gains nothing."""


class DamagedFrame(ValueError):
    """A frame that can't be read."""


class Frame(NamedTuple):
    """A frame in a file. start, end: of the payload."""

    kind: int
    start: int
    end: int


class Packed(NamedTuple):
    """Bytes as they are kept. delta: what is the next one's dictionary, empty for whole ones."""

    data: bytes
    delta: bytes


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


def packed(data: bytes, base: bytes | None = None, dictionary: bytes = b"") -> Packed:
    """The shorter of the bytes as a delta on `base`, and whole. dictionary: the delta that `base` came from."""
    if base is not None and len(data) >= _SMALL and (delta := difference(base, data, dictionary)) is not None:
        as_delta = Packed(_with_size(_DELTA, delta, _deflated(delta, dictionary)), delta)
        if len(as_delta.data) < len(data) // 16:
            return as_delta
        whole = Packed(_whole(data), b"")
        return min(as_delta, whole, key=lambda each: len(each.data))
    return Packed(_whole(data), b"")


def unpacked(data: bytes, base: bytes | None = None, dictionary: bytes = b"") -> tuple[bytes, bytes]:
    """What was packed, and the delta that is the next one's dictionary. Raises DamagedFrame."""
    try:
        code, at = number_at(data, 0)
        if code == _RAW:
            return data[at:], b""
        size, at = number_at(data, at)
        if size > MOST_BYTES:
            raise DamagedFrame(f"it holds {size:,} bytes")
        if code == _ZSTD:
            return bytes(decompress(Codec.ZSTD, data[at:], size)), b""
        if code != _DELTA or base is None:
            raise DamagedFrame(f"its form is {code}")
        inflating = zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary)
        delta = inflating.decompress(data[at:], size)
        if len(delta) != size:
            raise DamagedFrame("its delta ends too early")
        return applied(base, delta, MOST_BYTES), delta
    except DamagedFrame:
        raise
    except (DamagedData, DamagedDelta, zlib.error, IndexError, ValueError) as error:
        raise DamagedFrame(str(error)) from error


def _deflated(data: bytes, dictionary: bytes) -> bytes:
    deflating = zlib.compressobj(9, wbits=-zlib.MAX_WBITS, zdict=dictionary)
    return deflating.compress(data) + deflating.flush()


def _whole(data: bytes) -> bytes:
    if len(data) >= _SMALL:
        import cramjam

        squeezed = bytes(cramjam.zstd.compress(data, WHOLE_LEVEL))
        if len(squeezed) < len(data):
            return _with_size(_ZSTD, data, squeezed)
    return bytes((_RAW,)) + data


def _with_size(code: int, data: bytes, squeezed: bytes) -> bytes:
    head = bytearray((code,))
    put_number(head, len(data))
    return bytes(head) + squeezed
