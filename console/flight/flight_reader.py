"""A reader of flight records: it returns answers in the order of their times, from any time on, and decodes only these.

A record is untrusted. The reader copies it into a private folder, so that no file next to the copy is used by SQLite,
nothing is locked or written next to the original, and the content can't change. It then opens the copy only if its
tables are exactly those of kac's format.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
import tempfile
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from console.flight import record_file
from console.flight.answer import Answer, Asked, Header, Problem, RecordError
from console.model.built_types import built
from console.model.foreign_json import json_as
from console.model.numbers import LAST_MS
from console.safe_files import open_plain

MOST_ANSWERS = 5_000_000
"""Maximum number of answers in a record: those of a large cluster, polled every 2 s for a week."""
MOST_AT_ONCE = 1 << 16
"""Maximum number of answers in one row of the table ``repeats``."""
CACHED = 64 << 20
"""Maximum size in bytes of the cache of decompressed bodies. The least recently used ones are dropped."""
MOST_HELD = 512 << 20
"""Maximum memory in bytes that an open record may need, apart from that cache."""
_ANSWER_SIZE, _QUESTION_SIZE, _PROBLEM_SIZE = 96, 800, 600
"""Approximate memory in bytes of an answer, a question and a problem."""
_LONGEST_TABLE = 1 << 14
"""Maximum length in bytes of an SQL statement in the file; kac's definitions of tables are shorter."""
_HEAD = 105
"""Number of bytes at the beginning of a database that have the database's header and the header of the first page,
which lists the tables.
"""
_SALT = slice(16, 24)
"""The position of the salt in the header of the write-ahead log, the file with the database's latest pages. SQLite
changes the salt when it begins the log again.
"""
_TRIES = 5

_UNREADABLE = (record_file.Damaged, sqlite3.Error, UnicodeDecodeError)
"""The errors that mean that the file is damaged. `UnicodeDecodeError` is one of them: SQLite's message about a damaged
table contains bytes of the table, which may be invalid UTF-8.
"""
_DAMAGE = (*_UNREADABLE, msgspec.ValidationError)
T = TypeVar("T")


class _Said(NamedTuple):
    """An answer as stored in a record: in a row of ``answers``, or as an element of a row of ``repeats``."""

    number: int
    at_ms: int
    took_ms: int
    question: int
    given: int | Problem | record_file.Damaged | None
    """The id of the body's payload, or the problem; None if the answer repeats the previous one to the same question. A
    Damaged means that this answer and all later ones are unreadable.
    """


