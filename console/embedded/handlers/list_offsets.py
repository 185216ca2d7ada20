"""ListOffsets (2), v1-11: the offsets of a log's start, its end, or a timestamp (KafkaApis.handleListOffsetRequest).

Needs DESCRIBE on the topic.

Version notes:
- v2: the isolation level (KIP-98).
- v4: leader epochs (KIP-320).
- v6: flexible.
- v7: the newest timestamp (KIP-734).
- v8, v9, v11: the bounds of tiered storage (KIP-405, KIP-1005, KIP-1023).

Differences from Kafka: what is in remote storage is as a scenario says of a log; nothing is copied there.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import partitions
from console.embedded.context import RequestContext
from console.embedded.partition_log import NO_OFFSET, PartitionLog
from console.embedded.transactions import expire
from console.wire.fields import for_version

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6
_SINCE = {LATEST: 0, EARLIEST: 0, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING: 11}
"""Special timestamp -> the first version that has it."""
ANY_REPLICA = -2
"""ListOffsetsRequest.DEBUGGING_REPLICA_ID."""
READ_COMMITTED = 1
"""The isolation level at which a log ends at its last stable offset."""
_NEVER = 1000
"""A version that no request has."""
_NO_TIME = _NO_EPOCH = -1


class _Place(NamedTuple):
    code: int
    timestamp: int = _NO_TIME
    offset: int = NO_OFFSET
    epoch: int = _NO_EPOCH


async def handle(request: Any, context: RequestContext) -> Any:
    """Return an offset or an error for each partition. Ends first the transactions that have timed out."""
    schema = context.schema
    expire(context.cluster)
    stable = getattr(request, "isolation_level", 0) == READ_COMMITTED
    return context.answer(
        topics=tuple(
            schema.ListOffsetsTopicResponse(
                name=item.name, partitions=tuple(_partitions(context, item, request.replica_id, stable=stable))
            )
            for item in request.topics
        )
    )


def _partitions(context: RequestContext, item: Any, asker: int, *, stable: bool) -> list[Any]:
    named = partitions.asked_topic(context, item)
    often = Counter(part.partition_index for part in item.partitions)
    answers = []
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
        answers.append(
            for_version(
                context.schema.ListOffsetsPartitionResponse,
                partition_index=part.partition_index,
                error_code=place.code,
                timestamp=place.timestamp,
                offset=place.offset,
                leader_epoch=place.epoch,
            )
        )
    return answers


def _place(context: RequestContext, named: partitions.AskedTopic, part: Any, *, stable: bool) -> _Place:
    found = partitions.led_partition(
        context, named, part.partition_index, getattr(part, "current_leader_epoch", _NO_EPOCH)
    )
    if isinstance(found, partitions.NotServed):
        return _Place(found.code)
    partitions.apply_retention(context, found)
    return _at(found, part.timestamp, stable=stable)


def _place_of_replica(context: RequestContext, named: partitions.AskedTopic, part: Any) -> _Place:
    """Return the offset in the log of this broker, a follower too. Only the end is kept for each replica."""
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
    # A record of an open transaction is not there for a client that reads what is committed.
    hidden = record is not None and stable and record[1] >= log.stable
    return _Place(0) if record is None or hidden else _Place(0, *record)
