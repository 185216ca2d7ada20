"""AlterPartitionReassignments (45), v0-1: starts and cancels moves of replicas (KIP-455; ReplicationControlManager,
with ZooKeeper KafkaController).

Needs ALTER on the cluster.

Version notes:
- v1: AllowReplicationFactorChange (KIP-860).

Differences from Kafka: no bytes travel, a new replica is in sync after the time that a copy would take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from console.embedded.answers import NO_TIME
from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, EXPIRED, Refusal, cluster_refused, topic_messages
from console.embedded.replicas import start_move
from console.wire.schemas import for_version


async def handle(request: Any, context: RequestContext) -> Any:
    """Start or cancel the moves, and return a result for each partition without waiting for the copies."""
    cluster = context.cluster
    # v0 has no such field: there the replication factor may always change.
    any_replication = getattr(request, "allow_replication_factor_change", True)
    if not context.allowed("ALTER"):
        return _answered(request, context, cluster_refused(context, "ALTER"))
    if cluster.release.kraft and request.timeout.total_seconds() <= 0:
        return _answered(request, context, EXPIRED)

    def begin(name: str, index: int, replicas: Any) -> Refusal:
        # Null replicas cancel the move that is under way.
        target = None if replicas is None else tuple(replicas)
        return start_move(cluster, name, index, target, any_replication=any_replication)

    return _answer(request, context, begin)


def _answered(request: Any, context: RequestContext, refusal: Refusal) -> Any:
    """Return the same error for all partitions."""
    return _answer(request, context, lambda _name, _index, _replicas: refusal, refusal)


def _answer(
    request: Any, context: RequestContext, result: Callable[[str, int, Any], Refusal], top: Refusal = DONE
) -> Any:
    schema, texts = context.schema, topic_messages(context.cluster.release)
    message = top.message if top.code else (texts.move_top if request.topics else "")
    return for_version(
        schema.AlterPartitionReassignmentsResponse,
        throttle_time=NO_TIME,
        allow_replication_factor_change=getattr(request, "allow_replication_factor_change", True),
        error_code=top.code,
        error_message=message,
        responses=tuple(
            schema.ReassignableTopicResponse(
                name=name,
                partitions=tuple(
                    schema.ReassignablePartitionResponse(
                        partition_index=index, error_code=refusal.code, error_message=refusal.message
                    )
                    for index, replicas in parts
                    for refusal in (result(name, index, replicas),)
                ),
            )
            for name, parts in _asked(request, context)
        ),
    )


def _asked(request: Any, context: RequestContext) -> Iterable[tuple[str, Iterable[tuple[int, Any]]]]:
    """Yield topics with their partitions and target replicas. With ZooKeeper a repeated partition counts once, as named
    last."""
    asked = [
        (topic.name, [(part.partition_index, part.replicas) for part in topic.partitions]) for topic in request.topics
    ]
    if context.cluster.release.kraft:
        return asked
    merged: dict[str, dict[int, Any]] = {}
    for name, parts in asked:
        merged.setdefault(name, {}).update(parts)
    return [(name, list(parts.items())) for name, parts in merged.items()]
