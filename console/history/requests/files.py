"""A file of a request log while it is open: its bytes as they were written, plain or gzip, at a local path or a URI.

Everything that is asked of it is asked of one descriptor: a broker renames, empties, packs and deletes its logs while
they are read, so a path says nothing about what was read under it a moment ago. The bytes are recognized by checks:
digests of the 4 KiB before a position, which are the same under any name, packed or not.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from glob import glob
from typing import IO, cast

from pyarrow import fs

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
        """The error of a file."""
        return LogChangedError(f"{path} {why}: it was rotated, emptied or deleted meanwhile")

    @staticmethod
    def within(text: str) -> LogChangedError | None:
        """The error that an executor's traceback ends with; None if it is another."""
        _, found, rest = text.partition(f"{LogChangedError.__name__}: ")
        return LogChangedError(rest.split("\n", 1)[0].strip()) if found else None


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
        """Its first line, 4 KiB of it at most, and where it ends; None while that is not whole. OSError, EOFError."""
        begin = self._read_at(0, CHECKED_BYTES)
        line, ended, _ = begin.partition(b"\n")
        if not ended and len(begin) < CHECKED_BYTES and not (begin and self.is_packed):
            return None
        return line, len(line) + 1 if ended else self._line_end(0)

    def check(self, at: int) -> str:
        """The digest of the bytes before a position; empty text where the file is shorter. OSError, EOFError."""
        begin = max(0, at - CHECKED_BYTES)
        data = self._read_at(begin, at - begin)
        return digest(data) if len(data) == at - begin else ""

    def has(self, checks: Sequence[Check]) -> bool:
        """Whether it is the file of these checks. OSError, EOFError."""
        return all(self.check(at) == wanted for at, wanted in sorted(checks))

    def still_has(self, checks: Sequence[Check]) -> bool:
        """The same after it was read. Of gzip, never written on in place, it is enough that its size stayed: what
        was read had its checksum at its end. OSError."""
        if not self.is_packed:
            return self.has(checks)
        return self._raw.seek(0, os.SEEK_END) == self.size

    def survey(self, positions: Iterable[int]) -> Survey:
        """What it holds now, with the checks at these positions. Of gzip all is read; a last line without an end
        counts there, since no broker will write on. OSError, EOFError; LogChangedError: it changed meanwhile."""
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
        """(byte, whole lines that begin there): all lines whose first byte is in start … end - 1, in their order.
        Raises OSError, EOFError (gzip, cut)."""
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
        """Where the line ends that has this byte."""
        begin = at
        while read := self._read_at(at, CHECKED_BYTES):
            if ended := read.find(b"\n") + 1:
                return at + ended
            at += len(read)
            self._check_line(begin, at - begin)
        return at

    def _check_line(self, begin: int, size: int) -> None:
        """Raises OSError for a line that has no end in so many bytes."""
        if size > LONGEST_LINE:
            where = f"from byte {begin} on"
            raise OSError(f"{self.path}: no end of a line in {LONGEST_LINE >> 20} MiB {where}: no log")

    def _read(self, at: int, size: int) -> bytes:
        """So many bytes or fewer, as they come."""
        try:
            if self._bytes.tell() != at:
                self._bytes.seek(at)
            return self._bytes.read(size)
        except EOFError as cut:
            raise EOFError(f"{self.path}: {cut}") from cut
        except (gzip.BadGzipFile, zlib.error) as wrong:
            raise OSError(f"{self.path}: damaged, or not gzip: {wrong}") from wrong

    def _read_at(self, at: int, size: int) -> bytes:
        """So many bytes, or all that there are."""
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
    """As checks have it."""
    return hashlib.sha256(data).hexdigest()[:16]


@contextmanager
def opened(path: str) -> Iterator[LogBytes]:
    """The file, open. OSError; the path is in the text."""
    scheme, is_uri, rest = path.partition("://")
    if not is_uri:
        with open(path, "rb", buffering=0) as raw:  # noqa: PTH123 - errors name it as it was given
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
    """The file that has these checks: at its path, else under another name in its folder or at one of the patterns,
    where it lies after it was rotated or packed. The checks are made again when the context ends well, since a file may
    be emptied while it is read. LogChangedError: there is none, or it changed; OSError, EOFError (gzip, cut)."""
    with ExitStack() as stack:
        file = next((file for each in _candidates(path, patterns) if (file := _entered(stack, each, checks))), None)
        if file is None:
            raise LogChangedError.of(path)
        yield file
        if not file.still_has(checks):
            raise LogChangedError.of(file.path, "changed while it was read")


def _entered(stack: ExitStack, path: str, checks: Sequence[Check]) -> LogBytes | None:
    """The file, which the stack then closes; None where it is another, is not there, or is packed and not whole."""
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
