"""The records of a partition: produce, fetch, offsets, and deletion."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import partitions, record_batch
from console.embedded.answers import each_item
from console.embedded.clock import event_or_time
from console.embedded.config_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.partition_log import NO_OFFSET, PartitionLog
from console.embedded.partitions import NotServed, asked_topic, led_partition
from console.embedded.producers import AbortedTransaction, FencedProducer, OutOfOrderSequence
from console.embedded.tables import NO_LEADER, Change
from console.embedded.transactions import add, expire, own, verified
from console.wire.compression import Codec

_NOBODY = 0
_ADMIN_CLIENT = "__admin_client"
"""The client id of Kafka's tools, which may write to internal topics (AdminUtils)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def produce(request: Any, context: RequestContext) -> Any:
    """Produce (0), v3-13: appends a batch to each partition (KafkaApis.handleProduceRequest).

    Append the batches, and return an offset or an error for each partition. With acks=0 there is no response.

    Needs WRITE on the topic, and on the transactional id. ApiVersions has v0 as the lowest version, as brokers do for
    old clients.

    Version notes:
    - v3: batches of format v2, transactions (KIP-98).
    - v5: the log's start.
    - v7: zstd (KIP-110).
    - v8: the invalid records (KIP-467).
    - v9: flexible.
    - v10: the current leaders with their addresses in errors (KIP-951).
    - v12: records add their partition to the transaction (KIP-890).
    - v13: topics have ids instead of names (KIP-516).

    Differences from Kafka: in-sync replicas have a batch at once, so acks=-1 does not wait.
    """
    leaders: set[int] = set()
    responses = tuple(_produced_topic(request, context, item, leaders) for item in request.topic_data)
    if request.acks == _NOBODY:
        if any(part.error_code for topic in responses for part in topic.partition_responses):
            context.session.ending = (
                "records sent with acks=0 could not be written"  # Kafka has no other way to report the error
            )
        return None
    return context.answer(responses=responses, **partitions.node_endpoints_field(context, leaders) if leaders else {})


def _produced_topic(request: Any, context: RequestContext, item: Any, leaders: set[int]) -> Any:
    named = partitions.asked_topic(context, item)
    allowed = named.name is None or context.allowed("WRITE", "TOPIC", named.name)
    return context.part(
        "TopicProduceResponse",
        name=named.name or "",
        topic_id=named.id,
        partition_responses=tuple(
            _produced_partition(request, context, named, part, leaders)
            if allowed
            else _answer(context, part.index, Appended(ErrorCode.topic_authorization_failed))
            for part in item.partition_data
        ),
    )


def _produced_partition(
    request: Any, context: RequestContext, named: partitions.AskedTopic, part: Any, leaders: set[int]
) -> Any:
    if request.acks not in (ALL_REPLICAS, _NOBODY, 1):
        return _answer(context, part.index, Appended(ErrorCode.invalid_required_acks))
    # Only brokers and Kafka's own tools, which use this client id, may write to internal topics.
    if named.topic is not None and named.topic.internal and context.client_id != _ADMIN_CLIENT:
        return _answer(context, part.index, Appended(ErrorCode.invalid_topic_exception))
    found = partitions.led_partition(context, named, part.index)
    if isinstance(found, partitions.NotServed):
        if found.leader != NO_LEADER:
            leaders.add(found.leader)
        return _answer(context, part.index, Appended(found.code), **partitions.current_leader_field(context, found))
    result = append(context, found, part.records or b"", request.acks, request.transactional_id)
    return _answer(context, part.index, result)


def _answer(context: RequestContext, index: int, result: Appended, **leader: Any) -> Any:
    append_time = result.append_time
    return context.part(
        "PartitionProduceResponse",
        index=index,
        error_code=result.code,
        base_offset=result.offset if not result.code else NO_OFFSET,
        log_append_time=None if append_time is None else _EPOCH + timedelta(milliseconds=append_time),
        log_start_offset=result.start,
        record_errors=tuple(
            context.part("BatchIndexAndErrorMessage", batch_index=place, batch_index_error_message=text)
            for place, text in result.rejected
        ),
        error_message=result.message,
        **leader,
    )


