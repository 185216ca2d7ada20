"""DeleteRecords (21), v0-2: deletes the records before an offset (KIP-107; ReplicaManager.deleteRecords).

Needs DELETE on the topic. The partition's leader answers.

Version notes:
- v2: flexible.

Differences from Kafka: the answer comes at once, as replicas in sync have what the leader has; the timeout counts for
nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.config_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.partitions import NotServed as NotHere
from console.embedded.partitions import asked_topic, led_partition

_EMPTY_FROM = (4, 2)
"""Without any cleanup.policy records are deleted by request since then."""
_TO_THE_END = -1
"""The offset that stands for the high watermark."""
_UNKNOWN = -1


class _Deleted(NamedTuple):
    """low_watermark: the first remaining offset."""

    code: int
    low_watermark: int = _UNKNOWN


async def handle(request: Any, context: RequestContext) -> Any:
    """Delete the records before each partition's offset, and return its low watermark."""
    schema = context.schema
    return context.answer(
        topics=tuple(
            schema.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=tuple(
                    schema.DeleteRecordsPartitionResult(
                        partition_index=part.partition_index,
                        low_watermark=deleted.low_watermark,
                        error_code=deleted.code,
                    )
                    for part in topic.partitions
                    for deleted in (_delete(context, topic, part.partition_index, part.offset),)
                ),
            )
            for topic in request.topics
        )
    )


def _delete(context: RequestContext, topic: Any, index: int, offset: int) -> _Deleted:
    if not context.allowed("DELETE", "TOPIC", topic.name):
        return _Deleted(ErrorCode.topic_authorization_failed)
    found = led_partition(context, asked_topic(context, topic), index)
    if isinstance(found, NotHere):
        return _Deleted(found.code)
    if found.topic.internal:
        return _Deleted(ErrorCode.invalid_topic_exception)
    # A compacted log has to keep the last record of each key, so only a topic that deletes by policy is cut by request.
    policy = topic_config(context.cluster, context.broker_id, topic.name, "cleanup.policy")
    if "delete" not in policy and (policy or context.cluster.release.number < _EMPTY_FROM):
        return _Deleted(ErrorCode.policy_violation)
    before = found.log.end if offset == _TO_THE_END else offset
    if not 0 <= before <= found.log.end:
        return _Deleted(ErrorCode.offset_out_of_range)
    found.log.delete_before(before)
    return _Deleted(0, found.log.start)
