"""A cluster's journal as files: each append is made under a lock and synced to disk before the call returns; reads
return all complete lines. `segments` finds the lines.

kac reads only the open changes when it starts. A checkpoint next to the journal, ``open.json``, has the positions of
their lines up to some position; the lines after that are read. If the checkpoint is missing, outdated or wrong, the
whole journal is read.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zlib import crc32

from msgspec import Struct

from console.journal import entries
from console.journal import segments as journal_segments
from console.journal.open_changes import OpenChanges, Touches, slots_of
from console.model import journal_lines
from console.model.foreign_json import json_of
from console.model.journal_lines import LONGEST_LINE
from console.model.numbers import json_text
from console.safe_files import PRIVATE, open_private, private_folder, read_regular, write_whole

log = logging.getLogger(__name__)

LOCK_SECONDS = 3.0
"""Maximum seconds to wait for the lock, which other kac processes hold only while they write one record."""
LOCK_STEP = 0.02
LONGEST_NAME = 126
"""Maximum number of characters of the journal's file name."""
CHECKPOINT_BYTES = 1 << 18
"""If a read of the open changes had to read more bytes than this, a checkpoint is written."""
LARGEST_CHECKPOINT = 256 << 20
"""Maximum size in bytes of a checkpoint."""
CHECKED = 4096
"""Number of bytes before a checkpoint's position that the checkpoint's checksum covers."""
MOST_PROBLEMS = 20
CHECKPOINT_VERSION = 1
BEGINNING = journal_segments.Where(0, 0)
_CHANGE = re.compile(rb'\{"v":\s*\d+,\s*"kind":\s*"(?P<kind>\w+)",\s*"(?:change|place)":\s*\[?(?P<number>\d{1,18})')
"""Matches the kind and the change number of a line, also in other versions of the format, so that no number is used
twice.
"""
MEND = "kac history --mend"
NO_JOURNAL = "or change without a record with --no-journal"


class Contents(Struct, frozen=True):
    """The records of a journal in order, and a text for operators on each unreadable line."""

    records: tuple[entries.Numbered | entries.Note, ...] = ()
    problems: tuple[str, ...] = ()
    through: journal_segments.Where = journal_segments.Where(0, 0)
    """The position after the last line that was read; the beginning of the journal if only certain lines were read."""


class Problems:
    """The unreadable lines of a journal.

    Attributes:
        found: (segment, line number) -> reason, for the first `MOST_PROBLEMS` lines.
        more: the number of further unreadable lines.
        cut: the (segment, line number) of a line without a line feed; None if there is none.
    """

    def __init__(self, found: dict[tuple[int, int], str] | None = None, more: int = 0) -> None:
        self.found = found if found is not None else {}
        self.more = more
        self.cut: tuple[int, int] | None = None

    def whole(self, line: journal_segments.Line) -> bytes:
        """Return the data of a line, and set `cut` if its line feed is missing. Raises BadLine for a line that was cut
        or is too long.
        """
        try:
            return line.raw.whole
        except journal_lines.CutLine:
            self.cut = line.segment, line.number
            raise

    def add(self, line: journal_segments.Line, why: journal_lines.BadLine) -> None:
        """Add a line that is no record, unless it is the line `cut`."""
        place = line.segment, line.number
        if place == self.cut:
            return
        if len(self.found) < MOST_PROBLEMS:
            self.found[place] = str(why)
        else:
            self.more += 1

    def mended(self, line: journal_segments.Line) -> None:
        """Remove the line before this one from the unreadable lines: it was cut, and an operator let kac add its
        line feed.
        """
        self.found.pop((line.segment, line.number - 1), None)

    def told(self, first: Path) -> tuple[str, ...]:
        """Return a text for operators on each unreadable line. first: the path of the journal's first segment."""
        said = [
            f"line {number} of {journal_lines.segment_path(first, segment)} can't be read: {why}"
            for (segment, number), why in self.found.items()
        ]
        if self.more:
            said.append(f"and {self.more:,} lines more of it can't be read")
        if self.cut is not None:
            segment, number = self.cut
            said.append(
                f"line {number} of {journal_lines.segment_path(first, segment)} was cut short; look at it, then: {MEND}"
            )
        return tuple(said)


