"""A body as what is kept of it: where it differs from former ones, and by how much its numbers grew.

A body is made of earlier ones: of the last answer to the same question, of what another broker answered, or of several
that have parts of it, one behind the other. How something grew so far says how it will: what is kept of a number is how
it differs from that, where this is less.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Generic, NamedTuple, TypeVar

from console.flight.delta import MOST_RUNS, DamagedDelta, Runs, applied, difference, runs_of
from console.flight.frames import MOST_BYTES, DamagedFrame, squeezed

T = TypeVar("T")

FAR = 3
"""In place of a level: what a body is made of was no answer to the same question."""
LEAP, LEVELS = 32, 2
"""The 32nd answer is a delta on the one 32 before it, the 1,024th on that 1,024 before it; so an answer is made of at
most 31 deltas for each power of 32, wherever one looks first."""
_AGAIN, _PREDICTED, _BY_FORMER, _IN_ROW = 4, 8, 16, 32
"""Flags beside the level: the runs of its base again; numbers less those predicted; runs compressed by the base's;
numbers less the one before, as of several times that went on alike."""
_LARGEST = 20_000
"""Runs above which they are not kept for the next body."""
_INERT = 4
"""The part of what a number grew otherwise that counts for the next prediction is one in so many."""
_NEGATIVE = 0x80
_WIDEST = 66


class Grown(NamedTuple):
    """What is known for the body after one: the runs that made it, and by how much each of their numbers grows."""

    runs: Runs
    means: tuple[int, ...]


class Body(NamedTuple):
    """A body, with what is known for the next one. delta: in its place in the first format."""

    data: bytes
    grown: Grown | None = None
    delta: bytes = b""

    @property
    def size(self) -> int:
        """Bytes held, about."""
        return len(self.data) + len(self.delta) + (len(self.grown.runs.each) * 100 if self.grown is not None else 0)


class Coded(NamedTuple):
    """How a body is kept. bases: numbers of bodies, none for a whole one. level: the power of LEAP that its base is
    back, or FAR. cost: bytes, about."""

    bases: tuple[int, ...]
    level: int
    flags: int
    runs: bytes
    sizes: bytes
    bits: bytes
    fresh: bytes
    cost: int = 0
    grown: Grown | None = None


class Levels(Generic[T]):
    """The bodies that answers to one question are made of. held: the last one whose count is divisible by each power of
    LEAP, empty before the first."""

    __slots__ = ("_changes", "held")

    def __init__(self) -> None:
        self._changes = 0
        self.held: list[T] = []

    @property
    def level(self) -> int:
        """Of the next answer: how many powers of LEAP divide the number of those before it, at most LEVELS."""
        level, changes = 0, self._changes
        while level < LEVELS and changes % LEAP == 0:
            changes //= LEAP
            level += 1
        return level

    def add(self, body: T) -> None:
        """Put the next answer's body in."""
        level = self.level
        self.held[: level + 1] = [body] * (level + 1)
        self._changes += 1


def whole(data: bytes) -> Coded:
    """A body by itself."""
    fresh = squeezed(data)
    return Coded((), FAR, 0, b"", b"", b"", fresh, len(fresh), None)


def made_of(data: bytes, bases: Sequence[tuple[int, Body]], level: int = FAR) -> Coded | None:
    """A body as a delta on others, None if they have too little in common. bases: their numbers, and they."""
    base = bases[0][1] if len(bases) == 1 else Body(b"".join(body.data for _, body in bases))
    former = base.grown
    is_far = level == FAR and len(base.data) != len(data)
    found = difference(base.data, data, former.runs if former is not None else None, is_far=is_far)
    if found is None or len(found.runs.each) > MOST_RUNS:
        return None
    numbers, flags, runs = found.numbers, 0, found.runs.coded
    means = former.means if former is not None and found.runs is former.runs else ()
    if former is not None and found.runs is former.runs:
        flags, runs = _AGAIN, b""
        if means and level == 0:
            left = [number - mean for number, mean in zip(numbers, means, strict=True)]
            if _bits(left) < _bits(numbers):
                numbers, flags = left, _AGAIN | _PREDICTED
    elif former is not None and len(former.runs.coded) < len(runs) * 2:
        flags, runs = _BY_FORMER, deflated(runs, former.runs.coded)
    in_row = [number - before for before, number in pairwise((0, *numbers))]
    if _bits(in_row) < _bits(numbers):
        numbers, flags = in_row, flags | _IN_ROW
    sizes, bits = _numbers_coded(numbers)
    of_runs = len(runs) if flags & (_AGAIN | _BY_FORMER) else len(zlib.compress(runs, 1))
    cost = of_runs + len(bits) + len(sizes) // 3 + len(found.fresh)
    grown = _grown(found.runs, found.numbers, means, level, former)
    return Coded(tuple(number for number, _ in bases), level, flags, runs, sizes, bits, found.fresh, cost, grown)


