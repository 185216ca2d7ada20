"""Share groups' offsets: describing, altering and deleting them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, topic_error, visible_group
from console.embedded.groups import Committed, Group
from console.embedded.newer_group_answers import SHARE_MESSAGES, share_group_error
from console.embedded.newer_groups import NewerGroup
from console.embedded.partition_log import PartitionLog
from console.wire.schemas import for_version

_UNKNOWN = -1


async def describe_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """DescribeShareGroupOffsets (90), v0-1: from where share groups' records are in flight (KIP-932).

    Return the start offsets of each group. A missing group, or one of another type, has none and is no error
    (measured).

    Needs DESCRIBE on the group and on the topics.

    Version notes:
    - v1: the lag (KIP-1226).
    """
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


_SHARE: Literal["share"] = "share"
_NOT_SHARE = "Group {} is not a share group."


async def alter_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """AlterShareGroupOffsets (91), v0: sets from where a share group's records are in flight (KIP-932).

    Set the start offsets of the partitions, and return a result for each.

    A missing group is created. The group must have no members.
    """
    code = share_group_error(context, request.group_id)
    message = SHARE_MESSAGES.get(code)
    group = visible_group(context, request.group_id)
    if not code and group is not None:
        if group.type != _SHARE:
            code, message = ErrorCode.group_id_not_found, _NOT_SHARE.format(group.id)
        elif group.has_members:
            code, message = ErrorCode.non_empty_group, SHARE_MESSAGES[ErrorCode.non_empty_group]
    topics = () if code else tuple(_altered_topic(request.group_id, context, item) for item in request.topics)
    if not code:
        context.state.touch()
    return context.answer(error_code=code, error_message=message, responses=topics)


def _altered_topic(group_id: str, context: RequestContext, item: Any) -> Any:
    schema = context.schema
    code = topic_error(context, item.topic_name, "READ")
    topic = context.view.topics.get(item.topic_name)
    parts = []
    for part in item.partitions:
        missing = not code and topic is not None and part.partition_index >= len(topic.partitions)
        part_code = ErrorCode.unknown_topic_or_partition if missing else code
        if not part_code and topic is not None:
            group = get_or_create_group(context, group_id)
            group.written = True
            if group.newer is None:
                group.newer = NewerGroup(_SHARE, "Empty", 0, 0, assignor="simple")
            group.offsets[item.topic_name, part.partition_index] = Committed(
                part.start_offset, 0, None, context.clock.time()
            )
        parts.append(
            schema.AlterShareGroupOffsetsResponsePartition(
                partition_index=part.partition_index,
                error_code=part_code,
                error_message=SHARE_MESSAGES.get(part_code),
            )
        )
    return schema.AlterShareGroupOffsetsResponseTopic(
        topic_name=item.topic_name, topic_id=topic.id if topic else None, partitions=tuple(parts)
    )


_SHARE = "share"
_NOT_SHARE, _NOT_FOUND = "Group {} is not a share group.", "Group {} not found."
_NOTHING = "There is no offset information to delete."


async def delete_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """DeleteShareGroupOffsets (92), v0: deletes a share group's offsets of whole topics (KIP-932).

    Delete the offsets of each topic, and return a result for each.

    Needs DELETE on the group and READ on the topics. The group must have no members.
    """
    code = share_group_error(context, request.group_id, "DELETE")
    message = SHARE_MESSAGES.get(code)
    group = visible_group(context, request.group_id)
    if not code and (group is None or group.type != _SHARE):
        code = ErrorCode.group_id_not_found
        message = (_NOT_FOUND if group is None else _NOT_SHARE).format(request.group_id)
    if not code and group is not None and group.has_members:
        code, message = ErrorCode.non_empty_group, SHARE_MESSAGES[ErrorCode.non_empty_group]
    topics = (
        ()
        if code or group is None
        else tuple(_deleted_topic(context, group, item.topic_name) for item in request.topics)
    )
    return context.answer(error_code=code, error_message=message, responses=topics)


def _deleted_topic(context: RequestContext, group: Group, name: str) -> Any:
    code = topic_error(context, name, "READ")
    message = SHARE_MESSAGES.get(code)
    mine = [place for place in group.offsets if place[0] == name]
    topic = context.view.topics.get(name)
    if not code and not mine:
        code, message = ErrorCode.unknown_topic_or_partition, _NOTHING
    elif not code:
        for place in mine:
            del group.offsets[place]
        context.state.touch()
    return context.schema.DeleteShareGroupOffsetsResponseTopic(
        topic_name=name, topic_id=topic.id if topic and not code else None, error_code=code, error_message=message
    )
