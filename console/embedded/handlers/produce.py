"""Produce (0), v3-13: appends a batch to each partition (KafkaApis.handleProduceRequest).

Needs WRITE on the topic, and on the transactional id. ApiVersions names v0 as the lowest, as brokers do for old
clients.

Version notes:
- v3: batches of format v2, transactions (KIP-98).
- v5: the log's start.
- v7: zstd (KIP-110).
- v8: which records are invalid (KIP-467).
- v9: flexible.
- v10: the current leaders with their addresses in errors (KIP-951).
- v12: records add their partition to the transaction (KIP-890).
- v13: topics have ids instead of names (KIP-516).

Differences from Kafka: replicas in sync have a batch at once, so acks=-1 waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import partitions, record_batch
from console.embedded.config_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.partition_log import NO_OFFSET
from console.embedded.producers import FencedProducer, OutOfOrderSequence
from console.embedded.tables import NO_LEADER
from console.embedded.transactions import add, own, verified
from console.wire.compression import Codec
from console.wire.fields import for_version

_NOBODY = 0
_ADMIN_CLIENT = "__admin_client"
"""The client id that may write to internal topics (AdminUtils)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def handle(request: Any, context: RequestContext) -> Any:
    """Append the batches, and return an offset or an error for each partition. With acks=0 there is no answer."""
    leaders: set[int] = set()
    responses = tuple(_topic(request, context, item, leaders) for item in request.topic_data)
    if request.acks == _NOBODY:
        if any(part.error_code for topic in responses for part in topic.partition_responses):
            context.session.ending = (
                "records sent with acks=0 could not be written"  # Kafka has no other way to report it
            )
        return None
    return context.answer(responses=responses, **partitions.node_endpoints_field(context, leaders) if leaders else {})


def _topic(request: Any, context: RequestContext, item: Any, leaders: set[int]) -> Any:
    schema = context.schema
    named = partitions.asked_topic(context, item)
    allowed = named.name is None or context.allowed("WRITE", "TOPIC", named.name)
    return for_version(
        schema.TopicProduceResponse,
        name=named.name or "",
        topic_id=named.id,
        partition_responses=tuple(
            _partition(request, context, named, part, leaders)
            if allowed
            else _answer(schema, part.index, Appended(ErrorCode.topic_authorization_failed))
            for part in item.partition_data
        ),
    )


def _partition(
    request: Any, context: RequestContext, named: partitions.AskedTopic, part: Any, leaders: set[int]
) -> Any:
    schema = context.schema
    if request.acks not in (ALL_REPLICAS, _NOBODY, 1):
        return _answer(schema, part.index, Appended(ErrorCode.invalid_required_acks))
    # Only brokers write to internal topics, and Kafka's own tools by this client id.
    if named.topic is not None and named.topic.internal and context.client_id != _ADMIN_CLIENT:
        return _answer(schema, part.index, Appended(ErrorCode.invalid_topic_exception))
    found = partitions.led_partition(context, named, part.index)
    if isinstance(found, partitions.NotServed):
        if found.leader != NO_LEADER:
            leaders.add(found.leader)
        return _answer(schema, part.index, Appended(found.code), **partitions.current_leader_field(schema, found))
    return _answer(
        schema, part.index, append(context, found, part.records or b"", request.acks, request.transactional_id)
    )


def _answer(schema: Any, index: int, result: Appended, **leader: Any) -> Any:
    append_time = result.append_time
    return for_version(
        schema.PartitionProduceResponse,
        index=index,
        error_code=result.code,
        base_offset=result.offset if not result.code else NO_OFFSET,
        log_append_time=None if append_time is None else _EPOCH + timedelta(milliseconds=append_time),
        log_start_offset=result.start,
        record_errors=tuple(
            schema.BatchIndexAndErrorMessage(batch_index=place, batch_index_error_message=text)
            for place, text in result.rejected
        ),
        error_message=result.message,
        **leader,
    )


_SHOWN = 3
"""Record errors in a summary."""
_REJECTED = (
    "One or more records have been rejected due to {count} record errors in total, and only showing the first three "
    "errors at most: [{shown}]"
)


INVALID_TIMESTAMP = "One or more records have been rejected due to invalid timestamp"


def rejected_message(errors: Sequence[tuple[int, str]]) -> str:
    """Return the summary of the invalid records of a batch."""
    shown = ", ".join(f"RecordError(batchIndex={place}, message='{text}')" for place, text in errors[:_SHOWN])
    return _REJECTED.format(count=len(errors), shown=shown)


_FOREVER = 2**63 - 1


class TimestampLimits(NamedTuple):
    """Most milliseconds that a timestamp may be before and after the broker's time."""

    before: int
    after: int


def timestamp_limits(config: Callable[[str], str]) -> TimestampLimits:
    """Return a topic's limits. config: returns the value of a key."""
    return TimestampLimits(
        int(config("message.timestamp.before.max.ms")), int(config("message.timestamp.after.max.ms"))
    )


def out_of_range(batch: record_batch.Batch, allowed: TimestampLimits, now: int) -> tuple[tuple[int, str], ...]:
    """Return the records out of range, by position, with Kafka's messages (LogValidator.validateTimestamp). now:
    milliseconds."""
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
    """Return a sum as Java computes it, with overflow."""
    return (number + 2**63) % 2**64 - 2**63


_ADDS_FROM = 12
"""The first version with which records add their partition to the transaction (KIP-890)."""
_ZSTD_FROM = 7
"""The first version of Produce that accepts zstd (KIP-110)."""
ALL_REPLICAS = -1
_MILLISECONDS = 1000


class Appended(NamedTuple):
    """The result for a batch.

    offset: of its first record. append_time: milliseconds, if the broker set the timestamps. rejected: positions of
    invalid records, with messages.
    """

    code: int
    offset: int = NO_OFFSET
    append_time: int | None = None
    start: int = NO_OFFSET
    message: str | None = None
    rejected: tuple[tuple[int, str], ...] = ()


def append(
    context: RequestContext, held: partitions.LedPartition, data: bytes, acks: int, transactional_id: str | None = None
) -> Appended:
    """Check and append a batch (UnifiedLog.append, Partition.appendRecordsToLeader).

    Args:
        data: one batch of format v2, as it was on the wire.
        acks: 0, 1, or ALL_REPLICAS, which needs min.insync.replicas.

    Returns:
        The offset of the first record, or the error with the records that are invalid.
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
    if known is not None:  # with its own time, as Kafka answers
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
    """Return the error code for records that are not part of their producer's transaction, 0 if they are."""
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
    # Checked at steps only: counting the bytes of all logs costs too much for every batch.
    if log.size // partitions.ROOM_STEP > before // partitions.ROOM_STEP:
        partitions.make_room(state)
    state.touch()
    return offset


def _config(context: RequestContext, name: str, key: str) -> str:
    return topic_config(context.cluster, context.broker_id, name, key)


def _least_in_sync(context: RequestContext, held: partitions.LedPartition) -> int:
    """Return min.insync.replicas, at most all replicas (Partition.effectiveMinIsr; measured)."""
    wanted = int(_config(context, held.topic.name, "min.insync.replicas"))
    return min(wanted, len(held.partition.replicas))


def _rejected(held: partitions.LedPartition, places: list[int]) -> Appended:
    """Return the refusal of records without a key, which a compacted topic can't keep (LogValidator.validateKey)."""
    text = f"Compacted topic cannot accept message without key in topic partition {held.topic.name}-{held.place}"
    errors = tuple((place, text) for place in places)
    return Appended(ErrorCode.invalid_record, start=held.log.start, message=rejected_message(errors), rejected=errors)
