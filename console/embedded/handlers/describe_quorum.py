"""DescribeQuorum (55), v0-2: leader and voters of the metadata log, and their offsets (KIP-595).

Needs DESCRIBE on the cluster.

Version notes:
- v1: when a replica fetched and when it had caught up (KIP-836).
- v2: directory ids, nodes and error messages (KIP-853).

Differences from Kafka: where the brokers are the controllers, too, their endpoints have no listeners.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import CONTROLLER_LISTENER, RequestContext
from console.embedded.refusals import CLUSTER_REFUSED, Refusal
from console.embedded.tables import BrokerNode, ControllerNode
from console.embedded.topics import METADATA_TOPIC
from console.embedded.voters import answers_for_quorum, candidates, directory_id, observers, voters
from console.wire.fields import for_version

_NOT_HOSTED = "This server does not host this topic-partition."
_NOT_LEADER = (
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. For "
    "requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."
)


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the quorum. As in Kafka, the one requested partition must be that of the metadata log."""
    schema = context.schema
    if not context.allowed("DESCRIBE"):
        return context.answer(
            error_code=ErrorCode.cluster_authorization_failed,
            error_message=CLUSTER_REFUSED,
            topics=(),
            nodes=(),
        )
    asked = [(topic.topic_name, part.partition_index) for topic in request.topics for part in topic.partitions]
    refusal = None
    if asked != [(METADATA_TOPIC, 0)]:
        refusal = Refusal(ErrorCode.unknown_topic_or_partition, _NOT_HOSTED)
    elif not answers_for_quorum(context):
        refusal = Refusal(ErrorCode.not_leader_or_follower, _NOT_LEADER)
    return context.answer(
        error_code=0,
        error_message="",
        topics=tuple(
            schema.TopicData(
                topic_name=topic.topic_name,
                partitions=tuple(
                    _partition(context) if refusal is None else _refused(schema, part.partition_index, refusal)
                    for part in topic.partitions
                ),
            )
            for topic in request.topics
        ),
        nodes=tuple(_endpoints(context, each) for each in voters(context.state))
        if refusal is None and context.version >= 2
        else (),
    )


def _endpoints(context: RequestContext, node: int) -> Any:
    schema, controller = context.schema, context.state.controllers.get(node)
    if controller is None:
        return schema.Node(node_id=node, listeners=())
    listener = schema.Listener(name=CONTROLLER_LISTENER, host=controller.host, port=controller.port)
    return schema.Node(node_id=node, listeners=(listener,))


def _refused(schema: Any, index: int, refusal: Refusal) -> Any:
    return for_version(
        schema.PartitionData,
        partition_index=index,
        error_code=refusal.code,
        error_message=refusal.message,
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
        current_voters=tuple(_replica(context, candidates(state)[each], now) for each in voters(state)),
        observers=tuple(_replica(context, each, now) for each in observers(state)),
    )


def _replica(context: RequestContext, node: BrokerNode | ControllerNode, now: int) -> Any:
    end, fetched, caught_up = context.cluster.propagation.applied(node.id), now, now
    if isinstance(node, ControllerNode) and node.behind:
        end, caught_up = max(end - node.behind, 0), int(node.behind_since * 1000)
    if not node.alive:
        stopped = context.state.stopped_at.get(node.id)
        fetched = caught_up = -1 if stopped is None else int(stopped * 1000)
    return for_version(
        context.schema.ReplicaState,
        replica_id=node.id,
        replica_directory_id=directory_id(context.state, node.id),
        log_end_offset=end,
        last_fetch_timestamp=fetched,
        last_caught_up_timestamp=caught_up,
    )
