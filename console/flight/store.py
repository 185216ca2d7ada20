"""The writer of answers into a record's database. An answer that repeats the previous one takes only an element in a
row of ``repeats``; a changed answer is compressed on the base of an earlier one.
"""

from __future__ import annotations

import errno
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from console.flight import record_file
from console.flight.answer import CONNECT, HANDSHAKE, Answer, Asked, Header

WAIT_MS = 1_000
SAME_WAIT_MS = 10_000
"""Maximum milliseconds until answers are committed if all of them repeat the previous ones."""
MOST_ANSWERS = 1 << 12
"""Maximum number of answers in a transaction, and in a row of ``repeats``."""
CELL_MS = 60_000
"""Approximate milliseconds that a row of ``repeats`` covers. Until the row covers them, each commit replaces it by a
longer one.
"""
MOST_KNOWN = 1 << 16
"""Maximum number of questions in the cache, and of payloads' digests; the least recently used ones are dropped."""
MOST_HELD = 48 << 20
"""Maximum size in bytes of the answers that are kept decompressed because they change often."""
HASHED_FROM = 1 << 13
"""Size in bytes of a request from which on the cache identifies it by its digest."""

_PSEUDO = {HANDSHAKE: "tls_handshake", CONNECT: "connect"}
_IN_BETWEEN = 1 << 32
"""The gap in the answers' numbers between one part of a record and the next."""
_LAST_NUMBERS = (
    "SELECT ifnull((SELECT max(id) FROM questions), 0),"
    " max(ifnull((SELECT max(id) FROM answers), 0), ifnull((SELECT max(id) FROM repeats), 0))"
)
_UNLIKE, _GAIN = 8, 1.1
"""If compression with a base does not make a payload smaller by the first factor, the payload is also compressed alone.
It is stored alone unless that is larger by the second factor."""
_SMALLER = 4
"""A payload may be at most this many times as large as its base. The short body of an error, for example, would be
useless as the base of a long list.
"""
_NEAR = 4
"""Maximum number of payloads to decompress in order to use the last payload as a base, if it is not cached. Otherwise
the first payload of the chain becomes the base.
"""


class _Payload(NamedTuple):
    """A payload in the database."""

    id: int
    size: int
    depth: int
    """The number of bases in this payload's chain; 0 without a base."""
    made: int
    """The decompressed size in bytes of this payload and all bases in its chain."""


class Known:
    """The cached state of a question.

    Attributes:
        last: the payload of the last answer with a body; None if no answer had a body so far.
        first: the payload that the question's chain of bases begins with; None if no answer had a body so far.
        problem: the problem of the last answer as JSON; None if it had a body.
        at_ms: the arrival of the last answer, milliseconds since 1970.
    """

    __slots__ = ("at_ms", "digest", "first", "id", "last", "problem")

    def __init__(self, number: int) -> None:
        self.id = number
        self.last: _Payload | None = None
        self.first: _Payload | None = None
        self.digest = b""
        self.problem: str | None = None
        self.at_ms = 0


