"""AlterReplicaLogDirs (34), v1-2: moves replicas into other directories of their broker (KIP-113; ReplicaManager).

Every broker answers for its own replicas. Needs ALTER on the cluster.

Version notes:
- v2: flexible.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.replica_dirs import cordoned_dirs, dir_of, start_copy


async def handle(request: Any, context: RequestContext) -> Any:
    """Start the copies, and return a result for each partition."""
    schema, allowed = context.schema, context.allowed("ALTER")
    results: dict[str, list[Any]] = {}
    for item in request.dirs:
        for topic in item.topics:
            for number in topic.partitions:
                code = _move(context, item.path, topic.name, number) if allowed else _REFUSED
                results.setdefault(topic.name, []).append(
                    schema.AlterReplicaLogDirPartitionResult(partition_index=number, error_code=ErrorCode(code))
                )
    return context.answer(
        results=tuple(
            schema.AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(parts))
            for name, parts in results.items()
        )
    )


_REFUSED = ErrorCode.cluster_authorization_failed


def _move(context: RequestContext, path: str, name: str, number: int) -> int:
    broker = context.state.brokers[context.broker_id]
    if path not in broker.log_dirs:
        return ErrorCode.log_dir_not_found
    topic = context.state.topics.get(name)
    if topic is None or not 0 <= number < len(topic.partitions):
        return ErrorCode.unknown_topic_or_partition
    if broker.id not in topic.partitions[number].replicas:
        return ErrorCode.not_leader_or_follower
    # A cordoned directory takes no further replicas; one that is there already may be named again (KIP-1066).
    if path in cordoned_dirs(context.state, broker.id) and dir_of(context.cluster, topic, number, broker.id) != path:
        return ErrorCode.invalid_replica_assignment
    start_copy(context.cluster, topic, number, broker.id, path)
    return 0
