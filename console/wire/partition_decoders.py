"""Decoders of two responses that have a result for each partition, ListOffsets and DescribeLogDirs, without an object
for each field.

kac reads thousands of partitions repeatedly, and Python's memory pools would keep the memory of temporary objects.
Topic names share their objects with those of Metadata responses. kio decodes the rare cases: tagged fields, empty
names, versions that are not flexible.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from sys import intern
from typing import NamedTuple, TypeVar

from console.wire.tagged_fields import read_count, read_varint

OFFSETS_VERSIONS = range(6, 12)
"""The versions of ListOffsets that this module decodes."""
DIRS_VERSIONS = range(2, 6)
"""The versions of DescribeLogDirs that this module decodes."""
_ERROR_SINCE, _BYTES_SINCE, _CORDONED_SINCE = 3, 4, 5
_OFFSETS = Struct(">ihqqi")
_REPLICA = Struct(">iqqB")
_CODE = Struct(">h")
_TOTALS = Struct(">qq")

T = TypeVar("T")


def decode_offsets(version: int, body: bytes, said: Callable[[int, int, int], T]) -> dict[tuple[str, int], T] | None:
    """Return (topic, partition number) -> a value that `said` makes of the partition's result in a ListOffsets
    response.

    Args:
        version: the version of ListOffsets.
        body: the bytes after the response header.
        said: function of Kafka's error code, the timestamp in ms since 1970, and the offset.

    Returns:
        None for a response that kio has to decode: one of another version, one with a rare case, or a malformed one.
    """
    if version not in OFFSETS_VERSIONS:
        return None
    found: dict[tuple[str, int], T] = {}
    try:
        topics, at = read_count(body, 4)  # the throttle time precedes the topics
        for _ in range(topics):
            name, at = _text(body, at)
            partitions, at = read_count(body, at)
            for _ in range(partitions):
                number, code, timestamp, offset, _epoch = _OFFSETS.unpack_from(body, at)
                at = _without_tags(body, at + _OFFSETS.size)
                found[name, number] = said(code, timestamp, offset)
            at = _without_tags(body, at)
        at = _without_tags(body, at)
    except (IndexError, ValueError, error):
        return None
    return found if at == len(body) else None


class DirAnswer(NamedTuple):
    """A log directory in a DescribeLogDirs response: Kafka's error code (0 without an error), its path and its
    replicas. total_bytes, usable_bytes: the size and the free bytes of its volume; -1 if the broker does not return
    them.
    """

    code: int
    path: str
    replicas: list[tuple[str, int, int, int, bool]]
    """For each replica: the topic, the partition number, the size in bytes (-1 if the broker does not return it), the
    lag as a number of offsets, and whether it is a future replica.
    """
    total_bytes: int = -1
    usable_bytes: int = -1
    cordoned: bool = False


def decode_log_dirs(version: int, body: bytes) -> list[DirAnswer] | None:
    """Return the log directories in a DescribeLogDirs response. body: the bytes after the response header.

    Return None for a response that kio has to decode: one of another version, with a top-level error or a rare case, or
    a malformed one.
    """
    if version not in DIRS_VERSIONS:
        return None
    try:
        at = 4  # after the throttle time
        if version >= _ERROR_SINCE:
            (code,) = _CODE.unpack_from(body, at)
            at += _CODE.size
            if code:
                return None
        count, at = read_count(body, at)
        found = []
        for _ in range(count):
            answer, at = _dir(version, body, at)
            found.append(answer)
        at = _without_tags(body, at)
    except (IndexError, ValueError, error):
        return None
    return found if at == len(body) else None


def _dir(version: int, body: bytes, at: int) -> tuple[DirAnswer, int]:
    """Decode the log directory at this offset; return it and the offset after it."""
    (code,) = _CODE.unpack_from(body, at)
    path, at = _text(body, at + _CODE.size)
    replicas: list[tuple[str, int, int, int, bool]] = []
    topics, at = read_count(body, at)
    for _ in range(topics):
        name, at = _text(body, at)
        partitions, at = read_count(body, at)
        for _ in range(partitions):
            number, size, lag, is_future = _REPLICA.unpack_from(body, at)
            at = _without_tags(body, at + _REPLICA.size)
            replicas.append((name, number, size, lag, _flag(is_future)))
        at = _without_tags(body, at)
    total, usable, cordoned = -1, -1, False
    if version >= _BYTES_SINCE:
        total, usable = _TOTALS.unpack_from(body, at)
        at += _TOTALS.size
    if version >= _CORDONED_SINCE:
        cordoned, at = _flag(body[at]), at + 1
    return DirAnswer(code, path, replicas, total, usable, cordoned), _without_tags(body, at)


def _flag(byte: int) -> bool:
    """Return the boolean that this byte encodes. Raises ValueError unless it is 0 or 1."""
    if byte > 1:
        raise ValueError("no boolean")
    return byte == 1


def _text(body: bytes, at: int) -> tuple[str, int]:
    """Decode the string at this offset; return it and the offset after it. Raises ValueError for a null or empty
    string.
    """
    size, at = read_varint(body, at)
    if size < 2:
        raise ValueError("a name is empty")
    end = at + size - 1
    return intern(body[at:end].decode()), end


def _without_tags(body: bytes, at: int) -> int:
    """Skip an empty section of tagged fields and return the offset after it. Raises ValueError if it has any field."""
    if body[at]:
        raise ValueError("a tagged field")
    return at + 1
