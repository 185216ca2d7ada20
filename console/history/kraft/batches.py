"""Record batches of format v2 (KIP-98) in a file: headers, checksums, compression, damage, and the log's transactions
(KIP-866).
"""

from __future__ import annotations

import gzip
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Literal, NamedTuple

import pyarrow as pa
from crc32c import crc32c

from console.history.kraft.schemas import MalformedRecordError, uvarint

HEADER_BYTES = 61
LENGTH_AT = 12
"""Bytes of a batch before those that its length counts."""

LEAST_LENGTH = HEADER_BYTES - LENGTH_AT

CRC_FROM = 21
MAGIC_AT = 16
MAGIC = 2
COMPRESSION = 0x07
LOG_APPEND_TIME = 0x08
CONTROL = 0x20
MOST_BYTES = 128 << 20
"""Limit for the unpacked records of a batch; more is an attack or damage."""

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
    """Whether the checksum of the batch at these bytes is right."""
    return bool(crc32c(memoryview(data)[at + CRC_FROM : end]) == crc)


def unpacked(codec: int, data: bytes) -> bytes:
    """The records of a compressed batch. Raises ValueError: damaged, an unknown compression, or larger than
    MOST_BYTES."""
    unpack = _CODECS.get(codec)
    if unpack is None:
        raise ValueError(f"unknown compression {codec}")
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
    """Raw snappy, or the format of snappy-java: a magic, two versions, then blocks after their sizes."""
    if not data.startswith(_XERIAL):
        return _snappy_block(data)
    at, made = 16, bytearray()
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        # Each block may be small enough, and all of them together too large.
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


# -- the batches of a file, and damage between them ------------------------------------------------------------------

WINDOW = 8 << 20
"""Bytes that are held at once, besides a batch that is larger."""

_Head = tuple[int, int, int, int, int, int, int]
"""Of a header: base offset, length, epoch, magic, checksum, attributes, difference of the last offset."""

_unpack = struct.Struct(">qiiBIhi").unpack_from
_MAGIC = bytes([MAGIC])
_SHORT = "the file ends within it"
_LENGTH = "wrong length"
_HEADER = "no batch header"
_CHECKSUM = "wrong checksum"


class Batch(NamedTuple):
    """A whole batch: its first and last byte in the file (`end`: behind it), its first and last offset."""

    at: int
    end: int
    first: int
    last: int
    is_control: bool


@dataclass(frozen=True)
class Window:
    """Whole batches that follow one another. data: the bytes of the file from `at` on, which contain them all."""

    at: int
    data: bytes
    batches: list[Batch]


@dataclass(frozen=True)
class Damage:
    """Bytes of the file that are no batch. offset: the least offset of the record that belongs there."""

    at: int
    data: bytes
    offset: int
    reason: str


@dataclass(frozen=True)
class CutTail:
    """The file ends within its last batch, as it does while it is written: no error. data: the batch's header."""

    at: int
    data: bytes


def walk(file: BinaryIO, first_offset: int) -> Iterator[Window | Damage | CutTail]:
    """The parts of a file, from its beginning. first_offset: that of its first batch.

    A checksum covers neither a batch's offset nor its epoch. But the log has no holes and epochs only grow, so both
    have to fit the batches around them.
    """
    return _Walk(file, first_offset).parts()


