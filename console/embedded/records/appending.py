"""What a leader does with a producer's batch (UnifiedLog.append, Partition.appendRecordsToLeader)."""

from __future__ import annotations

from typing import NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded.configs.topic_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.records import messages
from console.embedded.records.batch import Batch, Codec, CorruptBatch, InvalidBatch, keyless, produced
from console.embedded.records.log import NO_OFFSET
from console.embedded.records.partitions import Held
from console.embedded.records.producers import FencedProducer, OutOfOrderSequence
from console.embedded.records.retention import ROOM_STEP, apply_retention, make_room
from console.embedded.records.timestamps import limits, out_of_range

_ZSTD_FROM = 7
"""Produce's first version that may carry zstd (KIP-110)."""
_NO_MORE_THAN_REPLICAS_FROM = (3, 0)
ALL_REPLICAS = -1
_MILLISECONDS = 1000


class Appended(NamedTuple):
    """What became of a batch. offset: of its first record. append_time: milliseconds where the broker gave the time.
    rejected: its records that are at fault, by their place, and why."""

    code: int
    offset: int = NO_OFFSET
    append_time: int | None = None
    start: int = NO_OFFSET
    message: str | None = None
    rejected: tuple[tuple[int, str], ...] = ()


def append(context: RequestContext, held: Held, data: bytes, acks: int) -> Appended:
    """Check a batch and append it, or say why not."""
    try:
        batch = produced(data)
    except CorruptBatch:
        return Appended(ErrorCode.corrupt_message)
    except InvalidBatch:
        return Appended(ErrorCode.invalid_record)
    name, start = held.topic.name, held.log.start
    if batch.codec not in tuple(Codec) or (batch.codec == Codec.ZSTD and context.version < _ZSTD_FROM):
        return Appended(ErrorCode.unsupported_compression_type)
    if acks == ALL_REPLICAS and len(held.partition.isr) < _least_in_sync(context, held):
        return Appended(ErrorCode.not_enough_replicas, start=start)
    if len(data) > int(_config(context, name, "max.message.bytes")):
        return Appended(ErrorCode.message_too_large)
    if "compact" in _config(context, name, "cleanup.policy") and (places := keyless(batch)):
        return _rejected(context, held, places)
    try:
        known = held.log.producers.duplicate(batch)
    except FencedProducer:
        return Appended(ErrorCode.invalid_producer_epoch, start=start)
    except OutOfOrderSequence:
        return Appended(ErrorCode.out_of_order_sequence_number, start=start)
    if known is not None:  # told with its own time, as Kafka does
        return Appended(0, known.base_offset, known.max_timestamp, held.log.start)
    append_time, now = None, int(context.clock.time() * _MILLISECONDS)
    if _config(context, name, "message.timestamp.type") == "LogAppendTime":
        append_time = now
    else:
        allowed = limits(context.cluster.release.number, lambda key: _config(context, name, key))
        if errors := out_of_range(batch, allowed, now):
            return Appended(
                ErrorCode.invalid_timestamp, start=start, message=messages.INVALID_TIMESTAMP, rejected=errors
            )
    offset = _appended(context, held, batch, append_time)
    return Appended(0, offset, append_time, held.log.start)


def _appended(context: RequestContext, held: Held, batch: Batch, append_time: int | None) -> int:
    state, log = context.state, held.log
    state.logs[held.topic.name, held.place] = log
    before = log.size
    offset = log.append(batch, held.partition.leader_epoch, append_time)
    apply_retention(context, held)
    if log.size // ROOM_STEP > before // ROOM_STEP:
        make_room(state)
    state.touch()
    return offset


def _config(context: RequestContext, name: str, key: str) -> str:
    return topic_config(context.cluster, context.broker_id, name, key)


def _least_in_sync(context: RequestContext, held: Held) -> int:
    """min.insync.replicas; in newer Kafka no more than there are replicas (Partition.effectiveMinIsr; measured)."""
    wanted = int(_config(context, held.topic.name, "min.insync.replicas"))
    newer = context.cluster.release.number >= _NO_MORE_THAN_REPLICAS_FROM
    return min(wanted, len(held.partition.replicas)) if newer else wanted


def _rejected(context: RequestContext, held: Held, places: list[int]) -> Appended:
    """A compacted topic takes no records without a key (LogValidator.validateKey)."""
    release, where = context.cluster.release.name, f"{held.topic.name}-{held.place}"
    errors = tuple((place, messages.keyless(release, where)) for place in places)
    return Appended(
        ErrorCode.invalid_record, start=held.log.start, message=messages.rejected(release, errors), rejected=errors
    )
