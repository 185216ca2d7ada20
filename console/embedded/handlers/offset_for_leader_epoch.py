"""OffsetForLeaderEpoch (23), v2-4: the end offset of a leader epoch (KIP-320).

Consumers and followers find by it where their log differs from the leader's after an unclean election. Needs DESCRIBE
on the topic, or CLUSTER_ACTION.

Version notes:
- v4: flexible.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.partition_log import NO_OFFSET
from console.embedded.partitions import AskedTopic, NotServed, asked_topic, led_partition
from console.wire.fields import for_version

_NO_EPOCH = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the end offset or an error for each partition."""
    schema = context.schema
    return context.answer(
        topics=tuple(
            schema.OffsetForLeaderTopicResult(
                topic=item.topic,
                partitions=tuple(_partition(context, asked_topic(context, item), part) for part in item.partitions),
            )
            for item in request.topics
        )
    )


def _partition(context: RequestContext, named: AskedTopic, part: Any) -> Any:
    code, epoch, end = 0, _NO_EPOCH, NO_OFFSET
    if not (context.allowed("CLUSTER_ACTION") or context.allowed("DESCRIBE", "TOPIC", named.name or "")):
        code = ErrorCode.topic_authorization_failed
    else:
        found = led_partition(context, named, part.partition, part.current_leader_epoch)
        if isinstance(found, NotServed):
            code = found.code
        else:
            epoch, end = found.log.end_of_epoch(part.leader_epoch, found.partition.leader_epoch)
    return for_version(
        context.schema.EpochEndOffset, error_code=code, partition=part.partition, leader_epoch=epoch, end_offset=end
    )