@dataclass(slots=True)
class Known:
    """The open changes of a journal up to a position, with the number of lines before that position in its segment."""

    changes: OpenChanges[journal_segments.Where]
    problems: Problems
    through: journal_segments.Where
    read: int


def journal_path(state: Path, cluster_id: str) -> Path:
    """Return the path of the journal of a cluster. state: the folder of kac's state. Raises JournalError if the cluster
    has no id, or one that is too long for a file name.
    """
    name = journal_lines.journal_name(cluster_id)
    if not cluster_id or len(name) > LONGEST_NAME:
        raise journal_segments.JournalError(
            "NO_JOURNAL",
            "the cluster reports no id by which a journal could be kept"
            if not cluster_id
            else "the cluster's id is too long",
            f"Look at the brokers, {NO_JOURNAL}.",
        )
    return state / "journal" / name


class JournalFile:
    """The journal of one cluster. Several processes may use the same journal; each call locks it.

    Attributes:
        path: the path of the first segment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = BEGINNING
        self._last = 0

    def begin(self, intent: entries.Intent) -> int:
        """Write a change before its first request is sent, and return the number of the change. Raises JournalError if
        that fails; nothing may be sent then.
        """
        return self._numbered(lambda number: entries.intent_line(number, intent))

    def begin_operation(self, at: datetime, data: journal_lines.Json) -> int:
        """Write the start of an operation, and return its number. Raises JournalError if that fails."""
        return self._numbered(
            lambda number: entries.note_line(journal_lines.OperationLine(number, "operation", at, data))
        )

    def _numbered(self, line: Callable[[int], bytes]) -> int:
        with self._writable(journal_segments.SEGMENT_BYTES) as (descriptor, all_), self._reading():
            number = self._last_number(all_) + 1
            data = line(number)
            if len(data) > LONGEST_LINE:
                raise journal_segments.JournalError(
                    "JOURNAL_LINE_TOO_LONG",
                    f"its line in the journal would have {len(data) >> 20:,} MiB, more than {LONGEST_LINE >> 20}",
                    f"Apply it in parts; {NO_JOURNAL}.",
                )
            _write(self.path, descriptor, data)
        if len(all_) > 1 and all_[-1].size == 0:  # a new segment: a scan now saves the next start from a long read
            with suppress(OSError):
                self._scan(all_)
        return number

    def note(self, note: entries.Note) -> None:
        """Append a record that is no intent. Raises JournalError if that fails."""
        with self._writable(None) as (descriptor, _):
            _write(self.path, descriptor, entries.note_line(note))

    def mend(self, mended: journal_lines.Mended) -> bool:
        """Add the missing line feed to a last line that was cut, and append the record that says so; return False if
        no line was cut. Raises JournalError if the journal can't be written.
        """
        if not self._segments():
            return False
        with self._locked(write=True) as (descriptor, _):
            if _whole(descriptor):
                return False
            _write(self.path, descriptor, b"\n" + entries.note_line(mended))
        return True

    def read(self) -> Contents:
        """Return all readable records. Raises JournalError if the journal exists but can't be opened."""
        records: list[entries.Numbered | entries.Note] = []
        problems, through = Problems(), BEGINNING
        with self._reading():
            for line in journal_segments.lines(self._known_segments(), BEGINNING):
                through = line.after if line.raw.is_ended else through
                try:
                    found = entries.record(problems.whole(line))
                except journal_lines.BadLine as error:
                    problems.add(line, error)
                    continue
                if isinstance(found, journal_lines.Mended):
                    problems.mended(line)
                records.append(found)
        return Contents(tuple(records), problems.told(self.path), through)

    def open(self) -> Contents:
        """Return the records of the open changes and of the changes that affect them; see `open_changes`. Unreadable
        lines are left out. Raises JournalError if the journal exists but can't be opened.
        """
        with self._reading():
            all_ = self._known_segments()
            known = self._scan(all_)
            places = sorted(where for of_change in known.changes.open().values() for where in of_change)
            found = [journal_segments.line_at(all_, where) for where in places]
        records = []
        for line in found:
            with suppress(journal_lines.BadLine):
                records.append(entries.record(line))
        return Contents(tuple(records), known.problems.told(self.path), known.through)

    def since(self, through: journal_segments.Where) -> Contents:
        """Return the readable records from a position to the last complete line. Raises JournalError if the journal
        exists but can't be opened.
        """
        records = []
        with self._reading():
            for line in journal_segments.lines(self._known_segments(), through):
                if not line.raw.is_ended:
                    break
                through = line.after
                with suppress(journal_lines.BadLine):
                    records.append(entries.record(line.raw.whole))
        return Contents(tuple(records), through=through)

    def latest(self) -> Iterator[entries.Numbered | entries.Note]:
        """Yield all readable records, the last one first. Raises JournalError if the journal exists but can't be
        opened.
        """
        with self._reading():
            for line in journal_segments.lines_backward(self._known_segments()):
                with suppress(journal_lines.BadLine):
                    yield entries.record(line)

    def around(self, number: int) -> Contents:
        """Return the records of a change, and of later changes of the same slots; unreadable lines are left out. Raises
        JournalError if the journal exists but can't be opened.
        """
        wanted, touches = {number}, Touches(())
        found = []
        with self._reading():
            all_ = self._known_segments()
            for line in journal_segments.lines(all_, journal_segments.Where(_segment_of(all_, number), 0)):
                change = _CHANGE.match(line.raw.data)
                if change is None:
                    continue
                other = int(change["number"])
                if change["kind"] == b"intent" and other == number:
                    touches = Touches(slots_of(line.raw.data))
                elif change["kind"] == b"intent" and other > number and touches(line.raw.data):
                    wanted.add(other)
                elif other not in wanted:
                    continue
                with suppress(journal_lines.BadLine):
                    found.append(entries.record(line.raw.whole))
        return Contents(tuple(found))

    def numbers(self) -> tuple[int, int] | None:
        """Return the first and the last change number; None if there are no changes. Raises JournalError if the journal
        exists but can't be opened.
        """
        with self._reading():
            all_ = self._known_segments()
            first = next((n for segment in all_ if (n := _first_number(segment)) is not None), None)
            return None if first is None else (first, self._last_number(all_))

    # -- the open changes ----------------------------------------------------------------------------------------------

    def _scan(self, all_: Sequence[journal_segments.Segment]) -> Known:
        """Return the open changes, from the checkpoint and the lines after it. If these lines have more than
        `CHECKPOINT_BYTES`, a new checkpoint is written.
        """
        known = self._checkpoint(all_) or Known(OpenChanges(), Problems(), BEGINNING, 0)
        read = 0
        for line in journal_segments.lines(all_, known.through, known.read):
            try:
                if known.changes.take(known.problems.whole(line), line.where):
                    known.problems.mended(line)
            except journal_lines.BadLine as error:
                known.problems.add(line, error)
                # The unreadable line may have a change number, which must not be assigned twice.
                known.changes.last = max(known.changes.last, _number(line))
            if line.raw.is_ended:
                read += line.raw.size
                known.through = line.after
                known.read = line.number
        if read > CHECKPOINT_BYTES:
            self._write_checkpoint(all_, known)
        return known

    @property
    def _checkpoint_path(self) -> Path:
        return journal_lines.segment_folder(self.path) / "open.json"

    def _checkpoint(self, all_: Sequence[journal_segments.Segment]) -> Known | None:
        """Return the open changes that the checkpoint has; None if it is missing or does not match the journal."""
        try:
            data = json_of(read_regular(self._checkpoint_path, LARGEST_CHECKPOINT))
            through = journal_segments.Where(*data["through"])
            if data["v"] != CHECKPOINT_VERSION or data["check"] != _check(all_, through):
                return None
            changes = OpenChanges[journal_segments.Where](int(data["last"]))
            for where in sorted(journal_segments.Where(*each) for each in data["open"]):
                changes.take(journal_segments.line_at(all_, where), where)
            found = {(int(segment), int(number)): str(why) for segment, number, why in data["problems"]}
            return Known(changes, Problems(found, int(data["more_problems"])), through, int(data["read"]))
        except (OSError, ValueError, KeyError, TypeError, IndexError):  # BadLine, which is a ValueError, is also caught
            return None

    def _write_checkpoint(self, all_: Sequence[journal_segments.Segment], known: Known) -> None:
        """Write the checkpoint of the open changes, atomically. A failure is only logged, since a read-only journal
        works without a checkpoint.
        """
        problems = [(*place, why) for place, why in known.problems.found.items() if place[1] <= known.read]
        data = {
            "v": CHECKPOINT_VERSION,
            "through": known.through,
            "read": known.read,
            "check": _check(all_, known.through),
            "last": known.changes.last,
            "open": sorted(where for of_change in known.changes.open().values() for where in of_change),
            "problems": problems,
            "more_problems": known.problems.more,
        }
        path = self._checkpoint_path
        try:
            private_folder(path.parent)
            write_whole(path, json_text(data, separators=(",", ":")), PRIVATE)
        except OSError as error:
            log.info("the open changes are not written down: %s", error)

    def _last_number(self, all_: Sequence[journal_segments.Segment]) -> int:
        """Return the highest number that was assigned to a change. Only lines since the last call are read."""
        if self._read_to == BEGINNING and (known := self._checkpoint(all_)) is not None:
            self._last, self._read_to = known.changes.last, known.through
        for line in journal_segments.lines(all_, self._read_to):
            self._last = max(self._last, _number(line))
            if line.raw.is_ended:
                self._read_to = line.after
        return self._last

    # -- segments and locks --------------------------------------------------------------------------------------------

    def _segments(self) -> list[journal_segments.Segment]:
        try:
            return journal_segments.segments(self.path)
        except OSError as error:
            raise _failed(self.path, "opened", error) from error

    def _known_segments(self) -> list[journal_segments.Segment]:
        """Return the segments that exist now, with their sizes under the lock; lines that are added later are not
        included. Empty if there is no journal.
        """
        if not self._segments():
            return []
        with self._locked(write=False) as (_, all_):
            return all_

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise _failed(self.path, "read", error) from error

    @contextmanager
    def _writable(self, full: int | None) -> Iterator[tuple[int, list[journal_segments.Segment]]]:
        """Yield the descriptor of the last segment, locked, and all segments. If the last segment has `full` bytes
        or more, a new segment is created first; None for `full` means never. Raises JournalError if that fails,
        or the last line was cut.
        """
        while True:
            with self._locked(write=True) as (descriptor, all_):
                if not _whole(descriptor):
                    raise journal_segments.JournalError(
                        "JOURNAL_CUT",
                        f"the last line of the journal {all_[-1].path} was cut short",
                        f"Look at the line, then end it with: {MEND}; {NO_JOURNAL}.",
                    )
                if full is None or all_[-1].size < full:
                    yield descriptor, all_
                    return
                _create(self.path, journal_lines.segment_path(self.path, all_[-1].number + 1))

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[tuple[int, list[journal_segments.Segment]]]:
        """Yield the descriptor of the last segment, locked, and all segments as they are under the lock. Raises
        JournalError if the segment can't be opened or locked.
        """
        while True:
            all_ = self._segments()
            path = all_[-1].path if all_ else self.path
            try:
                descriptor = _open(self.path, path, write)
            except OSError as error:
                raise _failed(self.path, "opened", error) from error
            try:
                _lock(self.path, descriptor, path, write)
                all_ = self._segments()
                if all_ and all_[-1].path == path:
                    yield descriptor, all_
                    return
            finally:
                os.close(descriptor)


