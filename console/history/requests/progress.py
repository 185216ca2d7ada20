"""How far each file of a request log was read: what is new in it, also after it was renamed, packed or written on.

A file is known by its first line (at most 4 KiB of it), not by its name: request.log, request.log.2026-11-21-10 and
request.log.1.gz are one file when they begin the same. Bytes are counted as they were written, unpacked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .files import is_packed, opened, size_of, whole_end

IDENTITY_BYTES = 4096

Progress = Mapping[str, Mapping[str, int]]
"""By file (`Span.identity`): `read`, the bytes that were read; and `packed`, of gzip the size of the file then, so that
it is not unpacked again."""


@dataclass(frozen=True)
class Span:
    """What is to be read of a file: the lines that begin in start … end - 1, which are whole. identity: which file it
    is, whatever its name."""

    path: str
    start: int
    end: int
    identity: str


@dataclass(frozen=True)
class Plan:
    """What is to be read, how far each of the files then is read, and how many of them have nothing new."""

    spans: tuple[Span, ...]
    progress: dict[str, dict[str, int]]
    unchanged: int


def plan(paths: Sequence[str], progress: Progress, *, owner: str = "") -> Plan:
    """What is new in the files since `progress`. Files that were known and are gone stay known.

    owner: whose log it is, as ``cluster/broker``: files of two owners are never the same.
    Raises OSError, EOFError (gzip, cut): a file can't be read; its path is in the text.
    """
    now = {identity: dict(known) for identity, known in progress.items()}
    spans: dict[str, Span] = {}
    seen = 0
    for path in sorted(paths):
        identity = identity_of(path, owner)
        if identity is None:
            continue
        seen += 1
        known = progress.get(identity, {})
        start, packed = known.get("read", 0), size_of(path) if is_packed(path) else 0
        if packed and known.get("packed") == packed:
            continue
        end = whole_end(path)
        # A copy of it may be there as well: the longest is read.
        if end > max(start, now.get(identity, {}).get("read", 0)):
            spans[identity] = Span(path, start, end, identity)
            now.setdefault(identity, {})["read"] = end
        if packed:
            now.setdefault(identity, {"read": start})["packed"] = packed
    return Plan(tuple(spans.values()), now, seen - len(spans))


def identity_of(path: str, owner: str = "") -> str | None:
    """The file's identity; None while it has no whole first line. Raises OSError."""
    with opened(path) as file:
        begin = file.read(IDENTITY_BYTES)
    line, ended, _ = begin.partition(b"\n")
    if not ended and len(begin) < IDENTITY_BYTES and not (begin and is_packed(path)):
        return None
    return hashlib.sha256(owner.encode() + b"\0" + line).hexdigest()


def pieces(span: Span, at_most: int) -> tuple[tuple[int, int], ...]:
    """(start, end) of parts of a span that can be read side by side: of at most so many bytes; gzip can't be split."""
    if is_packed(span.path):
        return ((span.start, span.end),)
    return tuple((start, min(start + at_most, span.end)) for start in range(span.start, span.end, at_most))
