"""Lines that a container's runtime has split: Docker's and CRI's runtimes write a line of more than 16 KiB in pieces.

Docker's pieces are JSON objects whose ``log`` has no line end, except in the last one. CRI tags a piece with P, and the
last one with F. The pieces of a line follow each other, as the runtime writes each stream of a container in order. If
a line of the other stream is between them, the line stays in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

LONGEST_JOINED = 4 << 20
"""Maximum size in bytes of pieces that are kept for the next block: a log may have any number of them without an end.
"""
_DOCKER = b'{"log":"'
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S{8,40} (stdout|stderr) ([PF]) ")
_EVENT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


class _Piece(NamedTuple):
    """A line of a runtime's log."""

    stream: bytes
    at: int
    """The place of `text` in the line."""
    text: bytes
    """The part of the container's line; from Docker, as JSON escapes it."""
    is_open: bool
    """Whether the container's line goes on in the next piece."""


def _piece_of(line: bytes) -> _Piece | None:
    """Return the piece in a line; None if no runtime wrote the line."""
    if found := _CRI.match(line):
        return _Piece(found[1], found.end(), line[found.end() :], found[2] == b"P")
    if not line.startswith(_DOCKER):
        return None
    try:
        event = _EVENT.decode(line)
        is_open = not _TEXT.decode(event["log"]).endswith("\n")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    text, at = bytes(event["log"])[1:-1], len(_DOCKER)
    # An object may have the field twice, and `event` has the last one, which is not at this place.
    return _Piece(bytes(event.get("stream", b"")), at, text, is_open) if line.startswith(text, at) else None


def _following(first: _Piece, text: bytes, at: int) -> Iterator[tuple[_Piece, int]]:
    """Yield the pieces that go on with a piece, each with the end of its line. at: the place of the next line."""
    last = first
    while last.is_open and at < len(text):
        end = text.find(b"\n", at)
        end = len(text) if end < 0 else end
        following = _piece_of(text[at:end].rstrip(b"\r"))
        if following is None or following.stream != first.stream:
            return
        yield following, end
        last, at = following, end + 1


def joined(text: bytes, begin: int, end: int) -> tuple[bytes, int] | None:
    """Return a line with the text of the pieces that follow it in the block, and the end of the last one; None if the
    line is not the first piece of several.

    Args:
        begin, end: the place of the line in the block.
    """
    line = text[begin:end].rstrip(b"\r")
    first = _piece_of(line)
    following = [] if first is None else [*_following(first, text, end + 1)]
    if first is None or not following:
        return None
    rest = b"".join(piece.text for piece, _ in following)
    behind = first.at + len(first.text)
    return line[:behind] + rest + line[behind:], following[-1][1]


def end_of_rest(line: bytes, text: bytes) -> int:
    """Return the end of the pieces at the beginning of a text that go on with the piece in a line; 0 if no piece
    does.
    """
    first = _piece_of(line.rstrip(b"\r\n"))
    ends = [] if first is None else [end for _, end in _following(first, text, 0)]
    return min(ends[-1] + 1, len(text)) if ends else 0


def open_end(text: bytes) -> int:
    """Return the position of the open pieces at the end of a text of whole lines; the text's length if its last line is
    not an open piece.
    """
    cut = len(text)
    while cut:
        begin = text.rfind(b"\n", 0, cut - 1) + 1
        piece = _piece_of(text[begin:cut].rstrip(b"\r\n"))
        if piece is None or not piece.is_open:
            break
        cut = begin
    return cut


def kept_together(blocks: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, with their positions, so that none ends between two pieces of a line."""
    at, kept = 0, b""
    for start, block in blocks:
        at, text = (at, kept + block) if kept else (start, block)
        cut = open_end(text)
        if len(text) - cut > LONGEST_JOINED:
            cut = len(text)
        kept = text[cut:]
        if cut:
            yield at, text[:cut]
            at += cut
    if kept:
        yield at, kept
