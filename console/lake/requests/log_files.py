"""The files of a broker's log: reads while brokers write, rotate and compress them, the new lines of each file, and the
parts that tasks read in parallel.

A file is identified by its content, not by its name: request.log, request.log.2026-11-21-10 and request.log.1.gz are
one file if they begin with the same bytes. The first line alone is not enough, since two files may begin with the same
line. So digests at several positions (`checkpoints`) and at the end of the last read are remembered. Positions count
uncompressed bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from difflib import get_close_matches
from functools import cached_property
from glob import glob
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast
from zoneinfo import ZoneInfo, available_timezones

import msgspec
import pyarrow as pa
from pyarrow import fs

from console.lake.redact import Damaged
from console.lake.requests.counted import Whose, damaged_row
from console.lake.requests.lines import Form, clocks, form_of
from console.lake.requests.loggers import LOGGERS, REQUESTS
from console.lake.requests.pieces import LONGEST_JOINED, end_of_rest, joined, kept_together, open_end
from console.lake.schema import arrow_schema
from console.safe_files import open_plain

# -- a file while it is open: its bytes as they were written, plain or gzip, at a local path or a URI -----------------

# All reads of a file use one descriptor: a broker renames, empties, compresses and deletes its logs while they are
# read, so a second open of a path may return another file. The bytes are recognized by checks: digests of the 4 KiB
# before a position, which are the same under any name, compressed or not.

BLOCK_BYTES = 256 << 10
LONGEST_LINE = 64 << 20
"""Maximum size of a line in bytes. A request with tens of thousands of partitions has some megabytes; a file with a
longer line is not a log."""
LONGEST_NULS = 16 << 30
"""Maximum number of NUL bytes at the head of a file; the limit is needed because a gzip file can hold any number of
them in a few bytes.
"""
_NULS = bytes(BLOCK_BYTES)
CHECKED_BYTES = 4096
"""Number of bytes before a position that the digest of the position covers."""
SAMPLE_BYTES = 64 << 10
_GZIP = b"\x1f\x8b"
_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "abfs"}
"""Hadoop's schemes -> PyArrow's names for them."""

Check = tuple[int, str]
"""A byte position, and the digest of the bytes before it (`LogBytes.check`)."""


class LogChangedError(OSError):
    """A log was emptied, replaced or deleted after its read was planned, and no other file in its folder has its lines.
    The message contains the path, and no text from the log.
    """

    @staticmethod
    def of(
        path: str, why: str = "is not the file any more that was to be read, and none beside it is"
    ) -> LogChangedError:
        """Return the error for the file at `path`. why: the words after the path in the message."""
        return LogChangedError(f"{path} {why}: it was rotated, emptied or deleted meanwhile")


@dataclass(frozen=True)
class Survey:
    """The content of a log file at one time: its end, and digests that identify it."""

    end: int
    """The byte position after the last whole line."""
    checks: dict[int, str]
    """Position -> digest, for `end` and for all requested positions that are not after it."""
    head: bytes
    """A sample of the file's first bytes."""
    tail: bytes
    """A sample of the bytes just before `end`."""


