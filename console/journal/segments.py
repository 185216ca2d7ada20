"""Reads a journal's files: its segments in order, their lines forward and backward; and the error for a journal that
can't be read or written.

``CLUSTER-ID.jsonl`` is the first segment, and the whole journal while it is short. Further segments are
``CLUSTER-ID.segments/00000002.jsonl`` and so on. Lines are only appended, and only to the last segment; a segment that
has a successor never changes. The lines of one change may be in several segments.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from console.model.failure import Failure
from console.model.journal_lines import LONGEST_LINE, RawLine, raw_lines, segment_folder, segment_number, segment_path


class JournalError(Exception):
    """Raised if the journal can't be read or written, with the problem, its place, and the remedy."""

    def __init__(self, name: str, message: str, remedy: str) -> None:
        self.failure = Failure(name, message, remedy)
        super().__init__(str(self.failure))


SEGMENT_BYTES = 1 << 20
"""If the last segment has at least this size in bytes, the next change begins a new segment."""
BLOCK = 1 << 18


class Where(NamedTuple):
    """The position of a line: the number of its segment, from 1, and the offset of its first byte in the segment."""

    segment: int
    byte: int


class Line(NamedTuple):
    """A line of the journal, with its position."""

    segment: int
    number: int
    """The number of the line in its segment, from 1."""
    raw: RawLine

    @property
    def where(self) -> Where:
        """The position of the line."""
        return Where(self.segment, self.raw.at)

    @property
    def after(self) -> Where:
        """The position after the line, where the next line begins."""
        return Where(self.segment, self.raw.at + self.raw.size)


class Segment(NamedTuple):
    """One of the files that make up the journal."""

    number: int
    path: Path
    size: int
    """The size in bytes up to which the segment is read."""


def segments(first: Path) -> list[Segment]:
    """Return the existing segments with their sizes. Raises OSError if a segment can't be read, or is not a regular
    file: to read another kind of file might block or never end.
    """
    numbers = [1] if first.exists() else []
    try:
        names = [path.name for path in segment_folder(first).iterdir()]
    except FileNotFoundError:
        names = []
    numbers += sorted(number for name in names if (number := segment_number(name)) is not None)
    paths = [(number, segment_path(first, number)) for number in numbers]
    return [Segment(number, path, _size(path)) for number, path in paths]


def _size(path: Path) -> int:
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return about.st_size


def lines(all_: Sequence[Segment], start: Where, read: int = 0) -> Iterator[Line]:
    """Yield every line from a position on.

    Args:
        read: the number of lines before `start` in its segment.

    Raises:
        OSError: a segment can't be read.
    """
    for segment in all_:
        if segment.number < start.segment:
            continue
        at, number = (start.byte, read) if segment.number == start.segment else (0, 0)
        with segment.path.open("rb") as file:
            file.seek(at)
            for raw in raw_lines(file, at, segment.size):
                number += 1
                yield Line(segment.number, number, raw)


def lines_backward(all_: Sequence[Segment]) -> Iterator[bytes]:
    """Yield every complete line without its line feed, the last one first; lines of more than 32 MiB (`LONGEST_LINE`)
    are skipped. Raises OSError if a segment can't be read.
    """
    for segment in reversed(all_):
        with segment.path.open("rb") as file:
            left, whole = segment.size, False
            # The parts of a line whose start is not found yet, the last part first, and their total length in bytes.
            parts: list[bytes] = []
            length = 0
            while left:
                size = min(BLOCK, left)
                left -= size
                file.seek(left)
                first, *others = file.read(size).split(b"\n")
                if others:
                    *between, last = others
                    if whole and length + len(last) < LONGEST_LINE:
                        yield from _joined([*parts, last])
                    whole = True  # the text after the last line end is still being written, or was cut
                    yield from (line for line in reversed(between) if line)
                    parts, length = [], 0
                length += len(first)
                parts = [*parts, first] if whole and length < LONGEST_LINE else []
            if whole and length < LONGEST_LINE:
                yield from _joined(parts)


def _joined(parts: Sequence[bytes]) -> Iterator[bytes]:
    if line := b"".join(reversed(parts)):
        yield line


def line_at(all_: Sequence[Segment], where: Where) -> bytes:
    """Return the line at a position, without its line feed; ``b""`` if the segment does not exist any more, or the line
    has more than 32 MiB (`LONGEST_LINE`). Raises OSError if the segment can't be read.
    """
    for segment in all_:
        if segment.number == where.segment:
            with segment.path.open("rb") as file:
                file.seek(where.byte)
                line = file.readline(LONGEST_LINE + 1)
                return line.rstrip(b"\n") if len(line) <= LONGEST_LINE else b""
    return b""
