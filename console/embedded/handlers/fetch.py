"""Fetch (1), v4-18: records of partitions that this broker leads (KafkaApis.handleFetchRequest).

Version notes:
- v4: the isolation level (KIP-98).
- v7: fetch sessions (KIP-227).
- v9: the client's leader epoch (KIP-320).
- v12: flexible.
- v13: topics have ids instead of names (KIP-516).
- v16: the current leaders with their addresses in errors (KIP-951).

Differences from Kafka: there are no fetch sessions, each answer has session 0, so clients name all partitions in each
request. No client is sent to a replica in its rack (KIP-392).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import partitions
from console.embedded.clock import event_or_time
from console.embedded.context import RequestContext
from console.embedded.handlers.list_offsets import READ_COMMITTED
from console.embedded.partition_log import PartitionLog
from console.embedded.producers import AbortedTransaction
from console.embedded.tables import NO_LEADER, Change
from console.embedded.transactions import expire
from console.wire.fields import for_version

_NEVER_READ = frozenset(
    {ErrorCode.unknown_topic_or_partition, ErrorCode.topic_authorization_failed, ErrorCode.unknown_topic_id}
)
"""Errors for topics that are unknown or not allowed: brokers send an empty array with them, not null."""
_NO_SESSION, _BEGINS, _SESSIONLESS = 0, 0, -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the records of the requested partitions, once there are enough or the client's wait is over."""
    # The client is to send a full request, as for a session that was evicted from a broker's cache.
    if getattr(request, "session_epoch", _SESSIONLESS) not in (_BEGINS, _SESSIONLESS):
        return context.answer(error_code=ErrorCode.fetch_session_id_not_found, session_id=_NO_SESSION, responses=())
    found = await read_topics(request, context)
    leaders = {part.refusal.leader for topic in found for part in topic.parts if part.refusal} - {NO_LEADER}
    return context.answer(
        error_code=0,
        session_id=_NO_SESSION,
        responses=tuple(_topic(context, topic) for topic in found),
        **partitions.node_endpoints_field(context, leaders) if leaders else {},
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
        last_stable_offset=part.stable,
        log_start_offset=part.start,
        aborted_transactions=() if unread else _aborted(context.schema, part.aborted),
        records=part.records,
        **(partitions.current_leader_field(context.schema, part.refusal) if part.refusal else {}),
    )


def _aborted(schema: Any, found: tuple[AbortedTransaction, ...] | None) -> Any:
    if found is None:
        return None
    return tuple(schema.AbortedTransaction(producer_id=each.producer_id, first_offset=each.first) for each in found)


MAX_BYTES = 55 * 2**20
"""fetch.max.bytes."""


class Read(NamedTuple):
    """What one partition has to send. refusal: why nothing. aborted: the aborted transactions in it, None where all
    records are read."""

    place: int
    refusal: partitions.NotServed | None
    end: int = -1
    start: int = -1
    records: bytes = b""
    stable: int = -1
    aborted: tuple[AbortedTransaction, ...] | None = None


class TopicRead(NamedTuple):
    """What one topic has to send."""

    named: partitions.AskedTopic
    parts: tuple[Read, ...]


async def read_topics(request: Any, context: RequestContext) -> tuple[TopicRead, ...]:
    """Return what the request asks for, once it has min_bytes or an error, or max_wait is over (DelayedFetch)."""
    found = _read_once(request, context)
    deadline = context.clock.time() + request.max_wait.total_seconds()
    if _enough(found, request.min_bytes) or request.max_wait.total_seconds() <= 0:
        return found
    with _news(context, found) as event:
        while not _enough(found, request.min_bytes) and context.clock.time() < deadline:
            await event_or_time(event, context.clock, deadline)
            event.clear()
            found = _read_once(request, context)
    return found


def _enough(found: tuple[TopicRead, ...], min_bytes: int) -> bool:
    parts = [part for topic in found for part in topic.parts]
    return not parts or any(part.refusal for part in parts) or sum(len(part.records) for part in parts) >= min_bytes


def _read_once(request: Any, context: RequestContext) -> tuple[TopicRead, ...]:
    left = min(getattr(request, "max_bytes", MAX_BYTES), MAX_BYTES)
    within_quota = context.cluster.throttling.most_to_fetch(context.requester)
    if within_quota is not None:
        left = min(left, within_quota)
    topics: list[TopicRead] = []
    nothing_yet = True
    committed = getattr(request, "isolation_level", 0) == READ_COMMITTED
    expire(context.cluster)
    for item in request.topics:
        named = partitions.asked_topic(context, item)
        parts: list[Read] = []
        for part in item.partitions:
            # The first batch is sent even where it is larger than the limits, else a client could never get past it
            # (KIP-74).
            read_part = _read_partition(context, named, part, left, committed=committed, at_least_one=nothing_yet)
            parts.append(read_part)
            left = max(left - len(read_part.records), 0)
            nothing_yet = nothing_yet and not read_part.records
        topics.append(TopicRead(named, tuple(parts)))
    return tuple(topics)


def _read_partition(
    context: RequestContext, named: partitions.AskedTopic, part: Any, left: int, *, committed: bool, at_least_one: bool
) -> Read:
    if named.name is not None and not context.allowed("READ", "TOPIC", named.name):
        return Read(part.partition, partitions.NotServed(ErrorCode.topic_authorization_failed))
    found = partitions.led_partition(context, named, part.partition, getattr(part, "current_leader_epoch", -1))
    if isinstance(found, partitions.NotServed):
        return Read(part.partition, found)
    partitions.apply_retention(context, found)
    log = found.log
    if not log.start <= part.fetch_offset <= log.end:
        return Read(part.partition, partitions.NotServed(ErrorCode.offset_out_of_range))
    most = min(part.partition_max_bytes, left)
    before = log.stable if committed else None
    batches = log.read(part.fetch_offset, most, at_least_one=at_least_one, before=before)
    end = batches[-1].last_offset + 1 if batches else part.fetch_offset
    aborted = tuple(log.producers.aborted(part.fetch_offset, end)) if committed else None
    return Read(part.partition, None, log.end, log.start, b"".join(b.data for b in batches), log.stable, aborted)


@contextmanager
def _news(context: RequestContext, found: tuple[TopicRead, ...]) -> Iterator[asyncio.Event]:
    """Yield an event that is set when one of these partitions gets records or another leader."""
    event = asyncio.Event()
    names = {topic.named.name for topic in found}
    logs = [
        context.state.logs.setdefault((topic.named.name, part.place), PartitionLog())
        for topic in found
        if topic.named.name is not None
        for part in topic.parts
    ]

    def changed(change: Change) -> None:
        if change.table == "topics" and change.key in names:
            event.set()

    for log in logs:
        log.watch(event)
    unsubscribe = context.state.subscribe(changed)
    try:
        yield event
    finally:
        unsubscribe()
        for log in logs:
            log.unwatch(event)
