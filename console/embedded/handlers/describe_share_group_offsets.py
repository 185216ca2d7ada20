"""DescribeShareGroupOffsets (90), v0-1: from where share groups' records are in flight (KIP-932).

Needs DESCRIBE on the group and on the topics.

Version notes:
- v1: the lag (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import visible_group
from console.embedded.groups import Group
from console.embedded.newer_group_answers import SHARE_MESSAGES, share_group_error
from console.embedded.partition_log import PartitionLog
from console.wire.fields import for_version

_UNKNOWN = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the start offsets of each group. A missing group, or one of another type, has none and is no error
    (measured)."""
    return context.answer(groups=tuple(_group(context, asked) for asked in request.groups))


def _group(context: RequestContext, asked: Any) -> Any:
    code, group = _error(context, asked), visible_group(context, asked.group_id)
    mine = group if group is not None and group.type == "share" else None
    return for_version(
        context.schema.DescribeShareGroupOffsetsResponseGroup,
        group_id=asked.group_id,
        topics=() if code else tuple(_topics(context, mine, asked.topics)),
        error_code=code,
        error_message=SHARE_MESSAGES[code] if code == ErrorCode.not_coordinator else None,
    )


def _error(context: RequestContext, asked: Any) -> int:
    """Return the code with which the group is refused.

    Any broker reports offsets of named topics, the coordinator those of all (measured).
    """
    code = share_group_error(context, asked.group_id, "DESCRIBE")
    return 0 if code == ErrorCode.not_coordinator and asked.topics is not None else code


def _topics(context: RequestContext, group: Group | None, asked: Iterable[Any] | None) -> Iterator[Any]:
    wanted: dict[str, list[int]] = {}
    if asked is None:
        for name, number in sorted(group.offsets if group else ()):
            wanted.setdefault(name, []).append(number)
    else:
        wanted = {topic.topic_name: list(topic.partitions) for topic in asked}
    schema = context.schema
    for name, numbers in wanted.items():
        allowed = context.allowed("DESCRIBE", "TOPIC", name)
        if asked is None and not allowed:
            continue
        topic = context.view.topics.get(name) if allowed else None
        code = 0 if allowed else int(ErrorCode.topic_authorization_failed)
        yield for_version(
            schema.DescribeShareGroupOffsetsResponseTopic,
            topic_name=name,
            topic_id=topic.id if topic else None,
            partitions=tuple(_partition(context, group, (name, number), code) for number in numbers),
        )


def _partition(context: RequestContext, group: Group | None, place: tuple[str, int], code: int) -> Any:
    committed = group.offsets.get(place) if group and not code else None
    log = context.state.logs.get(place) or PartitionLog()
    done = group.newer.acknowledged if group and group.newer else 0
    return for_version(
        context.schema.DescribeShareGroupOffsetsResponsePartition,
        partition_index=place[1],
        start_offset=committed.offset if committed else _UNKNOWN,
        leader_epoch=max(committed.leader_epoch, 0) if committed else 0,
        lag=max(0, log.end - committed.offset - done) if committed else _UNKNOWN,
        error_code=code,
        error_message=SHARE_MESSAGES[code] if code else None,
    )