# -- the disk: `journal` is the first segment; the others are in its folder --------------------------------------------


def _open(journal: Path, path: Path, write: bool) -> int:
    if not write:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        path.lstat()
    except FileNotFoundError:
        _create(journal, path)
    return open_private(path, os.O_RDWR | os.O_APPEND)


def _create(journal: Path, path: Path) -> None:
    """Create an empty segment, and sync it; if another process has created it, only sync it. Raises JournalError for
    an OSError.
    """
    try:
        for folder in dict.fromkeys((journal.parent.parent, journal.parent, path.parent)):
            private_folder(folder)
        os.close(open_private(path, os.O_RDWR | os.O_APPEND))
        for folder in dict.fromkeys((path.parent, path.parent.parent)):
            parent = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)
    except OSError as error:
        raise _failed(journal, "opened", error) from error


def _write(journal: Path, descriptor: int, data: bytes) -> None:
    """Write and sync all of the data, or nothing: after a failure the file is truncated to its former size, and
    JournalError is raised.
    """
    size = os.fstat(descriptor).st_size
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.fsync(descriptor)
    except OSError as error:
        with suppress(OSError):  # if this fails too, the next writer finds the cut line and reports it
            os.ftruncate(descriptor, size)
        raise _failed(journal, "written", error) from error


