"""DescribeQuorum (55), v0-2: leader and voters of the metadata log, and their offsets (KIP-595).

Needs DESCRIBE on the cluster.

Version notes:
- v1: when a replica fetched and when it had caught up (KIP-836).
- v2: directory ids, nodes and error messages (KIP-853).

Differences from Kafka: all nodes are brokers and controllers at once, and their endpoints have no listeners.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import CLUSTER_REFUSED
from console.embedded.tables import BrokerNode
from console.embedded.topics import METADATA_TOPIC
from console.embedded.voters import directory_id, voters
from console.wire.schemas import for_version

_NOT_HOSTED = "This server does not host this topic-partition."


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the quorum. As in Kafka, the one requested partition must be that of the metadata log."""
    schema = context.schema
    if not context.allowed("DESCRIBE"):
        return for_version(
            schema.DescribeQuorumResponse,
            error_code=ErrorCode.cluster_authorization_failed,
            error_message=CLUSTER_REFUSED,
            topics=(),
            nodes=(),
        )
    asked = [(topic.topic_name, part.partition_index) for topic in request.topics for part in topic.partitions]
    known = asked == [(METADATA_TOPIC, 0)]
    return for_version(
        schema.DescribeQuorumResponse,
        error_code=0,
        error_message="",
        topics=tuple(
            schema.TopicData(
                topic_name=topic.topic_name,
                partitions=tuple(
                    _partition(context) if known else _refused(schema, part.partition_index)
                    for part in topic.partitions
                ),
            )
            for topic in request.topics
        ),
        nodes=tuple(schema.Node(node_id=broker, listeners=()) for broker in voters(context.state))
        if known and context.version >= 2
        else (),
    )


def _refused(schema: Any, index: int) -> Any:
    return for_version(
        schema.PartitionData,
        partition_index=index,
        error_code=ErrorCode.unknown_topic_or_partition,
        error_message=_NOT_HOSTED,
        leader_id=0,
        leader_epoch=0,
        high_watermark=0,
        current_voters=(),
        observers=(),
    )


def _partition(context: RequestContext) -> Any:
    state, schema = context.state, context.schema
    now = int(context.clock.time() * 1000)
    return for_version(
        schema.PartitionData,
        partition_index=0,
        error_code=0,
        error_message="",
        leader_id=state.controller_id,
        leader_epoch=state.controller_epoch,
        high_watermark=state.log.end,
        current_voters=tuple(_replica(context, state.brokers[each], now) for each in voters(state)),
        observers=tuple(
            _replica(context, broker, now) for each in sorted(state.no_voters) if (broker := state.brokers.get(each))
        ),
    )


def _replica(context: RequestContext, broker: BrokerNode, now: int) -> Any:
    return for_version(
        context.schema.ReplicaState,
        replica_id=broker.id,
        replica_directory_id=directory_id(context.state, broker.id),
        log_end_offset=context.cluster.propagation.applied(broker.id),
        last_fetch_timestamp=now if broker.alive else -1,
        last_caught_up_timestamp=now if broker.alive else -1,
    )