def made_again(coded: Coded, bases: Sequence[Body]) -> Body:
    """The body that was coded. bases: what it is made of. Raises DamagedFrame."""
    base = bases[0] if len(bases) == 1 else Body(b"".join(each.data for each in bases))
    former, flags = base.grown, coded.flags
    try:
        means: Sequence[int] = ()
        if flags & _AGAIN:
            if former is None:
                raise DamagedFrame("runs are to be taken again, and there are none")
            runs, means = former.runs, former.means
        elif flags & _BY_FORMER:
            runs = runs_of(inflated(coded.runs, former.runs.coded if former is not None else b""))
        else:
            runs = runs_of(coded.runs)
        numbers = _numbers_of(coded.sizes, coded.bits)
        if flags & _IN_ROW:
            numbers = list(accumulate(numbers))
        if flags & _PREDICTED:
            numbers = [number + mean for number, mean in zip(numbers, means, strict=True)]
        made = applied(base.data, runs, numbers, coded.fresh, MOST_BYTES)
        return Body(made, _grown(runs, numbers, means, coded.level, former))
    except (DamagedDelta, ValueError) as error:
        raise DamagedFrame(str(error)) from error


def _bits(numbers: Iterable[int]) -> int:
    return sum(map(int.bit_length, numbers))


def _grown(runs: Runs, numbers: Sequence[int], means: Sequence[int], level: int, former: Grown | None) -> Grown | None:
    """What is known after a body with these differences. former: what was before."""
    if former is not None and len(runs.each) == 1 and not any(runs.each[0][1:]):
        return former  # it is the same body
    if len(runs.each) > _LARGEST:
        return None
    if level == FAR:
        return Grown(runs, ())
    if level == 0 and means:
        return Grown(runs, tuple([mean + (each - mean) // _INERT for each, mean in zip(numbers, means, strict=True)]))
    span = LEAP**level
    return Grown(runs, tuple([each // span for each in numbers]))


def _numbers_coded(numbers: Sequence[int]) -> tuple[bytes, bytes]:
    """Of each number its length in bits and its sign; and all bits but the highest, which is known."""
    sizes = bytes([each.bit_length() | (_NEGATIVE if each < 0 else 0) for each in numbers])
    bits = "".join([bin(abs(each))[3:] for each in numbers if each])
    length = (len(bits) + 7) // 8
    return sizes, int(bits.ljust(8 * length, "0"), 2).to_bytes(length) if bits else b""


def _numbers_of(sizes: bytes, data: bytes) -> list[int]:
    if len(sizes) > MOST_RUNS:
        raise DamagedFrame(f"{len(sizes):,} numbers in one answer")
    bits = bin(int.from_bytes(b"\1" + data))[3:]
    numbers, at = [], 0
    for each in sizes:
        size = each & ~_NEGATIVE
        if size > _WIDEST:
            raise DamagedFrame(f"a number of {size} bits")
        end = at + max(0, size - 1)
        number = int("1" + bits[at:end], 2) if size else 0
        numbers.append(-number if each & _NEGATIVE else number)
        at = end
    return numbers


def bytes_of(sizes: bytes) -> int:
    """How many bytes the other bits of numbers of these sizes take."""
    return (sum([max(0, (each & ~_NEGATIVE) - 1) for each in sizes]) + 7) // 8


def deflated(data: bytes | bytearray, dictionary: bytes = b"") -> bytes:
    """Compressed. dictionary: bytes that are known where it is read."""
    deflating = zlib.compressobj(9, wbits=-zlib.MAX_WBITS, zdict=dictionary)
    return deflating.compress(data) + deflating.flush()


def inflated(data: bytes, dictionary: bytes, size: int = MOST_BYTES) -> bytes:
    """What was compressed with this dictionary, at most so many bytes of it. Raises DamagedFrame."""
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary).decompress(data, size)
    except zlib.error as error:
        raise DamagedFrame(str(error)) from error
