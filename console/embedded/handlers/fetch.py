"""Fetch: records of partitions that this broker leads (KafkaApis.handleFetchRequest).

No fetch sessions are kept (KIP-227): every answer says session 0, so that clients name all partitions each time.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.records.partitions import told_endpoints, told_leader
from console.embedded.records.reading import Read, TopicRead, read
from console.embedded.state.values import NO_LEADER
from console.wire.schemas import for_version

_NEVER_READ = frozenset({3, 29, 100})
"""The topic is unknown or not allowed: no log was looked at, and newer brokers have no null for what it would say."""
_EMPTY_FROM = (3, 0)
_NO_SESSION, _BEGINS, _SESSIONLESS = 0, 0, -1


async def handle(request: Any, context: RequestContext) -> Any:
    """v4-18; v13 on has ids in the place of names."""
    schema = context.schema
    if getattr(request, "session_epoch", _SESSIONLESS) not in (_BEGINS, _SESSIONLESS):
        return for_version(
            schema.FetchResponse,
            throttle_time=NO_TIME,
            error_code=ErrorCode.fetch_session_id_not_found,
            session_id=_NO_SESSION,
            responses=(),
        )
    found = await read(request, context)
    leaders = {part.refusal.leader for topic in found for part in topic.parts if part.refusal} - {NO_LEADER}
    return for_version(
        schema.FetchResponse,
        throttle_time=NO_TIME,
        error_code=0,
        session_id=_NO_SESSION,
        responses=tuple(_topic(context, topic) for topic in found),
        **(told_endpoints(context, leaders) if leaders else {}),
    )


def _topic(context: RequestContext, topic: TopicRead) -> Any:
    return for_version(
        context.schema.FetchableTopicResponse,
        topic=topic.named.name or "",
        topic_id=topic.named.id,
        partitions=tuple(_partition(context, part) for part in topic.parts),
    )


def _partition(context: RequestContext, part: Read) -> Any:
    unread = part.refusal is not None and part.refusal.code in _NEVER_READ
    return for_version(
        context.schema.PartitionData,
        partition_index=part.place,
        error_code=part.refusal.code if part.refusal else 0,
        high_watermark=part.end,
        last_stable_offset=part.end,
        log_start_offset=part.start,
        aborted_transactions=() if unread and context.cluster.release.number >= _EMPTY_FROM else None,
        records=part.records,
        **(told_leader(context.schema, part.refusal) if part.refusal else {}),
    )
