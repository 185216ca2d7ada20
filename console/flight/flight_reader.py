"""Reads a flight record: its answers in the order of time, from any time on, without decoding what comes before."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from console.flight.answer import FORMAT, Answer, Asked, Header, Problem, RecordError
from console.flight.coding import MOST_SAME
from console.flight.delta import number_at, signed_at
from console.flight.frames import (
    BODY,
    HEADER,
    KEY,
    MAGIC,
    PROBLEM,
    DamagedFrame,
    Frame,
    frames_of,
    unpacked,
)

MOST_FILE = 2 << 30
MOST_ANSWERS = 5_000_000
"""A week of a large cluster, a look every 2 s."""
CACHED = 64 << 20
"""Bytes of answers that are kept decoded, the last ones used."""


class _Body(NamedTuple):
    """A BODY or PROBLEM frame. start, end: of what is packed. base: the number of the one it is a delta on, or -1."""

    start: int
    end: int
    base: int
    is_problem: bool


class FlightReader:
    """An open record. Not for several threads.

    headers: of its parts, in the order of the file. times: when each answer arrived, milliseconds since 1970, UTC,
    never less than the one before it. damage: what could not be read, empty if the file is whole; a file that ends in
    the middle of a frame, as after a power cut, is whole up to there.
    """

    def __init__(self, path: Path) -> None:
        """Open a record. Raises OSError, and RecordError for any other file, or another version."""
        if path.stat().st_size > MOST_FILE:
            raise RecordError(f"{path} is larger than {MOST_FILE >> 30} GiB")
        self._data = path.read_bytes()
        if not self._data.startswith(MAGIC):
            raise RecordError(f"{path} is no flight record")
        self.headers: tuple[Header, ...] = ()
        self.damage = ""
        self.times = array("q")
        self._asked: list[Asked] = []
        self._numbers: dict[Asked, int] = {}
        self._bodies: list[_Body] = []
        self._keys = array("L")
        self._took = array("Q")
        self._found = array("L")
        self._cache: OrderedDict[int, tuple[bytes, bytes]] = OrderedDict()
        self._cached = 0
        self._index(path)
        self._of_key = [array("L") for _ in self._asked]
        for index, key in enumerate(self._keys):
            self._of_key[key].append(index)

    @property
    def header(self) -> Header:
        """What the first part says about itself."""
        return self.headers[0]

    def __len__(self) -> int:
        """The number of answers."""
        return len(self.times)

    def index_at(self, at_ms: int) -> int:
        """How many answers arrived at this time or before."""
        return bisect_right(self.times, at_ms)

    def asked(self, index: int) -> Asked:
        """What this answer answers; nothing is decoded."""
        return self._asked[self._keys[index]]

    def is_repeat(self, index: int) -> bool:
        """Whether this answer has the same bytes as the one before it to the same question."""
        before = self.before(index)
        return before is not None and self._found[before] == self._found[index]

    def before(self, index: int) -> int | None:
        """The answer to the same question before this one, None if there is none."""
        of_key = self._of_key[self._keys[index]]
        place = bisect_right(of_key, index) - 2
        return of_key[place] if place >= 0 else None

    def state_at(self, at_ms: int) -> Mapping[Asked, int]:
        """The last answer to each question at this time; nothing is decoded."""
        end = self.index_at(at_ms)
        found = {}
        for asked, of_key in zip(self._asked, self._of_key, strict=True):
            if place := bisect_right(of_key, end - 1):
                found[asked] = of_key[place - 1]
        return found

    def answer(self, index: int) -> Answer:
        """This answer; equal ones next to each other share their body. Raises RecordError if it is damaged."""
        number = self._found[index]
        try:
            body, _ = self._body(number)
            problem = None
            if self._bodies[number].is_problem:
                problem, body = msgspec.json.decode(body, type=Problem), b""
        except (DamagedFrame, msgspec.DecodeError) as error:
            raise RecordError(f"answer {index:,} of the record can't be read: {error}") from error
        return Answer(self.times[index], self._took[index], *self.asked(index), body, problem)

    def answers(self, start: int = 0, stop: int | None = None) -> Iterator[Answer]:
        """The answers from one on to before another, in the order of time. Raises RecordError."""
        return map(self.answer, range(start, len(self) if stop is None else min(stop, len(self))))

    def _body(self, number: int) -> tuple[bytes, bytes]:
        """A body, and the delta that it was made by."""
        chain = []
        at = number
        while at >= 0 and at not in self._cache:
            chain.append(at)
            at = self._bodies[at].base
        made: tuple[bytes, bytes] | None = None
        if at >= 0:
            made = self._cache[at]
            self._cache.move_to_end(at)
        for each in reversed(chain):
            found = self._bodies[each]
            packed = self._data[found.start : found.end]
            made = unpacked(packed) if made is None else unpacked(packed, *made)
            self._keep(each, made)
        assert made is not None
        return made

    def _keep(self, number: int, made: tuple[bytes, bytes]) -> None:
        self._cache[number] = made
        self._cached += len(made[0]) + len(made[1])
        while self._cached > CACHED and len(self._cache) > 1:
            _, gone = self._cache.popitem(last=False)
            self._cached -= len(gone[0]) + len(gone[1])

    def _index(self, path: Path) -> None:
        found: list[tuple[int, int, int, int]] = []  # at, key, took, number of the body
        part: _Part | None = None
        try:
            for frame in frames_of(self._data, len(MAGIC)):
                if frame.kind == HEADER:
                    part = _Part(self._header(path, frame), bool(self.headers))
                    self.headers += (part.header,)
                elif part is None:
                    break
                else:
                    self._take(part, frame, found)
        except (DamagedFrame, IndexError, ValueError) as error:
            if isinstance(error, RecordError):
                raise
            self.damage = f"damaged, and read up to there: {error}"
        if not self.headers:
            raise RecordError(f"{path} has no header: it is damaged, or nothing was recorded yet")
        found.sort(key=_time)
        for at, key, took, number in found:
            self.times.append(at)
            self._keys.append(key)
            self._took.append(took)
            self._found.append(number)

    def _header(self, path: Path, frame: Frame) -> Header:
        try:
            header = msgspec.json.decode(self._data[frame.start : frame.end], type=Header)
        except msgspec.DecodeError as error:
            raise RecordError(f"{path} has a header that can't be read: {error}") from error
        if header.format != FORMAT:
            raise RecordError(f"{path} is a flight record of format {header.format}; this kac reads {FORMAT}")
        return header

    def _take(self, part: _Part, frame: Frame, found: list[tuple[int, int, int, int]]) -> None:
        data = self._data
        if frame.kind == KEY:
            part.keys.append(self._question(part, frame))
            return
        if frame.kind not in (BODY, PROBLEM):
            self._same(part, frame, found)
            return
        local, at = number_at(data, frame.start)
        since, at = signed_at(data, at)
        took, at = number_at(data, at)
        base = -1
        if frame.kind == BODY:
            distance, at = number_at(data, at)
            if distance:
                base = part.bodies[part.number_of(distance)]
            part.bodies.append(len(self._bodies))
        number = len(self._bodies)
        self._bodies.append(_Body(at, frame.end, base, frame.kind == PROBLEM))
        key, _ = part.keys[local]
        part.last[key] = number
        if part.carried:
            part.carried -= 1
            return
        self._add(found, (part.header.began_ms + since, key, took, number))

    def _same(self, part: _Part, frame: Frame, found: list[tuple[int, int, int, int]]) -> None:
        payload, _ = unpacked(self._data[frame.start : frame.end])
        count, at = number_at(payload, 0)
        if count > MOST_SAME:
            raise DamagedFrame(f"{count:,} answers in one frame")
        time = part.header.began_ms
        for _ in range(count):
            local, at = number_at(payload, at)
            since, at = signed_at(payload, at)
            took, at = number_at(payload, at)
            time += since
            key, _ = part.keys[local]
            self._add(found, (time, key, took, part.last[key]))

    def _add(self, found: list[tuple[int, int, int, int]], answer: tuple[int, int, int, int]) -> None:
        if len(found) >= MOST_ANSWERS:
            raise DamagedFrame(f"it has more than {MOST_ANSWERS:,} answers")
        if not 0 <= answer[0] <= sys.maxsize or answer[2] > sys.maxsize:
            raise DamagedFrame("a time out of range")
        found.append(answer)

    def _question(self, part: _Part, frame: Frame) -> tuple[int, bytes]:
        data = self._data
        node, at = signed_at(data, frame.start)
        port, at = signed_at(data, at)
        length, at = number_at(data, at)
        host = data[at : at + length].decode("utf-8", "replace")
        at += length
        api_key, at = number_at(data, at)
        version, at = number_at(data, at)
        distance, at = number_at(data, at)
        base = part.keys[len(part.keys) - distance][1] if distance else None
        if distance > len(part.keys):
            raise DamagedFrame("a request is a delta on what is not there")
        request, _ = unpacked(data[at : frame.end], base)
        asked = Asked(node, host, port, api_key, version, request)
        key = self._numbers.setdefault(asked, len(self._asked))
        if key == len(self._asked):
            self._asked.append(asked)
        return key, request


class _Part:
    """A part while it is indexed. keys: of the part -> of the reader, with the request. bodies: numbers likewise. last:
    the last body of each key of the reader. carried: answers left that the part before it has, too."""

    def __init__(self, header: Header, is_later: bool) -> None:
        self.header = header
        self.keys: list[tuple[int, bytes]] = []
        self.bodies: list[int] = []
        self.last: dict[int, int] = {}
        self.carried = header.carried if is_later else 0

    def number_of(self, distance: int) -> int:
        """The place in `bodies` of the frame so many before the next one. Raises DamagedFrame."""
        if distance > len(self.bodies):
            raise DamagedFrame("an answer is a delta on what is not there")
        return len(self.bodies) - distance


def _time(answer: tuple[int, int, int, int]) -> int:
    return answer[0]
