"""A journal's bytes: its segments in order, their lines forward and backward, and the error for a journal that fails.

``CLUSTER-ID.jsonl`` is the first segment, and the whole journal while it is short. Others are
``CLUSTER-ID.segments/00000002.jsonl`` and so on. Lines are only added, and only to the last segment; a segment that has
a successor never changes. A change's lines may stand in several segments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from console.model.failure import Failure
from console.model.journal_lines import segment_folder, segment_number, segment_path


class JournalError(Exception):
    """What is wrong with the journal, where, and what to do."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


SEGMENT_BYTES = 1 << 20
"""A change that begins where the last segment has so many bytes begins a new one."""
BLOCK = 1 << 18


class Where(NamedTuple):
    """The place of a line: its segment's number, and the byte at which it begins."""

    segment: int
    byte: int


class Line(NamedTuple):
    """A line with its end, unless it is the last of its segment and was cut. number: in its segment, from 1."""

    where: Where
    number: int
    data: bytes


class Segment(NamedTuple):
    """A segment, and how many of its bytes are read."""

    number: int
    path: Path
    size: int


def segments(first: Path) -> list[Segment]:
    """The segments that there are, with their sizes. Raises OSError."""
    numbers = [1] if first.exists() else []
    try:
        names = [path.name for path in segment_folder(first).iterdir()]
    except FileNotFoundError:
        names = []
    numbers += sorted(number for name in names if (number := segment_number(name)) is not None)
    paths = [(number, segment_path(first, number)) for number in numbers]
    return [Segment(number, path, path.stat().st_size) for number, path in paths]


def lines(all_: Sequence[Segment], start: Where, read: int = 0) -> Iterator[Line]:
    """Every line from a place on. read: how many lines of its segment stand before that place. Raises OSError."""
    for segment in all_:
        if segment.number < start.segment:
            continue
        at, number = (start.byte, read) if segment.number == start.segment else (0, 0)
        with segment.path.open("rb") as file:
            file.seek(at)
            for line in file:
                if at >= segment.size:
                    break
                number += 1
                yield Line(Where(segment.number, at), number, line[: segment.size - at])
                at += len(line)


def lines_backward(all_: Sequence[Segment]) -> Iterator[bytes]:
    """Every whole line without its end, the last one first. Raises OSError."""
    for segment in reversed(all_):
        with segment.path.open("rb") as file:
            left, tail, whole = segment.size, b"", False
            while left:
                size = min(BLOCK, left)
                left -= size
                file.seek(left)
                data = file.read(size) + tail
                if not whole:  # what follows the last line's end is being written, or was cut
                    end = data.rfind(b"\n")
                    whole, data = end >= 0, data[: max(end, 0)]
                tail, *found = data.split(b"\n")
                yield from (line for line in reversed(found) if line)
            if tail:
                yield tail


def line_at(all_: Sequence[Segment], where: Where) -> bytes:
    """The line at a place, without its end; ``b""`` where the segment is gone. Raises OSError."""
    for segment in all_:
        if segment.number == where.segment:
            with segment.path.open("rb") as file:
                file.seek(where.byte)
                return file.readline().rstrip(b"\n")
    return b""
