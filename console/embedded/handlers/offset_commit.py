"""OffsetCommit (8), v2-10: stores offsets of a group, from its members or from a client outside of it.

Needs READ on the group and on the topics.

Version notes:
- v6: leader epochs (KIP-320).
- v7: the instance id (KIP-345).
- v8: flexible.
- v9: GROUP_ID_NOT_FOUND for a missing group (KIP-848; since 4.0).
- v10: topics have ids instead of names.

Differences from Kafka: offsets do not expire.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import get_or_create_group, group_error, topic_error, topic_name_of
from console.embedded.groups import Committed, Group
from console.wire.fields import for_version

_MAX_METADATA = 4096
"""Characters (offset.metadata.max.bytes)."""
_NOT_FOUND_FROM = 9
_TELLS_NOT_FOUND_FROM = (4, 0)
_SHARE = "share"


async def handle(request: Any, context: RequestContext) -> Any:
    """Store the offsets, and return the error code of each partition."""
    group = context.state.groups.get(request.group_id)
    code = group_error(context, request.group_id, may_be_empty=True) or _refused_member(request, context, group)
    topics = tuple(_topic(request, context, item, code) for item in request.topics)
    if not code:
        context.state.touch()
    return context.answer(topics=topics)


def _refused_member(request: Any, context: RequestContext, group: Group | None) -> int:
    generation = request.generation_id_or_member_epoch
    if group is None:
        if generation < 0:
            return 0
        newer = context.version >= _NOT_FOUND_FROM and context.cluster.release.number >= _TELLS_NOT_FOUND_FROM
        return ErrorCode.group_id_not_found if newer else ErrorCode.illegal_generation
    if group.type == _SHARE:
        return ErrorCode.group_id_not_found
    instance_id = getattr(request, "group_instance_id", None)
    return group.committed(request.member_id, instance_id, generation, context.clock.time())


def _topic(request: Any, context: RequestContext, item: Any, code: int) -> Any:
    schema = context.schema
    name = topic_name_of(context, item)
    code = code or topic_error(context, name, "READ")
    parts = []
    for part in item.partitions:
        part_code = code
        if not code and not _exists(context, name, part.partition_index):
            part_code = ErrorCode.unknown_topic_or_partition
        elif not code and len(part.committed_metadata or "") > _MAX_METADATA:
            part_code = ErrorCode.offset_metadata_too_large
        if not part_code and name is not None:
            group = get_or_create_group(context, request.group_id)
            group.written = True
            group.offsets[name, part.partition_index] = Committed(
                part.committed_offset,
                getattr(part, "committed_leader_epoch", -1),
                part.committed_metadata or "",
                context.clock.time(),
            )
        parts.append(schema.OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=part_code))
    return for_version(
        schema.OffsetCommitResponseTopic,
        name=name or "",
        topic_id=getattr(item, "topic_id", None),
        partitions=tuple(parts),
    )


def _exists(context: RequestContext, name: str | None, partition: int) -> bool:
    topic = context.view.topics.get(name or "")
    return topic is not None and 0 <= partition < len(topic.partitions)
