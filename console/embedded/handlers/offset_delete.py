"""OffsetDelete (47), v0: deletes a group's offsets of topics that no member subscribes to (KIP-496).

Needs DELETE on the group and READ on the topics.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import CONSUMERS, group_error, subscribed, topic_error
from console.embedded.groups import Group

_KEEPS_EMPTY_FROM = (4, 0)


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete the offsets, and return the error code of each partition."""
    code = group_error(context, request.group_id, "DELETE")
    group = context.state.groups.get(request.group_id)
    if not code and group is None:
        code = ErrorCode.group_id_not_found
    # Subscriptions can be read from the consumer protocol's metadata only; other protocols' members could use any
    # topic.
    if not code and group is not None and group.members and group.protocol_type != CONSUMERS:
        code = ErrorCode.non_empty_group
    topics = () if code or group is None else tuple(_topic(context, group, item) for item in request.topics)
    if topics and group is not None and not (group.members or group.offsets or _keeps_empty(context)):
        del context.state.groups[group.id]
    return context.answer(error_code=code, topics=topics)


def _keeps_empty(context: RequestContext) -> bool:
    """Return whether a group without members and offsets stays.

    Before 4.0 it is deleted with its last offset (measured).
    """
    return context.cluster.release.number >= _KEEPS_EMPTY_FROM


def _topic(context: RequestContext, group: Group, item: Any) -> Any:
    schema = context.schema
    code = topic_error(context, item.name, "READ")
    if not code and item.name in subscribed(group):
        code = ErrorCode.group_subscribed_to_topic
    for part in item.partitions:
        if not code and group.offsets.pop((item.name, part.partition_index), None) is not None:
            context.state.touch()
    return schema.OffsetDeleteResponseTopic(
        name=item.name,
        partitions=tuple(
            schema.OffsetDeleteResponsePartition(partition_index=part.partition_index, error_code=code)
            for part in item.partitions
        ),
    )