_SHOWN = 3
"""Maximum number of invalid records that an error message names."""
_REJECTED = (
    "One or more records have been rejected due to {count} record errors in total, and only showing the first three "
    "errors at most: [{shown}]"
)


INVALID_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"


def rejected_message(errors: Sequence[tuple[int, str]]) -> str:
    """Return the error message for a batch with invalid records. errors: position of a record in the batch, and its
    message.
    """
    shown = ", ".join(f"RecordError(batchIndex={place}, message='{text}')" for place, text in errors[:_SHOWN])
    return _REJECTED.format(count=len(errors), shown=shown)


_FOREVER = 2**63 - 1


class TimestampLimits(NamedTuple):
    """The maximum number of milliseconds by which a record's timestamp may be before, and after, the broker's time."""

    before: int
    after: int


def timestamp_limits(config: Callable[[str], str]) -> TimestampLimits:
    """Return a topic's limits of timestamps. config: function that returns the topic's value of a config key."""
    return TimestampLimits(
        int(config("message.timestamp.before.max.ms")), int(config("message.timestamp.after.max.ms"))
    )


def out_of_range(batch: record_batch.Batch, allowed: TimestampLimits, now: int) -> tuple[tuple[int, str], ...]:
    """Return the position and Kafka's message of each record whose timestamp is out of range
    (LogValidator.validateTimestamp). If the records can't be decoded, the batch's latest timestamp is taken as that
    of record 0. now: milliseconds since 1970.
    """
    first, last = now - allowed.before, now + allowed.after
    if batch.max_timestamp <= last and allowed.before == _FOREVER:
        return ()
    return tuple(
        (
            place,
            f"Timestamp {moment} of message with offset {place} is out of range. "
            f"The timestamp should be within [{_java_long(first)}, {_java_long(last)}]",
        )
        for place, moment in enumerate(record_batch.record_times(batch) or [batch.max_timestamp])
        if not first <= moment <= last
    )


def _java_long(number: int) -> int:
    """Return a number as Java's 64-bit arithmetic has it, which wraps around on overflow."""
    return (number + 2**63) % 2**64 - 2**63


_ADDS_FROM = 12
"""The first version of Produce that itself adds the partition to the transaction (KIP-890)."""
_ZSTD_FROM = 7
"""The first version of Produce that accepts batches compressed with zstd (KIP-110)."""
ALL_REPLICAS = -1
_MILLISECONDS = 1000


class Appended(NamedTuple):
    """The result of appending a batch."""

    code: int
    offset: int = NO_OFFSET
    """The offset of the batch's first record; NO_OFFSET if it was not appended."""
    append_time: int | None = None
    """The broker's time in milliseconds since 1970, if it replaced the timestamps; otherwise None."""
    start: int = NO_OFFSET
    message: str | None = None
    rejected: tuple[tuple[int, str], ...] = ()
    """The position in the batch and the message of each invalid record."""