class FlightReader:
    """An open flight record. Not thread-safe.

    Attributes:
        headers: the headers of the record's parts, in the order of the file.
        times: the arrival time of each answer, milliseconds since 1970, UTC; never decreasing.
        damage: a description of the part of the file that is unreadable; ``""`` if the whole file is readable.
    """

    def __init__(self, path: Path) -> None:
        """Open a record and index its answers. Their bodies are decompressed only when needed.

        Damage of the file raises nothing here, unless it affects the headers: the answers before the damage are
        readable, and `damage` describes it.

        Raises:
            RecordError: the file is not a flight record, has another format or no header, or is larger than MOST_FILE.
            OSError: it can't be read, or can't be copied into the folder for temporary files.
        """
        self._path = path
        self.headers: tuple[Header, ...] = ()
        self.damage = ""
        self.times = array("q")
        self._asked: list[Asked] = []
        self._numbers: dict[Asked, int] = {}
        self._keys = array("L")
        self._took = array("Q")
        self._given = array("q")
        self._problems: list[Problem] = []
        self._questions: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._cached = 0
        self._left = MOST_HELD
        self._database, is_cut = _opened(path)
        self._index()
        if is_cut and not self.damage:
            self.damage = "cut off, and read up to there"
        # While the index is read, the limit for a value is the size of a cell of repeats; after that, it is the size of
        # a payload.
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, record_file.MOST_CELL)
        self._of_key = [array("L") for _ in self._asked]
        for index, key in enumerate(self._keys):
            self._of_key[key].append(index)

    @property
    def header(self) -> Header:
        """The header of the record's first part."""
        return self.headers[0]

    @property
    def left_off(self) -> int:
        """The number of answers that the recorder did not store because its memory was full."""
        return sum(header.left_off for header in self.headers)

    def require_whole(self) -> None:
        """Raise RecordError if a part of the record is unreadable."""
        if self.damage:
            raise RecordError(f"{self._path} is {self.damage}")

    def __len__(self) -> int:
        """Return the number of answers."""
        return len(self.times)

    def asked(self, index: int) -> Asked:
        """Return the question of an answer: its request and broker. No body is decompressed.

        Args:
            index: the index of the answer, from 0, in the order of time.
        """
        return self._asked[self._keys[index]]

    def is_repeat(self, index: int) -> bool:
        """Return whether an answer has the same body, or the same problem, as the previous answer to the same question.
        index: the index of the answer, from 0, in the order of time.
        """
        before = self.before(index)
        return before is not None and self._given[before] == self._given[index]

    def before(self, index: int) -> int | None:
        """Return the index of the previous answer to the same question; None if this answer is the first."""
        of_key = self._of_key[self._keys[index]]
        # Find the place by bisection, as a question may have a million answers.
        place = bisect_right(of_key, index) - 2
        return of_key[place] if place >= 0 else None

    def answer(self, index: int) -> Answer:
        """Return an answer with its body. Repeated answers share one bytes object.

        Args:
            index: the index of the answer, from 0, in the order of time.

        Raises:
            RecordError: the body of this answer is damaged; other answers may still be readable.
        """
        given = self._given[index]
        body, problem = b"", None
        try:
            if given < 0:
                problem = self._problems[~given]
            else:
                body = self._payload(given)
        except _UNREADABLE as error:
            raise RecordError(f"answer {index:,} of the record can't be read: {error}") from error
        return Answer(self.times[index], self._took[index], *self.asked(index), body, problem)

    def answers(self, start: int = 0, stop: int | None = None) -> Iterator[Answer]:
        """Return an iterator over the answers of a range, in the order of time.

        Args:
            start: the index of the first answer, from 0.
            stop: the index after the last answer; None for the end of the record.

        Raises:
            RecordError: the iterator reached an answer with a damaged body.
        """
        return map(self.answer, range(start, len(self) if stop is None else min(stop, len(self))))

    def _payload(self, number: int) -> bytes:
        """Return the decompressed bytes with this payload id. Raises Damaged or sqlite3.Error if they can't be read."""
        found = self._cache.get(number)
        if found is not None:
            self._cache.move_to_end(number)
            return found
        found = self._cache[number] = record_file.payload_of(self._database, number, self._cache)
        self._cached += len(found)
        while self._cached > CACHED and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1])
        return found

    # -- reading the file ------------------------------------------------------------------------------------------

    def _index(self) -> None:
        """Read the headers, the questions and the times of all answers. Raises RecordError if no header can be read.
        After any other damage, set `damage`, and keep the answers before it.
        """
        try:
            self._take_headers()
            for question in self._rows("SELECT * FROM questions ORDER BY id", record_file.Question):
                self._take_question(question)
        except _DAMAGE as error:
            self.damage = f"damaged, and read up to there: {error}"
        try:
            # Merge both tables in the order of the answers' numbers, as times may be equal or come from a clock that
            # was set back. After damage in one of the two tables, the rest of the other is not read either.
            both = map(_until_damage, (self._changed(), self._repeated()))
            for said in heapq.merge(*both, key=itemgetter(0)):
                self._take(said)
        except _DAMAGE as error:
            self.damage = self.damage or f"damaged, and read up to there: {error}"
        if not self.headers:
            raise RecordError(f"{self._path} has no header: it is damaged, or nothing was recorded yet")
        if any(before > after for before, after in pairwise(self.times)):  # a clock was set back
            order = sorted(range(len(self.times)), key=self.times.__getitem__)
            self.times, self._keys, self._took, self._given = (
                array(column.typecode, map(column.__getitem__, order))
                for column in (self.times, self._keys, self._took, self._given)
            )

    def _take_headers(self) -> None:
        """Read the headers of the parts. Raises RecordError for an invalid header; Damaged or sqlite3.Error if they
        can't be read.
        """
        for _, *row in self._database.execute("SELECT * FROM parts ORDER BY id"):
            said = dict(zip(Header.__struct_fields__, row, strict=True))
            try:
                header = msgspec.convert(said | {"anonymous": bool(said["anonymous"])}, built(Header))
            except msgspec.ValidationError as error:
                raise RecordError(f"{self._path} has a header that can't be read: {error}") from error
            if not 0 <= header.began_ms <= LAST_MS:
                raise RecordError(f"{self._path} has a header that can't be read: it begins at no time")
            self._hold(_QUESTION_SIZE + len(header.cluster_id) + len(header.context) + len(header.kac))
            self.headers += (header,)

    def _rows(self, query: str, form: type[T]) -> Iterator[T]:
        """Yield the rows of a table in the order of their ids, as values of `form`, after a check of the checksum in
        the last column.

        Raises:
            Damaged, sqlite3.Error, msgspec.ValidationError: a row can't be read.
        """
        before = 0
        for *row, crc in self._database.execute(query):
            made: Any = msgspec.convert(row, built(form))
            if made.id <= before:
                raise record_file.Damaged("rows that are not in order")
            if crc != record_file.crc_of(made):
                raise record_file.Damaged("a checksum that is wrong")
            before = made.id
            yield made

    def _take_question(self, row: record_file.Question) -> None:
        request = self._payload(row.request)
        self._hold(_QUESTION_SIZE + len(request) + len(row.host))
        # Another part of the file may have the same question under another number.
        asked = Asked(row.node, row.host, row.port, row.api_key, row.version, request)
        key = self._questions[row.id] = self._numbers.setdefault(asked, len(self._asked))
        if key == len(self._asked):
            self._asked.append(asked)

    def _changed(self) -> Iterator[_Said]:
        for row in self._rows("SELECT * FROM answers ORDER BY id", record_file.Changed):
            if (row.payload is None) == (row.problem is None):
                raise record_file.Damaged("an answer without a body and a problem, or with both")
            given = row.payload if row.problem is None else _problem(row.problem)
            yield _Said(*row[:4], given)

    def _repeated(self) -> Iterator[_Said]:
        number = 0
        for first, at_ms, cell in self._database.execute("SELECT id, at_ms, zstd FROM repeats ORDER BY id"):
            number, before = first, number
            said = _repeats(first, at_ms, cell)
            for place, row in enumerate(zip(said.questions, said.further, said.after, said.took, strict=True)):
                question, further, after, took = row
                number += further
                at_ms += after
                if number <= before or (not place and further):
                    raise record_file.Damaged("repeats that are not in order")
                before = number
                yield _Said(number, at_ms, took, question, None)

    def _take(self, said: _Said) -> None:
        if isinstance(said.given, record_file.Damaged):
            raise said.given
        key = self._questions.get(said.question)
        if key is None:
            raise record_file.Damaged("an answer to no question")
        if isinstance(said.given, Problem):
            self._hold(_PROBLEM_SIZE + sum(map(len, said.given)))
            self._problems.append(said.given)
            self._last[said.question] = -len(self._problems)
        elif said.given is not None:
            self._last[said.question] = said.given
        number = self._last.get(said.question)
        if number is None:
            raise record_file.Damaged("the same answer as none")
        if not 0 <= said.at_ms <= LAST_MS or not 0 <= said.took_ms <= LAST_MS:
            raise record_file.Damaged("a time out of range")
        if len(self.times) >= MOST_ANSWERS:
            raise record_file.Damaged(f"it has more than {MOST_ANSWERS:,} answers")
        self._hold(_ANSWER_SIZE)
        self.times.append(said.at_ms)
        self._keys.append(key)
        self._took.append(said.took_ms)
        self._given.append(number)

    def _hold(self, size: int) -> None:
        """Count `size` bytes towards the memory that the open record may need. Raises Damaged if the limit is
        exceeded.
        """
        self._left -= size
        if self._left < 0:
            raise record_file.Damaged(f"it takes more than {MOST_HELD >> 20} MiB of memory")


