"""Topics of Metadata as bytes, quickly: all of 100,000 topics are described with a few sets of partitions.

What stands behind a topic's name and id is encoded once for equal partitions.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from console.embedded.state.values import Partition, Topic
from console.wire.frames import encode_body, varint

Describe = Callable[[Topic], Any]
"""From a topic to kio's entity of it."""

_FLEXIBLE_FROM, _IDS_FROM, _ERROR_FROM = 9, 10, 13
_OPERATIONS = range(8, 11)
_NO_ERROR = b"\x00\x00"
_NO_NAME = UUID(int=0)


def encoded_topics(version: int, topics: Iterable[Topic], describe: Describe, element: type[Any]) -> Iterator[bytes]:
    """Each topic as one element of the response's array, lazily. `describe` must make nothing of a topic's name and
    id but their own fields."""
    tails: dict[tuple[int, bool], tuple[tuple[Partition, ...], bytes]] = {}
    flexible, with_id = version >= _FLEXIBLE_FROM, version >= _IDS_FROM
    before_tail = len(_NO_ERROR) + (1 if flexible else 2) + (16 if with_id else 0)
    for topic in topics:
        key = (id(topic.partitions), topic.internal)
        known = tails.get(key)
        if known is None:
            nameless = describe(Topic("", _NO_NAME, topic.partitions, topic.internal))
            # The partitions are kept beside, so that no others get their id meanwhile.
            known = tails[key] = (topic.partitions, encode_body(element, nameless)[before_tail:])
        name = topic.name.encode()
        size = varint(len(name) + 1) if flexible else struct.pack(">h", len(name))
        yield b"".join((_NO_ERROR, size, name, topic.id.bytes if with_id else b"", known[1]))


def with_topics(version: int, response: bytes, topics: list[bytes]) -> bytes:
    """A response that was encoded without topics, with these in it."""
    behind = (4 if version in _OPERATIONS else 0) + (2 if version >= _ERROR_FROM else 0)
    if version >= _FLEXIBLE_FROM:
        behind += 1
        count, placeholder = varint(len(topics) + 1), 1
    else:
        count, placeholder = struct.pack(">i", len(topics)), 4
    end = len(response) - behind
    return b"".join((response[: end - placeholder], count, *topics, response[end:]))
