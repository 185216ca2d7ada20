"""Produce: a batch for each partition, appended by its leader (KafkaApis.handleProduceRequest)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.embedded.records.appending import ALL_REPLICAS, Appended, append
from console.embedded.records.log import NO_OFFSET
from console.embedded.records.partitions import Asked, Refusal, asked, held, told_endpoints, told_leader
from console.embedded.state.values import NO_LEADER
from console.wire.schemas import for_version

_NOBODY = 0
_ADMIN_CLIENT = "__admin_client"
"""The client id that may write to internal topics (AdminUtils)."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def handle(request: Any, context: RequestContext) -> Any:
    """v3-13; v13 has ids in the place of names. With acks=0 there is no answer."""
    leaders: set[int] = set()
    responses = tuple(_topic(request, context, item, leaders) for item in request.topic_data)
    if request.acks == _NOBODY:
        if any(part.error_code for topic in responses for part in topic.partition_responses):
            context.session.ending = "records that nobody waits for could not be written"  # all that Kafka can say
        return None
    return for_version(
        context.schema.ProduceResponse,
        responses=responses,
        throttle_time=NO_TIME,
        **(told_endpoints(context, leaders) if leaders else {}),
    )


def _topic(request: Any, context: RequestContext, item: Any, leaders: set[int]) -> Any:
    schema = context.schema
    named = asked(context, item)
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


def _partition(request: Any, context: RequestContext, named: Asked, part: Any, leaders: set[int]) -> Any:
    schema = context.schema
    if request.acks not in (ALL_REPLICAS, _NOBODY, 1):
        return _answer(schema, part.index, Appended(ErrorCode.invalid_required_acks))
    if request.transactional_id is not None:
        return _answer(schema, part.index, Appended(ErrorCode.unsupported_version))
    if named.topic is not None and named.topic.internal and context.client_id != _ADMIN_CLIENT:
        return _answer(schema, part.index, Appended(ErrorCode.invalid_topic_exception))
    found = held(context, named, part.index)
    if isinstance(found, Refusal):
        if found.leader != NO_LEADER:
            leaders.add(found.leader)
        return _answer(schema, part.index, Appended(found.code), **told_leader(schema, found))
    return _answer(schema, part.index, append(context, found, part.records or b"", request.acks))


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
