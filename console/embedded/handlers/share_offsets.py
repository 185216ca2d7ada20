"""Offsets of share groups: description, changes and deletion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

from kio.schema.errors import ErrorCode

from console.embedded.answers import Result, each_item, elements
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, group_error, topic_error, visible_group
from console.embedded.groups import Committed, Group
from console.embedded.handlers.groups import SHARE_MESSAGES, is_disabled
from console.embedded.newer_groups import NewerGroup
from console.embedded.partition_log import PartitionLog
from console.embedded.refusals import Refusal
from console.model.grouping import grouped

_UNKNOWN = -1
_SHARE: Literal["share"] = "share"
_NOT_SHARE, _NOT_FOUND = "Group {} is not a share group.", "Group {} not found."
_NOTHING = "There is no offset information to delete."


def _share_group_error(context: RequestContext, group_id: str, operation: str) -> int:
    """Return the error code with which a request about a share group's offsets is refused; 0 if it is accepted.
    operation: Kafka's name of the operation that the principal needs on the group.
    """
    return ErrorCode.unsupported_version if is_disabled(context, _SHARE) else group_error(context, group_id, operation)


def _change_refusal(context: RequestContext, group_id: str, operation: str, *, creates: bool) -> Refusal | None:
    """Return the reason why a share group's offsets can't be changed; None if they can. creates: whether a missing
    group is accepted, since the change creates it.
    """
    if code := _share_group_error(context, group_id, operation):
        return Refusal(code, SHARE_MESSAGES.get(code))
    group = visible_group(context, group_id)
    if group is None:
        return None if creates else Refusal(ErrorCode.group_id_not_found, _NOT_FOUND.format(group_id))
    if group.type != _SHARE:
        return Refusal(ErrorCode.group_id_not_found, _NOT_SHARE.format(group_id))
    if group.has_members:
        return Refusal(ErrorCode.non_empty_group, SHARE_MESSAGES[ErrorCode.non_empty_group])
    return None


async def describe_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """DescribeShareGroupOffsets (90), v0-1: the start offsets of share groups' in-flight records (KIP-932).

    Return the start offsets of each group. A missing group, or one of another type, has no offsets and no error
    (measured).

    Needs DESCRIBE on the group and on the topics.

    Version notes:
    - v1: the lag (KIP-1226).
    """
    return each_item(context, request, partial(_group, context))


def _group(context: RequestContext, asked: Any) -> Result:
    code, group = _error(context, asked), visible_group(context, asked.group_id)
    if code:
        return Refusal(code, SHARE_MESSAGES[code] if code == ErrorCode.not_coordinator else None)
    mine = group if group is not None and group.type == _SHARE else None
    return {"topics": tuple(_topics(context, mine, asked.topics))}


def _error(context: RequestContext, asked: Any) -> int:
    """Return the error code with which a group is refused; 0 if it is accepted. asked: the group in the request.

    Any broker returns the offsets of named topics, but only the coordinator those of all topics (measured).
    """
    code = _share_group_error(context, asked.group_id, "DESCRIBE")
    return 0 if code == ErrorCode.not_coordinator and asked.topics is not None else code


def _topics(context: RequestContext, group: Group | None, asked: Iterable[Any] | None) -> Iterator[Any]:
    if asked is None:
        wanted = grouped(sorted(group.offsets if group else ()))
    else:
        wanted = {topic.topic_name: list(topic.partitions) for topic in asked}
    for name, numbers in wanted.items():
        allowed = context.allowed("DESCRIBE", "TOPIC", name)
        if asked is None and not allowed:
            continue
        topic = context.view.topics.get(name) if allowed else None
        code = 0 if allowed else int(ErrorCode.topic_authorization_failed)
        yield {
            "topic_name": name,
            "topic_id": topic.id if topic else None,
            "partitions": tuple(_partition(context, group, (name, number), code) for number in numbers),
        }


def _partition(context: RequestContext, group: Group | None, place: tuple[str, int], code: int) -> Any:
    committed = group.offsets.get(place) if group and not code else None
    log = context.state.logs.get(place) or PartitionLog()
    done = group.newer.acknowledged if group and group.newer else 0
    return {
        "partition_index": place[1],
        "start_offset": committed.offset if committed else _UNKNOWN,
        "leader_epoch": max(committed.leader_epoch, 0) if committed else 0,
        "lag": max(0, log.end - committed.offset - done) if committed else _UNKNOWN,
        "error_code": code,
        "error_message": SHARE_MESSAGES[code] if code else None,
    }


async def alter_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """AlterShareGroupOffsets (91), v0: sets the start offsets of a share group's in-flight records (KIP-932).

    Set the start offsets of the partitions, and return a result for each.

    Creates a missing group. The group must have no members.
    """
    refusal = _change_refusal(context, request.group_id, "READ", creates=True)
    if refusal is not None:
        return context.answer(error_code=refusal.code, error_message=refusal.message)
    topics = tuple(_altered_topic(request.group_id, context, item) for item in request.topics)
    context.state.touch()
    return context.answer(responses=topics)


def _altered_topic(group_id: str, context: RequestContext, item: Any) -> Any:
    error = topic_error(context, item.topic_name)
    topic = context.view.topics.get(item.topic_name)

    def altered(part: Any) -> Refusal:
        missing = not error and topic is not None and part.partition_index >= len(topic.partitions)
        code = ErrorCode.unknown_topic_or_partition if missing else error
        if not code and topic is not None:
            group = get_or_create_group(context, group_id)
            group.written = True
            if group.newer is None:
                group.newer = NewerGroup(_SHARE, "Empty", 0, 0, assignor="simple")
            group.offsets[item.topic_name, part.partition_index] = Committed(
                part.start_offset, 0, None, context.clock.time()
            )
        return Refusal(code, SHARE_MESSAGES.get(code))

    type_ = context.schema.AlterShareGroupOffsetsResponseTopic
    parts = elements(type_, item, (("partitions", "partitions"),), altered)
    return type_(topic_name=item.topic_name, topic_id=topic.id if topic else None, **parts)


async def delete_share_group_offsets(request: Any, context: RequestContext) -> Any:
    """DeleteShareGroupOffsets (92), v0: deletes a share group's offsets of whole topics (KIP-932).

    Delete the offsets of each topic, and return a result for each.

    Needs DELETE on the group and READ on the topics. The group must have no members.
    """
    refusal = _change_refusal(context, request.group_id, "DELETE", creates=False)
    if refusal is not None:
        return context.answer(error_code=refusal.code, error_message=refusal.message)
    return each_item(context, request, partial(_delete, context, context.state.groups[request.group_id]))


def _delete(context: RequestContext, group: Group, item: Any) -> Result:
    name = item.topic_name
    if code := topic_error(context, name):
        return Refusal(code, SHARE_MESSAGES.get(code))
    mine = [place for place in group.offsets if place[0] == name]
    if not mine:
        return Refusal(ErrorCode.unknown_topic_or_partition, _NOTHING)
    for place in mine:
        del group.offsets[place]
    context.state.touch()
    return {"topic_id": context.view.topics[name].id}
