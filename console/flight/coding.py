"""Answers to frames: what did not change is counted, what changed is a delta on its predecessor."""

from __future__ import annotations

import msgspec

from console.flight.answer import Answer, Asked, Header, Problem
from console.flight.delta import put_number, put_signed
from console.flight.frames import BODY, HEADER, KEY, PROBLEM, SAME, framed, packed

LEAP = 32
"""Deltas in a row: the 32nd is a delta on the one 32 before it, the 1,024th on that 1,024 before it; so an answer is
made of at most 31 deltas for each power of 32, wherever one looks first."""
LEVELS = 2
SMALL = 64 << 10
"""Bytes of an answer for which two bases are tried."""
DEEPEST = 100
"""Frames that it takes to make an answer, above which an equal answer to another question is not its base."""
SAME_EVERY_MS = 10_000
"""The longest that unchanged answers wait to be written."""
MOST_SAME = 4096
MOST_KEPT = 48 << 20
"""Bytes of answers that are held to find what changed; those to the questions not asked for longest go first."""


class _Body:
    """A BODY frame. delta: what it was made by, the dictionary of the next one. depth: how many frames it takes to make
    it."""

    __slots__ = ("body", "delta", "depth", "number")

    def __init__(self, number: int, body: bytes, delta: bytes, depth: int) -> None:
        self.number = number
        self.body = body
        self.delta = delta
        self.depth = depth


class _Kept:
    """The last answers to one question. last: the last one. levels: the last BODY frame whose count is divisible by
    that power of LEAP. problem: why there was no answer the last time, empty if there was one."""

    __slots__ = ("changes", "key", "last", "levels", "problem")

    def __init__(self, key: int, last: Answer) -> None:
        self.key = key
        self.last = last
        self.changes = 0
        self.levels: list[_Body] = []
        self.problem = b""

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum({body.number: len(body.body) + len(body.delta) for body in self.levels}.values())


