"""WriteTxnMarkers (27), v1-2: ends transactions in partitions (KIP-98); for brokers, and for what hangs (KIP-664).

Needs CLUSTER_ACTION or ALTER on the cluster.

Version notes:
- v1: flexible.
- v2: the transaction's version, which is not compared here (KIP-1228).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.partitions import NotServed, asked_topic, led_partition
from console.embedded.producers import FencedCoordinator, FencedProducer
from console.embedded.transactions import append_marker


async def handle(request: Any, context: RequestContext) -> Any:
    """Append a marker to each partition, and return its error code."""
    schema = context.schema
    allowed = context.allowed("ALTER") or context.allowed("CLUSTER_ACTION")
    return context.answer(
        markers=tuple(
            schema.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=tuple(
                    schema.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=tuple(
                            schema.WritableTxnMarkerPartitionResult(
                                partition_index=number,
                                error_code=_write(context, marker, topic, number)
                                if allowed
                                else int(ErrorCode.cluster_authorization_failed),
                            )
                            for number in topic.partition_indexes
                        ),
                    )
                    for topic in marker.topics
                ),
            )
            for marker in request.markers
        )
    )


def _write(context: RequestContext, marker: Any, topic: Any, number: int) -> int:
    found = led_partition(context, asked_topic(context, topic), number)
    if isinstance(found, NotServed):
        return found.code
    try:
        append_marker(
            context.cluster,
            (topic.name, number),
            int(marker.producer_id),
            marker.producer_epoch,
            marker.coordinator_epoch,
            commit=marker.transaction_result,
        )
    except FencedProducer:
        return int(ErrorCode.invalid_producer_epoch)
    except FencedCoordinator:
        return int(ErrorCode.transaction_coordinator_fenced)
    return 0
