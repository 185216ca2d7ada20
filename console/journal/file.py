"""A journal's file: appended to under a lock and on the disk before a call returns; read as far as it is whole."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from console.journal.errors import JournalError
from console.journal.lines import BadLine, Numbered, intent_line, note_line, record
from console.journal.open_changes import anything_open
from console.journal.records import Intent, Mended, Note
from console.model.failure import Failure
from console.safe_files import open_private, private_folder

LOCK_SECONDS = 3.0
"""How long another console may hold the journal: it does for one record."""
LOCK_STEP = 0.02
LONGEST_ID = 120
_NUMBER = re.compile(rb'^\{"v":\s*\d+,\s*"kind":\s*"intent",\s*"change":\s*(\d{1,18})', re.MULTILINE)
"""The number of a change, in lines of other versions too: none is given away twice."""
MEND = "kac history --mend"
NO_JOURNAL = "or change without a record with --no-journal"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a journal has, in its order, and what in it can't be read: a line for an operator each."""

    records: tuple[Numbered | Note, ...] = ()
    problems: tuple[str, ...] = ()


def journal_path(state: Path, cluster_id: str) -> Path:
    """Where a cluster's journal is. Raises JournalError for an id that no file can be called by."""
    name = quote(cluster_id, safe="")
    if not name or len(name) > LONGEST_ID:
        raise JournalError(
            Failure(
                "NO_JOURNAL",
                "the cluster tells no id by which a journal could be kept"
                if not name
                else "the cluster's id is too long",
                f"Look at the brokers, {NO_JOURNAL}.",
            )
        )
    return state / "journal" / f"{name}.jsonl"


class JournalFile:
    """One cluster's journal. Several processes may have the same file open; each call locks it for itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read_to = 0
        self._last = 0

    def begin(self, intent: Intent) -> int:
        """Write a change down before it is sent; its number. Raises JournalError: then nothing may be sent."""

        def line(number: int) -> bytes:
            return intent_line(number, intent)

        return self._append(line)

    def note(self, note: Note) -> None:
        """Write down what happened. Raises JournalError."""
        self._append(lambda _number: note_line(note))

    def mend(self, mended: Mended) -> bool:
        """End a line that was cut, and say so in the journal; False where none is. Raises JournalError."""
        if not self.path.exists():
            return False
        with self._locked(write=True) as descriptor:
            if _whole(descriptor):
                return False
            self._write(descriptor, b"\n" + note_line(mended))
        return True

    def read(self) -> Contents:
        """Everything that can be read. Raises JournalError where the file is there and can't be opened."""
        if not self.path.exists():
            return Contents()
        with self._locked(write=False) as descriptor:
            data = _read(descriptor, 0)
        *lines, tail = data.split(b"\n")
        records: list[Numbered | Note] = []
        bad: dict[int, str] = {}
        for number, line in enumerate(lines, 1):
            try:
                found = record(line)
            except BadLine as error:
                bad[number] = f"line {number} of {self.path} can't be read: {error}"
                continue
            if isinstance(found, Mended):
                bad.pop(number - 1, None)
            records.append(found)
        problems = list(bad.values())
        if tail:
            problems.append(f"line {len(lines) + 1} of {self.path} was cut short; look at it, then: {MEND}")
        return Contents(tuple(records), tuple(problems))

    def anything_open(self) -> bool:
        """Whether a closer look is worth its time; see `open_changes`. Raises JournalError as `read` does."""
        if not self.path.exists():
            return False
        with self._locked(write=False) as descriptor:
            return anything_open(_read(descriptor, 0).split(b"\n"))

    def _append(self, line: Callable[[int], bytes]) -> int:
        with self._locked(write=True) as descriptor:
            if not _whole(descriptor):
                raise JournalError(
                    Failure(
                        "JOURNAL_CUT",
                        f"the last line of the journal {self.path} was cut short",
                        f"Look at the line, then end it with: {MEND}; {NO_JOURNAL}.",
                    )
                )
            number = self._last_number(descriptor) + 1
            self._write(descriptor, line(number))
        return number

    def _last_number(self, descriptor: int) -> int:
        """The highest number that is given away; only what others wrote since is read."""
        data = _read(descriptor, self._read_to)
        for number in _NUMBER.findall(data):
            self._last = max(self._last, int(number))
        self._read_to += len(data)
        return self._last

    def _write(self, descriptor: int, data: bytes) -> None:
        """All of it on the disk, or nothing: what was written of a record that does not fit is taken away again."""
        size = os.fstat(descriptor).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            os.fsync(descriptor)
        except OSError as error:
            with suppress(OSError):  # else the next one to write finds the line cut, and says so
                os.ftruncate(descriptor, size)
            raise self._failed("written", error) from error

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[int]:
        try:
            descriptor = self._open(write)
        except OSError as error:
            raise self._failed("opened", error) from error
        try:
            self._lock(descriptor, write)
            yield descriptor
        finally:
            os.close(descriptor)

    def _open(self, write: bool) -> int:
        if not write:
            return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        there = self.path.exists()
        private_folder(self.path.parent.parent)
        descriptor = open_private(self.path, os.O_RDWR | os.O_APPEND)
        if not there:
            parent = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)
        return descriptor

    def _lock(self, descriptor: int, write: bool) -> None:
        how = (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, how)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise JournalError(
                        Failure(
                            "JOURNAL_LOCKED",
                            f"another process has held the journal {self.path} locked for {LOCK_SECONDS:g} s",
                            f"See which with: fuser {self.path}; {NO_JOURNAL}.",
                        )
                    ) from None
                time.sleep(LOCK_STEP)
            except OSError as error:
                raise self._failed("locked", error) from error
            else:
                return

    def _failed(self, done: str, error: OSError) -> JournalError:
        return JournalError(
            Failure(
                "JOURNAL_UNWRITABLE" if done != "opened" else "JOURNAL_UNAVAILABLE",
                f"the journal {self.path} can't be {done}: {error.strerror or error}",
                f"Make room or set XDG_STATE_HOME to a folder that can be written; {NO_JOURNAL}.",
            )
        )


def _whole(descriptor: int) -> bool:
    """Whether the last line was ended."""
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


def _read(descriptor: int, start: int) -> bytes:
    size = os.fstat(descriptor).st_size
    parts = []
    while start < size and (part := os.pread(descriptor, size - start, start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)
