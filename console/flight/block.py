"""Blocks of a record: what was answered within a second, in columns, so that what is alike is compressed together.

    block   = lengths of its streams, then each of them
    HEADS   = columns: forms, questions, then of answers their keys, times, how long they took; how bodies are kept
    RUNS    = where bodies differ from those that they are made of (`delta.Runs`)
    SIZES   = of each number by which something grew, how many bits it has, and its sign
    BITS    = the other bits of those numbers: nothing makes them shorter
    FRESH   = bytes that are new in bodies
    WHOLE   = bodies that are made of no other, each compressed by itself, and problems

A body is made of earlier ones: of the last answer to the same question, of what another broker answered, or of several
that have parts of it, one behind the other. How something grew so far says how it will: what is kept of a number is how
it differs from that, where this is less.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from console.flight.delta import (
    DamagedDelta,
    Runs,
    applied,
    difference,
    number_at,
    put_number,
    put_signed,
    runs_of,
    signed_at,
)
from console.flight.frames import MOST_BYTES, DamagedFrame, squeezed, unsqueezed

SAME, PROBLEM, WHOLE, DELTA, ASKED, ASKED_ALIKE = range(6)
"""Forms of what is in a block: an answer as the last one to the question, none with a reason, one by itself, one made
of other bodies; and a question, its request by itself or made of others."""
FAR = 3
"""In place of a level: what a body is made of was no answer to the same question."""
LEAP = 32
MOST_ANSWERS = 1 << 16
MOST_BASES = 8
_AGAIN, _PREDICTED, _BY_FORMER = 4, 8, 16
"""Flags beside the level: the runs of its base again; numbers less those predicted; runs compressed by the base's."""
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
    cost: int
    grown: Grown | None


class Entry(NamedTuple):
    """An answer in a block. key: the number of its question in the part. since_ms: when it came, since the part began.
    place: of its body in the block, where it has one."""

    key: int
    form: int
    since_ms: int
    took_ms: int
    place: int = 0


class Question(NamedTuple):
    """What is asked, without the request, which is a body."""

    node: int
    host: str
    port: int
    api_key: int
    version: int


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
    if found is None:
        return None
    numbers, flags, runs = found.numbers, 0, found.runs.coded
    means = former.means if former is not None and found.runs is former.runs else ()
    if former is not None and found.runs is former.runs:
        flags, runs = _AGAIN, b""
        if means and level == 0:
            left = [number - mean for number, mean in zip(numbers, means, strict=True)]
            if sum(map(int.bit_length, left)) < sum(map(int.bit_length, numbers)):
                numbers, flags = left, _AGAIN | _PREDICTED
    elif former is not None and len(former.runs.coded) < len(runs) * 2:
        flags, runs = _BY_FORMER, _deflated(runs, former.runs.coded)
    sizes, bits = _numbers_coded(numbers)
    of_runs = len(runs) if flags else len(zlib.compress(runs, 1))
    cost = of_runs + len(bits) + len(sizes) // 3 + len(found.fresh)
    grown = _grown(found.runs, found.numbers, means, level)
    return Coded(tuple(number for number, _ in bases), level, flags, runs, sizes, bits, found.fresh, cost, grown)