class Store:
    """The writer of one part of a record, with a transaction for the answers of about a second. Not thread-safe."""

    def __init__(self, database: sqlite3.Connection, header: Header, most_held: int = MOST_HELD) -> None:
        """Begin a part of a record.

        Args:
            database: a database with a record's tables, without an open transaction.
            header: the header of the part.
            most_held: the maximum size in bytes of the answers that are kept decompressed.

        Raises:
            OSError: the database can't be written.
        """
        self.database = database
        self.known: OrderedDict[Asked, Known] = OrderedDict()
        self._most_held = most_held
        self._payloads: OrderedDict[bytes, _Payload] = OrderedDict()
        self._alike: dict[tuple[int, int, bool], _Payload] = {}
        self._raw: OrderedDict[int, bytes] = OrderedDict()
        self._raw_size = 0
        with as_os_errors():
            made = database.execute(
                "INSERT INTO parts (cluster_id, context, began_ms, kac, anonymous, left_off) VALUES (?, ?, ?, ?, ?, ?)",
                (header.cluster_id, header.context, header.began_ms, header.kac, header.anonymous, header.left_off),
            )
            self.part = made.lastrowid or 0
            (self._questions, number) = database.execute(_LAST_NUMBERS).fetchone()
        # Leave a gap, as the last cell of repeats has only its first number in a column.
        self._number = number + _IN_BETWEEN if number else 0
        self._waiting = self._since = 0
        self._has_changes = self._has_repeats = False
        self._begin_cell()

    def _begin_cell(self) -> None:
        """Begin a new row of ``repeats``."""
        self._repeats = record_file.Repeats([], [], [], [])
        self._first = self._last = self._first_ms = self._last_ms = 0

    def add(self, answer: Answer) -> None:
        """Add an answer to the open transaction. `add` commits the transaction when it is WAIT_MS old, or SAME_WAIT_MS
        if it has only repeated answers; `flush` and `flush_changed` may do so earlier.

        Raises:
            OSError: the answer or the open transaction can't be written, for example to a full disk.
        """
        waited = answer.at_ms - self._since
        is_due = waited >= (WAIT_MS if self._has_changes else SAME_WAIT_MS)
        if self._waiting and (is_due or self._waiting >= MOST_ANSWERS):
            self.flush()
        with as_os_errors():
            if not self._waiting:
                self._since = answer.at_ms
                # Begin at once, so that a conflict with another writer shows before the transaction contains anything.
                self.database.execute("BEGIN IMMEDIATE")
            self._waiting += 1
            self._number += 1
            self._keep(answer)

    def flush_changed(self) -> None:
        """Commit the open transaction if any answer in it is a changed one. Raises OSError."""
        if self._has_changes:
            self.flush()

    def flush(self) -> None:
        """Commit the open transaction. Raises OSError."""
        if not self._waiting:
            return
        with as_os_errors():
            if self._has_repeats:
                cell = record_file.squeezed(msgspec.json.encode(self._repeats))
                row = self._first, self._first_ms, self._last_ms, cell
                self.database.execute("INSERT OR REPLACE INTO repeats VALUES (?, ?, ?, ?)", row)
            self.database.execute("COMMIT")
        self._waiting = 0
        self._has_changes = self._has_repeats = False
        # Rewrite a young cell with more answers: few large cells compress better than many small ones.
        if self._last_ms - self._first_ms >= CELL_MS or len(self._repeats.questions) >= MOST_ANSWERS:
            self._begin_cell()

    def sizes(self) -> tuple[int, int]:
        """Return the size of the database in bytes, and how many of these are free. Raises OSError."""
        with as_os_errors():
            pages, free, size = (
                self.database.execute(f"PRAGMA {each}").fetchone()[0]
                for each in ("page_count", "freelist_count", "page_size")
            )
        return pages * size, free * size

    def forget_missing(self) -> None:
        """Drop the cached questions and payloads that were deleted from the database. Repeated answers that follow
        go to a new row of the table ``repeats``.
        """
        self._begin_cell()
        questions = {number for (number,) in self.database.execute("SELECT id FROM questions")}
        payloads = {number for (number,) in self.database.execute("SELECT id FROM payloads")}
        for asked in [asked for asked, known in self.known.items() if known.id not in questions]:
            del self.known[asked]
        # New payloads need bases that exist, so an answer whose payload was deleted counts as changed.
        for known in self.known.values():
            known.first = known.first if known.first is not None and known.first.id in payloads else None
            if known.last is not None and known.last.id not in payloads:
                known.last, known.digest = None, b""
        for digest in [digest for digest, each in self._payloads.items() if each.id not in payloads]:
            del self._payloads[digest]
        self._alike = {key: each for key, each in self._alike.items() if each.id in payloads}
        for number in [number for number in self._raw if number not in payloads]:
            self._raw_size -= len(self._raw.pop(number))

    # -- storing answers -----------------------------------------------------------------------------------------------

    def _keep(self, answer: Answer) -> None:
        asked = key_of(answer.asked)
        known = self.known.pop(asked, None) or self._ask(answer)
        self.known[asked] = known  # move the question to the end: the cache is in the order of use
        if len(self.known) > MOST_KNOWN:
            self.known.popitem(last=False)
        known.at_ms = answer.at_ms
        problem = answer.problem and msgspec.json.encode(tuple(map(_text, answer.problem))).decode()
        digest = b"" if problem is not None else _digest(answer.body)
        if problem == known.problem and (problem is not None or digest == known.digest):
            self._repeat(known, answer)
            return
        known.problem = problem
        if problem is None and digest != known.digest:
            self._change(known, answer, digest)
        payload = known.last.id if problem is None and known.last is not None else None
        row = record_file.Changed(self._number, answer.at_ms, max(0, answer.took_ms), known.id, payload, problem)
        self.database.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, record_file.crc_of(row)))
        self._has_changes = True

    def _ask(self, answer: Answer) -> Known:
        """Insert a new question, and return its state."""
        from console.wire.schemas import api_name

        api = _PSEUDO.get(answer.api_key) or api_name(answer.api_key) or ""
        request = self._payloads.get(_digest(answer.request))
        if request is None:
            like = answer.api_key, answer.version, True
            request = self._put(answer.request, [self._alike.get(like)])
            self._remember(_digest(answer.request), request, like)
        self._questions += 1
        of = answer.node, _text(answer.host), answer.port
        row = record_file.Question(self._questions, self.part, *of, api, answer.api_key, answer.version, request.id)
        self.database.execute(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, record_file.crc_of(row))
        )
        return Known(row.id)

    def _repeat(self, known: Known, answer: Answer) -> None:
        columns = self._repeats
        if not columns.questions:
            self._first = self._last = self._number
            self._first_ms = self._last_ms = answer.at_ms
        columns.questions.append(known.id)
        columns.further.append(self._number - self._last)
        columns.after.append(answer.at_ms - self._last_ms)
        columns.took.append(max(0, answer.took_ms))
        self._last, self._last_ms = self._number, answer.at_ms
        self._has_repeats = True
        self._release(known.last)  # most answers of a cluster stay unchanged

    def _change(self, known: Known, answer: Answer, digest: bytes) -> None:
        """Make the body of an answer the question's last payload, and insert it unless the database has it."""
        like = answer.api_key, answer.version, False
        payload = self._payloads.get(digest)
        if payload is None:
            # The first answer to a question is similar to the answer of another broker, or to the answer for another
            # list of names, so these are possible bases.
            payload = self._put(answer.body, [*self._bases(known), self._alike.get(like)])
            self._remember(digest, payload, like)
            if known.last is not None:  # do not cache answers that come only once, such as configs
                self._hold(payload, answer.body)
        self._release(known.last)
        if not payload.depth or known.first is None:
            known.first = payload
        known.last, known.digest = payload, digest

    def _bases(self, known: Known) -> Iterator[_Payload | None]:
        """Yield the payloads that may be the base of a question's next answer, the best one first. The last payload
        comes first, if its chain is short enough (`CHAIN`), and if it is cached or at most `_NEAR` payloads after
        the first one. Then comes the first payload, or None if there is no payload yet.
        """
        last, first = known.last, known.first
        if last is not None and first is not None:
            far = last.depth - first.depth
            if far < record_file.CHAIN and (last.id in self._raw or far <= _NEAR):
                yield last
        yield first

    def _put(self, data: bytes, bases: list[_Payload | None]) -> _Payload:
        """Insert a payload. Compress it with the first of the bases that the limits allow; compress it alone if no base
        fits, or if the base does not make it much smaller.
        """
        base = next((each for each in bases if each is not None and _fits(each, len(data))), None)
        cell = (
            record_file.squeezed(data, record_file.payload_of(self.database, base.id, self._raw))
            if base is not None
            else record_file.squeezed(data)
        )
        if base is not None and len(cell) > len(data) // _UNLIKE:
            alone = record_file.squeezed(data)
            if len(alone) <= len(cell) * _GAIN:
                base, cell = None, alone  # stored alone, the payload depends on no other
        made = self.database.execute(
            "INSERT INTO payloads (base, size, zstd) VALUES (?, ?, ?)",
            (base.id if base is not None else None, len(data), cell),
        )
        depth, before = (base.depth + 1, base.made) if base is not None else (0, 0)
        return _Payload(made.lastrowid or 0, len(data), depth, before + len(data))

    def _remember(self, digest: bytes, payload: _Payload, like: tuple[int, int, bool]) -> None:
        self._payloads[digest] = payload
        if len(self._payloads) > MOST_KNOWN:
            self._payloads.popitem(last=False)
        # Remember only a payload without a base, so that the chains that begin with it stay short.
        if not payload.depth:
            self._alike[like] = payload

    def _hold(self, payload: _Payload, data: bytes) -> None:
        self._raw[payload.id] = data
        self._raw_size += len(data)
        while self._raw_size > self._most_held:
            self._raw_size -= len(self._raw.popitem(last=False)[1])

    def _release(self, payload: _Payload | None) -> None:
        if payload is not None and (raw := self._raw.pop(payload.id, None)) is not None:
            self._raw_size -= len(raw)


