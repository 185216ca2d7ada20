"""Answers to blocks of frames: what did not change is counted, what changed is made of what was answered before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from console.flight.answer import Answer, Asked, Header, Problem
from console.flight.block import DELTA, MOST_ANSWERS, MOST_BASES, PROBLEM, SAME, WHOLE, BlockWriter, Entry, Question
from console.flight.coded_body import FAR, Body, Coded, Levels, made_of, whole
from console.flight.frames import BLOCK, HEADER, framed

SMALL = 64 << 10
"""Bytes of an answer for which other bases are tried."""
CHEAP = 24
"""Bytes of a delta for which no better base is looked for."""
DEEPEST = 100
"""Frames that it takes to make an answer, above which it is not the base of an answer to another question."""
BLOCK_MS = 1_000
SAME_EVERY_MS = 10_000
"""The longest that answers wait to be written, and that unchanged ones do."""
MOST_BLOCK = 4 << 20
MOST_KEPT = 48 << 20
"""Bytes of answers that are held to find what changed; those to the questions not asked for longest go first."""
_ALIKE = 48
"""Former answers, or requests, in which parts of a new one are looked for."""
_MOST_REQUESTS = 2 << 20
_SAMPLES, _SAMPLE, _TRIED = 24, 24, 200
"""How many slices of a new answer are looked for in former ones, and their bytes; and of how many they are chosen."""


class _Made:
    """A body of the part. depth: how many it takes to make it. size: bytes that are held for it alone."""

    __slots__ = ("body", "depth", "number", "size")

    def __init__(self, number: int, body: Body, depth: int, size: int) -> None:
        self.number = number
        self.body = body
        self.depth = depth
        self.size = size


class _Kept:
    """The last answers to one question. last: the last one. problem: why there was no answer the last time, empty if
    there was one."""

    __slots__ = ("key", "last", "levels", "problem")

    def __init__(self, key: int, last: Answer) -> None:
        self.key = key
        self.last = last
        self.levels: Levels[_Made] = Levels()
        self.problem = b""

    @property
    def former(self) -> _Made | None:
        """The last body."""
        return self.levels.held[0] if self.levels.held else None

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum({made.number: made.size for made in self.levels.held}.values())


class Encoder:
    """Makes the frames of one part of a record. Not for several threads."""

    def __init__(self, header: Header, most_kept: int = MOST_KEPT) -> None:
        """header: of the part. most_kept: bytes of answers that are held."""
        self.header = header
        self._most_kept = most_kept
        self._kept: dict[Asked, _Kept] = {}
        self._size = 0
        self._keys = self._bodies = 0
        self._requests: OrderedDict[tuple[int, int, int], _Made] = OrderedDict()
        self._requests_size = 0
        self._alike: dict[tuple[int, int, bytes], _Made] = {}
        self._by_hash: dict[int, _Made] = {}
        self._beside: dict[tuple[int, int, int], _Made] = {}
        self._block, self._heads = BlockWriter(), b""
        self._block_since = header.began_ms

    def begin(self) -> bytes:
        """The frame with which the part begins."""
        return framed(HEADER, msgspec.json.encode(self.header))

    def add(self, answer: Answer) -> bytes:
        """The frames that this answer completes; it waits for `settle`, or for later answers."""
        made = b""
        waited = answer.at_ms - self._block_since
        if (self._block.has_changes and waited >= BLOCK_MS) or waited >= SAME_EVERY_MS or self._is_full():
            made = self.flush()
        if not self._block.count:
            self._block_since = answer.at_ms
        asked = answer.asked
        kept = self._kept.pop(asked, None)
        if kept is None:
            kept = _Kept(self._keys, answer)
            self._ask(asked)
        self._kept[asked] = kept  # the last one asked comes last
        former, kept.last = kept.last, answer
        problem = b"" if answer.problem is None else _problem(answer.problem)
        is_known = kept.former is not None or bool(kept.problem)
        since, took = answer.at_ms - self.header.began_ms, max(0, answer.took_ms)
        if is_known and problem == kept.problem and (problem or former.body == answer.body):
            kept.last = answer._replace(body=former.body)  # one body is held, not two equal ones
            self._block.answer(Entry(kept.key, SAME, since, took))
            return made
        kept.problem = problem
        if problem:
            self._block.answer(Entry(kept.key, PROBLEM, since, took), number=self._bodies, problem=problem)
            self._bodies += 1
            return made
        coded = self._body(kept, asked, answer.body)
        if kept.former is not None:
            kept.last = answer._replace(body=kept.former.body.data)
        self._block.answer(Entry(kept.key, DELTA if coded.bases else WHOLE, since, took), coded, self._bodies - 1)
        return made

    def last_answers(self) -> list[Answer]:
        """The last answer to each question that is still held, in the order of time."""
        return sorted((kept.last for kept in self._kept.values()), key=lambda answer: answer.at_ms)

    def settle(self) -> bytes:
        """The frame of what waits, if something changed in it; empty if not."""
        return self.flush() if self._block.has_changes else b""

    def flush(self) -> bytes:
        """The frame of what waits; empty if nothing does."""
        if not self._block.count:
            return b""
        heads = self._block.heads()
        made = framed(BLOCK, self._block.made(heads, self._heads))
        self._block, self._heads = BlockWriter(), heads
        return made

    def _is_full(self) -> bool:
        return self._block.size >= MOST_BLOCK or self._block.count >= MOST_ANSWERS // 4

    def _ask(self, asked: Asked) -> None:
        """Put a question into the block, its request made of former ones."""
        same_api = [made for (key, version, _), made in self._requests.items() if (key, version) == asked[3:5]]
        tried = [(made,) for made in same_api[-4:]] + [_parts(asked.request, same_api)]
        made, coded = self._cheapest(asked.request, tried)
        self._block.ask(Question(*asked[:5]), coded, made.number)
        self._requests[asked.api_key, asked.version, made.number] = made
        self._requests_size += len(asked.request)
        self._keys += 1
        while self._requests_size > _MOST_REQUESTS and len(self._requests) > 1:
            _, gone = self._requests.popitem(last=False)
            self._requests_size -= len(gone.body.data)

    def _body(self, kept: _Kept, asked: Asked, body: bytes) -> Coded:
        """A changed body, coded; and kept for what comes."""
        level, former = kept.levels.level, kept.former
        alike = (asked.api_key, asked.version, asked.request)
        beside = self._beside.get((asked.api_key, asked.version, asked.node))
        equal = self._by_hash.get(hash(body))
        if equal is not None and equal.body.data == body and equal.depth < DEEPEST:
            now, coded = self._cheapest(body, [(equal,)])
        else:
            equal = None
            own = kept.levels.held[level] if former is not None else None
            tried: list[tuple[_Made, ...]] = []
            if own is None:
                other = self._alike.get(alike)  # what another broker answered
                tried += [(other,)] if other is not None and other.depth < DEEPEST else []
                tried.append(_parts(body, self._of_api(asked)))
            if beside is not None and beside is not former and len(beside.body.data) == len(body) <= SMALL:
                tried += [(beside,)] if beside.depth < DEEPEST else []  # as of the same partitions by another timestamp
            now, coded = self._cheapest(body, tried, own, level)
        before = kept.size
        if former is not None and former is self._by_hash.get(hash(former.body.data)):
            del self._by_hash[hash(former.body.data)]
        if equal is None:
            self._by_hash[hash(body)] = now
        kept.levels.add(now)
        self._alike[alike] = now
        if len(body) <= SMALL:
            self._beside[asked.api_key, asked.version, asked.node] = now
        self._size += kept.size - before
        while self._size > self._most_kept and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))
        return coded

    def _cheapest(
        self, body: bytes, tried: Iterable[tuple[_Made, ...]], own: _Made | None = None, level: int = FAR
    ) -> tuple[_Made, Coded]:
        """The body as what takes the fewest bytes. own: the answer to the question this power of LEAP back."""
        best: Coded | None = None
        bases: tuple[_Made, ...] = ()
        if own is not None:
            best, bases = made_of(body, [(own.number, own.body)], level), (own,)
        for each in tried if best is None or best.cost > CHEAP else ():
            other = made_of(body, [(made.number, made.body) for made in each]) if each else None
            if other is not None and (best is None or other.cost < best.cost):
                best, bases = other, each
        if best is None or best.cost > len(body) // 16:
            alone = whole(body)
            if best is None or alone.cost < best.cost:
                best, bases = alone, ()
        data, size = body, Body(body, best.grown).size
        if len(bases) == 1 and bases[0].body.data == body:
            data, size = bases[0].body.data, 0  # one body is held, not two equal ones
        depth = 1 + max((made.depth for made in bases), default=-1)
        now = _Made(self._bodies, Body(data, best.grown), depth, size)
        self._bodies += 1
        return now, best

    def _of_api(self, asked: Asked) -> list[_Made]:
        """The last answers to other questions to the same API, those of the same broker last."""
        found = [
            (each.node == asked.node, made)
            for each, kept in self._kept.items()
            if each[3:5] == asked[3:5] and (made := kept.former) is not None and made.depth < DEEPEST
        ]
        return [made for _, made in sorted(found, key=_is_near)]

    def _forget(self, asked: Asked) -> None:
        kept = self._kept.pop(asked)
        self._size -= kept.size
        for made in kept.levels.held[:1]:
            self._by_hash.pop(hash(made.body.data), None)
        self._alike.pop((asked.api_key, asked.version, asked.request), None)


def _is_near(found: tuple[bool, _Made]) -> bool:
    return found[0]


def _parts(body: bytes, former: list[_Made]) -> tuple[_Made, ...]:
    """Former bodies that have parts of a new one, the one with the most first; empty if too few of it is in them."""
    if len(body) < _SAMPLES * _SAMPLE or not former:
        return ()
    step = max(1, (len(body) - _SAMPLE) // (_TRIED - 1))
    slices = dict.fromkeys(body[at : at + _SAMPLE] for at in range(0, len(body) - _SAMPLE + 1, step))
    single = [each for each in slices if body.find(each, body.find(each) + 1) < 0]  # the others are everywhere
    wanted = set(single[:: max(1, len(single) // _SAMPLES)])
    count, chosen = len(wanted), []
    for made in reversed(former[-_ALIKE:]):
        held = {each for each in wanted if each in made.body.data}
        if held:
            chosen.append(made)
            wanted -= held
        if not wanted or len(chosen) == MOST_BASES:
            break
    return tuple(chosen) if len(wanted) * 2 < count else ()


def _problem(problem: Problem) -> bytes:
    kind, *texts = (text.encode("utf-8", "replace").decode() for text in problem)
    return msgspec.json.encode((kind, *texts))