class Encoder:
    """Makes the frames of one part of a record. Not for several threads."""

    def __init__(self, header: Header, most_kept: int = MOST_KEPT) -> None:
        """header: of the part. most_kept: bytes of answers that are held."""
        self.header = header
        self._most_kept = most_kept
        self._kept: dict[Asked, _Kept] = {}
        self._size = 0
        self._keys = self._bodies = 0
        self._last_request: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._alike: dict[tuple[int, int, bytes], _Body] = {}
        self._by_hash: dict[int, _Body] = {}
        self._beside: dict[tuple[int, int, int], _Body] = {}
        self._same = bytearray()
        self._pending: set[int] = set()
        self._same_count = 0
        self._same_since = self._same_at = header.began_ms

    def begin(self) -> bytes:
        """The frame with which the part begins."""
        return framed(HEADER, msgspec.json.encode(self.header))

    def add(self, answer: Answer) -> bytes:
        """The frames of this answer, empty while it only has to be counted."""
        asked = answer.asked
        kept = self._kept.pop(asked, None)
        made = bytearray()
        if kept is None:
            kept = _Kept(self._keys, answer)
            made += self._key(asked)
        self._kept[asked] = kept  # the last one asked comes last
        former, kept.last = kept.last, answer
        problem = b"" if answer.problem is None else _problem(answer.problem)
        is_known = bool(kept.levels) or bool(kept.problem)
        if is_known and problem == kept.problem and (problem or former.body == answer.body):
            kept.last = answer._replace(body=former.body)  # one body is held, not two equal ones
            return self._unchanged(kept, answer)
        if kept.key in self._pending:
            made += self.flush()
        head = bytearray()
        put_number(head, kept.key)
        put_signed(head, answer.at_ms - self.header.began_ms)
        put_number(head, max(0, answer.took_ms))
        kept.problem = problem
        made += framed(PROBLEM, head + packed(problem).data) if problem else self._body(kept, asked, answer.body, head)
        return bytes(made)

    def last_answers(self) -> list[Answer]:
        """The last answer to each question that is still held, in the order of time."""
        return sorted((kept.last for kept in self._kept.values()), key=lambda answer: answer.at_ms)

    def flush(self) -> bytes:
        """The frame of the answers that were only counted; empty if there are none."""
        if not self._same_count:
            return b""
        payload = bytearray()
        put_number(payload, self._same_count)
        made = framed(SAME, packed(bytes(payload + self._same)).data)
        self._same.clear()
        self._pending.clear()
        self._same_count = 0
        return made

    def _unchanged(self, kept: _Kept, answer: Answer) -> bytes:
        if not self._same_count:
            self._same_since, self._same_at = answer.at_ms, self.header.began_ms
        put_number(self._same, kept.key)
        put_signed(self._same, answer.at_ms - self._same_at)
        put_number(self._same, max(0, answer.took_ms))
        self._same_at = answer.at_ms
        self._same_count += 1
        self._pending.add(kept.key)
        is_late = answer.at_ms - self._same_since >= SAME_EVERY_MS
        return self.flush() if is_late or self._same_count >= MOST_SAME else b""

    def _key(self, asked: Asked) -> bytes:
        """The question, its request as a delta on that of the former question to the same API."""
        payload = bytearray()
        put_signed(payload, asked.node)
        put_signed(payload, asked.port)
        host = asked.host.encode("utf-8", "replace")
        put_number(payload, len(host))
        payload += host
        put_number(payload, asked.api_key)
        put_number(payload, asked.version)
        former = self._last_request.get((asked.api_key, asked.version))
        found = packed(asked.request, None if former is None else former[1])
        put_number(payload, self._keys - former[0] if former is not None and found.delta else 0)
        self._last_request[asked.api_key, asked.version] = self._keys, asked.request
        self._keys += 1
        return framed(KEY, payload + found.data)

    def _body(self, kept: _Kept, asked: Asked, body: bytes, head: bytearray) -> bytes:
        level = _level(kept.changes)
        alike = (asked.api_key, asked.version, asked.request)
        base = kept.levels[level] if kept.levels else self._alike.get(alike)  # else what another broker answered
        equal = self._by_hash.get(hash(body))
        if equal is not None and equal.body == body and equal.depth < DEEPEST:
            base = equal
        found = packed(body) if base is None else packed(body, base.body, base.delta)
        beside = self._beside.get((asked.api_key, asked.version, asked.node))
        own = kept.levels[0] if kept.levels else None
        if beside not in (None, own) and len(beside.body) == len(body) <= SMALL and beside.depth < DEEPEST:
            other = packed(body, beside.body)  # as ListOffsets of the same partitions by another timestamp
            if other.delta and len(other.data) < len(found.data):
                base, found = beside, other
        put_number(head, self._bodies - base.number if base is not None and found.delta else 0)
        now = _Body(self._bodies, body, found.delta, base.depth + 1 if base is not None and found.delta else 0)
        before = kept.size
        if kept.levels and (former := kept.levels[0]) is self._by_hash.get(hash(former.body)):
            del self._by_hash[hash(former.body)]
        if base is not equal or equal is None:
            self._by_hash[hash(body)] = now
        if kept.levels:
            kept.levels[: level + 1] = [now] * (level + 1)
        else:
            kept.levels = [now] * (LEVELS + 1)
        kept.changes += 1
        self._alike[alike] = now
        if len(body) <= SMALL:
            self._beside[asked.api_key, asked.version, asked.node] = now
        self._bodies += 1
        self._size += kept.size - before
        while self._size > self._most_kept and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return framed(BODY, head + found.data)

    def _forget(self, asked: Asked) -> None:
        kept = self._kept.pop(asked)
        self._size -= kept.size
        for body in kept.levels[:1]:
            self._by_hash.pop(hash(body.body), None)
        self._alike.pop((asked.api_key, asked.version, asked.request), None)


def _problem(problem: Problem) -> bytes:
    kind, *texts = (text.encode("utf-8", "replace").decode() for text in problem)
    return msgspec.json.encode((kind, *texts))


def _level(changes: int) -> int:
    """How many powers of LEAP divide the number of changes, at most LEVELS."""
    level = 0
    while level < LEVELS and changes % LEAP == 0:
        changes //= LEAP
        level += 1
    return level