def _lock(journal: Path, descriptor: int, path: Path, write: bool) -> None:
    how = (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise journal_segments.JournalError(
                    "JOURNAL_LOCKED",
                    f"another process has held the journal {path} locked for {LOCK_SECONDS:g} s",
                    f"See which with: fuser {path}; {NO_JOURNAL}.",
                ) from None
            time.sleep(LOCK_STEP)
        except OSError as error:
            raise _failed(journal, "locked", error) from error
        else:
            return


def _failed(journal: Path, done: str, error: OSError) -> journal_segments.JournalError:
    return journal_segments.JournalError(
        "JOURNAL_UNWRITABLE" if done != "opened" else "JOURNAL_UNAVAILABLE",
        f"the journal {journal} can't be {done}: {error.strerror or error}",
        f"Make room or set XDG_STATE_HOME to a folder that can be written; {NO_JOURNAL}.",
    )


def _whole(descriptor: int) -> bool:
    """Return whether the last line of a segment ends with a line feed; True for an empty segment."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _number(line: journal_segments.Line) -> int:
    """Return the change number of a line; 0 if it has none."""
    found = _CHANGE.match(line.raw.data)
    return int(found["number"]) if found else 0


def _first_number(segment: journal_segments.Segment) -> int | None:
    """Return the number of the first change that begins in a segment; None if no change begins there."""
    for line in journal_segments.lines([segment], journal_segments.Where(segment.number, 0)):
        if (found := _CHANGE.match(line.raw.data)) and found["kind"] == b"intent":
            return int(found["number"])
    return None


def _segment_of(all_: Sequence[journal_segments.Segment], number: int) -> int:
    """Return the number of the segment in which a change begins; 0 if no segment begins with this change or an earlier
    one. Changes with higher numbers never begin in an earlier segment.
    """
    for segment in reversed(all_):
        first = _first_number(segment)
        if first is not None and first <= number:
            return segment.number
    return 0


def _check(all_: Sequence[journal_segments.Segment], through: journal_segments.Where) -> list[int] | None:
    """Return the checksum for a position in the journal: the bytes and the number of the segments before it, and a CRC
    of the bytes immediately before it; None if there is no such position.
    """
    before = [segment.size for segment in all_ if segment.number < through.segment]
    segment = next((each for each in all_ if each.number == through.segment), None)
    if segment is None or segment.size < through.byte:
        return None
    with segment.path.open("rb") as file:
        file.seek(max(0, through.byte - CHECKED))
        return [sum(before), len(before), crc32(file.read(min(CHECKED, through.byte)))]