def create(database: sqlite3.Connection) -> None:
    """Create the tables of a record in an empty database. Raises OSError."""
    with as_os_errors():
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"PRAGMA application_id = {record_file.APPLICATION}")
        database.execute(f"PRAGMA user_version = {record_file.FORMAT}")
        for table in record_file.TABLES.values():
            database.execute(table)
        database.executemany("INSERT INTO meta VALUES (?, ?)", record_file.META)
        database.execute("COMMIT")


def key_of(asked: Asked) -> Asked:
    """Return the question as a key of the cache: a request of at least `HASHED_FROM` bytes is replaced by its
    digest.
    """
    return asked._replace(request=_digest(asked.request)) if len(asked.request) >= HASHED_FROM else asked


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise an OSError in place of an error of SQLite or a Damaged; its errno is ENOSPC for a full disk, otherwise
    EIO.
    """
    try:
        yield
    except (sqlite3.Error, record_file.Damaged) as error:
        is_full = getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
        raise OSError(errno.ENOSPC if is_full else errno.EIO, str(error)) from error


def _fits(base: _Payload, size: int) -> bool:
    is_of_few = base.depth < record_file.DEEPEST and base.made + size <= record_file.MOST_MADE
    return is_of_few and record_file.is_base(base.size) and size // _SMALLER <= base.size


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _text(text: str) -> str:
    """Return the text with a question mark in place of each lone surrogate, which UTF-8 can't encode."""
    return text.encode("utf-8", "replace").decode()
