"""The batches of a file, and what is damaged between them: checksums, lengths, and how offsets and epochs follow.

A checksum covers neither a batch's offset nor its epoch; but the log has no holes, and epochs only grow, so both have
to fit to what stands around them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from .batches import CONTROL, HEADER_BYTES, LEAST_LENGTH, LENGTH_AT, MAGIC, MAGIC_AT, MOST_BYTES, is_whole

WINDOW = 8 << 20
"""Bytes that are held at once, beside a batch that is larger."""

_Head = tuple[int, int, int, int, int, int, int]
"""Of a header: base offset, length, epoch, magic, checksum, attributes, how much later the last offset is."""

_unpack = struct.Struct(">qiiBIhi").unpack_from
_MAGIC = bytes([MAGIC])
_SHORT = "the file ends within it"
_LENGTH = "its length is not that of its bytes"
_HEADER = "it has no header of a batch"
_CHECKSUM = "its checksum is not that of its bytes"


class Batch(NamedTuple):
    """A whole batch: where in the file it begins and ends, its first and last offset."""

    at: int
    end: int
    first: int
    last: int
    is_control: bool


@dataclass(frozen=True)
class Window:
    """Whole batches that follow one another. data: the bytes of the file from `at` on, which hold them all."""

    at: int
    data: bytes
    batches: list[Batch]


@dataclass(frozen=True)
class Damage:
    """Bytes of the file that are no batch. offset: of the record that should stand there, at the least."""

    at: int
    data: bytes
    offset: int
    reason: str


@dataclass(frozen=True)
class CutTail:
    """The file ends before its last batch does, as while it is written: nothing is wrong with it. data: its header."""

    at: int
    data: bytes


def walk(file: BinaryIO, first_offset: int) -> Iterator[Window | Damage | CutTail]:
    """What a file is made of, from its beginning. first_offset: that of its first batch."""
    return _Walk(file, first_offset).parts()


class _Walk:
    def __init__(self, file: BinaryIO, first_offset: int) -> None:
        self._file = file
        self._size = file.seek(0, 2)
        self._expected = first_offset
        self._epoch = -(1 << 31)
        self._is_certain = True  # whether `_expected` is the next offset, or the least that it may be

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
        """The whole batches from a byte on, as many as are held at once; what is wrong behind them, if anything."""
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
        """What of a header that no checksum covers does not fit to what is around it."""
        base, _, epoch, _, _, _, last_delta = head
        if base < self._expected or (self._is_certain and base > self._expected) or last_delta < 0:
            return f"its offset is {base}, where {self._expected} follows"
        if epoch < self._epoch:
            return f"its epoch is {epoch}, after {self._epoch}"
        if following is not None and _is_plausible(following) and self._epoch <= following[2] < epoch:
            return f"its epoch is {epoch}, before {following[2]}"
        return None

    def _next(self, at: int) -> int | None:
        """Where the next batch behind a damaged one begins: by its length, or wherever a whole one is."""
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
        """Whether there is a header of a batch that can stand behind a damaged one: a record has a byte at least."""
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
    """The beginning of a header; None where not all of one is there."""
    return _unpack(data, at) if at + HEADER_BYTES <= len(data) else None


def _is_plausible(head: _Head) -> bool:
    return head[3] == MAGIC and LEAST_LENGTH <= head[1] <= MOST_BYTES
