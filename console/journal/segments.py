"""A journal's bytes: its segments in order, their lines forward and backward, and the error for a journal that fails.

``CLUSTER-ID.jsonl`` is the first segment, and the whole journal while it is short. Others are
``CLUSTER-ID.segments/00000002.jsonl`` and so on. Lines are only added, and only to the last segment; a segment that has
a successor never changes. A change's lines may stand in several segments.
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
    """What is wrong with the journal, where, and what to do."""

    def __init__(self, name: str, message: str, remedy: str) -> None:
        self.failure = Failure(name, message, remedy)
        super().__init__(str(self.failure))


SEGMENT_BYTES = 1 << 20
"""A change that begins where the last segment has so many bytes begins a new one."""
BLOCK = 1 << 18


class Where(NamedTuple):
    """The place of a line: its segment's number, and the byte at which it begins."""

    segment: int
    byte: int


class Line(NamedTuple):
    """A line and its segment. number: in its segment, from 1."""

    segment: int
    number: int
    raw: RawLine

    @property
    def where(self) -> Where:
        """Where it begins."""
        return Where(self.segment, self.raw.at)

    @property
    def after(self) -> Where:
        """Where the next one begins."""
        return Where(self.segment, self.raw.at + self.raw.size)


class Segment(NamedTuple):
    """A segment, and how many of its bytes are read."""

    number: int
    path: Path
    size: int


def segments(first: Path) -> list[Segment]:
    """Return the segments that there are, with their sizes. Raises OSError, also for what is no plain file: it would
    not return from open, or never end."""
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
    """Yield every line from a place on. read: how many lines of its segment stand before that place. Raises OSError."""
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
    """Yield every whole line without its end, the last one first; without those that are too long. Raises OSError."""
    for segment in reversed(all_):
        with segment.path.open("rb") as file:
            left, whole = segment.size, False
            # Of the line whose beginning was not found yet: its parts, the last one first, and its bytes.
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
                    whole = True  # what follows the last line's end is being written, or was cut
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
    """Return the line at a place, without its end; ``b""`` where the segment is gone or the line is too long. Raises
    OSError."""
    for segment in all_:
        if segment.number == where.segment:
            with segment.path.open("rb") as file:
                file.seek(where.byte)
                line = file.readline(LONGEST_LINE + 1)
                return line.rstrip(b"\n") if len(line) <= LONGEST_LINE else b""
    return b""