class _Walk:
    def __init__(self, file: BinaryIO, first_offset: int) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._expected = first_offset
        self._epoch = -(1 << 31)
        self._is_certain = True  # whether `_expected` is the next offset, or only the least possible one

    def parts(self) -> Iterator[Window | Damage | CutTail]:
        at = 0
        while at < self._size:
            window, reason = self._window(at)
            if window.batches:
                yield window
                at = window.batches[-1].end
            if reason is None:
                continue
            found = self._next(at)
            if found is None and reason == _SHORT:
                yield CutTail(at, self._read(at, HEADER_BYTES))
                return
            end = self._size if found is None else found
            yield Damage(
                at, self._read(at, min(end - at, WINDOW)), self._expected, _LENGTH if reason == _SHORT else reason
            )
            self._is_certain = False
            at = end

    def _window(self, start: int) -> tuple[Window, str | None]:
        """The whole batches from a byte on, as many as are held at once; and why the next one is damaged, if it is."""
        data = self._read(start, WINDOW)
        batches: list[Batch] = []
        at, left = 0, self._size - start
        head = _head(data, 0)
        while at < left:
            if head is None:
                return Window(start, data, batches), _SHORT if len(data) >= left else None
            base, length, epoch, magic, crc, attributes, last_delta = head
            end = at + LENGTH_AT + length
            if not any(head) or end > left >= end - MOST_BYTES:
                return Window(start, data, batches), _SHORT
            if magic != MAGIC or not LEAST_LENGTH <= length <= MOST_BYTES:
                return Window(start, data, batches), _HEADER
            if end + HEADER_BYTES > len(data) and len(data) < left:
                if batches:
                    break
                data = self._read(start, end + HEADER_BYTES)
            if not is_whole(data, at, end, crc):
                return Window(start, data, batches), _CHECKSUM
            following = _head(data, end)
            if base != self._expected or epoch < self._epoch or last_delta < 0 or (following and following[2] < epoch):
                reason = self._misfit(head, following)
                if reason is not None:
                    return Window(start, data, batches), reason
            last = base + last_delta
            batches.append(Batch(start + at, start + end, base, last, attributes & CONTROL != 0))
            self._expected, self._epoch, self._is_certain = last + 1, epoch, True
            at, head = end, following
        return Window(start, data, batches), None

    def _misfit(self, head: _Head, following: _Head | None) -> str | None:
        """Why the parts of a header that no checksum covers do not fit the batches around it; None if they do."""
        base, _, epoch, _, _, _, last_delta = head
        if base < self._expected or (self._is_certain and base > self._expected) or last_delta < 0:
            return f"offset {base} instead of {self._expected}"
        if epoch < self._epoch:
            return f"epoch {epoch} after epoch {self._epoch}"
        if following is not None and _is_plausible(following) and self._epoch <= following[2] < epoch:
            return f"epoch {epoch} before epoch {following[2]}"
        return None

    def _next(self, at: int) -> int | None:
        """Where the next batch behind a damaged one begins: by its length, else wherever a whole one is found."""
        head = _head(self._read(at, HEADER_BYTES), 0)
        if head is None:
            return None
        behind = at + LENGTH_AT + head[1]
        if behind > at and self._may_follow(behind, at):
            return behind
        start = at + 1
        while start + HEADER_BYTES <= self._size:
            data = self._read(start, WINDOW)
            magic = data.find(_MAGIC, MAGIC_AT)
            while magic >= 0:
                found = start + magic - MAGIC_AT
                if self._may_follow(found, at) and self._is_whole(found):
                    return found
                magic = data.find(_MAGIC, magic + 1)
            start += max(len(data) - MAGIC_AT, 1)
        return None

    def _may_follow(self, found: int, damaged: int) -> bool:
        """Whether a header is there that may follow a damaged batch: a record takes at least a byte."""
        head = _head(self._read(found, HEADER_BYTES), 0)
        return head is not None and _is_plausible(head) and 0 <= head[0] - self._expected <= found - damaged

    def _is_whole(self, at: int) -> bool:
        head = _head(self._read(at, HEADER_BYTES), 0)
        if head is None or at + LENGTH_AT + head[1] > self._size:
            return False
        data = self._read(at, LENGTH_AT + head[1])
        return is_whole(data, 0, len(data), head[4])

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)


def _head(data: bytes, at: int) -> _Head | None:
    """The beginning of a header; None if it is incomplete."""
    return _unpack(data, at) if at + HEADER_BYTES <= len(data) else None


def _is_plausible(head: _Head) -> bool:
    return head[3] == MAGIC and LEAST_LENGTH <= head[1] <= MOST_BYTES


