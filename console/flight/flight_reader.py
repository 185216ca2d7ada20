"""Reads a flight record: its answers in the order of time, from any time on, without decoding what comes before."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec

from console.flight.answer import FORMAT, MOST_FILE, Answer, Asked, Header, Problem, RecordError
from console.flight.coded_body import Body
from console.flight.frames import HEADER, MAGIC, DamagedFrame, Frame, Held, frames_of
from console.flight.part import BlockPart, Found, Part
from console.model.numbers import LAST_MS
from console.safe_files import read_regular

MOST_ANSWERS = 5_000_000
"""A week of a large cluster, a look every 2 s."""
CACHED = 64 << 20
"""Bytes of answers that are kept decoded, the last ones used."""
MOST_HELD = 512 << 20
"""Bytes of memory for what is kept of a file as long as it is open, besides."""
MOST_MADE = 256 << 20
"""Bytes of the answers that one answer is made of, held at once: what writes a record holds fewer."""
_ANSWER_SIZE, _FOUND_SIZE = 48, 48
"""Bytes of memory for each answer, and besides while the file is read."""


class FlightReader:
    """An open record. Not for several threads.

    headers: of its parts, in the order of the file. times: when each answer arrived, milliseconds since 1970, UTC,
    never less than the one before it. damage: what could not be read, empty if the file is whole; a file that ends in
    the middle of a frame, as after a power cut, is whole up to there.
    """

    def __init__(self, path: Path) -> None:
        """Open a record. Raises OSError, and RecordError for any other file, or another version."""
        try:
            self._data = read_regular(path, MOST_FILE)
        except ValueError:
            raise RecordError(f"{path} is larger than {MOST_FILE >> 30} GiB") from None
        if not self._data.startswith(MAGIC):
            raise RecordError(f"{path} is no flight record")
        self.headers: tuple[Header, ...] = ()
        self.damage = ""
        self.times = array("q")
        self._asked: list[Asked] = []
        self._numbers: dict[Asked, int] = {}
        self._parts: list[tuple[int, Part]] = []
        self._keys = array("L")
        self._took = array("Q")
        self._found = array("L")
        self._problems: set[int] = set()
        self._cache: OrderedDict[int, Body] = OrderedDict()
        self._cached = 0
        self._held = Held(MOST_HELD)
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
            body, problem = self._body(number).data, None
            if number in self._problems:
                problem, body = msgspec.json.decode(body, type=Problem), b""
        except (DamagedFrame, msgspec.DecodeError, RecursionError) as error:
            raise RecordError(f"answer {index:,} of the record can't be read: {error}") from error
        return Answer(self.times[index], self._took[index], *self.asked(index), body, problem)

    def answers(self, start: int = 0, stop: int | None = None) -> Iterator[Answer]:
        """The answers from one on to before another, in the order of time. Raises RecordError."""
        return map(self.answer, range(start, len(self) if stop is None else min(stop, len(self))))

    def _body(self, number: int) -> Body:
        """A body, made of those before it. Raises DamagedFrame."""
        if number in self._cache:
            self._cache.move_to_end(number)
            return self._cache[number]
        first, part = self._parts[bisect_right(self._parts, number, key=_first) - 1]
        bases: dict[int, tuple[int, ...]] = {}
        needed, uses = [number], Counter[int]()
        while needed:
            at = needed.pop()
            if at not in bases and at not in self._cache:
                bases[at] = tuple(first + each for each in part.bases(at - first))
                uses.update(bases[at])
                needed += bases[at]
        made: dict[int, Body] = {at: self._cache[at] for at in uses if at in self._cache}
        held = sum(each.size for each in made.values())
        for at in sorted(bases):  # what a body is made of comes before it
            body = part.body(at - first, [made[each] for each in bases[at]])
            for each in bases[at]:
                uses[each] -= 1
                if not uses[each] and each in made:
                    held -= made.pop(each).size
            made[at] = body
            held += body.size
            if held > MOST_MADE:
                raise DamagedFrame(f"it is made of more than {MOST_MADE >> 20} MiB")
            self._keep(at, body)
        return made[number]

    def _keep(self, number: int, body: Body) -> None:
        self._cache[number] = body
        self._cached += body.size
        while self._cached > CACHED and len(self._cache) > 1:
            _, gone = self._cache.popitem(last=False)
            self._cached -= gone.size

    def _index(self, path: Path) -> None:
        first = end = carried = 0
        try:
            for frame in frames_of(self._data, len(MAGIC)):
                if frame.kind == HEADER:
                    header = self._header(path, frame)
                    carried = header.carried if self.headers else 0
                    self.headers += (header,)
                    first = end
                    self._parts.append((first, self._part(header, first)))
                elif not self._parts:
                    break
                else:
                    for each in self._parts[-1][1].take(frame):
                        number = first + each.body
                        end = max(end, number + 1)
                        if each.is_problem:
                            self._problems.add(number)
                        if carried:
                            carried -= 1
                        else:
                            self._add(each, number)
        except (DamagedFrame, IndexError, KeyError, ValueError) as error:
            if isinstance(error, RecordError):
                raise
            self.damage = f"damaged, and read up to there: {error}"
        if not self.headers:
            raise RecordError(f"{path} has no header: it is damaged, or nothing was recorded yet")
        if any(before > after for before, after in pairwise(self.times)):  # parts of clocks that were set back
            order = sorted(range(len(self.times)), key=self.times.__getitem__)
            self.times, self._keys, self._took, self._found = (
                array(column.typecode, map(column.__getitem__, order))
                for column in (self.times, self._keys, self._took, self._found)
            )

    def _part(self, header: Header, first: int) -> Part:
        if header.format == FORMAT:
            return BlockPart(self._data, header, lambda number: self._body(first + number), self._held)
        from console.flight.first_format import FirstPart

        return FirstPart(self._data, header, self._held)

    def _header(self, path: Path, frame: Frame) -> Header:
        try:
            header = msgspec.json.decode(self._data[frame.start : frame.end], type=Header)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RecordError(f"{path} has a header that can't be read: {error}") from error
        if not 0 <= header.began_ms <= LAST_MS:
            raise RecordError(f"{path} has a header that can't be read: it begins at no time")
        if not 1 <= header.format <= FORMAT:
            raise RecordError(f"{path} is a flight record of format {header.format}; this kac reads up to {FORMAT}")
        return header

    def _add(self, answer: Found, number: int) -> None:
        if len(self.times) >= MOST_ANSWERS:
            raise DamagedFrame(f"it has more than {MOST_ANSWERS:,} answers")
        if not 0 <= answer.at_ms <= LAST_MS or answer.took_ms > LAST_MS:
            raise DamagedFrame("a time out of range")
        self._held.take(_ANSWER_SIZE + _FOUND_SIZE)
        key = self._numbers.setdefault(answer.asked, len(self._asked))
        if key == len(self._asked):
            self._asked.append(answer.asked)
        self.times.append(answer.at_ms)
        self._keys.append(key)
        self._took.append(answer.took_ms)
        self._found.append(number)


def _first(part: tuple[int, Part]) -> int:
    return part[0]
