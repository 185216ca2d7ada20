"""DescribeShareGroupOffsets: where share groups' records in flight begin (KIP-932), and their lag (KIP-1226)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from console.embedded.answers import NO_TIME
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error, visible_group
from console.embedded.groups import Group
from console.embedded.partition_log import PartitionLog
from console.wire.schemas import for_version

_UNKNOWN = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-1. A missing group, or one of another type, has no offsets and is no error (measured)."""
    return context.schema.DescribeShareGroupOffsetsResponse(
        throttle_time=NO_TIME, groups=tuple(_group(context, asked) for asked in request.groups)
    )


def _group(context: RequestContext, asked: Any) -> Any:
    code, group = group_error(context, asked.group_id, "DESCRIBE"), visible_group(context, asked.group_id)
    return for_version(
        context.schema.DescribeShareGroupOffsetsResponseGroup,
        group_id=asked.group_id,
        topics=() if code or group is None or group.type != "share" else tuple(_topics(context, group, asked.topics)),
        error_code=code,
        error_message=None,
    )


def _topics(context: RequestContext, group: Group, asked: Iterable[Any] | None) -> Iterator[Any]:
    wanted: dict[str, list[int]] = {}
    if asked is None:
        for name, number in sorted(group.offsets):
            wanted.setdefault(name, []).append(number)
    else:
        wanted = {topic.topic_name: list(topic.partitions) for topic in asked}
    schema = context.schema
    for name, numbers in wanted.items():
        topic = context.view.topics.get(name)
        if asked is None and not context.allowed("DESCRIBE", "TOPIC", name):
            continue
        yield for_version(
            schema.DescribeShareGroupOffsetsResponseTopic,
            topic_name=name,
            topic_id=topic.id if topic else None,
            partitions=tuple(_partition(context, group, name, number) for number in numbers),
        )


def _partition(context: RequestContext, group: Group, name: str, number: int) -> Any:
    committed = group.offsets.get((name, number))
    log = context.state.logs.get((name, number)) or PartitionLog()
    done = group.newer.acknowledged if group.newer is not None else 0
    return for_version(
        context.schema.DescribeShareGroupOffsetsResponsePartition,
        partition_index=number,
        start_offset=committed.offset if committed else _UNKNOWN,
        leader_epoch=max(committed.leader_epoch, 0) if committed else 0,
        lag=max(0, log.end - committed.offset - done) if committed else _UNKNOWN,
        error_code=0,
        error_message=None,
    )