def _problem(text: str) -> Problem:
    try:
        return json_as(text, Problem)
    except (ValueError, RecursionError) as error:
        raise record_file.Damaged(f"a problem that can't be read: {error}") from error


def _until_damage(answers: Iterator[_Said]) -> Iterator[_Said]:
    """Yield the answers; if reading fails, yield a last answer whose `given` is the error."""
    last = 0
    try:
        for each in answers:
            last = each.number
            yield each
    except _DAMAGE as error:
        damage = error if isinstance(error, record_file.Damaged) else record_file.Damaged(str(error))
        yield _Said(max(last + 1, damage.number), 0, 0, 0, damage)


def _repeats(first: int, at_ms: object, cell: object) -> record_file.Repeats:
    """Decode a row of the table ``repeats``. Raises Damaged, with the number of the row's first answer, if that
    fails.
    """
    try:
        if not isinstance(at_ms, int) or not isinstance(cell, bytes):
            raise record_file.Damaged("they are of another type")
        said = json_as(record_file.unsqueezed(cell, most=record_file.MOST_REPEATS), record_file.Repeats)
        sizes = {len(column) for column in (said.questions, said.further, said.after, said.took)}
        if len(sizes) > 1 or max(sizes) > MOST_AT_ONCE:
            raise record_file.Damaged(f"a cell of {max(sizes):,} repeats")
    except (ValueError, RecursionError) as error:
        damage = record_file.Damaged(f"repeats that can't be read: {error}")
        damage.number = first
        raise damage from error
    return said


