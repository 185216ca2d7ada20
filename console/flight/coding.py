"""Encodes answers as frames: unchanged ones are counted, changed ones are compressed with former ones as their
prefix."""

from __future__ import annotations

from collections import Counter
from copy import copy
from hashlib import blake2b

import msgspec

from console.flight.answer import Answer, Asked, Header, Problem
from console.flight.frames import (
    ANSWERS,
    FIRST_BODY,
    HEADER,
    MOST_MADE,
    PROBLEM,
    SAME,
    Answers,
    Question,
    body_frame,
    framed,
    is_prefix,
    squeezed,
    unsqueezed,
)

CHAIN = 32
"""Bodies in a row that are each based on the one before; the next one is based on the question's first body again."""
DEEPEST = 3 * CHAIN
"""Bodies that one is based on, at most."""
WAIT_MS = 1_000
SAME_WAIT_MS = 10_000
"""The longest that answers wait to be written, and that unchanged ones do."""
MOST_WAITING = 4 << 20
MOST_ANSWERS = 1 << 14
"""Bytes of bodies, and answers, that wait."""
MOST_KEPT = 48 << 20
"""Bytes of answers that are held to find what changed; those to the questions not asked for longest go first."""
PACKED_FROM = 1 << 13
"""Bytes of a body from which it is worth compressing what is held of it."""

_SMALLER = 4
"""A body is based on none that is so many times smaller."""


class _Body:
    """A body of the part. data: as it came, or compressed; size: of what came. depth: how many
    others it is based on; made: the bytes of these, and its own."""

    __slots__ = ("data", "depth", "digest", "is_packed", "made", "number", "size")

    def __init__(self, number: int, data: bytes, depth: int, made: int) -> None:
        self.number, self.data, self.depth, self.made = number, data, depth, made
        self.digest = _digest(data)
        self.size = len(data)
        self.is_packed = False

    def raw(self) -> bytes:
        """Return what came."""
        return unsqueezed(self.data) if self.is_packed else self.data

    def holds(self, data: bytes) -> bool:
        """Return whether it is these bytes."""
        if not self.is_packed:
            return data == self.data
        return len(data) == self.size and _digest(data) == self.digest

    def pack(self) -> None:
        """Compress what is held."""
        if not self.is_packed:
            self.data, self.is_packed = squeezed(self.data), True

    def packed(self) -> _Body:
        """Return the same body, compressed."""
        body = copy(self)
        body.pack()
        return body


class _Kept:
    """The last answers to one question. answer: the last one, with its request compressed if `is_packed`; its body is
    `last`, the last body. first: a body that is
    based on no other, its data compressed; None where it is the last one. problem: why there was no answer the last
    time, None if there was one."""

    __slots__ = ("answer", "first", "is_packed", "last", "number", "problem")

    def __init__(self, number: int, answer: Answer) -> None:
        self.number = number
        self.is_packed = len(answer.request) >= PACKED_FROM
        self.answer = answer._replace(request=squeezed(answer.request)) if self.is_packed else answer
        self.first: _Body | None = None
        self.last: _Body | None = None
        self.problem: Problem | None = None


