"""DescribeLogDirs: what a broker holds on disk (KIP-113, KIP-827), written as bytes: it may have 300,000 replicas."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.partitions import disk_bytes, replica_bytes
from console.embedded.tables import Topic
from console.wire.frames import EncodedBody

_FLEXIBLE_FROM, _ERROR_FROM, _VOLUME_FROM, _CORDONED_FROM = 2, 3, 4, 5
_REPLICA = struct.Struct(">iqq?")
"""Partition, bytes, lag, and whether it will replace another."""
_NO_TAGS = b"\x00"
_AT_ONCE = 5000
Wanted = tuple[Topic, frozenset[int] | None]
"""A topic to look at, with the partitions that are wanted of it; None for all."""


@dataclass(frozen=True, slots=True)
class _Format:
    """How a version writes what all messages are made of."""

    flexible: bool

    def text(self, value: str) -> bytes:
        data = value.encode()
        return (self.count(len(data)) if self.flexible else struct.pack(">h", len(data))) + data

    def count(self, size: int) -> bytes:
        """How many elements follow."""
        if not self.flexible:
            return struct.pack(">i", size)
        parts, left = bytearray(), size + 1
        while left >= 0x80:
            parts.append(left & 0x7F | 0x80)
            left >>= 7
        parts.append(left)
        return bytes(parts)

    @property
    def end(self) -> bytes:
        """What closes a structure."""
        return _NO_TAGS if self.flexible else b""


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-5. Null topics are all that it has. What it does not have is left out; ZooKeeper's brokers name topics that
    they have even if others are asked for."""
    form, version = _Format(context.version >= _FLEXIBLE_FROM), context.version
    refused = not context.allowed("DESCRIBE")
    parts = [bytes(4)]  # no throttle time
    if version >= _ERROR_FROM:
        parts.append(struct.pack(">h", ErrorCode.cluster_authorization_failed if refused else 0))
    folders = () if refused else context.state.brokers[context.broker_id].log_dirs
    parts.append(form.count(len(folders)))
    topics = [] if refused else list(_asked(request, context))
    for place, folder in enumerate(folders):
        told = await _told([each for each in topics if each[0].id.int % len(folders) == place], context, form)
        parts += [struct.pack(">h", 0), form.text(folder), form.count(len(told)), *told]
        if version >= _VOLUME_FROM:
            parts.append(struct.pack(">qq", *disk_bytes(context.state)))
        if version >= _CORDONED_FROM:
            parts.append(b"\x00")
        parts.append(form.end)
    return EncodedBody(b"".join((*parts, form.end)))


async def _told(topics: list[Wanted], context: RequestContext, form: _Format) -> list[bytes]:
    """The topics that the broker has replicas of. Others are served between one lot and the next."""
    told: list[bytes] = []
    for begin in range(0, len(topics), _AT_ONCE):
        told += filter(None, (_topic(*each, context, form) for each in topics[begin : begin + _AT_ONCE]))
        await asyncio.sleep(0)
    return told


def _topic(topic: Topic, wanted: frozenset[int] | None, context: RequestContext, form: _Format) -> bytes:
    """A topic with those of its wanted partitions that are here; nothing for one of which none is."""
    replicas = [
        _REPLICA.pack(index, replica_bytes(context.state, topic, index), 0, False) + form.end
        for index, partition in enumerate(topic.partitions)
        if context.broker_id in partition.replicas and (wanted is None or index in wanted)
    ]
    if not replicas and (context.cluster.release.kraft or not _is_here(topic, context.broker_id)):
        return b""
    return b"".join((form.text(topic.name), form.count(len(replicas)), *replicas, form.end))


def _is_here(topic: Topic, broker_id: int) -> bool:
    return any(broker_id in partition.replicas for partition in topic.partitions)


def _asked(request: Any, context: RequestContext) -> Iterable[Wanted]:
    topics = context.view.topics
    if request.topics is None:
        return ((topic, None) for topic in topics.values())
    wanted: dict[str, set[int]] = {}
    for item in request.topics:
        wanted.setdefault(item.topic, set()).update(item.partitions)
    if not context.cluster.release.kraft:
        return ((topic, frozenset(wanted.get(topic.name, ()))) for topic in topics.values())
    return ((topics[name], frozenset(parts)) for name, parts in wanted.items() if name in topics)
