"""A part of a record while it is read: its answers in order, and the bodies that they are made of."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from console.flight.answer import Asked, Header
from console.flight.block import DELTA, PROBLEM, SAME, WHOLE, Block
from console.flight.coded_body import FAR, Body, Levels
from console.flight.frames import BLOCK, DamagedFrame, Frame, Held

_OPENED, _OPENED_BYTES = 64, 64 << 20
"""Blocks that stay opened, and the memory that they take, about."""


class Found(NamedTuple):
    """An answer in a part. body: its number in the part."""

    asked: Asked
    at_ms: int
    took_ms: int
    body: int
    is_problem: bool


class Part(Protocol):
    """A part of a record, in one of the formats."""

    header: Header

    def take(self, frame: Frame) -> Iterable[Found]:
        """The answers of the next frame. Raises DamagedFrame, IndexError and ValueError."""
        ...

    def bases(self, number: int) -> tuple[int, ...]:
        """The numbers of the bodies that a body is made of, all lower than its own."""
        ...

    def body(self, number: int, bases: Sequence[Body]) -> Body:
        """A body, made of those. Raises DamagedFrame."""
        ...


class BlockPart:
    """A part in blocks. made: gives a body of this part by its number. held: the memory for what is kept of it."""

    def __init__(self, data: bytes, header: Header, made: Callable[[int], Body], held: Held) -> None:
        self.header = header
        self._held = held
        self._data = data
        self._made = made
        self._frames: list[Frame] = []
        self._firsts = array("L")
        self._count = 0
        self._heads: list[bytes] = []
        self._opened: OrderedDict[int, Block] = OrderedDict()
        self._keys: list[Asked] = []
        self._own: dict[int, int] = {}
        self._levels: dict[int, Levels[int]] = {}
        self._last: dict[int, tuple[int, bool]] = {}

    def take(self, frame: Frame) -> Iterable[Found]:
        """The answers of the next block. Raises as `Part.take`."""
        if frame.kind != BLOCK:
            raise DamagedFrame(f"a frame of kind {frame.kind}")
        self._frames.append(frame)
        self._firsts.append(self._count)
        block = self._block(len(self._frames) - 1)
        first, self._count = self._count, self._count + block.bodies
        for place, question in block.questions:
            request = self._made(first + place).data
            self._held.take(len(request) + len(question.host))
            self._keys.append(Asked(*question, request))
        found = []
        for entry in block.entries:
            if entry.form in (WHOLE, DELTA):
                number, levels = first + entry.place, self._levels.setdefault(entry.key, Levels())
                held = levels.held
                self._own[number] = held[levels.level] if held else number
                levels.add(number)
            if entry.form != SAME:
                self._last[entry.key] = first + entry.place, entry.form == PROBLEM
            at = self.header.began_ms + entry.since_ms
            found.append(Found(self._keys[entry.key], at, entry.took_ms, *self._last[entry.key]))
        return found

    def bases(self, number: int) -> tuple[int, ...]:
        """As `Part.bases`. Raises DamagedFrame."""
        block, place = self._at(number)
        distances, level = block.bases(place)
        if not distances and level != FAR:
            distances = (number - self._own.get(number, number),)
        if not all(1 <= each <= number for each in distances):
            raise DamagedFrame("an answer is a delta on what is not there")
        return tuple(number - each for each in distances)

    def body(self, number: int, bases: Sequence[Body]) -> Body:
        """As `Part.body`."""
        block, place = self._at(number)
        was_open = block.is_open
        made = block.body(place, bases)
        if block.is_open and not was_open:
            self._shed()
        return made

    def _at(self, number: int) -> tuple[Block, int]:
        index = bisect_right(self._firsts, number) - 1
        return self._block(index), number - self._firsts[index]

    def _block(self, index: int) -> Block:
        found = self._opened.pop(index, None)
        if found is None:
            frame = self._frames[index]
            former = self._heads[index - 1] if index else b""
            heads = self._heads[index] if index < len(self._heads) else None
            found = Block(self._data[frame.start : frame.end], former, heads)
            if heads is None:
                self._held.take(len(found.heads))
                self._heads.append(found.heads)
            self._opened[index] = found
            self._shed()
        else:
            self._opened[index] = found
        return found

    def _shed(self) -> None:
        """Close the blocks that were not used for longest, where those that are open take too much."""
        sizes = [block.size for block in self._opened.values()]
        total = sum(sizes)
        for size in sizes[:-1]:
            if total <= _OPENED_BYTES and len(self._opened) <= _OPENED:
                break
            self._opened.popitem(last=False)
            total -= size
