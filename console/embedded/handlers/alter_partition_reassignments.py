"""AlterPartitionReassignments (45), v0-1: starts and cancels moves of replicas (KIP-455;
ReplicationControlManager).

Needs ALTER on the cluster.

Version notes:
- v1: AllowReplicationFactorChange (KIP-860).

Differences from Kafka: no bytes travel, a new replica is in sync after the time that a copy would take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, EXPIRED, Refusal, cluster_refused
from console.embedded.replicas import start_move


async def handle(request: Any, context: RequestContext) -> Any:
    """Start or cancel the moves, and return a result for each partition without waiting for the copies."""
    cluster = context.cluster
    # v0 has no such field: there the replication factor may always change.
    any_replication = getattr(request, "allow_replication_factor_change", True)
    if not context.allowed("ALTER"):
        return _answered(request, context, cluster_refused(context, "ALTER"))
    if request.timeout.total_seconds() <= 0:
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
    schema = context.schema
    message = top.message if top.code or request.topics else ""
    return context.answer(
        allow_replication_factor_change=getattr(request, "allow_replication_factor_change", True),
        error_code=top.code,
        error_message=message,
        responses=tuple(
            schema.ReassignableTopicResponse(
                name=topic.name,
                partitions=tuple(
                    schema.ReassignablePartitionResponse(
                        partition_index=part.partition_index, error_code=refusal.code, error_message=refusal.message
                    )
                    for part in topic.partitions
                    for refusal in (result(topic.name, part.partition_index, part.replicas),)
                ),
            )
            for topic in request.topics
        ),
    )
