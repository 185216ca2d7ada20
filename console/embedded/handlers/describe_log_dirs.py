"""DescribeLogDirs (35), v1-5: the replicas on a broker's disks with their bytes and lag (KIP-113).

Every broker answers for its own. Needs DESCRIBE on the cluster. The answer is written as bytes: there may be 300,000
replicas.

Version notes:
- v2: flexible.
- v3: the error code of the whole answer.
- v4: total and usable bytes of the volume (KIP-827).
- v5: whether the directory is cordoned (KIP-1066).
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import WireFormat, with_pauses
from console.embedded.context import RequestContext
from console.embedded.partitions import disk_bytes, replica_bytes
from console.embedded.replica_dirs import copy_of, cordoned_dirs, dir_of
from console.embedded.replicas import copied_share
from console.embedded.tables import Partition, Topic, frozen
from console.wire.frames import EncodedBody

_FLEXIBLE_FROM, _ERROR_FROM, _VOLUME_FROM, _CORDONED_FROM = 2, 3, 4, 5
_REPLICA = struct.Struct(">iqq?")
"""Partition, bytes, lag, and whether it is a future replica."""
_AT_ONCE = 5000
"""Topics that are encoded between two pauses."""
Wanted = tuple[Topic, frozenset[int] | None]
"""A topic with the requested partitions; None for all."""


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the replicas in each directory. Null topics are all.

    Topics without replicas here are left out.
    """
    form, version = WireFormat(context.version >= _FLEXIBLE_FROM), context.version
    refused = not context.allowed("DESCRIBE")
    parts = [bytes(4)]  # throttle time 0
    if version >= _ERROR_FROM:
        parts.append(struct.pack(">h", ErrorCode.cluster_authorization_failed if refused else 0))
    folders = () if refused else context.state.brokers[context.broker_id].log_dirs
    parts.append(form.length(len(folders)))
    topics: list[Wanted] = []
    if not refused:
        await with_pauses(_asked(request, context), topics.append)
    cordoned = cordoned_dirs(context.state, context.broker_id)
    for folder in folders:
        encoded = await _encoded_topics(topics, context, form, folder)
        parts += [struct.pack(">h", 0), form.string(folder), form.length(len(encoded)), *encoded]
        if version >= _VOLUME_FROM:
            parts.append(struct.pack(">qq", *disk_bytes(context.state)))
        if version >= _CORDONED_FROM:
            parts.append(struct.pack(">?", folder in cordoned))
        parts.append(form.end)
    return EncodedBody(b"".join((*parts, form.end)))


async def _encoded_topics(topics: list[Wanted], context: RequestContext, form: WireFormat, folder: str) -> list[bytes]:
    """Return the encoded topics with replicas in the directory. Pauses for other connections."""
    encoded: list[bytes] = []
    for begin in range(0, len(topics), _AT_ONCE):
        encoded += filter(None, (_topic(*each, context, form, folder) for each in topics[begin : begin + _AT_ONCE]))
        await asyncio.sleep(0)
    return encoded


def _topic(
    topic: Topic, wanted: frozenset[int] | None, context: RequestContext, form: WireFormat, folder: str
) -> bytes:
    """Encode a topic with the requested partitions that are in the broker's directory; b"" without any."""
    replicas = [
        packed + form.end
        for index, partition in enumerate(topic.partitions)
        if context.broker_id in partition.replicas and (wanted is None or index in wanted)
        for packed in _replicas(topic, index, partition, context, folder)
    ]
    if not replicas:
        return b""
    return b"".join((form.string(topic.name), form.length(len(replicas)), *replicas, form.end))


def _replicas(topic: Topic, index: int, partition: Partition, context: RequestContext, folder: str) -> Iterator[bytes]:
    """Yield the broker's replica where it is in the directory, and the copy that goes there."""
    cluster, broker = context.cluster, context.broker_id
    if dir_of(cluster, topic, index, broker) == folder:
        yield _REPLICA.pack(index, _held(topic, index, partition, context), 0, False)
    # A copy into another directory of the broker is listed beside the replica that it will replace, as a future
    # replica.
    copy = copy_of(cluster, topic, index, broker)
    if copy is not None and copy[0] == folder:
        log = context.state.logs.get((topic.name, index))
        behind = int((log.end if log is not None else 0) * (1 - copy[1]))
        yield _REPLICA.pack(index, int(_held(topic, index, partition, context) * copy[1]), behind, True)


def _held(topic: Topic, index: int, partition: Partition, context: RequestContext) -> int:
    """Return the bytes of the broker's replica; of one that a reassignment adds, those copied so far."""
    size = replica_bytes(context.state, topic, index)
    if context.broker_id not in partition.adding or context.broker_id in partition.isr:
        return size
    return int(size * copied_share(context.cluster, topic.name, index, context.broker_id))


def _asked(request: Any, context: RequestContext) -> Iterable[Wanted]:
    topics = context.view.topics
    if request.topics is None:
        return ((topic, None) for topic in frozen(topics).values())
    wanted: dict[str, set[int]] = {}
    for item in request.topics:
        wanted.setdefault(item.topic, set()).update(item.partitions)
    return ((topics[name], frozenset(parts)) for name, parts in wanted.items() if name in topics)
