"""AlterShareGroupOffsets (91), v0: sets from where a share group's records are in flight (KIP-932).

A missing group is created. The group must have no members.
"""

from __future__ import annotations

from typing import Any, Literal

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, topic_error, visible_group
from console.embedded.groups import Committed
from console.embedded.newer_group_answers import SHARE_MESSAGES, share_group_error
from console.embedded.newer_groups import NewerGroup

_SHARE: Literal["share"] = "share"
_NOT_SHARE = "Group {} is not a share group."


async def handle(request: Any, context: RequestContext) -> Any:
    """Set the start offsets of the partitions, and return a result for each."""
    code = share_group_error(context, request.group_id)
    message = SHARE_MESSAGES.get(code)
    group = visible_group(context, request.group_id)
    if not code and group is not None:
        if group.type != _SHARE:
            code, message = ErrorCode.group_id_not_found, _NOT_SHARE.format(group.id)
        elif group.has_members:
            code, message = ErrorCode.non_empty_group, SHARE_MESSAGES[ErrorCode.non_empty_group]
    topics = () if code else tuple(_topic(request.group_id, context, item) for item in request.topics)
    if not code:
        context.state.touch()
    return context.answer(error_code=code, error_message=message, responses=topics)


def _topic(group_id: str, context: RequestContext, item: Any) -> Any:
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
