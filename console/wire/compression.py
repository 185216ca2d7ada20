"""Decompression of record batches. Each codec stops at a size limit, because a kilobyte may expand to gigabytes.

Python's zlib reads gzip; cramjam reads snappy, lz4 and zstd. Kafka writes snappy in the blocks of snappy-java
("xerial"), other clients write it raw; both are read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from enum import IntEnum

Bytes = bytes | memoryview


class Codec(IntEnum):
    """The compression codecs of record batches, with the numbers of Kafka's CompressionType."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DamagedData(ValueError):
    """Compressed bytes that can't be decompressed. The exception's text says why."""


class TooLarge(DamagedData):
    """The data decompresses to more bytes than the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"its records decompress to more than {_size(limit)}")


def decompress(codec: int, data: Bytes, limit: int) -> Bytes:
    """Return the decompressed data, at most `limit` bytes. codec: a number of `Codec`.

    Raises DamagedData for an unknown codec or damaged data, and TooLarge before the memory exceeds the limit by much.
    """
    if codec == Codec.NONE:
        if len(data) > limit:
            raise TooLarge(limit)
        return data
    made = _CODECS.get(codec)
    if made is None:
        raise DamagedData(f"its compression {codec} is unknown")
    return made(data, limit)


class Scratch:
    """A reusable buffer into which one batch body after another is decompressed, without new memory for each.

    The body begins at the index `GAP` and ends at `end`. The caller may use the bytes before `GAP`; the bytes from
    `end` on have no meaning.
    """

    GAP = 64
    _SPARE = 64
    """Bytes of the buffer after the body: a decoder may read beyond the body's end."""
    _MOST_KEPT = 4 << 20

    def __init__(self) -> None:
        self.data = bytearray(_FIRST_BUFFER)
        self.end = self.GAP

    def unpack(self, codec: int, data: Bytes, limit: int) -> None:
        """Decompress a batch body into the buffer, from the index `GAP` up to `end`, in place of the previous body.
        limit: the maximum size of the decompressed body in bytes.

        Raises:
            DamagedData: the body can't be decompressed.
            TooLarge: the decompressed body would exceed the limit.
        """
        if len(self.data) > self._MOST_KEPT:
            self.data = bytearray(_FIRST_BUFFER)
        if codec in _IN_PLACE:
            self.end = self._in_place(_IN_PLACE[codec], data, limit)
            return
        made = decompress(codec, data, limit)
        self._need(len(made))
        self.end = self.GAP + len(made)
        self.data[self.GAP : self.end] = made

    def _need(self, size: int) -> None:
        if self.GAP + size + self._SPARE > len(self.data):
            self.data = bytearray(self.GAP + size + self._SPARE)

    def _in_place(self, name: str, data: Bytes, limit: int) -> int:
        import cramjam

        size = max(len(self.data) - self.GAP - self._SPARE, min(limit, _GROWTH * len(data)))
        while True:
            size = min(size, limit)
            self._need(size)
            with memoryview(self.data) as whole, whole[self.GAP : self.GAP + size] as room:
                try:
                    return self.GAP + int(getattr(cramjam, name).decompress_into(data, room))
                except cramjam.DecompressionError as error:
                    if _FULL not in str(error):
                        raise DamagedData(f"its {name} is damaged: {error}") from error
                    if size == limit:
                        raise TooLarge(limit) from None
            size *= _GROWTH


_FIRST_PIECE = 256


def _gzip(data: Bytes, limit: int) -> bytes:
    """Decompress all consecutive gzip members. Ignore the bytes after the last member, as Java's GZIPInputStream does;
    also ignore a damaged member that is not the first, with everything after it. Raises TooLarge, and DamagedData if
    the first member is damaged or any member ends too early.
    """
    made, view, at = bytearray(), memoryview(data), 0
    while True:
        unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        begins, piece = at, _FIRST_PIECE
        try:
            while not unpacking.eof:
                # Begin with small pieces: zlib copies the bytes after a member with the member's last piece; with large
                # pieces, many small members would copy the same bytes again and again.
                part = view[at : at + piece]
                if not part:
                    raise DamagedData("its gzip ends too early")
                at, piece = at + len(part), piece * 2
                made += unpacking.decompress(part, limit - len(made) + 1)
                if len(made) > limit:
                    raise TooLarge(limit)
        except zlib.error as error:
            if made and begins:
                return bytes(made)
            raise DamagedData(f"its gzip is damaged: {error}") from error
        at -= len(unpacking.unused_data)
        if bytes(view[at : at + 2]) != b"\x1f\x8b":
            return bytes(made)


_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_BLOCK = struct.Struct(">i")


def _snappy(data: Bytes, limit: int) -> bytes:
    """Decompress a raw snappy block, or the format of snappy-java: magic bytes, two version numbers, then blocks, each
    after its size. Raises DamagedData and TooLarge.
    """
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return _snappy_block(data, limit)
    view, made, at = memoryview(data), bytearray(), _XERIAL_HEADER
    while at < len(view):
        if bytes(view[at : at + len(_XERIAL)]) == _XERIAL:  # several streams in sequence
            at += _XERIAL_HEADER
            continue
        if at + _BLOCK.size > len(view):
            raise DamagedData("its snappy ends within the size of a block")
        (size,) = _BLOCK.unpack_from(view, at)
        at += _BLOCK.size
        if not 0 <= size <= len(view) - at:
            raise DamagedData(f"its snappy has a block of {size} bytes, and {len(view) - at} are left")
        try:
            made += _snappy_block(view[at : at + size], limit - len(made))
        except TooLarge:
            raise TooLarge(limit) from None
        at += size
    return bytes(made)


def _snappy_block(data: Bytes, limit: int) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(data)
        if size > limit:
            raise TooLarge(limit)
        return bytes(cramjam.snappy.decompress_raw(data))
    except cramjam.DecompressionError as error:
        raise DamagedData(f"its snappy is damaged: {error}") from error


_FIRST_BUFFER = 64 << 10
_GROWTH = 8
_FULL = "whole buffer"
"""The part of cramjam's error message by which kac recognizes that the output buffer is too small."""


def _into(codec: str) -> Callable[[Bytes, int], bytes]:
    """Return a function of (data, limit in bytes) that decompresses by this codec of cramjam's. Its output buffer
    starts small and grows up to the limit.
    """

    def unpack(data: Bytes, limit: int) -> bytes:
        import cramjam

        decompress_into = getattr(cramjam, codec).decompress_into
        size = min(limit, max(_FIRST_BUFFER, _GROWTH * len(data)))
        while True:
            buffer = bytearray(size)
            try:
                written = decompress_into(data, buffer)
            except cramjam.DecompressionError as error:
                if _FULL not in str(error):
                    raise DamagedData(f"its {codec} is damaged: {error}") from error
                if size == limit:
                    raise TooLarge(limit) from None
                size = min(limit, size * _GROWTH)
                continue
            del buffer[written:]
            return bytes(buffer)

    return unpack


_IN_PLACE: Mapping[int, str] = {Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}
_CODECS: Mapping[int, Callable[[Bytes, int], bytes]] = {
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _into("lz4"),
    Codec.ZSTD: _into("zstd"),
}


def _size(limit: int) -> str:
    return f"{limit >> 20} MiB" if limit >= 1 << 20 and limit % (1 << 20) == 0 else f"{limit:,} bytes"
