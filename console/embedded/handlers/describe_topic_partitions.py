"""DescribeTopicPartitions (75), v0: topics by name, in pages (KIP-966; DescribeTopicPartitionsRequestHandler).

Leaves out topics that may not be described, unless the request names them. Reports eligible leader replicas, which
Metadata does not.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_OPERATIONS, TOPIC_OPERATIONS
from console.embedded.config_alter import ELR
from console.embedded.context import RequestContext
from console.embedded.tables import NO_LEADER, Partition, Topic
from console.embedded.topics import is_legal

MAX_PARTITIONS = 2000
"""Partitions of one response (max.request.partition.size.limit)."""


async def handle(request: Any, context: RequestContext) -> Any:
    """Return a page of partitions, and the cursor of the next one. No topics are all.

    The cursor continues an earlier response; its topic must be among the requested ones.
    """
    schema, view, cursor = context.schema, context.view, request.cursor
    everything = not request.topics
    begin = cursor.topic_name if cursor else ""
    asked = view.topics if everything else {topic.name for topic in request.topics}
    # Topics come in the order of their names, on which the cursor depends: a topic created meanwhile behind it is still
    # found.
    names = sorted(name for name in asked if name >= begin)
    if cursor and (cursor.partition_index < 0 or (not everything and begin not in names)):
        failed = tuple(_empty(schema, topic.name, ErrorCode.invalid_request) for topic in request.topics)
        return context.answer(topics=failed)
    allowed = [name for name in names if context.allowed("DESCRIBE", "TOPIC", name)]
    # A limit below 1 still gets one partition, so that a cursor always moves on.
    left = max(min(MAX_PARTITIONS, request.response_partition_limit), 1)
    topics: list[Any] = []
    following: Any = None
    for name in allowed:
        if left == 0:
            following = schema.Cursor(topic_name=name, partition_index=0)
            break
        topic = view.topics.get(name)
        if topic is None:
            if not everything:
                code = ErrorCode.unknown_topic_or_partition if is_legal(name) else ErrorCode.invalid_topic_exception
                topics.append(_empty(schema, name, code, context.operations(TOPIC_OPERATIONS, "TOPIC", name)))
            continue
        first = cursor.partition_index if cursor and name == begin else 0
        last = min(first + left, len(topic.partitions))
        topics.append(_topic(context, topic, first, last))
        left -= max(last - first, 0)
        if last < len(topic.partitions):
            following = schema.Cursor(topic_name=name, partition_index=last)
            break
    if not everything:
        topics += [
            _empty(schema, name, ErrorCode.topic_authorization_failed) for name in names if name not in set(allowed)
        ]
    return context.answer(topics=tuple(topics), next_cursor=following)


def _empty(schema: Any, name: str, code: int, operations: int = NO_OPERATIONS) -> Any:
    return schema.DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_id=None, partitions=(), topic_authorized_operations=operations
    )


def _topic(context: RequestContext, topic: Topic, first: int, last: int) -> Any:
    alive = frozenset(broker.id for broker in context.view.brokers.values() if broker.alive)
    return context.schema.DescribeTopicPartitionsResponseTopic(
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.internal,
        partitions=tuple(_partition(context, index, topic.partitions[index], alive) for index in range(first, last)),
        topic_authorized_operations=context.operations(TOPIC_OPERATIONS, "TOPIC", topic.name),
    )


def _partition(context: RequestContext, index: int, partition: Partition, alive: frozenset[int]) -> Any:
    """Return one partition.

    With eligible leader replicas a partition that lost the last of its ISR has none: that replica is eligible, and the
    last known leader (PartitionChangeBuilder; seen so on 4.3).
    """
    led = partition.leader in alive
    eligible = partition.isr if not led and context.state.features.get(ELR) else ()
    return context.schema.DescribeTopicPartitionsResponsePartition(
        error_code=0 if led else ErrorCode.leader_not_available,
        partition_index=index,
        leader_id=partition.leader if led else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=() if eligible else partition.isr,
        eligible_leader_replicas=eligible,
        last_known_elr=eligible[:1],
        offline_replicas=tuple(replica for replica in partition.replicas if replica not in alive),
    )
