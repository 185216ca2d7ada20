"""DescribeProducers (61), v0: the producers of partitions, as a replica knows them (KIP-664).

Any replica answers, not the leader alone: that is how a producer is found that hangs on one. Needs READ on the topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.producers import ProducerEntry
from console.embedded.transactions import expire

_MESSAGES: Mapping[int, str] = {
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
}
"""Of errors of a whole topic; those of a partition have none."""


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the producers or an error for each partition."""
    schema = context.schema
    expire(context.cluster)
    return context.answer(
        topics=tuple(
            schema.TopicResponse(
                name=topic.name,
                partitions=tuple(_partition(context, topic.name, number) for number in topic.partition_indexes),
            )
            for topic in request.topics
        )
    )


def _partition(context: RequestContext, name: str, number: int) -> Any:
    schema = context.schema
    code = _error(context, name, number)
    log = context.state.logs.get((name, number)) if not code else None
    return schema.PartitionResponse(
        partition_index=number,
        error_code=code,
        error_message=_MESSAGES.get(code) if code and _of_topic(context, name, code) else None,
        active_producers=()
        if log is None
        else tuple(_producer(schema, id_, entry) for id_, entry in log.producers.entries()),
    )


def _error(context: RequestContext, name: str, number: int) -> int:
    if not context.allowed("READ", "TOPIC", name):
        return int(ErrorCode.topic_authorization_failed)
    topic = context.view.topics.get(name)
    if topic is None or not 0 <= number < len(topic.partitions):
        return int(ErrorCode.unknown_topic_or_partition)
    if context.broker_id not in topic.partitions[number].replicas:
        return int(ErrorCode.not_leader_or_follower)
    return 0


def _of_topic(context: RequestContext, name: str, code: int) -> bool:
    return code == ErrorCode.topic_authorization_failed or name not in context.view.topics


def _producer(schema: Any, id_: int, entry: ProducerEntry) -> Any:
    return schema.ProducerState(
        producer_id=id_,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.start,
    )