# -- the log's own transactions (KIP-866) ----------------------------------------------------------------------------

Kind = Literal["begin", "end", "abort"]
_KINDS: dict[bytes, Kind] = {b"\x01\x17\x00": "begin", b"\x01\x18\x00": "end", b"\x01\x19\x00": "abort"}
"""By the first bytes of a record's value: version of the frame, number and version of the type."""

_ANY = re.compile(b"\x01[\x17\x18\x19]\x00")


class Marker(NamedTuple):
    """Where a transaction begins or ends."""

    offset: int
    kind: Kind


class Record(NamedTuple):
    """A record of a batch: its offset, key and value."""

    offset: int
    key: bytes
    value: bytes


@dataclass(frozen=True)
class Settled:
    """Records that do not count. aborted: first and last offsets, in order. open_at: where an unfinished transaction
    begins."""

    aborted: tuple[tuple[int, int], ...]
    open_at: int | None


def markers(window: Window) -> list[Marker]:
    """The beginnings and ends of transactions in whole batches. Batches that can have none are not decoded."""
    suspects: set[int] = set()
    starts = [batch.at - window.at for batch in window.batches]
    end = window.batches[-1].end - window.at
    for found in _ANY.finditer(window.data, starts[0], end):
        suspects.add(bisect_right(starts, found.start()) - 1)
    suspects |= {at for at, start in enumerate(starts) if window.data[start + 22] & COMPRESSION}
    return [
        Marker(record.offset, _KINDS[record.value[:3]])
        for suspect in sorted(suspects)
        if not window.batches[suspect].is_control
        for record in readable(window, window.batches[suspect])
        if record.value[:3] in _KINDS
    ]


def settle(found: Iterable[Marker], first_offset: int) -> Settled:
    """Which records do not count, by the markers of a log. first_offset: the first offset that the log still has.

    Records between a BeginTransactionRecord and an AbortTransactionRecord never counted; those behind a
    BeginTransactionRecord without an end do not count yet. Of a transaction whose beginning the broker has deleted only
    the end is left. Of one whose end is damaged only the beginning is: nothing proves that it counts, so it does not.
    """
    aborted: list[tuple[int, int]] = []
    begun: int | None = None
    is_first = True
    for offset, kind in sorted(found):
        if kind == "begin":
            if begun is not None:
                aborted.append((begun, offset - 1))
            begun = offset
        else:
            since = begun if begun is not None else first_offset if is_first else offset
            if kind == "abort":
                aborted.append((since, offset))
            begun = None
        is_first = False
    return Settled(tuple(aborted), begun)


def records(data: bytes, at: int, end: int) -> Iterator[Record]:
    """The records of a whole batch. Raises MalformedRecordError, IndexError, ValueError."""
    header = Header._make(unpack_header(data, at))
    body, p = data[at + HEADER_BYTES : end], 0
    if header.attributes & COMPRESSION:
        body = unpacked(header.attributes & COMPRESSION, body)
    for _ in range(header.records):
        size, p = uvarint(body, p)
        stop = p + (size >> 1)
        _, p = uvarint(body, p + 1)
        delta, p = uvarint(body, p)
        key, p = _sized(body, p)
        value, p = _sized(body, p)
        if p >= stop:
            raise MalformedRecordError("a record exceeds its length")
        yield Record(header.base_offset + (delta >> 1), key, value)
        p = stop


def _sized(body: bytes, p: int) -> tuple[bytes, int]:
    size, p = uvarint(body, p)
    end = p + (size >> 1)  # a missing key or value has the size -1, of which the half is 0 here
    return body[p:end], end


def readable(window: Window, batch: Batch) -> Iterator[Record]:
    """The batch's records, up to the first damaged one."""
    try:
        yield from records(window.data, batch.at - window.at, batch.end - window.at)
    except (ValueError, IndexError):
        return  # the decoder reports it