def append(
    context: RequestContext, held: partitions.LedPartition, data: bytes, acks: int, transactional_id: str | None = None
) -> Appended:
    """Check a batch and append it (UnifiedLog.append, Partition.appendRecordsToLeader).

    Args:
        held: the partition that this broker leads.
        data: one batch of format v2, as received.
        acks: 0, 1, or ALL_REPLICAS, for which min.insync.replicas must be met.
        transactional_id: the request's transactional id; None refuses transactional batches.

    Returns:
        The offset of the first record; or the error code, with the invalid records.
    """
    try:
        batch = record_batch.produced_batch(data)
    except record_batch.CorruptBatch:
        return Appended(ErrorCode.corrupt_message)
    except record_batch.InvalidBatch:
        return Appended(ErrorCode.invalid_record)
    name, start = held.topic.name, held.log.start
    if batch.codec not in tuple(Codec) or (batch.codec == Codec.ZSTD and context.version < _ZSTD_FROM):
        return Appended(ErrorCode.unsupported_compression_type)
    if acks == ALL_REPLICAS and len(held.partition.isr) < _least_in_sync(context, held):
        return Appended(ErrorCode.not_enough_replicas, start=start)
    if len(data) > int(_config(context, name, "max.message.bytes")):
        return Appended(ErrorCode.message_too_large)
    if "compact" in _config(context, name, "cleanup.policy") and (places := record_batch.keyless_records(batch)):
        return _rejected(held, places)
    try:
        known = held.log.producers.duplicate(batch)
    except FencedProducer:
        return Appended(ErrorCode.invalid_producer_epoch, start=start)
    except OutOfOrderSequence:
        return Appended(ErrorCode.out_of_order_sequence_number, start=start)
    if batch.transactional and (code := _outside(context, held, batch, transactional_id)):
        return Appended(code, start=start)
    if known is not None:  # the original batch keeps its own time, as in Kafka
        return Appended(0, known.base_offset, known.max_timestamp, held.log.start)
    append_time, now = None, int(context.clock.time() * _MILLISECONDS)
    if _config(context, name, "message.timestamp.type") == "LogAppendTime":
        append_time = now
    else:
        allowed = timestamp_limits(lambda key: _config(context, name, key))
        if errors := out_of_range(batch, allowed, now):
            return Appended(ErrorCode.invalid_timestamp, start=start, message=INVALID_TIMESTAMP, rejected=errors)
    offset = _appended(context, held, batch, append_time)
    return Appended(0, offset, append_time, held.log.start)


def _outside(
    context: RequestContext, held: partitions.LedPartition, batch: record_batch.Batch, transactional_id: str | None
) -> int:
    """Return the error code for a transactional batch whose producer has no transaction with this partition;
    otherwise 0. From `_ADDS_FROM` on, first add the partition to the producer's transaction.
    """
    if transactional_id is None or not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        return int(ErrorCode.transactional_id_authorization_failed)
    place = held.topic.name, held.place
    if context.version >= _ADDS_FROM:
        found = own(context.cluster, transactional_id, batch.producer_id, batch.producer_epoch)
        if isinstance(found, int):
            return found
        add(context.cluster, found, {place})
    if held.log.producers.has_open(batch.producer_id):
        return 0
    sent = transactional_id, batch.producer_id, batch.producer_epoch
    return 0 if verified(context, *sent, place) else int(ErrorCode.invalid_txn_state)


def _appended(
    context: RequestContext, held: partitions.LedPartition, batch: record_batch.Batch, append_time: int | None
) -> int:
    state, log = context.state, held.log
    state.logs[held.topic.name, held.place] = log
    before = log.size
    offset = log.append(batch, held.partition.leader_epoch, append_time)
    partitions.apply_retention(context, held)
    # Check the room only at steps, as counting the bytes of all logs for every batch is too expensive.
    if log.size // partitions.ROOM_STEP > before // partitions.ROOM_STEP:
        partitions.make_room(state)
    state.touch()
    return offset


def _config(context: RequestContext, name: str, key: str) -> str:
    return topic_config(context.cluster, context.broker_id, name, key)


def _least_in_sync(context: RequestContext, held: partitions.LedPartition) -> int:
    """Return the number of in-sync replicas that acks=-1 needs: min.insync.replicas, at most the number of replicas
    (Partition.effectiveMinIsr; measured).
    """
    wanted = int(_config(context, held.topic.name, "min.insync.replicas"))
    return min(wanted, len(held.partition.replicas))


def _rejected(held: partitions.LedPartition, places: list[int]) -> Appended:
    """Return the refusal of a batch with records without a key, which a compacted topic can't store
    (LogValidator.validateKey). places: the positions of these records in the batch.
    """
    text = f"Compacted topic cannot accept message without key in topic partition {held.topic.name}-{held.place}"
    errors = tuple((place, text) for place in places)
    return Appended(ErrorCode.invalid_record, start=held.log.start, message=rejected_message(errors), rejected=errors)


