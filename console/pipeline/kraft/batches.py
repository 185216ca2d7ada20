"""Record batches of format v2 (KIP-98) in a file: headers, checksums, and damage.

Of the metadata log no batch is compressed: its leader, which alone writes batches, has no setting for that
(KafkaRaftClient, RecordsSnapshotWriter).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from crc32c import crc32c

HEADER_BYTES = 61
LENGTH_AT = 12
"""Bytes of a batch before those that its length counts."""

LEAST_LENGTH = HEADER_BYTES - LENGTH_AT

CRC_FROM = 21
MAGIC_AT = 16
MAGIC = 2
COMPRESSION = 0x07
CONTROL = 0x20
MOST_BYTES = 128 << 20
"""Limit for the bytes of a batch."""

_unpack_header = struct.Struct(">qiiBIhiqq14xi").unpack_from


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
    """Return whether the checksum of the batch at these bytes is right."""
    return bool(crc32c(memoryview(data)[at + CRC_FROM : end]) == crc)


def header_at(data: bytes, at: int) -> Header | None:
    """Return the header that begins at a byte; None if it is incomplete."""
    return Header._make(_unpack_header(data, at)) if at + HEADER_BYTES <= len(data) else None


# -- the batches of a file, and damage between them ------------------------------------------------------------------

WINDOW = 8 << 20
"""Bytes that are held at once, besides a batch that is larger."""

_SHORT = "the file ends within it"
_LENGTH = "wrong length"
_HEADER = "no batch header"
_CHECKSUM = "wrong checksum"
_COMPRESSED = "compressed, as no batch of a metadata log is"


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

    def of(self, batch: Batch) -> bytes:
        """Return the bytes of one of its batches."""
        return self.data[batch.at - self.at : batch.end - self.at]


@dataclass(frozen=True)
class Damage:
    """Bytes of the file that are no batch. offset: the least offset of the record that belongs there. reason: None if
    the file ends within its last batch, as it does while it is written; data is that batch's header then."""

    at: int
    data: bytes
    offset: int
    reason: str | None


def walk(file: BinaryIO, first_offset: int) -> Iterator[Window | Damage]:
    """Yield the parts of a file, from its beginning. first_offset: that of its first batch.

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

    def parts(self) -> Iterator[Window | Damage]:
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
                yield Damage(at, self._read(at, HEADER_BYTES), self._expected, None)
                return
            end = self._size if found is None else found
            yield Damage(
                at, self._read(at, min(end - at, WINDOW)), self._expected, _LENGTH if reason == _SHORT else reason
            )
            self._is_certain = False
            at = end

    def _window(self, start: int) -> tuple[Window, str | None]:
        """Return the whole batches from a byte on, as many as are held at once; and why the next one is damaged, if it
        is.
        """
        data = self._read(start, WINDOW)
        batches: list[Batch] = []
        at, left = 0, self._size - start
        head = header_at(data, 0)
        while at < left:
            if head is None:
                return Window(start, data, batches), _SHORT if len(data) >= left else None
            end = at + LENGTH_AT + head.length
            if not any(head) or end > left >= end - MOST_BYTES:
                return Window(start, data, batches), _SHORT
            if not _is_plausible(head):
                return Window(start, data, batches), _HEADER
            if end + HEADER_BYTES > len(data) and len(data) < left:
                if batches:
                    break
                data = self._read(start, end + HEADER_BYTES)
            following = header_at(data, end)
            reason = self._misfit(head, following)
            if not is_whole(data, at, end, head.crc):
                reason = _CHECKSUM
            elif head.attributes & COMPRESSION:
                reason = _COMPRESSED
            if reason is not None:
                return Window(start, data, batches), reason
            last = head.base_offset + head.last_delta
            batches.append(Batch(start + at, start + end, head.base_offset, last, head.attributes & CONTROL != 0))
            self._expected, self._epoch, self._is_certain = last + 1, head.leader_epoch, True
            at, head = end, following
        return Window(start, data, batches), None

    def _misfit(self, head: Header, following: Header | None) -> str | None:
        """Return why the parts of a header that no checksum covers do not fit the batches around it; None if they
        do.
        """
        base, epoch = head.base_offset, head.leader_epoch
        if base < self._expected or (self._is_certain and base > self._expected) or head.last_delta < 0:
            return f"offset {base} instead of {self._expected}"
        if epoch < self._epoch:
            return f"epoch {epoch} after epoch {self._epoch}"
        if following is not None and self._epoch <= following.leader_epoch < epoch and _is_plausible(following):
            return f"epoch {epoch} before epoch {following.leader_epoch}"
        return None

    def _next(self, at: int) -> int | None:
        """Return where the next batch after a damaged one begins: by its length, else wherever a whole one is
        recognized.
        """
        head = self._header(at)
        if head is None:
            return None
        behind = at + LENGTH_AT + head.length
        if behind > at and self._may_follow(behind, at):
            return behind
        start = at + 1
        while start + HEADER_BYTES <= self._size:
            data = self._read(start, WINDOW)
            magic = data.find(MAGIC, MAGIC_AT)
            while magic >= 0:
                found = start + magic - MAGIC_AT
                if (next_ := self._may_follow(found, at)) and self._is_whole(found, next_):
                    return found
                magic = data.find(MAGIC, magic + 1)
            start += max(len(data) - MAGIC_AT, 1)
        return None

    def _may_follow(self, found: int, damaged: int) -> Header | None:
        """Return the header at a byte, if it may follow a damaged batch: a record takes at least a byte."""
        head = self._header(found)
        fits = head is not None and _is_plausible(head) and 0 <= head.base_offset - self._expected <= found - damaged
        return head if fits else None

    def _is_whole(self, at: int, head: Header) -> bool:
        size = LENGTH_AT + head.length
        return at + size <= self._size and is_whole(self._read(at, size), 0, size, head.crc)

    def _header(self, at: int) -> Header | None:
        return header_at(self._read(at, HEADER_BYTES), 0)

    def _read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)


def _is_plausible(head: Header) -> bool:
    return head.magic == MAGIC and LEAST_LENGTH <= head.length <= MOST_BYTES