class Encoder:
    """Makes the frames of one part of a record. Not for several threads."""

    def __init__(self, header: Header, most_kept: int = MOST_KEPT) -> None:
        """Begin a part. most_kept: bytes of answers that are held."""
        self.header = header
        self._most_kept = most_kept
        self._kept: dict[Asked, _Kept] = {}
        self._equal: dict[bytes, _Body] = {}
        self._holders = Counter[int]()
        self._size = 0
        self._questions = self._bodies = 0
        self._requests: dict[tuple[int, int], _Body] = {}
        self._alike: dict[tuple[int, int, bytes | None], _Body] = {}
        self._listed = b""
        self._begin(header.began_ms)

    def _begin(self, at_ms: int) -> None:
        """Reset what waits for the next frames. at_ms: the time from which that of their first answer counts."""
        self._frames: list[bytes] = []
        self._waiting = 0
        self._since = self._time = at_ms
        self._has_changes = False
        self._new: list[Question] = []
        self._problems: list[Problem] = []
        self._columns: tuple[list[int], list[int], list[int]] = ([], [], [])
        self._given: list[int] = []

    def begin(self) -> bytes:
        """Return the header frame, with which the part begins."""
        return framed(HEADER, msgspec.msgpack.encode(self.header))

    def add(self, answer: Answer) -> bytes:
        """Return the frames of the answers that waited, where these are due, else empty bytes. The answer itself waits
        for `flush_changed`, or for later answers."""
        made = b""
        waited = answer.at_ms - self._since
        is_due = waited >= (WAIT_MS if self._has_changes else SAME_WAIT_MS)
        if is_due or self._waiting >= MOST_WAITING or len(self._given) >= MOST_ANSWERS:
            made = self.flush()
        if not self._given:
            self._since = answer.at_ms
        asked = _key(answer.asked)
        kept = self._kept.pop(asked, None) or self._ask(asked, answer)
        self._kept[asked] = kept  # the last one asked comes last
        given = self._what_was_given(asked, kept, answer)
        body = answer.body if kept.last is None or answer.problem else b""
        kept.answer = answer._replace(request=kept.answer.request, body=body)
        for column, number in zip(
            self._columns, (kept.number, answer.at_ms - self._time, max(0, answer.took_ms)), strict=True
        ):
            column.append(number)
        self._given.append(given)
        self._time = answer.at_ms
        self._has_changes = self._has_changes or given != SAME
        return made

    def last_answers(self) -> list[Answer]:
        """Return the last answer to each question that is still held, ordered by time."""
        return sorted(map(_whole, self._kept.values()), key=lambda answer: answer.at_ms)

    def flush_changed(self) -> bytes:
        """Return the frames of the waiting answers if any of them changed, else empty bytes."""
        return self.flush() if self._has_changes else b""

    def flush(self) -> bytes:
        """Return the frames of the waiting answers, empty bytes if there are none."""
        if not self._given:
            return b""
        end = self._bodies - 1 + FIRST_BODY
        given = [each if each in (SAME, PROBLEM) else end + FIRST_BODY - each for each in self._given]
        answers = msgspec.msgpack.encode(Answers(self._new, self._problems, *self._columns, given))
        prefix = self._listed if is_prefix(len(self._listed)) else b""
        frames = [*self._frames, framed(ANSWERS, squeezed(answers, prefix))]
        self._listed = answers
        self._begin(self.header.began_ms)
        return b"".join(frames)

    def _ask(self, asked: Asked, answer: Answer) -> _Kept:
        """Add a new question, `asked` its key. Its request is written unless it equals the last one of the same API and
        version."""
        key = asked.api_key, asked.version
        request = self._requests.get(key)
        if request is None or not request.holds(answer.request):
            request = self._requests[key] = self._put(answer.request, request)
            if request.size >= PACKED_FROM:
                request.pack()
        kept = _Kept(self._questions, answer)
        self._questions += 1
        host = _text(asked.host)
        self._new.append(Question(asked.node, host, *asked[2:5], request.number))
        self._waiting += len(host)
        return kept

    def _what_was_given(self, asked: Asked, kept: _Kept, answer: Answer) -> int:
        """Return the form of an answer: SAME, PROBLEM (the next problem of the frame), or FIRST_BODY plus the number of
        its body."""
        former, kept.problem = kept.problem, answer.problem and Problem(*map(_text, answer.problem))
        if kept.problem is not None:
            if kept.problem == former:
                return SAME
            self._problems.append(kept.problem)
            self._waiting += sum(map(len, kept.problem))
            return PROBLEM
        if kept.last is not None and kept.last.holds(answer.body):
            self._rest(kept.last)
            return SAME if former is None else kept.last.number + FIRST_BODY
        body = self._equal.get(_digest(answer.body))
        if body is None or body.depth >= DEEPEST - CHAIN:
            body = self._made(asked, kept, answer.body)
        is_first = kept.last is None
        self._hold(kept, body)
        if is_first:  # what is read once, as configs, is held as long as what is read all the time
            self._rest(body)
        self._alike[(*asked[3:5], asked.request)] = self._alike[(*asked[3:5], None)] = body
        while self._size > self._most_kept and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return body.number + FIRST_BODY

    def _made(self, asked: Asked, kept: _Kept, data: bytes) -> _Body:
        """Write a changed body, with a former one as its prefix: of the same question, else of a similar one."""
        if kept.last is not None:
            if kept.first is None:
                kept.first = kept.last.packed()
                self._size += len(kept.first.data)
            if kept.last.depth < kept.first.depth + CHAIN and _is_of_size(kept.last, data):
                return self._put(data, kept.last)
            if _is_of_size(kept.first, data):
                return self._put(data, kept.first)
        alike = self._alike.get((*asked[3:5], asked.request)) or self._alike.get((*asked[3:5], None))
        return self._put(data, alike, DEEPEST - CHAIN)

    def _hold(self, kept: _Kept, body: _Body) -> None:
        """Hold a body as the last one of a question, and release the one before unless another question has it."""
        self._holders[body.number] += 1
        if self._holders[body.number] == 1:
            self._equal[body.digest] = body
            self._size += len(body.data)
        self._let_go(kept.last)
        kept.last = body
        if not body.depth and kept.first is not None:  # the next ones are made of this one
            self._size -= len(kept.first.data)
            kept.first = None

    def _let_go(self, body: _Body | None) -> None:
        if body is None:
            return
        self._holders[body.number] -= 1
        if not self._holders[body.number]:
            del self._holders[body.number]
            self._size -= len(body.data)
            if self._equal.get(body.digest) is body:
                del self._equal[body.digest]

    def _rest(self, body: _Body) -> None:
        """Compress a body that is the first or came again: most answers of a cluster stay as they are, and each is held
        for hours."""
        if body.size >= PACKED_FROM:
            self._size -= len(body.data)
            body.pack()
            self._size += len(body.data)

    def _put(self, data: bytes, base: _Body | None, deepest: int = DEEPEST) -> _Body:
        """Write a body, with another one as its prefix where the limits allow it."""
        if base is not None:
            is_of_few = base.depth < deepest and base.made + len(data) <= MOST_MADE
            if not (is_of_few and _is_of_size(base, data) and is_prefix(base.size)):
                base = None
        number = self._bodies
        self._bodies += 1
        if base is None:
            body, frame = _Body(number, data, 0, len(data)), body_frame(0, data)
        else:
            body = _Body(number, data, base.depth + 1, base.made + len(data))
            frame = body_frame(number - base.number, data, base.raw())
        self._frames.append(frame)
        self._waiting += len(frame)
        return body

    def _forget(self, asked: Asked) -> None:
        """Forget the former answers to a question; the next answer to it is written as that of a new question."""
        kept = self._kept.pop(asked)
        self._let_go(kept.last)
        if kept.first is not None:
            self._size -= len(kept.first.data)
        self._alike.pop((*asked[3:5], asked.request), None)


def _key(asked: Asked) -> Asked:
    """Return what a question is known by: of a long request, as for the offsets of 4,000 partitions, its digest."""
    return asked._replace(request=_digest(asked.request)) if len(asked.request) >= PACKED_FROM else asked


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _whole(kept: _Kept) -> Answer:
    """Return the last answer to a question with its request and its body."""
    answer = kept.answer._replace(request=unsqueezed(kept.answer.request)) if kept.is_packed else kept.answer
    return answer if kept.last is None or answer.problem else answer._replace(body=kept.last.raw())


def _is_of_size(base: _Body, data: bytes) -> bool:
    """Return whether a body is large enough to contain most of another one: the body of an error response is not, for a
    list."""
    return base.size >= len(data) // _SMALLER


def _text(text: str) -> str:
    """Return the text as UTF-8 can encode it: each lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
