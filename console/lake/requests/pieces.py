"""Lines that a container's runtime has split: Docker's and CRI's runtimes write a line of more than 16 KiB in pieces.

Docker's pieces are JSON objects; the ``log`` of each has no line end, except in the last one. CRI marks a piece with
the tag P, and the last one with F. The pieces of a line usually follow each other, because the runtime writes each of a
container's two streams (standard output and standard error) in order. Pieces with a line of the other stream between
them are not joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

LONGEST_JOINED = 4 << 20
"""Maximum number of bytes of pieces that wait for the next block: a log may contain pieces whose last one never comes.
"""
_DOCKER = b'{"log":"'
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S{8,40} (stdout|stderr) ([PF]) ")
_EVENT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT = msgspec.json.Decoder(str)


class _Piece(NamedTuple):
    """A line of a runtime's log: a whole line of the container, or a piece of one."""

    stream: bytes
    at: int
    """The index of `text` in the runtime's line."""
    text: bytes
    """The text of the container's line or piece; from Docker, with JSON's escapes."""
    is_open: bool
    """Whether the container's line continues in the next piece."""


def _piece_of(line: bytes) -> _Piece | None:
    """Return the container's line or piece in a line; None if no container runtime wrote the line."""
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
    """Yield the pieces in `text` that continue the piece `first`, each with the index of the end of its line.

    Args:
        at: the index of the line after the first piece.
    """
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
    """Return a line together with the text of the pieces that follow it in the block, and the index of the end of the
    last piece; None if no piece continues the line.

    Args:
        begin, end: the indices of the line in the block.
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
    """Return the index in `text` after the pieces at its beginning that continue the piece in `line`; 0 if no piece
    continues it.
    """
    first = _piece_of(line.rstrip(b"\r\n"))
    ends = [] if first is None else [end for _, end in _following(first, text, 0)]
    return min(ends[-1] + 1, len(text)) if ends else 0


def open_end(text: bytes) -> int:
    """Return the index at which the pieces of an incomplete line begin, if a text ends with such pieces. If the last
    line of the text does not continue, return the length of the text.
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
    """Yield blocks of whole lines with their byte positions, divided so that no block ends between two pieces of a
    line. Blocks may be joined; pieces of more than `LONGEST_JOINED` bytes are not kept together.
    """
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
