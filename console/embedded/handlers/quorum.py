"""The quorum: its description and its voters."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import voters as embedded_voters
from console.embedded.answers import elements
from console.embedded.context import CONTROLLER_LISTENER, RequestContext
from console.embedded.refusals import CLUSTER_REFUSED, DONE, Refusal
from console.embedded.state import answering
from console.embedded.tables import BrokerNode, ControllerNode
from console.embedded.topics import METADATA_TOPIC

_NOT_HOSTED = "This server does not host this topic-partition."
_NOT_LEADER = (
    "For requests intended only for the leader, this error indicates that the broker is not the current leader. For "
    "requests intended for any replica, this error indicates that the broker is not a replica of the topic partition."
)


_NODES_FROM = 2
_PLACES = (("topics", "topics"), ("partitions", "partitions"))


async def describe_quorum(request: Any, context: RequestContext) -> Any:
    """DescribeQuorum (55), v0-2: leader and voters of the metadata log, and their offsets (KIP-595).

    Return the quorum. As in Kafka, the one requested partition must be that of the metadata log.

    Needs DESCRIBE on the cluster.

    Version notes:
    - v1: times of a replica's last fetch and of its last catch-up (KIP-836).
    - v2: directory ids, nodes and error messages (KIP-853).

    Differences from Kafka: if the brokers are also the controllers, their endpoints have no listeners.
    """
    if not context.allowed("DESCRIBE"):
        return context.answer(error_code=ErrorCode.cluster_authorization_failed, error_message=CLUSTER_REFUSED)
    asked = [(topic.topic_name, part.partition_index) for topic in request.topics for part in topic.partitions]
    refusal = None
    if asked != [(METADATA_TOPIC, 0)]:
        refusal = Refusal(ErrorCode.unknown_topic_or_partition, _NOT_HOSTED)
    elif not embedded_voters.answers_for_quorum(context):
        refusal = Refusal(ErrorCode.not_leader_or_follower, _NOT_LEADER)
    topics = elements(context.messages.response, request, _PLACES, lambda _topic, _part: refusal or _partition(context))
    if refusal is not None or context.version < _NODES_FROM:
        return context.answer(error_message="", **topics)
    nodes = tuple(_endpoints(context, each) for each in embedded_voters.voters(context.state))
    return context.answer(error_message="", nodes=nodes, **topics)


def _endpoints(context: RequestContext, node: int) -> Any:
    controller = context.state.controllers.get(node)
    if controller is None:
        return {"node_id": node}
    listener = {"name": CONTROLLER_LISTENER, "host": controller.host, "port": controller.port}
    return {"node_id": node, "listeners": (listener,)}


def _partition(context: RequestContext) -> dict[str, Any]:
    state, now = context.state, int(context.clock.time() * 1000)
    nodes = embedded_voters.candidates(state)
    return {
        "error_message": "",
        "leader_id": state.controller_id,
        "leader_epoch": state.controller_epoch,
        "high_watermark": state.log.end,
        "current_voters": tuple(_replica(context, nodes[each], now) for each in embedded_voters.voters(state)),
        "observers": tuple(_replica(context, each, now) for each in embedded_voters.observers(state)),
    }


def _replica(context: RequestContext, node: BrokerNode | ControllerNode, now: int) -> Any:
    end, fetched, caught_up = context.cluster.propagation.applied(node.id), now, now
    if isinstance(node, ControllerNode) and node.behind:
        end, caught_up = max(end - node.behind, 0), int(node.behind_since * 1000)
    stopped = context.state.stopped_at.get(node.id)
    if stopped is not None:
        fetched = caught_up = int(stopped * 1000)
    elif not node.alive:
        fetched = caught_up = -1
    return {
        "replica_id": node.id,
        "replica_directory_id": embedded_voters.directory_id(context.state, node.id),
        "log_end_offset": end,
        "last_fetch_timestamp": fetched,
        "last_caught_up_timestamp": caught_up,
    }


async def add_raft_voter(request: Any, context: RequestContext) -> Any:
    """AddRaftVoter (80), v0-1: adds a controller to the voters (KIP-853; AddVoterHandler).

    Add the voter, and return the error code, 0 for success.

    Needs ALTER on the cluster.

    Version notes:
    - v1: whether the response waits until the new voters have committed the change; here they always have.

    Differences from Kafka: only a node of this cluster can be added: a separate controller or, if the brokers are the
    controllers, a broker that was removed from the voters before. It is a voter at once. The listeners in the request
    are ignored, and state files do not store the voters.
    """
    refusal = embedded_voters.refused(request, context, "add") or _add(request, context)
    return context.answer(error_code=refusal.code, error_message=refusal.message)


def _add(request: Any, context: RequestContext) -> Refusal:
    state, node = context.state, int(request.voter_id)
    key, nodes = embedded_voters.replica_key(node, request.voter_directory_id), embedded_voters.candidates(state)
    if node in nodes and node not in state.no_voters:
        return Refusal(
            ErrorCode.duplicate_voter,
            f"The voter id for {key} is already part of the set of voters {embedded_voters.voter_set(state)}.",
        )
    known = nodes.get(node)
    if known is None or not known.alive or request.voter_directory_id != embedded_voters.directory_id(state, node):
        return Refusal(ErrorCode.request_timed_out, f"New voter {key} is not ready to receive requests")
    state.no_voters.discard(node)
    return DONE


async def remove_raft_voter(request: Any, context: RequestContext) -> Any:
    """RemoveRaftVoter (81), v0: removes a controller from the voters (KIP-853; RemoveVoterHandler).

    Remove the voter, and return the error code, 0 for success.

    Needs ALTER on the cluster.

    Differences from Kafka: the voter is removed at once, even if the remaining voters have no majority of live nodes.
    State files do not store the voters.
    """
    refusal = embedded_voters.refused(request, context, "remove") or _remove(request, context)
    return context.answer(error_code=refusal.code, error_message=refusal.message)


def _remove(request: Any, context: RequestContext) -> Refusal:
    state, node = context.state, int(request.voter_id)
    there = embedded_voters.voters(state)
    if node not in there or request.voter_directory_id != embedded_voters.directory_id(state, node) or there == [node]:
        key = embedded_voters.replica_key(node, request.voter_directory_id)
        message = f"Cannot remove voter {key} from the set of voters {embedded_voters.voter_set(state)}"
        return Refusal(ErrorCode.voter_not_found, message)
    state.no_voters.add(node)
    if state.controllers:
        embedded_voters.elect(state)
    elif state.controller_id == node:
        alive = [each for each in embedded_voters.voters(state) if each in answering(state)]
        state.move_controller(alive[0] if alive else -1)
    return DONE