class LogBytes:
    """An open file of a log, plain or gzip. Positions are those of the uncompressed bytes.

    Attributes:
        place: the identity of the file on this machine (device and inode), whatever its name; for a URI, the URI.
        size: the size of the file on disk, in bytes.
        changed: the time of the last change, in nanoseconds since 1970.
    """

    def __init__(self, path: str, raw: IO[bytes], place: str, size: int, changed: int) -> None:
        self.path = path
        self.place = place
        self.size = size
        self.changed = changed
        self._raw = raw
        self.is_packed = path.endswith(".gz") or raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        self._bytes = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if self.is_packed else raw

    @cached_property
    def nuls(self) -> int:
        """The number of NUL bytes before the first line. A log that was emptied while its writer had it open begins
        with a NUL for each byte that the writer had written before. Raises OSError, EOFError.
        """
        at = 0
        while (read := self._read(at, BLOCK_BYTES)) == _NULS[: len(read)] and read:
            at = self._data(at + len(read))
            if at > LONGEST_NULS:
                raise OSError(f"{self.path}: it begins with more than {LONGEST_NULS >> 30} GiB of NUL bytes: no log")
        return at + len(read) - len(read.lstrip(b"\0"))

    def _data(self, at: int) -> int:
        """Return the first position from `at` on that is not in a hole of the file: all bytes in a hole are NUL."""
        if not self.is_packed and "://" not in self.path:
            with suppress(OSError):  # no data follows, or the filesystem has no holes
                return os.lseek(self._raw.fileno(), at, os.SEEK_DATA)
        return at

    def first_line(self) -> tuple[bytes, int] | None:
        """Return the first line, at most 4 KiB of it, and the byte position of its end; None while the line is
        incomplete. Raises OSError; EOFError (truncated gzip).
        """
        begin = self._read_at(self.nuls, CHECKED_BYTES)
        if self.nuls and not begin and self.is_packed:
            raise OSError(f"{self.path}: nothing but {self.nuls:,} NUL bytes: no log")
        line, ended, _ = begin.partition(b"\n")
        if not ended and len(begin) < CHECKED_BYTES and not (begin and self.is_packed):
            return None
        return line, self.nuls + len(line) + 1 if ended else self._line_end(self.nuls)

    def check(self, at: int) -> str:
        """Return the digest of the bytes before a position, at most 4096 (`CHECKED_BYTES`) of them; ``""`` if the
        file ends before the position. Raises OSError; EOFError (truncated gzip).
        """
        begin = max(0, at - CHECKED_BYTES)
        data = self._read_at(begin, at - begin)
        return digest(data) if len(data) == at - begin else ""

    def has(self, checks: Sequence[Check]) -> bool:
        """Return whether the file has the digest of each of these checks. Raises OSError, EOFError."""
        return all(self.check(at) == wanted for at, wanted in sorted(checks))

    def still_has(self, checks: Sequence[Check]) -> bool:
        """Return whether the file still has the digest of each check after a read. For a gzip file it is enough that
        its size is unchanged: nothing is appended to such a file, and the read has verified the checksum at its end.
        Raises OSError.
        """
        if not self.is_packed:
            return self.has(checks)
        return self._raw.seek(0, os.SEEK_END) == self.size

    def survey(self, positions: Iterable[int]) -> Survey:
        """Return the present content of the file, with digests at these positions. A gzip file is read as a whole, and
        its last line counts also without a line end, since brokers do not append to it.

        Raises:
            LogChangedError: the file changed meanwhile.
            EOFError: a gzip file is truncated.
            OSError: the file can't be read.
        """
        if self.is_packed:
            return self._survey_packed(sorted({*positions}))
        end = self._whole_end()
        wanted = sorted({*(at for at in positions if at <= end), end})
        checks = {at: self.check(at) for at in wanted}
        sample = min(end - self.nuls, SAMPLE_BYTES)
        found = Survey(end, checks, self._read_at(self.nuls, sample), self._read_at(end - sample, sample))
        if not self.has([*checks.items()]):
            raise LogChangedError.of(self.path, "changed while it was looked through")
        return found

    def blocks(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield (position, block of whole lines that begins there): in order, all lines whose first byte is at start …
        end - 1. Raises OSError; EOFError (truncated gzip).
        """
        at = self.nuls
        if start > at:
            # A range may begin inside a line, which belongs to the range before.
            at = self._line_end(start - 1)
        rest = b""
        while at < end:
            read = self._read(at + len(rest), BLOCK_BYTES)
            text = rest + read if rest else read
            if not text:
                return
            cut = text.rfind(b"\n") + 1 if read else len(text)
            if at + cut > end:
                # End with the line that has the last byte of the range.
                cut = text.find(b"\n", end - at - 1) + 1 or cut
            rest = text[cut:]
            self._check_line(at + cut, len(rest))
            if cut:
                yield at, text[:cut]
                at += cut

    def _line_end(self, at: int) -> int:
        """Return the position after the end of the line that contains the byte at `at`."""
        begin = at
        while read := self._read_at(at, CHECKED_BYTES):
            if ended := read.find(b"\n") + 1:
                return at + ended
            at += len(read)
            self._check_line(begin, at - begin)
        return at

    def _check_line(self, begin: int, size: int) -> None:
        """Raise OSError if the line at `begin`, of which `size` bytes are known, is longer than 64 MiB
        (`LONGEST_LINE`).
        """
        if size > LONGEST_LINE:
            where = f"from byte {begin} on"
            raise OSError(f"{self.path}: no end of a line in {LONGEST_LINE >> 20} MiB {where}: no log")

    def _read(self, at: int, size: int) -> bytes:
        """Return at most `size` bytes from a position; fewer do not mean that the file ends. Raises OSError; EOFError
        (truncated gzip).
        """
        try:
            if self._bytes.tell() != at:
                self._bytes.seek(at)
            return self._bytes.read(size)
        except EOFError as cut:
            raise EOFError(f"{self.path}: {cut}") from cut
        except (gzip.BadGzipFile, zlib.error) as wrong:
            raise OSError(f"{self.path}: damaged, or not gzip: {wrong}") from wrong

    def _read_at(self, at: int, size: int) -> bytes:
        """Return `size` bytes from a position; fewer only at the end of the file."""
        found = b""
        while len(found) < size and (part := self._read(at + len(found), size - len(found))):
            found += part
        return found

    def _whole_end(self) -> int:
        self._raw.seek(0, os.SEEK_END)
        end = self._raw.tell()
        while end:
            start = max(0, end - BLOCK_BYTES)
            if found := self._read_at(start, end - start).rfind(b"\n") + 1:
                return self._before_pieces(start + found)
            end = start
        return 0

    def _before_pieces(self, end: int) -> int:
        """Return the position at which the range to read has to end, at most `end`, so that it contains no
        incomplete line. If the text before `end` ends with pieces of a line that a container's runtime has split,
        and the last piece is not written yet, this is the position before these pieces. Pieces of more than
        `LONGEST_JOINED` bytes count as complete.
        """
        for size in (BLOCK_BYTES, LONGEST_JOINED):
            begin = max(self.nuls, end - size)
            text = self._read_at(begin, end - begin)
            cut = open_end(text)
            if cut == len(text):
                return end
        return begin + cut if cut or begin == self.nuls else end

    def past_pieces(self, at: int) -> int:
        """Return the position after the pieces that continue the line which ends at `at`, or contains it; `at` if no
        piece continues it. A part of the file begins there, because the pieces belong to the part before. Raises
        OSError.
        """
        begin = max(0, at - BLOCK_BYTES)
        text = self._read_at(begin, at - begin + BLOCK_BYTES)
        end = text.find(b"\n", at - begin - 1) + 1
        line = text[text.rfind(b"\n", 0, max(0, end - 1)) + 1 : end]
        if not line or open_end(line):
            return at
        rest = end_of_rest(line, self._read_at(begin + end, LONGEST_JOINED))
        return begin + end + rest if rest else at

    def _survey_packed(self, wanted: list[int]) -> Survey:
        checks: dict[int, str] = {}
        head, tail, at, line = b"", b"", 0, self.nuls
        while read := self._read(at, BLOCK_BYTES):
            both = tail + read
            while wanted and wanted[0] <= at + len(read):
                stop = wanted.pop(0) - at + len(tail)
                checks[at - len(tail) + stop] = digest(both[max(0, stop - CHECKED_BYTES) : stop])
            head = head or read[max(0, self.nuls - at) :][:SAMPLE_BYTES]
            if cut := read.rfind(b"\n") + 1:
                line = at + cut
            tail, at = both[-SAMPLE_BYTES:], at + len(read)
            # Check while reading: a megabyte of gzip may be a gigabyte without a line end.
            self._check_line(line, at - line)
        checks[at] = digest(tail[-CHECKED_BYTES:])
        return Survey(at, checks, head, tail)


def digest(data: bytes) -> str:
    """Return the digest that a check has of these bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


@contextmanager
def opened(path: str) -> Iterator[LogBytes]:
    """Yield a log file that is closed at the end of the ``with`` block. Raises OSError; its text has the path."""
    scheme, is_uri, rest = path.partition("://")
    if not is_uri:
        with open_plain(path, buffering=0) as raw:
            status = os.fstat(raw.fileno())
            place = f"{status.st_dev}:{status.st_ino}"
            yield LogBytes(path, cast(IO[bytes], raw), place, status.st_size, status.st_mtime_ns)
        return
    system, inner = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    info = system.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(f"{path}: no such file")
    with system.open_input_file(inner) as remote:
        yield LogBytes(path, cast(IO[bytes], remote), path, int(info.size), int(info.mtime_ns or 0))


@contextmanager
def opened_as_planned(path: str, checks: Sequence[Check], patterns: Sequence[str] = ()) -> Iterator[LogBytes]:
    """Yield the file that has the digests of these checks, closed at the end of the ``with`` block. It is searched at
    `path`, then under other names in the folder and at the patterns, since it may have been rotated or compressed.
    The digests are checked again at the end of the block, since a file may be emptied during a read.

    Raises:
        LogChangedError: no file has the digests, or it changed during the block.
        OSError: a file can't be read.
        EOFError: a gzip file is truncated.
    """
    with ExitStack() as stack:
        file = next((file for each in _candidates(path, patterns) if (file := _entered(stack, each, checks))), None)
        if file is None:
            raise LogChangedError.of(path)
        yield file
        if not file.still_has(checks):
            raise LogChangedError.of(file.path, "changed while it was read")


def _entered(stack: ExitStack, path: str, checks: Sequence[Check]) -> LogBytes | None:
    """Return the file at `path`, which the stack then closes; None if it lacks a digest of the checks, does not exist,
    or is an incomplete gzip file.
    """
    with ExitStack() as own, suppress(FileNotFoundError, IsADirectoryError, EOFError):
        file = own.enter_context(opened(path))
        with suppress(OSError) if file.is_packed else nullcontext():
            if file.has(checks):
                stack.push(own.pop_all())
                return file
    return None


def _candidates(path: str, patterns: Sequence[str]) -> Iterator[str]:
    yield path
    if "://" in path:
        return
    folder, _, name = path.rpartition("/")
    stem = name.split(".", 1)[0]
    beside = []
    with suppress(OSError), os.scandir(folder or "/") as entries:
        beside = [f"{folder}/{each.name}" for each in entries if each.name.startswith(stem) and each.is_file()]
    found = {each for pattern in patterns if "://" not in pattern for each in glob(pattern)}  # noqa: PTH207 - absolute
    # Plain files first: a gzip file has to be read from its beginning.
    yield from sorted({*beside, *found} - {path}, key=lambda each: (each.endswith(".gz"), each))


# -- the repeated hour when clocks go back ----------------------------------------------------------------------------

# When clocks go back, the order of lines separates the first pass from the second: times jump back once. A file that
# begins inside that hour and goes on beyond it has only the second pass. For a file that lies within the hour as a
# whole, the time of its last change decides: no line is younger. If that does not decide either, as for a copy made
# later, the file is refused.

QUARTER = timedelta(minutes=15)
"""The unit of clock changes: clocks change at a full quarter of an hour, and all offsets from UTC are multiples of it.
"""
_AT_ONCE = timedelta(minutes=1)
"""Maximum time between the last line of a file and its last change on disk, if the broker itself wrote this file; for a
later copy the time is longer.
"""
_LONGEST_SPAN = timedelta(days=3660)
"""Maximum time that one file is assumed to cover: a line of an authorizer log may contain a time of any year, which a
client chose.
"""
_PACKED_SPAN = timedelta(days=8)
"""Maximum time that one gzip file is assumed to cover; the time of its last line is unknown until all of it is
decompressed.
"""


def zone_problem(zone: str) -> str:
    """Return the reason why a text is not the name of a time zone; empty if it is one."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(zone, available_timezones(), n=1)
        return f"there is no time zone {zone!r}" + (f"; did you mean {near[0]}?" if near else "; as Europe/Berlin")
    return ""


class AmbiguousHourError(ValueError):
    """All lines of a file are in an hour that the clock shows twice, and nothing shows whether they are from the first
    or the second pass.
    """


@dataclass(frozen=True)
class Twice:
    """A span of clock times, without zone, that a clock shows twice: from `first` to `end` (excluded), and the same
    times again, `shift` later.
    """

    first: datetime
    end: datetime
    shift: timedelta


def shown_twice(zone: str, first: datetime, last: datetime) -> Twice | None:
    """Return the first ambiguous times between `first` and `last`, all without zone; None if there are no such
    times in the first ten years.
    """
    clock = ZoneInfo(zone)
    last = min(last, first + _LONGEST_SPAN)
    at = first.replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    began: datetime | None = None
    shift = timedelta(0)
    while at <= last + timedelta(hours=3):
        early, late = (clock.utcoffset(at.replace(fold=fold)) or timedelta(0) for fold in (0, 1))
        if early > late:
            began, shift = began or at, early - late
        elif began is not None:
            found = Twice(began, at, shift)
            if found.end > first:
                return found if found.first <= last else None
            began = None
        at += QUARTER
    return None


def fold_at(file: LogBytes, zone: str, end: int, message: bytes = REQUESTS.message) -> int | None:
    """Return the byte position from which on a file's ambiguous times, those in an hour that the clock shows twice, are
    in the second pass. None if it has no ambiguous times, or if all are in the first pass. Reads the whole file, but
    only if its times include such an hour. Raises OSError, AmbiguousHourError.

    Args:
        end: the end of the range to read, a byte position.
        message: the text with which the logger's messages begin (see `Logger`).
    """
    # UTC has no clock changes.
    if zone == "UTC":
        return None
    span = _span(file, end, message)
    twice = span and shown_twice(zone, *span)
    if not twice:
        return None
    found, last = jump(_times(file, 0, end, message), twice)
    return found if last is None else _pass_of(file, zone, last, twice)


def _pass_of(file: LogBytes, zone: str, last: datetime, twice: Twice) -> int | None:
    """Return the result of `fold_at` for a file whose times are all ambiguous: None if the file's last change on disk
    was in the first pass, 0 if it was in the second.

    Args:
        last: the time of the last line, without zone.

    Raises:
        AmbiguousHourError: the time of the last change is in neither pass.
    """
    clock = ZoneInfo(zone)
    first_pass, second_pass = (last.replace(tzinfo=clock, fold=fold).astimezone(timezone.utc) for fold in (0, 1))
    changed = datetime.fromtimestamp(file.changed / 1e9, timezone.utc)
    if first_pass - _AT_ONCE <= changed < second_pass - _AT_ONCE:
        return None
    if abs(changed - second_pass) <= _AT_ONCE:
        return 0
    earlier, later = (_only(last, clock.utcoffset(last.replace(fold=fold))) for fold in (0, 1))
    raise AmbiguousHourError(
        f"{file.path} lies as a whole between {twice.first:%Y-%m-%d %H:%M} and {twice.end:%H:%M}, which clocks in "
        f"{zone} showed twice, and nothing says when it was. Give this file by itself with the time zone {earlier} if "
        f"it is of the first time, or {later} if it is of the second"
    )


def _only(shown: datetime, offset: timedelta | None) -> str:
    """Return the name of a time zone that has this offset from UTC and no clock change: a time in it is not
    ambiguous.
    """
    names = sorted(available_timezones(), key=lambda name: (not name.startswith("Etc/GMT"), name))
    clocks = ((name, ZoneInfo(name)) for name in names)
    return next(name for name, clock in clocks if {clock.utcoffset(shown.replace(fold=f)) for f in (0, 1)} == {offset})


def jump(times: Iterable[tuple[int, datetime]], twice: Twice) -> tuple[int | None, datetime | None]:
    """Return the byte position from which on times are in the second pass; None if there is no such position. This is
    the place where the times jump back, or 0 if the times begin within the ambiguous hour and go on beyond it.

    If all times are ambiguous and none jumps back, the lines do not show their pass: then also return the latest time.
    Otherwise the second value is None.

    Args:
        times: (byte position, time without zone) of all lines, in order.
    """
    first: datetime | None = None
    latest, is_all_inside = datetime.min, True
    for place, at in times:
        first = first or at
        is_inside = twice.first <= at < twice.end
        if is_inside and latest - at > twice.shift / 2:
            return place, None
        latest, is_all_inside = max(latest, at), is_all_inside and is_inside
    if first is not None and is_all_inside:
        return None, latest
    return (0 if first is not None and twice.first <= first < twice.end <= latest else None), None


def _times(file: LogBytes, start: int, end: int, message: bytes) -> Iterator[tuple[int, datetime]]:
    """Yield (byte position, time) for the lines whose time has no zone of its own."""
    for at, text in file.blocks(start, end):
        yield from (each for each in clocks(at, text, message) if each[1].tzinfo is None)


def _span(file: LogBytes, end: int, message: bytes) -> tuple[datetime, datetime] | None:
    """Return the times of the first and the last line, without zone; for a gzip file, the second time is the latest
    that its last line may have. None if no line has a time without its own zone.
    """
    first = next((at for _, at in _times(file, 0, end, message)), None)
    if first is None:
        return None
    if file.is_packed:
        return first, first + _PACKED_SPAN
    latest, start = first, end
    while start and latest == first:
        start = max(0, start - BLOCK_BYTES)
        latest = max((at for _, at in _times(file, start, end, message)), default=first)
    return first, latest


# -- the progress in each file, and its new range ---------------------------------------------------------------------

PARTS = 32
"""Approximate number of parts into which the new bytes are divided: each part takes a tenth of a second in addition to
the time for its lines, and makes a file.
"""
PART_BYTES = 64 << 20
"""Minimum size of a part in bytes, if there are that many new bytes: a task for fewer bytes is not worth its start."""
LONGEST_PART = 512 << 20
"""Maximum size of a part in bytes, because a task that fails reads its whole part again."""

CHECKPOINTS = tuple(256 * 4**power for power in range(24))
"""Distances in bytes after the first line at which a digest of a file's content is remembered. Each is four times the
one before, so that the comparison of two files covers at least a quarter of the shorter one.
"""

Progress = Mapping[str, Mapping[str, Any]]
"""Identity of a file (`Span.identity`) -> an object for JSON: `read`, the number of bytes read; `marks`, the digests at
the checkpoints up to there; `last`, the digest at the end of the read bytes; `place`, `size` and `changed` at that
time (see `LogBytes`), which show that a file is unchanged and can be skipped.
"""


class CutInPlaceError(OSError):
    """A file lost some lines that had been read, and kept others, so its new lines can't be told from those already
    read.
    """


@dataclass(frozen=True)
class Span:
    """The range of a file to read: the whole lines whose first byte is at start … end - 1."""

    path: str
    start: int
    end: int
    identity: str
    """The identity of the file, whatever its name."""
    checks: tuple[Check, ...]
    """The positions and digests by which the read recognizes the file."""
    head: bytes = b""
    """A sample of the file's first bytes."""
    tail: bytes = b""
    """A sample of the file's last bytes."""


@dataclass(frozen=True)
class Plan:
    """The ranges of files to read, and the progress of each file after the read."""

    spans: tuple[Span, ...]
    progress: dict[str, dict[str, Any]]
    there: frozenset[str] = field(default=frozenset(), compare=False)
    """The identities in `progress` whose file exists now."""
    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Place (`LogBytes.place`) -> path of each file."""


class _Seen(NamedTuple):
    """The present state of a file."""

    path: str
    stat: Mapping[str, Any]
    """The `place`, `size` and `changed` of the file."""
    line: str
    """The digest of the file's first line."""
    line_end: int
    """The byte position of the end of the first line."""
    survey: Survey

    def entry(self) -> dict[str, Any]:
        """Return the file's entry in `Progress` after a read of all its lines."""
        checks, end = self.survey.checks, self.survey.end
        marks = [checks[at] for at in checkpoints(self.line_end) if at <= end]
        return {"read": end, "marks": marks, "last": checks[end], **self.stat}

    def same(self, known: Mapping[str, Any]) -> tuple[bool, int]:
        """Compare the file with the entry of a known file that has the same first line. Return whether all remembered
        digests that lie within both files agree, and the byte position up to which both are known to be equal.
        """
        checks, end, read = self.survey.checks, self.survey.end, int(known["read"])
        same = min(self.line_end, end)
        for at, mark in zip(checkpoints(self.line_end), known["marks"], strict=False):
            if at > end:
                break
            if checks[at] != mark:
                return False, same
            same = at
        if end < read:
            return True, same
        if known["last"] != checks.get(read):
            return False, same
        return True, read


def checkpoints(line_end: int) -> tuple[int, ...]:
    """Return the byte positions at which the digests of a file's content are remembered. line_end: the end of its first
    line.
    """
    return tuple(line_end + at for at in CHECKPOINTS)


def plan(paths: Sequence[str], progress: Progress, *, owner: str = "") -> Plan:
    """Return the ranges of these files that `progress` does not cover, and the progress after their read. Known files
    that do not exist any more remain in the progress.

    Args:
        owner: the owner of the log, as ``cluster/broker``: files of two owners are never the same.

    Raises:
        OSError, EOFError: a file can't be read, for example a truncated gzip file; its path is in the text.
        CutInPlaceError: a file lost some lines that had been read, and kept others.
    """
    known = {identity: dict(entry) for identity, entry in progress.items()}
    unread = {str(entry["place"]): identity for identity, entry in known.items()}
    now, there = dict(known), set[str]()
    places: dict[str, str] = {}
    seen: list[_Seen] = []
    for path in sorted(paths):
        with opened(path) as file:
            if file.place in places:
                continue  # it was renamed during this loop, or has two names
            places[file.place] = path
            stat = {"place": file.place, "size": file.size, "changed": file.changed}
            identity = unread.get(file.place)
            if identity is not None and stat.items() <= known[identity].items():
                there.add(identity)
                continue
            try:
                found = _inspect(file, stat, owner, known)
            except EOFError:
                if path.endswith(".gz") and Path(path.removesuffix(".gz")).exists():
                    continue  # the file is being compressed, and the original still exists
                raise
            if found is not None:
                seen.append(found)
    # Take the longest file first: one of several copies is read, and the others are recognized as its beginnings.
    seen.sort(key=lambda each: (-each.survey.end, each.path))
    spans = tuple(span for each in seen if (span := _new_of(each, known, now, there)))
    return Plan(spans, now, frozenset(there), places)


def _new_of(
    seen: _Seen, known: Mapping[str, dict[str, Any]], now: dict[str, dict[str, Any]], there: set[str]
) -> Span | None:
    """Return the new range of a file; None if it has no new lines. Raises CutInPlaceError.

    Args:
        known: the entries of `Progress` before this plan.
        now: the entries with which this plan continues so far; the file's entry is added to them.
        there: the identities of the files that exist; the file's identity is added to it.
    """
    end = seen.survey.end
    alike = [identity for identity in now if identity.split(".", 1)[0] == seen.line]
    for identity in alike:
        begins_so, same = seen.same(now[identity])
        read = now[identity]["read"]
        # A file is cut if it lost the end of the text that was read, but kept more than its first line.
        is_cut = end < read if begins_so else same > seen.line_end
        if is_cut and identity in known and known[identity]["place"] == seen.stat["place"]:
            raise CutInPlaceError(
                f"{seen.path} was cut: of {known[identity]['read']:,} bytes that were read it kept about "
                f"{same:,}, and what was written since can't be told from what was read. Rotate it, and give the "
                "lines that are new as a file of their own"
            )
        if begins_so and end <= read:
            there.add(identity)
            if end == read:
                now[identity] = {**now[identity], **seen.entry()}
            return None
    continued = [each for each in alike if each in known and known[each]["read"] <= end and seen.same(known[each])[0]]
    former = max(continued, key=lambda each: int(known[each]["read"]), default=None)
    start = 0 if former is None else int(known[former]["read"])
    identity = former or ""
    if former is None or now[former] is not known[former]:
        names = itertools.chain([seen.line], (f"{seen.line}.{number}" for number in itertools.count(2)))
        identity = next(name for name in names if name not in now)
    there |= {identity, former or identity}
    now[identity] = {**now.get(identity, {}), **seen.entry()}
    checks = {at: seen.survey.checks[at] for at in (min(seen.line_end, end), start, end)}
    return Span(seen.path, start, end, identity, tuple(sorted(checks.items())), seen.survey.head, seen.survey.tail)


def _inspect(file: LogBytes, stat: Mapping[str, Any], owner: str, known: Progress) -> _Seen | None:
    """Return the present state of the file; None while its first line is incomplete. stat: its `place`, `size` and
    `changed`.
    """
    first = file.first_line()
    if first is None:
        return None
    text, line_end = first
    line = hashlib.sha256(owner.encode() + b"\0" + text).hexdigest()
    reads = [int(entry["read"]) for identity, entry in known.items() if identity.split(".", 1)[0] == line]
    survey = file.survey([0, line_end, *checkpoints(line_end), *reads])
    return _Seen(file.path, stat, line, line_end, survey)


# -- the parts to read ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BrokerLog:
    """The ranges to read from one broker's log."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    """The time zone of the log's lines, as ``Europe/Berlin``."""
    patterns: tuple[str, ...] = ()
    """The shell patterns of the paths of the log's files, also of rotated files."""
    logger: str = REQUESTS.name
    """The name of the `Logger` that wrote the log."""


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a log file, with everything that a task needs to recognize the file and to turn the piece's lines into
    rows.
    """

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None
    """The byte position from which on ambiguous times are in the second pass of an hour that the clock shows twice;
    None if all are in the first pass.
    """
    checks: tuple[Check, ...]
    """The checks by which the task recognizes the file: see `opened_as_planned`."""
    patterns: tuple[str, ...] = ()
    """The patterns by which the task finds the file: see `opened_as_planned`."""
    logger: str = REQUESTS.name
    """The name of the `Logger` that wrote the log."""


def part_bytes(size: int) -> int:
    """Return the size of a part in bytes: a 32nd (`PARTS`) of the new bytes, but at least 64 MiB and at most 512 MiB.
    size: the number of new bytes in all files.
    """
    return min(max(PART_BYTES, -(-size // PARTS)), LONGEST_PART)


def parts_of(logs: Sequence[BrokerLog], at_most: int | None = None) -> tuple[Part, ...]:
    """Return the parts of all ranges of these logs.

    Args:
        at_most: the size of a part in bytes, if its file can be split; None to derive it from the total (`part_bytes`).

    Raises:
        OSError, LogChangedError: a file can't be read.
        AmbiguousHourError: see `fold_at`.
        zoneinfo.ZoneInfoNotFoundError: the zone is unknown.
    """
    size = at_most or part_bytes(sum(span.end - span.start for log in logs for span in log.spans))
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, size))


def _parts(log: BrokerLog, span: Span, size: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end, LOGGERS[log.logger].message)
        inner = () if file.is_packed else range(span.start + size, span.end, size)
        ends = [*(min(file.past_pieces(at), span.end) for at in inner), span.end]
        cut = [(start, end) for start, end in itertools.pairwise((span.start, *ends)) if start < end]
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # Add the check at the end of the span to each part, as the last line of a part may end behind the part.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        checked = tuple(sorted({*always, (start, checks[start]), (end, checks[end])}))
        of = (log.cluster_id, log.broker_id, span.path)
        yield Part(*of, start, end, log.zone, fold, checked, log.patterns, log.logger)


def with_zone(part: Part, zone: str) -> Part:
    """Return the part in another time zone. Raises OSError, LogChangedError, AmbiguousHourError."""
    if zone == part.zone:
        return part
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        fold = fold_at(file, zone, part.end, LOGGERS[part.logger].message)
        return msgspec.structs.replace(part, zone=zone, fold_at=fold)


EMPTIED = "NUL bytes were skipped: the log was emptied while its writer had it open"


def read_part(part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part for the logger's bronze table, with its damaged lines; at least one row. Raises OSError;
    EOFError (truncated gzip); LogChangedError, also after the last row: the rows must then be thrown away.
    """
    logger = LOGGERS[part.logger]
    whose = whose_is(part)
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        if part.start == 0 and file.nuls:
            emptied = Damaged(0, f"{file.nuls:,} {EMPTIED}", "", "")
            yield pa.RecordBatch.from_pylist([damaged_row(whose, emptied, lines=1)], schema=arrow_schema(logger.table))
        yield from logger.rows(whose, kept_together(file.blocks(part.start, part.end)))


def whose_is(part: Part) -> Whose:
    """Return the fields of a part's rows that do not come from its lines."""
    name = PurePosixPath(part.path).name
    return Whose(part.cluster_id, part.broker_id, name, part.zone, part.fold_at, part.logger)


# -- the form of an unreadable log ------------------------------------------------------------------------------------

FEW = 100
"""Minimum number of lines or batches for a judgement of their unreadable share: a broker with fewer may have just
started to write its log.
"""
_MOST_TRIED = 10_000
"""Maximum number of unreadable requests that `unread_form` reads."""


def form_of_part(part: Part) -> Form:
    """Return a description of the form of a part that has no readable line. Raises OSError, EOFError (truncated gzip),
    LogChangedError.
    """
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        _, text = next(iter(file.blocks(part.start, part.end)), (0, b""))
        logger = LOGGERS[part.logger]
        return form_of(text, logger.message, logger.others)


def unread_form(log: BrokerLog) -> Form | None:
    """Return a description of the form of a log that has no readable line. None if a line is readable, or if the log
    has fewer than `FEW` (100) lines. The read ends after `_MOST_TRIED` (10,000) unreadable requests. Raises as
    `form_of_part`.
    """
    logger = LOGGERS[log.logger]
    lines = tried = 0
    sample = b""
    for span in log.spans:
        with opened_as_planned(span.path, span.checks, log.patterns) as file:
            for _, text in kept_together(file.blocks(span.start, span.end)):
                lines += text.count(b"\n")
                if logger.message not in text:
                    sample = sample or text
                    continue
                for line in _asked(text, logger.message):
                    if logger.is_readable(line):
                        return None
                    sample = sample if tried else text
                    tried += 1
                if tried >= _MOST_TRIED:
                    return form_of(sample, logger.message, logger.others)
    return form_of(sample, logger.message, logger.others) if max(lines, tried) >= FEW else None


def _asked(text: bytes, message: bytes) -> Iterator[bytes]:
    """Yield the lines of a block that contain the text `message`; a line that a container's runtime has split is
    joined.
    """
    begin = 0
    while (found := text.find(message, begin)) >= 0:
        begin, end = text.rfind(b"\n", 0, found) + 1, text.find(b"\n", found)
        end = len(text) if end < 0 else end
        line, end = joined(text, begin, end) or (text[begin:end], end)
        yield line
        begin = end + 1
