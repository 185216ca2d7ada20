"""Reads parts of the first format, which kac 0.1 wrote: a frame for each question and each answer.

KEY     = what was asked; its number is that of KEY frames before it in the part
BODY    = what was answered, whole or as a delta on a BODY before it; numbered likewise
PROBLEM = why there was no answer
SAME    = which keys had the same answer, or problem, again, and when
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from console.flight.answer import Asked, Header
from console.flight.coded_body import Body
from console.flight.delta import DamagedDelta, is_number, number_at, signed_at
from console.flight.frames import MOST_BYTES, DamagedFrame, Frame, Held, unsqueezed
from console.flight.part import Found

KEY, BODY, PROBLEM, SAME = range(1, 5)
_DELTA = 2
_MOST_SAME = 4096


class _Place(NamedTuple):
    """Where a body is packed. base: its number in the part, or -1."""

    start: int
    end: int
    base: int


class FirstPart:
    """A part while it is indexed, and its bodies afterwards; as `part.BlockPart`."""

    def __init__(self, data: bytes, header: Header, held: Held) -> None:
        self.header = header
        self._held = held
        self._data = data
        self._keys: list[tuple[Asked, bytes]] = []
        self._bodies: list[_Place] = []
        self._numbers: list[int] = []
        self._last: dict[int, tuple[int, bool]] = {}

    def take(self, frame: Frame) -> Iterator[Found]:
        """The answers of the next frame. Raises DamagedFrame, IndexError and ValueError."""
        data = self._data
        if frame.kind == KEY:
            question = self._question(frame)
            self._held.take(len(question[1]) + len(question[0].host))
            self._keys.append(question)
        elif frame.kind in (BODY, PROBLEM):
            local, at = number_at(data, frame.start)
            since, at = signed_at(data, at)
            took, at = number_at(data, at)
            base = -1
            if frame.kind == BODY:
                distance, at = number_at(data, at)
                if distance > len(self._numbers):
                    raise DamagedFrame("an answer is a delta on what is not there")
                if distance:
                    base = self._numbers[len(self._numbers) - distance]
                self._numbers.append(len(self._bodies))
            self._last[local] = len(self._bodies), frame.kind == PROBLEM
            self._bodies.append(_Place(at, frame.end, base))
            yield Found(self._keys[local][0], self.header.began_ms + since, took, *self._last[local])
        else:
            yield from self._same(frame)

    def bases(self, number: int) -> tuple[int, ...]:
        """What a body is made of."""
        base = self._bodies[number].base
        return (base,) if base >= 0 else ()

    def body(self, number: int, bases: Sequence[Body]) -> Body:
        """A body. Raises DamagedFrame."""
        place = self._bodies[number]
        packed = self._data[place.start : place.end]
        return _unpacked(packed, bases[0] if bases else None)

    def _same(self, frame: Frame) -> Iterator[Found]:
        payload = unsqueezed(self._data[frame.start : frame.end])
        count, at = number_at(payload, 0)
        if count > _MOST_SAME:
            raise DamagedFrame(f"{count:,} answers in one frame")
        time = self.header.began_ms
        for _ in range(count):
            local, at = number_at(payload, at)
            since, at = signed_at(payload, at)
            took, at = number_at(payload, at)
            time += since
            yield Found(self._keys[local][0], time, took, *self._last[local])

    def _question(self, frame: Frame) -> tuple[Asked, bytes]:
        data = self._data
        node, at = signed_at(data, frame.start)
        port, at = signed_at(data, at)
        length, at = number_at(data, at)
        host = data[at : at + length].decode("utf-8", "replace")
        at += length
        api_key, at = number_at(data, at)
        version, at = number_at(data, at)
        distance, at = number_at(data, at)
        if distance > len(self._keys):
            raise DamagedFrame("a request is a delta on what is not there")
        base = Body(self._keys[len(self._keys) - distance][1]) if distance else None
        request = _unpacked(data[at : frame.end], base).data
        return Asked(node, host, port, api_key, version, request), request


def _unpacked(data: bytes, base: Body | None) -> Body:
    """What was packed, with the delta that is the next one's dictionary."""
    if not data or data[0] != _DELTA:
        return Body(unsqueezed(data))
    if base is None:
        raise DamagedFrame("a delta on nothing")
    try:
        size, at = number_at(data, 1)
        if size > MOST_BYTES:
            raise DamagedFrame(f"it holds {size:,} bytes")
        inflating = zlib.decompressobj(-zlib.MAX_WBITS, zdict=base.delta)
        delta = inflating.decompress(data[at:], size)
        if len(delta) != size:
            raise DamagedFrame("its delta ends too early")
        return Body(_applied(base.data, delta, MOST_BYTES), delta=delta)
    except (DamagedDelta, zlib.error, IndexError) as error:
        raise DamagedFrame(str(error)) from error


def _applied(old: bytes, delta: bytes, limit: int) -> bytes:
    """The answer that `delta` makes of `old`, at most `limit` bytes. Raises DamagedDelta.

    A count of runs, then for each how many bytes are copied, how many are new, and how far the place to copy from moves
    besides; after them all new bytes, numbers as differences to what they take the place of.
    """
    try:
        count, at = number_at(delta, 0)
        runs: list[tuple[int, int, int, int]] = []
        total = place = 0
        for _ in range(count):
            same, at = number_at(delta, at)
            inserted, at = number_at(delta, at)
            moved, at = signed_at(delta, at)
            if place < 0 or (same and place + same > len(old)):
                raise DamagedDelta("it copies what is not there")
            runs.append((place, same, inserted, moved))
            place += same + inserted + moved
            total += same + inserted
            if total > limit:
                raise DamagedDelta(f"it makes more than {limit:,} bytes")
    except (IndexError, ValueError) as error:
        raise DamagedDelta(str(error)) from error
    made: list[bytes] = []
    for start, same, inserted, moved in runs:
        end = start + same
        made.append(old[start:end])
        fresh = delta[at : at + inserted]
        if is_number(inserted, moved, end, len(old)):
            number = int.from_bytes(old[end : end + inserted]) + int.from_bytes(fresh)
            fresh = (number % (1 << 8 * inserted)).to_bytes(inserted)
        made.append(fresh)
        at += inserted
    if at != len(delta):
        raise DamagedDelta("its new bytes have another length than announced")
    return b"".join(made)