_NEVER_READ = frozenset(
    {ErrorCode.unknown_topic_or_partition, ErrorCode.topic_authorization_failed, ErrorCode.unknown_topic_id}
)
"""Errors of partitions for which the response has an empty array of records instead of null: those of topics that
are unknown or not permitted.
"""
_BEGINS, _SESSIONLESS = 0, -1


async def fetch(request: Any, context: RequestContext) -> Any:
    """Fetch (1), v4-18: records of partitions that this broker leads (KafkaApis.handleFetchRequest).

    Return the records of the requested partitions, as soon as they have the minimum size or the client's maximum wait
    is over.

    Version notes:
    - v4: the isolation level (KIP-98).
    - v7: fetch sessions (KIP-227).
    - v9: the client's leader epoch (KIP-320).
    - v12: flexible.
    - v13: topics have ids instead of names (KIP-516).
    - v16: the current leaders with their addresses in errors (KIP-951).

    Differences from Kafka: there are no fetch sessions; every response has session 0, so clients name all partitions in
    every request. The broker never names a replica in the client's rack (KIP-392).
    """
    # This error makes the client send a full request, as if the broker had evicted the session from its cache.
    if getattr(request, "session_epoch", _SESSIONLESS) not in (_BEGINS, _SESSIONLESS):
        return context.answer(error_code=ErrorCode.fetch_session_id_not_found)
    found = await read_topics(request, context)
    leaders = {part.refusal.leader for topic in found for part in topic.parts if part.refusal} - {NO_LEADER}
    return context.answer(
        responses=tuple(_fetched_topic(context, topic) for topic in found),
        **partitions.node_endpoints_field(context, leaders) if leaders else {},
    )


def _fetched_topic(context: RequestContext, topic: TopicRead) -> Any:
    return context.part(
        "FetchableTopicResponse",
        topic=topic.named.name or "",
        topic_id=topic.named.id,
        partitions=tuple(_fetched_partition(context, part) for part in topic.parts),
    )


def _fetched_partition(context: RequestContext, part: Read) -> Any:
    unread = part.refusal is not None and part.refusal.code in _NEVER_READ
    return context.part(
        "PartitionData",
        partition_index=part.place,
        error_code=part.refusal.code if part.refusal else 0,
        high_watermark=part.end,
        last_stable_offset=part.stable,
        log_start_offset=part.start,
        aborted_transactions=() if unread else _aborted(context, part.aborted),
        records=part.records,
        **(partitions.current_leader_field(context, part.refusal) if part.refusal else {}),
    )


def _aborted(context: RequestContext, found: tuple[AbortedTransaction, ...] | None) -> Any:
    if found is None:
        return None
    return tuple(
        context.part("AbortedTransaction", producer_id=each.producer_id, first_offset=each.first) for each in found
    )


MAX_BYTES = 55 * 2**20
"""Maximum size in bytes of a Fetch response (fetch.max.bytes)."""


class Read(NamedTuple):
    """The data of one partition in a Fetch response."""

    place: int
    refusal: partitions.NotServed | None
    """The error because of which the partition was not read; None if it was read."""
    end: int = -1
    start: int = -1
    records: bytes = b""
    stable: int = -1
    aborted: tuple[AbortedTransaction, ...] | None = None
    """The aborted transactions in the data; None for isolation level read_uncommitted."""


class TopicRead(NamedTuple):
    """The data of one topic in a Fetch response."""

    named: partitions.AskedTopic
    parts: tuple[Read, ...]


async def read_topics(request: Any, context: RequestContext) -> tuple[TopicRead, ...]:
    """Return the requested data as soon as it has min_bytes in total or a partition has an error, or after max_wait
    (DelayedFetch).
    """
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
            # Send the first batch even if it exceeds the limits: otherwise a client could never get past it (KIP-74).
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
    """Register an event that is set when one of these partitions gets records or another leader; yield it, and
    unregister it afterwards.
    """
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


LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_SINCE = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
"""Special timestamp -> the first version of ListOffsets that has it."""
ANY_REPLICA = -2
"""The replica id of a client that may read from any replica of a partition (ListOffsetsRequest.DEBUGGING_REPLICA_ID).
"""
READ_COMMITTED = 1
"""The isolation level with which the end of a log is its last stable offset."""
_NEVER = 1000
"""A number above all versions: stands for the first version with a special timestamp that no version has."""
_NO_TIME = _NO_EPOCH = -1


class _Place(NamedTuple):
    """The result for a partition in a ListOffsets response."""

    error_code: int
    timestamp: int = _NO_TIME
    offset: int = NO_OFFSET
    leader_epoch: int = _NO_EPOCH


async def list_offsets(request: Any, context: RequestContext) -> Any:
    """ListOffsets (2), v1-11: the offsets of a log's start, its end, or a timestamp (handleListOffsetRequest).

    Return an offset or an error for each partition. First abort the transactions that have timed out.

    Needs DESCRIBE on the topic.

    Version notes:
    - v2: the isolation level (KIP-98).
    - v4: leader epochs (KIP-320).
    - v6: flexible.
    - v7: the newest timestamp (KIP-734).
    - v8, v9, v11: the bounds of tiered storage (KIP-405, KIP-1005, KIP-1023).

    Differences from Kafka: a scenario sets the offsets in remote storage; no segment is copied there.
    """
    expire(context.cluster)
    stable = getattr(request, "isolation_level", 0) == READ_COMMITTED
    return context.answer(
        topics=tuple(
            context.part(
                "ListOffsetsTopicResponse",
                name=item.name,
                partitions=tuple(_listed_partitions(context, item, request.replica_id, stable=stable)),
            )
            for item in request.topics
        )
    )


def _listed_partitions(context: RequestContext, item: Any, asker: int, *, stable: bool) -> Iterator[Any]:
    named = partitions.asked_topic(context, item)
    often = Counter(part.partition_index for part in item.partitions)
    for part in item.partitions:
        if not context.allowed("DESCRIBE", "TOPIC", item.name):
            place = _Place(ErrorCode.topic_authorization_failed)
        elif often[part.partition_index] > 1:
            place = _Place(ErrorCode.invalid_request)
        elif part.timestamp < 0 and context.version < _SINCE.get(part.timestamp, _NEVER):
            place = _Place(ErrorCode.unsupported_version)
        elif asker == ANY_REPLICA:
            place = _place_of_replica(context, named, part)
        else:
            place = _place(context, named, part, stable=stable)
        yield context.part("ListOffsetsPartitionResponse", partition_index=part.partition_index, **place._asdict())


def _place(context: RequestContext, named: partitions.AskedTopic, part: Any, *, stable: bool) -> _Place:
    found = partitions.led_partition(
        context, named, part.partition_index, getattr(part, "current_leader_epoch", _NO_EPOCH)
    )
    if isinstance(found, partitions.NotServed):
        return _Place(found.code)
    partitions.apply_retention(context, found)
    return _at(found, part.timestamp, stable=stable)


def _place_of_replica(context: RequestContext, named: partitions.AskedTopic, part: Any) -> _Place:
    """Return the requested offset in this broker's own log, even if the broker is a follower. A follower's log
    differs from the leader's only in the end offset.
    """
    topic, index = named.topic, part.partition_index
    if topic is None or not 0 <= index < len(topic.partitions):
        return _Place(named.code or ErrorCode.unknown_topic_or_partition)
    if context.broker_id not in topic.partitions[index].replicas:
        return _Place(ErrorCode.not_leader_or_follower)
    log = context.state.logs.get((topic.name, index)) or PartitionLog()
    if part.timestamp != LATEST:
        return _at(partitions.LedPartition(topic, index, topic.partitions[index], log), part.timestamp)
    return _Place(0, _NO_TIME, log.end_of(context.broker_id), topic.partitions[index].leader_epoch)


