"""DeleteShareGroupOffsets (92), v0: deletes a share group's offsets of whole topics (KIP-932).

Needs DELETE on the group and READ on the topics. The group must have no members.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import topic_error, visible_group
from console.embedded.groups import Group
from console.embedded.newer_group_answers import SHARE_MESSAGES, share_group_error

_SHARE = "share"
_NOT_SHARE, _NOT_FOUND = "Group {} is not a share group.", "Group {} not found."
_NOTHING = "There is no offset information to delete."


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete the offsets of each topic, and return a result for each."""
    code = share_group_error(context, request.group_id, "DELETE")
    message = SHARE_MESSAGES.get(code)
    group = visible_group(context, request.group_id)
    if not code and (group is None or group.type != _SHARE):
        code = ErrorCode.group_id_not_found
        message = (_NOT_FOUND if group is None else _NOT_SHARE).format(request.group_id)
    if not code and group is not None and group.has_members:
        code, message = ErrorCode.non_empty_group, SHARE_MESSAGES[ErrorCode.non_empty_group]
    topics = () if code or group is None else tuple(_topic(context, group, item.topic_name) for item in request.topics)
    return context.answer(error_code=code, error_message=message, responses=topics)


def _topic(context: RequestContext, group: Group, name: str) -> Any:
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
