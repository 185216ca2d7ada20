"""DescribeLogDirs: the replicas on a broker's disks (KIP-113, KIP-827), as bytes: there may be 300,000."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import WireFormat
from console.embedded.context import RequestContext
from console.embedded.partitions import disk_bytes, replica_bytes
from console.embedded.replicas import copied_share
from console.embedded.tables import Partition, Topic
from console.model.config import CLUSTER_DEFAULT, broker_resource
from console.wire.frames import EncodedBody

_FLEXIBLE_FROM, _ERROR_FROM, _VOLUME_FROM, _CORDONED_FROM = 2, 3, 4, 5
_REPLICA = struct.Struct(">iqq?")
"""Partition, bytes, lag, and whether it is a future replica."""
_AT_ONCE = 5000
Wanted = tuple[Topic, frozenset[int] | None]
"""A topic with the requested partitions; None for all."""


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-5. Null topics are all. Replicas elsewhere are left out, but ZooKeeper's brokers name all topics of theirs."""
    form, version = WireFormat(context.version >= _FLEXIBLE_FROM), context.version
    refused = not context.allowed("DESCRIBE")
    parts = [bytes(4)]  # throttle time 0
    if version >= _ERROR_FROM:
        parts.append(struct.pack(">h", ErrorCode.cluster_authorization_failed if refused else 0))
    folders = () if refused else context.state.brokers[context.broker_id].log_dirs
    parts.append(form.length(len(folders)))
    topics = [] if refused else list(_asked(request, context))
    cordoned = frozenset(_cordoned(context))
    for place, folder in enumerate(folders):
        encoded = await _encoded_topics(
            [each for each in topics if each[0].id.int % len(folders) == place], context, form
        )
        parts += [struct.pack(">h", 0), form.string(folder), form.length(len(encoded)), *encoded]
        if version >= _VOLUME_FROM:
            parts.append(struct.pack(">qq", *disk_bytes(context.state)))
        if version >= _CORDONED_FROM:
            parts.append(struct.pack(">?", not cordoned.isdisjoint({folder, "*"})))
        parts.append(form.end)
    return EncodedBody(b"".join((*parts, form.end)))


def _cordoned(context: RequestContext) -> Iterator[str]:
    """The directories that take no new replicas (KIP-1066), as the broker or the cluster's default has it."""
    for resource in (broker_resource(context.broker_id), CLUSTER_DEFAULT):
        own = context.state.configs.get(resource, {}).get("cordoned.log.dirs")
        if own is not None:
            yield from (each.strip() for each in own.split(",") if each.strip())
            return


async def _encoded_topics(topics: list[Wanted], context: RequestContext, form: WireFormat) -> list[bytes]:
    """The encoded topics with replicas on the broker. Pauses for other connections."""
    encoded: list[bytes] = []
    for begin in range(0, len(topics), _AT_ONCE):
        encoded += filter(None, (_topic(*each, context, form) for each in topics[begin : begin + _AT_ONCE]))
        await asyncio.sleep(0)
    return encoded


def _topic(topic: Topic, wanted: frozenset[int] | None, context: RequestContext, form: WireFormat) -> bytes:
    """A topic with the requested partitions that are on the broker; b"" without any."""
    replicas = [
        _REPLICA.pack(index, _held(topic, index, partition, context), 0, False) + form.end
        for index, partition in enumerate(topic.partitions)
        if context.broker_id in partition.replicas and (wanted is None or index in wanted)
    ]
    if not replicas and (context.cluster.release.kraft or not _is_here(topic, context.broker_id)):
        return b""
    return b"".join((form.string(topic.name), form.length(len(replicas)), *replicas, form.end))


def _held(topic: Topic, index: int, partition: Partition, context: RequestContext) -> int:
    """The bytes of the broker's replica; of one that a reassignment adds, what it has copied."""
    size = replica_bytes(context.state, topic, index)
    if context.broker_id not in partition.adding or context.broker_id in partition.isr:
        return size
    return int(size * copied_share(context.cluster, topic.name, index, context.broker_id))


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
