"""The files of a request log: how their bytes are read while brokers write, rotate and pack them, what is new in each,
and the work of reading that, in parts that can be done side by side.

A file is known by its content, not by its name: request.log, request.log.2026-11-21-10 and request.log.1.gz are one
file when they begin the same. Its first line alone does not say so, since two files may begin with the same line. So
digests at a few positions (`checkpoints`) and where it was read to are remembered. Bytes are counted as they were
written, unpacked.
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
from glob import glob
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast
from zoneinfo import ZoneInfo, available_timezones

import msgspec
import pyarrow as pa
from pyarrow import fs

from console.lake.requests.counted import Whose, counted
from console.lake.requests.lines import MESSAGE, Form, Line, clocks, form_of, one_line
from console.safe_files import open_plain

# -- a file while it is open: its bytes as they were written, plain or gzip, at a local path or a URI -----------------

# Everything that is asked of it is asked of one descriptor: a broker renames, empties, packs and deletes its logs while
# they are read, so a path says nothing about what was read under it a moment ago. The bytes are recognized by checks:
# digests of the 4 KiB before a position, which are the same under any name, packed or not.

BLOCK_BYTES = 256 << 10
LONGEST_LINE = 64 << 20
"""Of a request with tens of thousands of partitions some megabytes; what is longer is no log."""
CHECKED_BYTES = 4096
"""Bytes before a position that its check covers."""
SAMPLE_BYTES = 64 << 10
_GZIP = b"\x1f\x8b"
_SCHEMES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "abfs"}
"""Hadoop's names of what PyArrow calls otherwise."""

Check = tuple[int, str]
"""A position, and the digest of the bytes before it (`LogBytes.check`)."""


class LogChangedError(OSError):
    """A log was emptied, replaced or deleted after it was planned to be read, and no file beside it has its lines. The
    text says which, and nothing of its lines."""

    @staticmethod
    def of(
        path: str, why: str = "is not the file any more that was to be read, and none beside it is"
    ) -> LogChangedError:
        """Return the error of a file."""
        return LogChangedError(f"{path} {why}: it was rotated, emptied or deleted meanwhile")


@dataclass(frozen=True)
class Survey:
    """What a file holds. end: where the last whole line ends. checks: by position, of all that were asked for up to
    there, and of `end`. head, tail: some of its first and last bytes, up to `end`."""

    end: int
    checks: dict[int, str]
    head: bytes
    tail: bytes


