"""Blocks of a record: what was answered within a second, in columns, so that what is alike is compressed together.

block   = lengths of its streams, then each of them
HEADS   = columns: forms, questions, then of answers their keys, times, how long they took; how bodies are kept
RUNS    = where bodies differ from those that they are made of (`delta.Runs`)
SIZES   = of each number by which something grew, how many bits it has, and its sign
BITS    = the other bits of those numbers: nothing makes them shorter
FRESH   = bytes that are new in bodies
WHOLE   = bodies that are made of no other, each compressed by itself, and problems
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from console.flight.coded_body import FAR, Body, Coded, bytes_of, deflated, inflated, made_again, whole
from console.flight.delta import number_at, put_number, put_signed, signed_at
from console.flight.frames import MOST_BYTES, DamagedFrame, unsqueezed

SAME, PROBLEM, WHOLE, DELTA, ASKED, ASKED_ALIKE = range(6)
"""Forms of what is in a block: an answer as the last one to the question, none with a reason, one by itself, one made
of other bodies; and a question, its request by itself or made of others."""
TOOK_BITS = 4
"""How many bits are kept of the milliseconds that an answer took: to within an eighth."""
MOST_ANSWERS = 1 << 16
MOST_BASES = 8
MOST_OPENED = MOST_BYTES + (8 << 20)
"""Bytes of a block's streams: a block ends with the answer that makes it larger than 4 MiB."""
_PLACE_SIZE, _ENTRY_SIZE, _COLUMN_SIZE = 480, 200, 120
"""Bytes of memory for a body's place, an answer, and its numbers, about."""


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


class BlockWriter:
    """A block while it is filled. count: answers in it. has_changes: whether one differs from the last to its question.
    size: bytes of bodies, about."""

    def __init__(self) -> None:
        self.count = self.size = 0
        self.has_changes = False
        self._questions, self._keys, self._forms = bytearray(), bytearray(), bytearray()
        self._times, self._took = bytearray(), bytearray()
        self._flags, self._distances, self._lengths = bytearray(), bytearray(), bytearray()
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
        put_number(self._took, entry.took_ms >> (over := max(0, entry.took_ms.bit_length() - TOOK_BITS)) << over)
        if body is not None:
            self._put(body, number)
        elif problem:
            self._put(whole(problem), number)
        self.has_changes = self.has_changes or entry.form != SAME
        self.count += 1

    def _put(self, body: Coded, number: int) -> None:
        runs, sizes, bits, fresh, wholes = self._streams
        if not body.bases:
            put_number(self._lengths, len(body.fresh))
            wholes += body.fresh
        else:
            self._flags.append(body.level | body.flags)
            bases = body.bases if body.level == FAR else ()  # else which one it is follows from the answers so far
            put_number(self._distances, len(bases))
            for base in bases:
                put_number(self._distances, number - base)
            put_number(self._lengths, len(body.runs))
            put_number(self._lengths, len(body.sizes))
            put_number(self._lengths, len(body.fresh))
            for stream, data in ((runs, body.runs), (sizes, body.sizes), (bits, body.bits), (fresh, body.fresh)):
                stream += data
        self.size += body.cost

    def heads(self) -> bytes:
        """Its heads, the dictionary of the next block's."""
        heads = bytearray()
        put_number(heads, len(self._forms))
        for column in (
            self._forms,
            self._flags,
            self._keys,
            self._distances,
            self._lengths,
            self._took,
            self._times,
            self._questions,
        ):
            heads += column
        return bytes(heads)

    def made(self, heads: bytes, former: bytes) -> bytes:
        """The block with its heads. former: the heads of the block before it in the part."""
        runs, sizes, bits, fresh, wholes = self._streams
        made, streams = (
            bytearray(),
            [_packed(heads, former), _packed(runs), _packed(sizes), bytes(bits), _packed(fresh)],
        )
        for stream in streams:
            put_number(made, len(stream))
        return bytes(made) + b"".join(streams) + bytes(wholes)


class _Place(NamedTuple):
    """Where a body lies in its block. bases: as distances; empty where its level says which former answer it is."""

    is_whole: bool
    bases: tuple[int, ...]
    flags: int
    runs: tuple[int, int]
    sizes: tuple[int, int]
    fresh: tuple[int, int]


