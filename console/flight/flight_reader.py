"""Reads a flight record: its answers in the order of time, from any time on, without decoding what comes before."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from console.flight.answer import Answer, Asked, Header, Problem, RecordError
from console.flight.coding import DEEPEST
from console.flight.frames import (
    ANSWERS,
    BODY,
    FIRST_BODY,
    HEADER,
    MAGIC,
    MOST_LISTED,
    MOST_MADE,
    PROBLEM,
    SAME,
    Answers,
    DamagedFrame,
    Frame,
    Held,
    body_at,
    frames_of,
    is_prefix,
    read_record,
    unsqueezed,
)
from console.model.numbers import LAST_MS

MOST_ANSWERS = 5_000_000
"""A week of a large cluster, polled every 2 s."""
MOST_AT_ONCE = 1 << 16
"""Answers of a frame."""
CACHED = 64 << 20
"""Bytes of answers that are kept decoded, the last ones used."""
MOST_HELD = 512 << 20
"""Bytes of memory for what is kept of a file as long as it is open, besides."""
_ANSWER_SIZE, _BODY_SIZE, _QUESTION_SIZE, _PROBLEM_SIZE = 96, 32, 800, 600
"""Bytes of memory for each of them, while the file is read, about."""


class _Part:
    """A part of a record while it is read. first: the number of its first body in the file. carried: how many answers
    are left that the part before has, too. questions: their numbers in the file. given: what was answered
    last to each question: the number of a body, or that of a problem below 0. listed: its last `Answers`."""

    def __init__(self, header: Header, first: int, carried: int) -> None:
        self.header = header
        self.first = first
        self.carried = carried
        self.questions: list[int] = []
        self.given: list[int | None] = []
        self.listed = b""


class FlightReader:
    """An open record. Not for several threads.

    headers: of its parts, in the order of the file. times: when each answer arrived, milliseconds since 1970, UTC,
    never less than the one before it. damage: what could not be read, empty if the file is whole; a file that ends in
    the middle of a frame, as after a power cut, is whole up to there.
    """

    def __init__(self, path: Path) -> None:
        """Open a record, and index its answers; bodies are decompressed when they are asked for.

        A damaged frame raises nothing: what comes before it can be read, and `damage` says why the rest can't.

        Raises:
            RecordError: the file is no flight record, has another format or no header, or is larger than MOST_FILE.
            OSError: it can't be read.
        """
        self._data = read_record(path)
        self.headers: tuple[Header, ...] = ()
        self.damage = ""
        self.times = array("q")
        self._asked: list[Asked] = []
        self._numbers: dict[Asked, int] = {}
        self._keys = array("L")
        self._took = array("Q")
        self._given = array("q")
        self._problems: list[Problem] = []
        self._starts, self._ends = array("Q"), array("Q")
        self._bases, self._depths = array("q"), array("B")
        self._cache: OrderedDict[int, bytes] = OrderedDict()
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
        """Return the number of answers."""
        return len(self.times)

    def asked(self, index: int) -> Asked:
        """Return the question to which an answer belongs; no body is decompressed.

        Args:
            index: of the answer, from 0, in the order of time.
        """
        return self._asked[self._keys[index]]

    def is_repeat(self, index: int) -> bool:
        """Return whether an answer has the same bytes, or the same problem, as the one before it to the same
        question."""
        before = self.before(index)
        return before is not None and self._given[before] == self._given[index]

    def before(self, index: int) -> int | None:
        """Return the index of the previous answer to the same question, None if there is none."""
        of_key = self._of_key[self._keys[index]]
        place = bisect_right(of_key, index) - 2
        return of_key[place] if place >= 0 else None

    def answer(self, index: int) -> Answer:
        """Return an answer with its body; equal ones next to each other share the body's bytes.

        Args:
            index: of the answer, from 0, in the order of time.

        Raises:
            RecordError: its body is damaged; other answers may be whole.
        """
        given = self._given[index]
        body, problem = b"", None
        try:
            if given < 0:
                problem = self._problems[~given]
            else:
                body = self._body(given)
        except DamagedFrame as error:
            raise RecordError(f"answer {index:,} of the record can't be read: {error}") from error
        return Answer(self.times[index], self._took[index], *self.asked(index), body, problem)

    def answers(self, start: int = 0, stop: int | None = None) -> Iterator[Answer]:
        """Return an iterator over the answers of a range, in the order of time.

        Args:
            start: index of the first one.
            stop: index behind the last one, None for the end of the record.

        Raises:
            RecordError: from the iterator, at a damaged answer.
        """
        return map(self.answer, range(start, len(self) if stop is None else min(stop, len(self))))

    def _body(self, number: int) -> bytes:
        """Return a body, decompressed with the bodies that it is based on. Raises DamagedFrame."""
        needed = []
        while number >= 0 and number not in self._cache:
            needed.append(number)
            number = self._bases[number]
        if number >= 0:
            self._cache.move_to_end(number)
        body, made = self._cache[number] if number >= 0 else b"", 0
        for number in reversed(needed):
            if body and not is_prefix(len(body)):
                raise DamagedFrame("a body is made of one that no others are made of")
            body = unsqueezed(self._data[self._starts[number] : self._ends[number]], body)
            made += len(body)
            if made > MOST_MADE:
                raise DamagedFrame(f"it is made of more than {MOST_MADE >> 20} MiB")
        if needed:
            self._cache[number] = body
            self._cached += len(body)
            while self._cached > CACHED and len(self._cache) > 1:
                self._cached -= len(self._cache.popitem(last=False)[1])
        return body

    # -- reading the file ------------------------------------------------------------------------------------------

    def _index(self, path: Path) -> None:
        """Note the location of each body, and read headers, questions and times. Raises RecordError."""
        part: _Part | None = None
        try:
            for frame in frames_of(self._data, len(MAGIC)):
                if frame.kind == HEADER:
                    header = self._header(path, frame)
                    part = _Part(header, len(self._starts), header.carried if self.headers else 0)
                    self.headers += (header,)
                elif part is None:
                    break
                elif frame.kind == BODY:
                    self._take_body(part, frame)
                elif frame.kind == ANSWERS:
                    self._take_answers(part, frame)
                else:
                    raise DamagedFrame(f"a frame of kind {frame.kind}")
        except DamagedFrame as error:
            self.damage = f"damaged, and read up to there: {error}"
        if part is None:
            raise RecordError(f"{path} has no header: it is damaged, or nothing was recorded yet")
        if any(before > after for before, after in pairwise(self.times)):  # parts of clocks that were set back
            order = sorted(range(len(self.times)), key=self.times.__getitem__)
            self.times, self._keys, self._took, self._given = (
                array(column.typecode, map(column.__getitem__, order))
                for column in (self.times, self._keys, self._took, self._given)
            )

    def _header(self, path: Path, frame: Frame) -> Header:
        try:
            header = msgspec.msgpack.decode(self._data[frame.start : frame.end], type=Header)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RecordError(f"{path} has a header that can't be read: {error}") from error
        if not 0 <= header.began_ms <= LAST_MS:
            raise RecordError(f"{path} has a header that can't be read: it begins at no time")
        return header

    def _take_body(self, part: _Part, frame: Frame) -> None:
        """Note the location of a body. Raises DamagedFrame."""
        number = len(self._starts)
        distance, start = body_at(self._data, frame)
        if distance > number - part.first:
            raise DamagedFrame("a body is made of what is not there")
        base = number - distance if distance else -1
        depth = self._depths[base] + 1 if distance else 0
        if depth > DEEPEST:
            raise DamagedFrame(f"a body is made of more than {DEEPEST} others")
        self._held.take(_BODY_SIZE)
        self._starts.append(start)
        self._ends.append(frame.end)
        self._bases.append(base)
        self._depths.append(depth)

    def _take_answers(self, part: _Part, frame: Frame) -> None:
        """Add the questions and answers of a frame to the index. Raises DamagedFrame."""
        prefix = part.listed if is_prefix(len(part.listed)) else b""
        part.listed = unsqueezed(self._data[frame.start : frame.end], prefix, MOST_LISTED)
        try:
            listed = msgspec.msgpack.decode(part.listed, type=Answers)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DamagedFrame(str(error)) from error
        sizes = {len(column) for column in (listed.asked, listed.after, listed.took, listed.given)}
        if len(sizes) > 1 or max(sizes) > MOST_AT_ONCE:
            raise DamagedFrame(f"a frame of {max(sizes):,} answers")
        for question in listed.questions:
            request = self._body(self._number(part, question.request))
            self._held.take(_QUESTION_SIZE + len(request) + len(question.host))
            asked = Asked(*question[:5], request)
            key = self._numbers.setdefault(asked, len(self._asked))
            if key == len(self._asked):
                self._asked.append(asked)
            part.questions.append(key)
            part.given.append(None)
        problems = iter(listed.problems)
        at_ms = part.header.began_ms
        for number, after, took, given in zip(listed.asked, listed.after, listed.took, listed.given, strict=True):
            at_ms += after
            self._take_answer(part, number, at_ms, took, given, problems)

    def _take_answer(
        self, part: _Part, question: int, at_ms: int, took: int, given: int, problems: Iterator[Problem]
    ) -> None:
        if not 0 <= question < len(part.questions):
            raise DamagedFrame("an answer to no question")
        if given >= FIRST_BODY:
            part.given[question] = self._number(part, len(self._starts) - part.first - 1 - (given - FIRST_BODY))
        elif given == PROBLEM:
            problem = next(problems, None)
            if problem is None:
                raise DamagedFrame("an answer without its problem")
            self._held.take(_PROBLEM_SIZE + sum(map(len, problem)))
            self._problems.append(problem)
            part.given[question] = -len(self._problems)
        elif given != SAME:
            raise DamagedFrame(f"an answer's form is {given}")
        number = part.given[question]
        if number is None:
            raise DamagedFrame("the same answer as none")
        if not 0 <= at_ms <= LAST_MS or not 0 <= took <= LAST_MS:
            raise DamagedFrame("a time out of range")
        if part.carried:
            part.carried -= 1
            return
        if len(self.times) >= MOST_ANSWERS:
            raise DamagedFrame(f"it has more than {MOST_ANSWERS:,} answers")
        self._held.take(_ANSWER_SIZE)
        self.times.append(at_ms)
        self._keys.append(part.questions[question])
        self._took.append(took)
        self._given.append(number)

    def _number(self, part: _Part, number: int) -> int:
        """Return the number in the file of a body that is numbered in its part. Raises DamagedFrame."""
        if not 0 <= number < len(self._starts) - part.first:
            raise DamagedFrame("a body that is not there")
        return part.first + number