class LogBytes:
    """An open file. place: which file it is on this machine (device and inode), whatever its name; a URI is its own
    place. size, changed: its bytes as they lie there, and when it was changed last, in nanoseconds since 1970."""

    def __init__(self, path: str, raw: IO[bytes], place: str, size: int, changed: int) -> None:
        self.path = path
        self.place = place
        self.size = size
        self.changed = changed
        self._raw = raw
        self.is_packed = path.endswith(".gz") or raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        self._bytes = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if self.is_packed else raw

    def first_line(self) -> tuple[bytes, int] | None:
        """Return the first line, 4 KiB of it at most, and where it ends; None while that is not whole. OSError,
        EOFError.
        """
        begin = self._read_at(0, CHECKED_BYTES)
        line, ended, _ = begin.partition(b"\n")
        if not ended and len(begin) < CHECKED_BYTES and not (begin and self.is_packed):
            return None
        return line, len(line) + 1 if ended else self._line_end(0)

    def check(self, at: int) -> str:
        """Return the digest of the bytes before a position; empty text where the file is shorter. OSError, EOFError."""
        begin = max(0, at - CHECKED_BYTES)
        data = self._read_at(begin, at - begin)
        return digest(data) if len(data) == at - begin else ""

    def has(self, checks: Sequence[Check]) -> bool:
        """Return whether it is the file of these checks. OSError, EOFError."""
        return all(self.check(at) == wanted for at, wanted in sorted(checks))

    def still_has(self, checks: Sequence[Check]) -> bool:
        """Return whether the file has these checks again after it was read. Of gzip, never written on in place, it is
        enough that its size stayed: what was read had its checksum at its end. OSError.
        """
        if not self.is_packed:
            return self.has(checks)
        return self._raw.seek(0, os.SEEK_END) == self.size

    def survey(self, positions: Iterable[int]) -> Survey:
        """Return what the file holds now, with the checks at these positions. Of gzip all is read; a last line without
        an end counts there, since no broker will write on. OSError, EOFError; LogChangedError: it changed meanwhile.
        """
        if self.is_packed:
            return self._survey_packed(sorted({*positions}))
        end = self._whole_end()
        wanted = sorted({*(at for at in positions if at <= end), end})
        checks = {at: self.check(at) for at in wanted}
        tail = min(end, SAMPLE_BYTES)
        found = Survey(end, checks, self._read_at(0, tail), self._read_at(end - tail, tail))
        if not self.has([*checks.items()]):
            raise LogChangedError.of(self.path, "changed while it was looked through")
        return found

    def blocks(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield (byte, whole lines that begin there): all lines whose first byte is in start … end - 1, in their order.
        Raises OSError, EOFError (gzip, cut).
        """
        at = 0
        if start:
            # A range may begin inside a line, which then is the one before's.
            at = self._line_end(start - 1)
        rest = b""
        while at < end:
            read = self._read(at + len(rest), BLOCK_BYTES)
            text = rest + read if rest else read
            if not text:
                return
            cut = text.rfind(b"\n") + 1 if read else len(text)
            if at + cut > end:
                # The line that holds the last byte is the last; with it ends what is read.
                cut = text.find(b"\n", end - at - 1) + 1 or cut
            rest = text[cut:]
            self._check_line(at + cut, len(rest))
            if cut:
                yield at, text[:cut]
                at += cut

    def _line_end(self, at: int) -> int:
        """Return where the line ends that has this byte."""
        begin = at
        while read := self._read_at(at, CHECKED_BYTES):
            if ended := read.find(b"\n") + 1:
                return at + ended
            at += len(read)
            self._check_line(begin, at - begin)
        return at

    def _check_line(self, begin: int, size: int) -> None:
        """Raise OSError for a line that has no end in so many bytes."""
        if size > LONGEST_LINE:
            where = f"from byte {begin} on"
            raise OSError(f"{self.path}: no end of a line in {LONGEST_LINE >> 20} MiB {where}: no log")

    def _read(self, at: int, size: int) -> bytes:
        """Return so many bytes or fewer, as they come."""
        try:
            if self._bytes.tell() != at:
                self._bytes.seek(at)
            return self._bytes.read(size)
        except EOFError as cut:
            raise EOFError(f"{self.path}: {cut}") from cut
        except (gzip.BadGzipFile, zlib.error) as wrong:
            raise OSError(f"{self.path}: damaged, or not gzip: {wrong}") from wrong

    def _read_at(self, at: int, size: int) -> bytes:
        """Return so many bytes, or all that there are."""
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
                return start + found
            end = start
        return 0

    def _survey_packed(self, wanted: list[int]) -> Survey:
        checks: dict[int, str] = {}
        head, tail, at, line = b"", b"", 0, 0
        while read := self._read(at, BLOCK_BYTES):
            both = tail + read
            while wanted and wanted[0] <= at + len(read):
                stop = wanted.pop(0) - at + len(tail)
                checks[at - len(tail) + stop] = digest(both[max(0, stop - CHECKED_BYTES) : stop])
            head = head or read[:SAMPLE_BYTES]
            if cut := read.rfind(b"\n") + 1:
                line = at + cut
            tail, at = both[-SAMPLE_BYTES:], at + len(read)
            # A megabyte of gzip may be a gigabyte of one byte.
            self._check_line(line, at - line)
        checks[at] = digest(tail[-CHECKED_BYTES:])
        return Survey(at, checks, head, tail)


def digest(data: bytes) -> str:
    """Return the digest of bytes, as checks have it."""
    return hashlib.sha256(data).hexdigest()[:16]


@contextmanager
def opened(path: str) -> Iterator[LogBytes]:
    """Open a file for the context. OSError; the path is in the text."""
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
    """Open the file that has these checks: at its path, else under another name in its folder or at one of the
    patterns, where it is after it was rotated or packed. The checks are made again when the context ends well, since a
    file may be emptied while it is read. LogChangedError: there is none, or it changed; OSError, EOFError (gzip, cut).
    """
    with ExitStack() as stack:
        file = next((file for each in _candidates(path, patterns) if (file := _entered(stack, each, checks))), None)
        if file is None:
            raise LogChangedError.of(path)
        yield file
        if not file.still_has(checks):
            raise LogChangedError.of(file.path, "changed while it was read")


def _entered(stack: ExitStack, path: str, checks: Sequence[Check]) -> LogBytes | None:
    """Return the file, which the stack then closes; None where it is another, does not exist, or is packed and not
    whole.
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
    # What is packed is read from its beginning: the others first.
    yield from sorted({*beside, *found} - {path}, key=lambda each: (each.endswith(".gz"), each))


# -- the hour that clocks show twice ----------------------------------------------------------------------------------

# Where clocks go back, the order of the lines separates the first pass from the second: times jump back once. A file
# that begins inside that hour and goes on beyond it has the second pass alone. Of a file that lies inside the hour as a
# whole its last change decides: it has no line that is younger. Where that decides nothing either, as of a copy that
# was made later, the file is refused.

QUARTER = timedelta(minutes=15)
"""No zone changes at another time than at a quarter of an hour, and none is another time than quarters off UTC."""
_AT_ONCE = timedelta(minutes=1)
"""How long after its last line a file may be changed where it is the one that the broker wrote."""
_PACKED_SPAN = timedelta(days=8)
"""How long the time of one packed file is thought to be at most; its last line is not known before all is unpacked."""


def zone_problem(zone: str) -> str:
    """Return why a name is no time zone, or empty text."""
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        near = get_close_matches(zone, available_timezones(), n=1)
        return f"there is no time zone {zone!r}" + (f"; did you mean {near[0]}?" if near else "; as Europe/Berlin")
    return ""


class AmbiguousHourError(ValueError):
    """A file lies inside an hour that the clock shows twice, and nothing says in which of the two."""


@dataclass(frozen=True)
class Twice:
    """Times of the clock, without zone, that are shown twice: from `first` up to `end`; `shift` later again."""

    first: datetime
    end: datetime
    shift: timedelta


def shown_twice(zone: str, first: datetime, last: datetime) -> Twice | None:
    """Return the first times that are shown twice among those from `first` to `last`, all without zone."""
    clock = ZoneInfo(zone)
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


def fold_at(file: LogBytes, zone: str, end: int) -> int | None:
    """Return the byte from which on a file's ambiguous times are of the second pass; None: there are none, or all are
    of the first. end: where what is read of it ends. Reads the whole file, but only where its time holds such an hour.
    Raises OSError, AmbiguousHourError.
    """
    # Without zones that change there is nothing to look for.
    if zone == "UTC":
        return None
    span = _span(file, end)
    twice = span and shown_twice(zone, *span)
    if not twice:
        return None
    found, last = jump(_times(file, 0, end), twice)
    return found if last is None else _pass_of(file, zone, last, twice)


def _pass_of(file: LogBytes, zone: str, last: datetime, twice: Twice) -> int | None:
    """Return `fold_at` of a file that is inside the hour as a whole, and whose last line shows `last`."""
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
    """Return a zone that was so far from UTC when its clock showed that, and showed it once."""
    names = sorted(available_timezones(), key=lambda name: (not name.startswith("Etc/GMT"), name))
    clocks = ((name, ZoneInfo(name)) for name in names)
    return next(name for name, clock in clocks if {clock.utcoffset(shown.replace(fold=f)) for f in (0, 1)} == {offset})


def jump(times: Iterable[tuple[int, datetime]], twice: Twice) -> tuple[int | None, datetime | None]:
    """Return `fold_at` by (byte, time) of all lines in their order; or the latest time, where all are shown twice and
    none is before another: they do not show of which pass they are.
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


def _times(file: LogBytes, start: int, end: int) -> Iterator[tuple[int, datetime]]:
    """Yield the times that have no zone of their own, each with its byte."""
    for at, text in file.blocks(start, end):
        yield from (each for each in clocks(at, text) if each[1].tzinfo is None)


def _span(file: LogBytes, end: int) -> tuple[datetime, datetime] | None:
    """Return the times of the first and of the last line; of a packed file, what the last may be at most."""
    first = next((at for _, at in _times(file, 0, end)), None)
    if first is None:
        return None
    if file.is_packed:
        return first, first + _PACKED_SPAN
    latest, start = first, end
    while start and latest == first:
        start = max(0, start - BLOCK_BYTES)
        latest = max((at for _, at in _times(file, start, end)), default=first)
    return first, latest


# -- how far each file was read, and what is new in it ----------------------------------------------------------------

PARTS = 32
"""Of what is new at once, about so many are made: a part costs a tenth of a second beside its lines, and a file."""
PART_BYTES = 64 << 20
"""A part's least size, where there is as much: less is not worth a task of its own."""
LONGEST_PART = 512 << 20
"""A part's greatest size: so much is read again when a task fails."""

CHECKPOINTS = tuple(256 * 4**power for power in range(24))
"""How far behind its first line a file's content is remembered: at the beginning of the second, and on in such steps
that of what is shorter than was read, a quarter at least is compared."""

Progress = Mapping[str, Mapping[str, Any]]
"""By file (`Span.identity`), for JSON: `read`, the bytes that were read; `marks`, the digests at the checkpoints up to
there; `last`, the digest at its end; `place`, `size` and `changed`, see `LogBytes`, as they were then, so that
what did not change is not read again."""


class CutInPlaceError(OSError):
    """A file lost lines that were read, and kept others: what of it is new can't be known."""


@dataclass(frozen=True)
class Span:
    """What is to be read of a file: the lines that begin in start … end - 1, which are whole. identity: which file it
    is, whatever its name. checks: by which the file is known again when it is read. head, tail: some of its first and
    last bytes."""

    path: str
    start: int
    end: int
    identity: str
    checks: tuple[Check, ...]
    head: bytes = b""
    tail: bytes = b""


@dataclass(frozen=True)
class Plan:
    """What is to be read, and how far each of the files then is read. there: of which of the files in `progress` there
    is one; places: of the files, by place."""

    spans: tuple[Span, ...]
    progress: dict[str, dict[str, Any]]
    there: frozenset[str] = field(default=frozenset(), compare=False)
    places: Mapping[str, str] = field(default_factory=dict, compare=False)


class _Seen(NamedTuple):
    """A file as it is now. stat: its `place`, `size` and `changed`. line: the digest of its first line. line_end: where
    that ends."""

    path: str
    stat: Mapping[str, Any]
    line: str
    line_end: int
    survey: Survey

    def entry(self) -> dict[str, Any]:
        """Return the file as `Progress` remembers it."""
        checks, end = self.survey.checks, self.survey.end
        marks = [checks[at] for at in checkpoints(self.line_end) if at <= end]
        return {"read": end, "marks": marks, "last": checks[end], **self.stat}

    def same(self, known: Mapping[str, Any]) -> tuple[bool, int]:
        """Return whether it begins as what is remembered of a file with the same first line, as far as both go; and up
        to which byte both are known to be the same.
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
    """Return the positions at which the content of a file is remembered whose first line ends at a byte."""
    return tuple(line_end + at for at in CHECKPOINTS)


def plan(paths: Sequence[str], progress: Progress, *, owner: str = "") -> Plan:
    """Return what is new in the files since `progress`. Files that were known and are gone stay known.

    owner: whose log it is, as ``cluster/broker``: files of two owners are never the same. Raises OSError, EOFError
    (gzip, cut): a file can't be read; its path is in the text. CutInPlaceError.
    """
    known = {identity: dict(entry) for identity, entry in progress.items()}
    unread = {str(entry["place"]): identity for identity, entry in known.items()}
    now, there = dict(known), set[str]()
    places: dict[str, str] = {}
    seen: list[_Seen] = []
    for path in sorted(paths):
        with opened(path) as file:
            if file.place in places:
                continue  # it was renamed while they were opened, or has two names
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
                    continue  # it is being packed, and what it is packed from is there
                raise
            if found is not None:
                seen.append(found)
    # The longest first: of copies one is read, and the others are beginnings of it.
    seen.sort(key=lambda each: (-each.survey.end, each.path))
    spans = tuple(span for each in seen if (span := _new_of(each, known, now, there)))
    return Plan(spans, now, frozenset(there), places)


def _new_of(
    seen: _Seen, known: Mapping[str, dict[str, Any]], now: dict[str, dict[str, Any]], there: set[str]
) -> Span | None:
    """Return what is new of a file; None: nothing. known: what is remembered of files. now: the same after those before
    it were planned; the file is added to it, and to `there`. CutInPlaceError.
    """
    end = seen.survey.end
    alike = [identity for identity in now if identity.split(".", 1)[0] == seen.line]
    for identity in alike:
        begins_so, same = seen.same(now[identity])
        read = now[identity]["read"]
        # The very file lost the end of what was read of it, and kept more than its first line.
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
    """Return the present state of the file; None while it has no whole first line."""
    first = file.first_line()
    if first is None:
        return None
    text, line_end = first
    line = hashlib.sha256(owner.encode() + b"\0" + text).hexdigest()
    reads = [int(entry["read"]) for identity, entry in known.items() if identity.split(".", 1)[0] == line]
    survey = file.survey([0, line_end, *checkpoints(line_end), *reads])
    return _Seen(file.path, stat, line, line_end, survey)


# -- the work of reading what is new ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BrokerLog:
    """What is to be read of one broker's request log. zone: of the times in its lines, as ``Europe/Berlin``. patterns:
    where its files lie, also those that it will be rotated to."""

    cluster_id: str
    broker_id: int
    spans: tuple[Span, ...]
    zone: str = "UTC"
    patterns: tuple[str, ...] = ()


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a file, with all that its lines' rows need. fold_at: see `counted.to_utc`. checks, patterns: by which
    the file is known again, and found, where it is read: see `opened_as_planned`."""

    cluster_id: str
    broker_id: int
    path: str
    start: int
    end: int
    zone: str
    fold_at: int | None
    checks: tuple[Check, ...]
    patterns: tuple[str, ...] = ()


def part_bytes(size: int) -> int:
    """Return the bytes of a part, where `size` bytes are read at once."""
    return min(max(PART_BYTES, -(-size // PARTS)), LONGEST_PART)


def parts_of(logs: Sequence[BrokerLog], at_most: int | None = None) -> tuple[Part, ...]:
    """Return all parts of logs.

    Args:
        at_most: The bytes of a part, where its file can be split; None: by how much there is (`part_bytes`).

    Raises:
        OSError, LogChangedError: A file can't be read.
        zoneinfo.ZoneInfoNotFoundError: There is no such zone.
    """
    size = at_most or part_bytes(sum(span.end - span.start for log in logs for span in log.spans))
    return tuple(part for log in logs for span in log.spans for part in _parts(log, span, size))


def _parts(log: BrokerLog, span: Span, at_most: int) -> Iterator[Part]:
    with opened_as_planned(span.path, span.checks, log.patterns) as file:
        fold = fold_at(file, log.zone, span.end)
        size = span.end if file.is_packed else at_most
        cut = [(at, min(at + size, span.end)) for at in range(span.start, span.end, size)]
        known = dict(span.checks)
        checks = {at: known.get(at) or file.check(at) for at in {each for piece in cut for each in piece}}
    # The last line of a part may end behind it: where the span ends is checked for each.
    always = {min(span.checks), (span.end, known[span.end])}
    for start, end in cut:
        checked = tuple(sorted({*always, (start, checks[start]), (end, checks[end])}))
        yield Part(log.cluster_id, log.broker_id, span.path, start, end, log.zone, fold, checked, log.patterns)


def with_zone(part: Part, zone: str) -> Part:
    """Return the part in another time zone. OSError, LogChangedError."""
    if zone == part.zone:
        return part
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        return msgspec.structs.replace(part, zone=zone, fold_at=fold_at(file, zone, part.end))


def read_part(part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the part's requests by the second, its changes and what is damaged, as `counted.COUNTED`; at least one row.
    Raises OSError, EOFError (gzip, cut); LogChangedError, at the end too: then what was yielded before does not count.
    """
    whose = Whose(part.cluster_id, part.broker_id, PurePosixPath(part.path).name, part.zone, part.fold_at)
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        yield from counted(whose, file.blocks(part.start, part.end))


# -- of which form a log is that can't be read ------------------------------------------------------------------------

FEW = 100
"""Of so few lines or batches the share says nothing: a broker may have begun just now."""
_MOST_TRIED = 10_000
"""Requests that can't be read, behind which no other is looked for."""


def form_of_part(part: Part) -> Form:
    """Return the form of a part of which nothing can be read. OSError, EOFError (gzip, cut); LogChangedError."""
    with opened_as_planned(part.path, part.checks, part.patterns) as file:
        _, text = next(iter(file.blocks(part.start, part.end)), (0, b""))
        return form_of(text)


def unread_form(log: BrokerLog) -> Form | None:
    """Return the form of a log of which no line can be read; None where one can, or where it has next to no lines.
    Raises as `form_of_part`.
    """
    lines = tried = 0
    sample = b""
    for span in log.spans:
        with opened_as_planned(span.path, span.checks, log.patterns) as file:
            for _, text in file.blocks(span.start, span.end):
                lines += text.count(b"\n")
                if MESSAGE not in text:
                    sample = sample or text
                    continue
                for line in text.split(b"\n"):
                    if MESSAGE not in line:
                        continue
                    if isinstance(one_line(0, line), Line):
                        return None
                    sample = sample if tried else text
                    tried += 1
                if tried >= _MOST_TRIED:
                    return form_of(sample)
    return form_of(sample) if max(lines, tried) >= FEW else None