class Block:
    """A block that is read. questions: with the places of their requests; entries: the answers; both in the order of
    the file. heads: the dictionary of the next block's."""

    def __init__(self, data: bytes, former: bytes = b"", heads: bytes | None = None) -> None:
        """former: the heads of the block before it in the part. heads: its own, if they are known already. Raises
        DamagedFrame."""
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
            self.heads = _unpacked(streams[0], former) if heads is None else heads
            self._places: list[_Place] = []
            self._columns: tuple[list[int], list[int], list[int]] = ([], [], [])
            self.questions, self.entries = self._parsed()
        except (IndexError, StopIteration, ValueError) as error:
            raise DamagedFrame(str(error)) from error
        self._opened: tuple[bytes, bytes, bytes] | None = None
        self._bit_ends: list[int] = []

    @property
    def is_open(self) -> bool:
        """Whether its streams are unpacked."""
        return self._opened is not None

    @property
    def size(self) -> int:
        """Bytes of memory that it takes now, its heads apart, about."""
        packed = len(self._wholes) + len(self._packed_runs) + len(self._packed_sizes) + len(self._bits)
        opened = sum(map(len, self._opened)) if self._opened is not None else 0
        listed = _PLACE_SIZE * len(self._places) + (_ENTRY_SIZE + _COLUMN_SIZE) * len(self.entries)
        return packed + len(self._packed_fresh) + opened + listed

    @property
    def bodies(self) -> int:
        """How many bodies it has, requests and problems among them."""
        return len(self._places)

    def bases(self, place: int) -> tuple[tuple[int, ...], int]:
        """What the body there is made of, each as so many bodies before it; and its level, FAR for what is no former
        answer to the same question."""
        return self._places[place].bases, self._places[place].flags & FAR

    def body(self, place: int, bases: Sequence[Body]) -> Body:
        """The body there. Raises DamagedFrame."""
        at = self._places[place]
        if at.is_whole:
            return Body(unsqueezed(self._wholes[at.fresh[0] : at.fresh[1]]))
        runs, sizes, fresh = self._open()
        coded = Coded(
            bases=(),
            level=at.flags & FAR,
            flags=at.flags,
            runs=runs[at.runs[0] : at.runs[1]],
            sizes=sizes[at.sizes[0] : at.sizes[1]],
            bits=self._bits[self._bit_ends[place] : self._bit_ends[place + 1]],
            fresh=fresh[at.fresh[0] : at.fresh[1]],
        )
        return made_again(coded, bases)

    def _open(self) -> tuple[bytes, bytes, bytes]:
        if self._opened is None:
            sizes = _unpacked(self._packed_sizes, most=MOST_OPENED)
            runs = _unpacked(self._packed_runs, most=MOST_OPENED - len(sizes))
            fresh = _unpacked(self._packed_fresh, most=MOST_OPENED - len(sizes) - len(runs))
            self._opened = runs, sizes, fresh
            ends = [0]
            for place in self._places:
                start, end = place.sizes
                ends.append(ends[-1] + bytes_of(sizes[start:end]))
            self._bit_ends = ends
        return self._opened

    def _parsed(self) -> tuple[list[tuple[int, Question]], list[Entry]]:
        heads = self.heads
        count, at = number_at(heads, 0)
        forms = heads[at : at + count]
        if len(forms) != count or count > MOST_ANSWERS:
            raise DamagedFrame(f"a block of {count:,} answers")
        if max(forms, default=0) > ASKED_ALIKE:
            raise DamagedFrame(f"a body's form is {max(forms)}")
        at += count
        answered = [form for form in forms if form < ASKED]
        at = self._place_all([form for form in forms if form != SAME], at, len(answered))
        keys, since, took = self._columns
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
        if at != len(heads):
            raise DamagedFrame("a block whose heads are longer than what they say")
        now, place, entries = 0, 0, []
        rest = iter(zip(keys, since, took, strict=True))
        for form in forms:
            if form < ASKED:
                key, later, each = next(rest)
                now += later
                entries.append(Entry(key, form, now, each, place))
            place += form != SAME
        return questions, entries

    def _place_all(self, forms: Sequence[int], at: int, answered: int) -> int:
        """Note where the bodies lie, and read the columns of the answers; where these end."""
        heads, made = self.heads, [form in (DELTA, ASKED_ALIKE) for form in forms]
        flags = iter(heads[at : at + sum(made)])
        keys, at = _column(heads, at + sum(made), answered)
        bases = []
        for _ in range(sum(made)):
            count, at = number_at(heads, at)
            if count > MOST_BASES:
                raise DamagedFrame(f"a body is made of {count:,}")
            distances, at = _column(heads, at, count)
            bases.append(tuple(distances))
        lengths, at = _column(heads, at, len(made) + 2 * sum(made))
        took, at = _column(heads, at, answered)
        since, at = _column(heads, at, answered, signed=True)
        self._columns = keys, since, took
        ends, rest, of_bases = [0, 0, 0, 0], iter(lengths), iter(bases)
        for is_made in made:
            spans = []
            for stream in range(3) if is_made else (3,):
                length = next(rest)
                spans.append((ends[stream], ends[stream] + length))
                ends[stream] += length
            if is_made:
                self._places.append(_Place(False, next(of_bases), next(flags), *spans))
            else:
                self._places.append(_Place(True, (), FAR, (0, 0), (0, 0), spans[0]))
        return at


def _column(data: bytes, at: int, count: int, *, signed: bool = False) -> tuple[list[int], int]:
    read = signed_at if signed else number_at
    column = []
    for _ in range(count):
        number, at = read(data, at)
        column.append(number)
    return column, at


def _packed(data: bytes | bytearray, dictionary: bytes = b"") -> bytes:
    """Compressed, if that is shorter; with its length, and whether."""
    if not data:
        return b""
    head = bytearray()
    made = deflated(data, dictionary)
    if len(made) >= len(data):
        return b"\0" + data
    put_number(head, len(data))
    return bytes(head) + made


def _unpacked(data: bytes, dictionary: bytes = b"", most: int = MOST_BYTES) -> bytes:
    if not data:
        return b""
    size, at = number_at(data, 0)
    if not size:
        return data[1:]
    if size > most:
        raise DamagedFrame(f"it holds {size:,} bytes")
    made = inflated(data[at:], dictionary, size)
    if len(made) != size:
        raise DamagedFrame("it ends too early")
    return made