def _at(found: partitions.LedPartition, timestamp: int, *, stable: bool = False) -> _Place:
    log, epoch = found.log, found.partition.leader_epoch
    if timestamp == LATEST:
        return _Place(0, _NO_TIME, log.stable if stable else log.end, epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        oldest = log.epoch_at_start()
        start = log.local_start if timestamp == EARLIEST_LOCAL else None
        return _Place(0, _NO_TIME, log.start if start is None else start, epoch if oldest is None else oldest)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING):
        if log.tiered_to == NO_OFFSET:
            return _Place(0)
        return _Place(0, _NO_TIME, log.tiered_to + (timestamp == EARLIEST_PENDING), epoch)
    record = log.newest() if timestamp == MAX_TIMESTAMP else log.since(timestamp)
    # Hide a record of an open transaction from clients with read_committed.
    hidden = record is not None and stable and record[1] >= log.stable
    return _Place(0) if record is None or hidden else _Place(0, *record)


_NO_EPOCH = -1


async def offset_for_leader_epoch(request: Any, context: RequestContext) -> Any:
    """OffsetForLeaderEpoch (23), v2-4: the end offset of a leader epoch (KIP-320).

    Return the end offset or an error for each partition. Consumers and followers use it to find where their log differs
    from the leader's after an unclean election. Needs DESCRIBE on the topic, or CLUSTER_ACTION.

    Version notes:
    - v4: flexible.
    """
    return each_item(context, request, partial(_epoch_end, context))


def _epoch_end(context: RequestContext, topic: Any, part: Any) -> dict[str, int]:
    code, epoch, end = 0, _NO_EPOCH, NO_OFFSET
    named = asked_topic(context, topic)
    if not (context.allowed("CLUSTER_ACTION") or context.allowed("DESCRIBE", "TOPIC", named.name or "")):
        code = ErrorCode.topic_authorization_failed
    else:
        found = led_partition(context, named, part.partition, part.current_leader_epoch)
        if isinstance(found, NotServed):
            code = found.code
        else:
            epoch, end = found.log.end_of_epoch(part.leader_epoch, found.partition.leader_epoch)
    return {"error_code": code, "leader_epoch": epoch, "end_offset": end}


_EMPTY_FROM = (4, 2)
"""The first release that deletes records of a topic whose cleanup.policy is empty."""
_TO_THE_END = -1
"""The offset in DeleteRecords that means the high watermark."""
_UNKNOWN = -1


async def delete_records(request: Any, context: RequestContext) -> Any:
    """DeleteRecords (21), v0-2: deletes the records before an offset (KIP-107; ReplicaManager.deleteRecords).

    Delete the records before each partition's offset, and return its low watermark, which is the log's new start
    offset.

    Needs DELETE on the topic. Only the partition's leader accepts it.

    Version notes:
    - v2: flexible.

    Differences from Kafka: the response comes at once, because in-sync replicas always have the leader's records; the
    timeout in the request is ignored.
    """
    return each_item(context, request, partial(_delete, context))


def _undeleted(code: int) -> dict[str, int]:
    return {"error_code": code, "low_watermark": _UNKNOWN}


def _delete(context: RequestContext, topic: Any, part: Any) -> dict[str, int]:
    if not context.allowed("DELETE", "TOPIC", topic.name):
        return _undeleted(ErrorCode.topic_authorization_failed)
    found = led_partition(context, asked_topic(context, topic), part.partition_index)
    if isinstance(found, NotServed):
        return _undeleted(found.code)
    if found.topic.internal:
        return _undeleted(ErrorCode.invalid_topic_exception)
    # A compacted log has to keep the last record of each key, so delete records only if the policy contains `delete`.
    policy = topic_config(context.cluster, context.broker_id, topic.name, "cleanup.policy")
    if "delete" not in policy and (policy or context.cluster.release.number < _EMPTY_FROM):
        return _undeleted(ErrorCode.policy_violation)
    before = found.log.end if part.offset == _TO_THE_END else part.offset
    if not 0 <= before <= found.log.end:
        return _undeleted(ErrorCode.offset_out_of_range)
    found.log.delete_before(before)
    return {"low_watermark": found.log.start}
