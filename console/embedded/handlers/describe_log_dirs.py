"""DescribeLogDirs: what a broker holds on disk (KIP-113, KIP-827), written as bytes: it may have 300,000 replicas."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.state.values import Topic
from console.embedded.topics.refusal import CLUSTER_AUTHORIZATION_FAILED
from console.embedded.topics.sizes import disk_bytes, replica_bytes
from console.wire.server_frames import EncodedBody

_FLEXIBLE_FROM, _ERROR_FROM, _VOLUME_FROM, _CORDONED_FROM = 2, 3, 4, 5
_REPLICA = struct.Struct(">iqq?")
"""Partition, bytes, lag, and whether it will replace another."""
_NO_TAGS = b"\x00"


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
        parts.append(struct.pack(">h", CLUSTER_AUTHORIZATION_FAILED if refused else 0))
    folders = () if refused else context.state.brokers[context.broker_id].log_dirs
    parts.append(form.count(len(folders)))
    for place, folder in enumerate(folders):
        topics = list(_topics(request, context, form, place, len(folders)))
        parts += [struct.pack(">h", 0), form.text(folder), form.count(len(topics)), *topics]
        if version >= _VOLUME_FROM:
            parts.append(struct.pack(">qq", *disk_bytes(context.cluster)))
        if version >= _CORDONED_FROM:
            parts.append(b"\x00")
        parts.append(form.end)
    return EncodedBody(b"".join((*parts, form.end)))


def _topics(request: Any, context: RequestContext, form: _Format, place: int, places: int) -> Iterator[bytes]:
    """Topics with replicas in the broker's directory of this place: a topic's are all in one."""
    for topic, wanted in _asked(request, context):
        if places > 1 and topic.id.int % places != place:
            continue
        replicas = [
            _REPLICA.pack(index, replica_bytes(context.cluster, topic, index), 0, False) + form.end
            for index, partition in enumerate(topic.partitions)
            if context.broker_id in partition.replicas and (wanted is None or index in wanted)
        ]
        if replicas or (not context.cluster.release.kraft and _is_here(topic, context.broker_id)):
            yield b"".join((form.text(topic.name), form.count(len(replicas)), *replicas, form.end))


def _is_here(topic: Topic, broker_id: int) -> bool:
    return any(broker_id in partition.replicas for partition in topic.partitions)


def _asked(request: Any, context: RequestContext) -> Iterable[tuple[Topic, frozenset[int] | None]]:
    """Topics to look at, with the partitions that are wanted of each; None for all."""
    topics = context.view.topics
    if request.topics is None:
        return ((topic, None) for topic in topics.values())
    wanted: dict[str, set[int]] = {}
    for item in request.topics:
        wanted.setdefault(item.topic, set()).update(item.partitions)
    if not context.cluster.release.kraft:
        return ((topic, frozenset(wanted.get(topic.name, ()))) for topic in topics.values())
    return ((topics[name], frozenset(parts)) for name, parts in wanted.items() if name in topics)
