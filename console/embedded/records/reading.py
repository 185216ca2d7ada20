"""What a leader gives of its log: within limits, and after a wait where there is too little (DelayedFetch)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.records.log import PartitionLog
from console.embedded.records.partitions import Asked, Refusal, asked, held
from console.embedded.records.retention import apply_retention
from console.embedded.state.change_log import Change
from console.embedded.waiting import event_or_time

MAX_BYTES = 55 * 2**20
"""fetch.max.bytes."""


class Read(NamedTuple):
    """What one partition gives. refusal: why nothing; else its limits, and the batches."""

    place: int
    refusal: Refusal | None
    end: int = -1
    start: int = -1
    records: bytes = b""


class TopicRead(NamedTuple):
    """What one topic gives."""

    named: Asked
    parts: tuple[Read, ...]


async def read(request: Any, context: RequestContext) -> tuple[TopicRead, ...]:
    """Everything that the request asks for; once it has min_bytes of it, something went wrong, or max_wait is over."""
    found = _read(request, context)
    deadline = context.clock.time() + request.max_wait.total_seconds()
    if _enough(found, request.min_bytes) or request.max_wait.total_seconds() <= 0:
        return found
    with _news(context, found) as event:
        while not _enough(found, request.min_bytes) and context.clock.time() < deadline:
            await event_or_time(event, context.clock, deadline)
            event.clear()
            found = _read(request, context)
    return found


def _enough(found: tuple[TopicRead, ...], min_bytes: int) -> bool:
    parts = [part for topic in found for part in topic.parts]
    return not parts or any(part.refusal for part in parts) or sum(len(part.records) for part in parts) >= min_bytes


def _read(request: Any, context: RequestContext) -> tuple[TopicRead, ...]:
    left = min(getattr(request, "max_bytes", MAX_BYTES), MAX_BYTES)
    within_quota = context.cluster.throttling.most_to_fetch(context)
    if within_quota is not None:
        left = min(left, within_quota)
    topics: list[TopicRead] = []
    nothing_yet = True
    for item in request.topics:
        named = asked(context, item)
        parts: list[Read] = []
        for part in item.partitions:
            read_part = _partition(context, named, part, left, at_least_one=nothing_yet)
            parts.append(read_part)
            left = max(left - len(read_part.records), 0)
            nothing_yet = nothing_yet and not read_part.records
        topics.append(TopicRead(named, tuple(parts)))
    return tuple(topics)


def _partition(context: RequestContext, named: Asked, part: Any, left: int, *, at_least_one: bool) -> Read:
    if named.name is not None and not context.allowed("READ", "TOPIC", named.name):
        return Read(part.partition, Refusal(ErrorCode.topic_authorization_failed))
    found = held(context, named, part.partition, getattr(part, "current_leader_epoch", -1))
    if isinstance(found, Refusal):
        return Read(part.partition, found)
    apply_retention(context, found)
    log = found.log
    if not log.start <= part.fetch_offset <= log.end:
        return Read(part.partition, Refusal(ErrorCode.offset_out_of_range))
    most = min(part.partition_max_bytes, left)
    records = log.read(part.fetch_offset, most, at_least_one=at_least_one)
    return Read(part.partition, None, log.end, log.start, records)


@contextmanager
def _news(context: RequestContext, found: tuple[TopicRead, ...]) -> Iterator[asyncio.Event]:
    """An event that is set when one of these partitions gets records or another leader."""
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