# -- opening an untrusted file -----------------------------------------------------------------------------------------


def _opened(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a private copy of a record's database, in which only the record's own tables can be read. Return the
    connection, and whether the end of the file is missing.

    Raises:
        RecordError: the file is not a record of this format, or is too large.
        OSError: it can't be read or copied.
    """
    with tempfile.TemporaryDirectory(prefix="kac-record-") as folder:
        try:
            copy = _copied(path, Path(folder))
            is_cut = _made_ours(path, copy)
            database = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
            _harden(database)
            # Refuse views, triggers and virtual tables: they could run SQL from the file.
            tables = set(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))
        except _UNREADABLE as error:
            raise RecordError(f"{path} is damaged: {error}") from error
        if tables != {("table", name, name, sql) for name, sql in record_file.TABLES.items()}:
            raise RecordError(f"{path} is no flight record: its tables are others")
        return database, is_cut  # the open file stays readable, although its name is deleted


def _harden(database: sqlite3.Connection) -> None:
    for limit, most in (
        (sqlite3.SQLITE_LIMIT_LENGTH, record_file.MOST_REPEATS),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, _LONGEST_TABLE),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    ):
        database.setlimit(limit, most)
    for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0"):
        database.execute(f"PRAGMA {setting}")


def _made_ours(path: Path, copy: Path) -> bool:
    """Check the first bytes of a file before SQLite reads it. If its end is missing, change the page count in the
    header of the copy, so that SQLite reads the pages that exist. Return whether the end is missing.

    Raises:
        RecordError: the header is not that of a flight record in this format.
    """
    with copy.open("rb") as file:
        head = file.read(_HEAD)
    if (
        not head.startswith(b"SQLite format 3\0")
        or len(head) < _HEAD
        or int.from_bytes(head[68:72]) != record_file.APPLICATION
    ):
        raise RecordError(f"{path} is no flight record")
    version = int.from_bytes(head[60:64])
    if version != record_file.FORMAT:
        raise RecordError(f"{path} is a flight record of format {version}; this kac reads {record_file.FORMAT}")
    if head[100] != 13 or int.from_bytes(head[103:105]) != len(record_file.TABLES):  # a leaf, a cell for each
        raise RecordError(f"{path} is no flight record: its tables are others")
    pages = copy.stat().st_size // max(1, int.from_bytes(head[16:18]))
    if pages >= int.from_bytes(head[28:32]):
        return False
    with copy.open("r+b") as file:
        file.seek(28)
        file.write(pages.to_bytes(4))
    return True


def _copied(path: Path, folder: Path) -> Path:
    """Copy a database in a consistent state into a folder. Return the path of the copy.

    While a recorder writes, or after it was killed, the latest pages are in a second file next to the database (the
    write-ahead log), which is copied too. If the salt of that file changes during the copy, SQLite has moved pages from
    it into the database, and the copy is repeated.

    Raises:
        RecordError: the file is larger than MOST_FILE, or changes too fast to be copied.
        OSError: it can't be read or copied.
        sqlite3.Error: the latest pages can't be read.
    """
    copy, last = folder / "record", folder / "record-wal"
    beside = path.with_name(path.name + "-wal")
    for _ in range(_TRIES):
        before = _start(beside)
        _copy(path, copy)
        if not before:
            if not _start(beside):
                return copy
            continue
        try:
            _copy(beside, last)
        except FileNotFoundError:
            continue
        if _start(last)[_SALT] == before[_SALT]:
            break
    else:
        raise RecordError(f"{path} changes while it is copied: try it again")
    whole = folder / "whole"
    source, target = sqlite3.connect(copy), sqlite3.connect(whole)
    try:
        source.backup(target)  # copies page by page, without reading a table
    finally:
        source.close()
        target.close()
    return whole


def _start(path: Path) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(_SALT.stop)
    except FileNotFoundError:
        return b""


def _copy(path: Path, to: Path) -> None:
    with open_plain(path) as source:
        size = os.fstat(source.fileno()).st_size
        if size > record_file.MOST_FILE:
            raise RecordError(f"{path} is larger than {record_file.MOST_FILE >> 30} GiB")
        with to.open("wb") as target:
            while size and (data := source.read(min(size, 1 << 20))):
                target.write(data)
                size -= len(data)