def _grown(runs: Runs, numbers: Sequence[int], means: Sequence[int], level: int) -> Grown | None:
    """What is known after a body with these differences."""
    if len(runs.each) > _LARGEST:
        return None
    if level == FAR:
        return Grown(runs, ())
    if level == 0 and means:
        return Grown(runs, tuple([mean + (each - mean) // _INERT for each, mean in zip(numbers, means, strict=True)]))
    span = LEAP**level
    return Grown(runs, tuple([each // span for each in numbers]))


class BlockWriter:
    """A block while it is filled. bodies: how many it has. size: bytes of it, about."""

    def __init__(self) -> None:
        self.count = self.size = 0
        self.has_changes = False
        self._questions, self._keys, self._forms = bytearray(), bytearray(), bytearray()
        self._times, self._took, self._kept = bytearray(), bytearray(), bytearray()
        self._since = 0
        self._streams = [bytearray() for _ in range(5)]

    def ask(self, question: Question, request: Coded, number: int) -> None:
        """Put a question in. number: of its request among the bodies."""
        host = question.host.encode("utf-8", "replace")
        put_signed(self._questions, question.node)
        put_signed(self._questions, question.port)
        put_number(self._questions, len(host))
        self._questions += host
        put_number(self._questions, question.api_key)
        put_number(self._questions, question.version)
        self._forms.append(ASKED_ALIKE if request.bases else ASKED)
        self._put(request, number)

    def answer(self, entry: Entry, body: Coded | None = None, number: int = 0, problem: bytes = b"") -> None:
        """Put an answer in. body, number: of one that is not the same again. problem: why there is none."""
        put_number(self._keys, entry.key)
        self._forms.append(entry.form)
        put_signed(self._times, entry.since_ms - self._since)
        self._since = entry.since_ms
        put_number(self._took, entry.took_ms)
        if body is not None:
            self._put(body, number)
        elif problem:
            self._put(whole(problem), number)
        self.has_changes = self.has_changes or entry.form != SAME
        self.count += 1

    def _put(self, body: Coded, number: int) -> None:
        runs, sizes, bits, fresh, wholes = self._streams
        head = self._kept
        if not body.bases:
            put_number(head, len(body.fresh))
            wholes += body.fresh
        else:
            head.append(body.level | body.flags)
            put_number(head, len(body.bases))
            for base in body.bases:
                put_number(head, number - base)
            put_number(head, len(body.runs))
            put_number(head, len(body.sizes))
            put_number(head, len(body.fresh))
            for stream, data in ((runs, body.runs), (sizes, body.sizes), (bits, body.bits), (fresh, body.fresh)):
                stream += data
        self.size += body.cost

    def made(self) -> bytes:
        """The block."""
        heads = bytearray()
        put_number(heads, len(self._forms))
        for column in (self._forms, self._questions, self._keys, self._times, self._took, self._kept):
            heads += column
        runs, sizes, bits, fresh, wholes = self._streams
        made, streams = bytearray(), [_packed(heads), _packed(runs), _packed(sizes), bytes(bits), _packed(fresh)]
        for stream in streams:
            put_number(made, len(stream))
        return bytes(made) + b"".join(streams) + bytes(wholes)


class _Place(NamedTuple):
    """Where a body lies in its block. bases: as distances."""

    bases: tuple[int, ...]
    flags: int
    runs: tuple[int, int]
    sizes: tuple[int, int]
    fresh: tuple[int, int]


class Block:
    """A block that is read. questions: with the places of their requests; entries: the answers; both in the order of
    the file. Raises DamagedFrame."""

    def __init__(self, data: bytes) -> None:
        try:
            lengths, at = [], 0
            for _ in range(5):
                length, at = number_at(data, at)
                lengths.append(length)
            streams = []
            for length in lengths:
                streams.append(data[at : at + length])
                at += length
            self._wholes = data[at:]
            self._packed_runs, self._packed_sizes, self._bits, self._packed_fresh = streams[1:]
            self._heads = _unpacked(streams[0])
            self._places: list[_Place] = []
            self._ends = [0, 0, 0, 0]
            self.questions, self.entries = self._parsed()
        except (IndexError, ValueError) as error:
            raise DamagedFrame(str(error)) from error
        self._opened: tuple[bytes, bytes, bytes] | None = None
        self._bit_ends: list[int] = []

    @property
    def bodies(self) -> int:
        """How many bodies it has, requests and problems among them."""
        return len(self._places)

    def bases(self, place: int) -> tuple[int, ...]:
        """What the body there is made of, each as so many bodies before it."""
        return self._places[place].bases

    def body(self, place: int, bases: Sequence[Body]) -> Body:
        """The body there. Raises DamagedFrame."""
        at = self._places[place]
        if not at.bases:
            return Body(unsqueezed(self._wholes[at.fresh[0] : at.fresh[1]]))
        runs_stream, sizes_stream, fresh_stream = self._open()
        base = bases[0] if len(bases) == 1 else Body(b"".join(each.data for each in bases))
        former, level = base.grown, at.flags & FAR
        try:
            means: Sequence[int] = ()
            if at.flags & _AGAIN:
                if former is None:
                    raise DamagedFrame("runs are to be taken again, and there are none")
                runs, means = former.runs, former.means
            else:
                coded = runs_stream[at.runs[0] : at.runs[1]]
                if at.flags & _BY_FORMER:
                    coded = _inflated(coded, former.runs.coded if former is not None else b"")
                runs = runs_of(coded)
            ends = self._bit_ends
            numbers = _numbers_of(sizes_stream[at.sizes[0] : at.sizes[1]], self._bits[ends[place] : ends[place + 1]])
            if at.flags & _PREDICTED:
                numbers = [number + mean for number, mean in zip(numbers, means, strict=True)]
            fresh = fresh_stream[at.fresh[0] : at.fresh[1]]
            made = applied(base.data, runs, numbers, fresh, MOST_BYTES)
            return Body(made, _grown(runs, numbers, means, level))
        except (DamagedDelta, ValueError) as error:
            raise DamagedFrame(str(error)) from error

    def _open(self) -> tuple[bytes, bytes, bytes]:
        if self._opened is None:
            sizes = _unpacked(self._packed_sizes)
            self._opened = _unpacked(self._packed_runs), sizes, _unpacked(self._packed_fresh)
            ends = [0]
            for place in self._places:
                start, end = place.sizes
                bits = sum([max(0, (each & ~_NEGATIVE) - 1) for each in sizes[start:end]])
                ends.append(ends[-1] + (bits + 7) // 8)
            self._bit_ends = ends
        return self._opened

    def _parsed(self) -> tuple[list[tuple[int, Question]], list[Entry]]:
        heads = self._heads
        count, at = number_at(heads, 0)
        forms = heads[at : at + count]
        if len(forms) != count or count > MOST_ANSWERS:
            raise DamagedFrame(f"a block of {count:,} answers")
        at += count
        answered = [form for form in forms if form < ASKED]
        questions = []
        for place, form in enumerate([form for form in forms if form != SAME]):
            if form >= ASKED:
                node, at = signed_at(heads, at)
                port, at = signed_at(heads, at)
                length, at = number_at(heads, at)
                host = heads[at : at + length].decode("utf-8", "replace")
                at += length
                api_key, at = number_at(heads, at)
                version, at = number_at(heads, at)
                questions.append((place, Question(node, host, port, api_key, version)))
        keys, at = _column(heads, at, len(answered))
        since, at = _column(heads, at, len(answered), signed=True)
        took, at = _column(heads, at, len(answered))
        for form in forms:
            if form != SAME:
                at = self._place(form, at)
        now, place, entries = 0, 0, []
        rest = iter(zip(keys, since, took, strict=True))
        for form in forms:
            if form < ASKED:
                key, later, each = next(rest)
                now += later
                entries.append(Entry(key, form, now, each, place))
            place += form != SAME
        return questions, entries

    def _place(self, form: int, at: int) -> int:
        """Note where the next body lies; where its head ends."""
        heads, ends = self._heads, self._ends
        if form in (WHOLE, PROBLEM, ASKED):
            length, at = number_at(heads, at)
            self._places.append(_Place((), FAR, (0, 0), (0, 0), (ends[3], ends[3] + length)))
            ends[3] += length
            return at
        if form not in (DELTA, ASKED_ALIKE):
            raise DamagedFrame(f"a body's form is {form}")
        flags = heads[at]
        count, at = number_at(heads, at + 1)
        if not 1 <= count <= MOST_BASES:
            raise DamagedFrame(f"a body is made of {count:,}")
        bases = []
        for _ in range(count):
            distance, at = number_at(heads, at)
            bases.append(distance)
        spans = []
        for stream in range(3):
            length, at = number_at(heads, at)
            spans.append((ends[stream], ends[stream] + length))
            ends[stream] += length
        self._places.append(_Place(tuple(bases), flags, *spans))
        return at


def _column(data: bytes, at: int, count: int, *, signed: bool = False) -> tuple[list[int], int]:
    read = signed_at if signed else number_at
    column = []
    for _ in range(count):
        number, at = read(data, at)
        column.append(number)
    return column, at


def _numbers_coded(numbers: Sequence[int]) -> tuple[bytes, bytes]:
    """Of each number its length in bits and its sign; and all bits but the highest, which is known."""
    sizes = bytes([each.bit_length() | (_NEGATIVE if each < 0 else 0) for each in numbers])
    bits = "".join([bin(abs(each))[3:] for each in numbers if each])
    length = (len(bits) + 7) // 8
    return sizes, int(bits.ljust(8 * length, "0"), 2).to_bytes(length) if bits else b""


def _numbers_of(sizes: bytes, data: bytes) -> list[int]:
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


def _packed(data: bytes | bytearray) -> bytes:
    """Compressed, if that is shorter; with its length, and whether."""
    if not data:
        return b""
    head = bytearray()
    deflated = _deflated(data)
    if len(deflated) >= len(data):
        return b"\0" + data
    put_number(head, len(data))
    return bytes(head) + deflated


def _unpacked(data: bytes) -> bytes:
    if not data:
        return b""
    size, at = number_at(data, 0)
    if not size:
        return data[1:]
    if size > MOST_BYTES:
        raise DamagedFrame(f"it holds {size:,} bytes")
    made = _inflated(data[at:], b"", size)
    if len(made) != size:
        raise DamagedFrame("it ends too early")
    return made


def _deflated(data: bytes | bytearray, dictionary: bytes = b"") -> bytes:
    deflating = zlib.compressobj(9, wbits=-zlib.MAX_WBITS, zdict=dictionary)
    return deflating.compress(data) + deflating.flush()


def _inflated(data: bytes, dictionary: bytes, size: int = MOST_BYTES) -> bytes:
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary).decompress(data, size)
    except zlib.error as error:
        raise DamagedFrame(str(error)) from error
