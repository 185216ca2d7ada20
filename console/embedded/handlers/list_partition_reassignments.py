"""ListPartitionReassignments (46), v0: the moves of replicas under way (KIP-455).

Needs DESCRIBE on the cluster. The answer has no bytes: those are in DescribeLogDirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, cluster_refused
from console.embedded.replicas import is_moving
from console.embedded.tables import Topic


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the moves. Null topics are all; partitions without a move, and unknown ones, are left out."""
    schema = context.schema
    refused = not context.allowed("DESCRIBE")
    top = cluster_refused(context, "DESCRIBE") if refused else DONE
    topics: Iterator[tuple[Topic, Iterable[int]]] = iter(())
    if not refused:
        topics = _all(context) if request.topics is None else _named(request, context)
    return context.answer(
        error_code=top.code,
        error_message=top.message,
        topics=tuple(
            schema.OngoingTopicReassignment(
                name=topic.name,
                partitions=tuple(_partition(schema, index, topic.partitions[index]) for index in moving),
            )
            for topic, indexes in topics
            if (moving := [index for index in indexes if is_moving(topic.partitions[index])])
        ),
    )


def _all(context: RequestContext) -> Iterator[tuple[Topic, Iterable[int]]]:
    """Yield every topic that may have moves: those of a generated source never move."""
    for topic in context.state.tables.topics.own.values():
        yield topic, range(len(topic.partitions))


def _named(request: Any, context: RequestContext) -> Iterator[tuple[Topic, Iterable[int]]]:
    for asked in request.topics:
        topic = context.state.topics.get(asked.name)
        if topic is not None:
            yield topic, [index for index in asked.partition_indexes if 0 <= index < len(topic.partitions)]


def _partition(schema: Any, index: int, partition: Any) -> Any:
    return schema.OngoingPartitionReassignment(
        partition_index=index,
        replicas=partition.replicas,
        adding_replicas=partition.adding,
        removing_replicas=partition.removing,
    )
