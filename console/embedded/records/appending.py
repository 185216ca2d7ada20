"""What a leader does with a producer's batch (UnifiedLog.append, Partition.appendRecordsToLeader)."""

from __future__ import annotations

from typing import NamedTuple

from console.embedded.configs.topic_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.records.batch import Batch, Codec, CorruptBatch, InvalidBatch, keyless, produced
from console.embedded.records.log import NO_OFFSET
from console.embedded.records.partitions import Held
from console.embedded.records.producers import FencedProducer, OutOfOrderSequence
from console.embedded.records.retention import ROOM_STEP, apply_retention, make_room

_CORRUPT, _TOO_LARGE, _NOT_ENOUGH_REPLICAS = 2, 10, 19
_UNSUPPORTED_COMPRESSION, _INVALID_RECORD, _OUT_OF_ORDER, _INVALID_EPOCH = 76, 87, 45, 47
_ZSTD_FROM = 7
"""Produce's first version that may carry zstd (KIP-110)."""
ALL_REPLICAS = -1
_MILLISECONDS = 1000
_SHOWN = 3


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
        return Appended(_CORRUPT)
    except InvalidBatch as error:
        return Appended(_INVALID_RECORD, message=str(error))
    name = held.topic.name
    if batch.codec not in tuple(Codec) or (batch.codec == Codec.ZSTD and context.version < _ZSTD_FROM):
        return Appended(_UNSUPPORTED_COMPRESSION)
    if acks == ALL_REPLICAS and len(held.partition.isr) < int(_config(context, name, "min.insync.replicas")):
        return Appended(_NOT_ENOUGH_REPLICAS)
    if len(data) > int(_config(context, name, "max.message.bytes")):
        return Appended(_TOO_LARGE)
    if "compact" in _config(context, name, "cleanup.policy") and (places := keyless(batch)):
        return _rejected(held, places)
    try:
        known = held.log.producers.duplicate(batch)
    except FencedProducer:
        return Appended(_INVALID_EPOCH)
    except OutOfOrderSequence:
        return Appended(_OUT_OF_ORDER)
    append_time = None
    if _config(context, name, "message.timestamp.type") == "LogAppendTime":
        append_time = int(context.clock.time() * _MILLISECONDS)
    offset = _appended(context, held, batch, append_time) if known is None else known
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


def _rejected(held: Held, places: list[int]) -> Appended:
    """A compacted topic takes no records without a key (LogValidator.validateKey)."""
    where = f"{held.topic.name}-{held.place}"
    errors = tuple(
        (place, f"Compacted topic cannot accept message without key in topic partition {where}.") for place in places
    )
    shown = ", ".join(f"RecordError(batchIndex={place}, message='{text}')" for place, text in errors[:_SHOWN])
    message = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
        f"first three errors at most: [{shown}]"
    )
    return Appended(_INVALID_RECORD, message=message, rejected=errors)
