"""The voters of the quorum, and its leader. The voters are the separate controllers, or the brokers if there are none,
except those that were removed (KIP-853).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import CLUSTER_REFUSED, Refusal
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER, BrokerNode, ControllerNode
from console.model.identity import uuid_text
from console.model.quorum import KRAFT_VERSION, majority

_DIRECTORIES = UUID("2f3b6f0e-6a0f-4d4e-9a6f-7c2b1d5e8a90")
_FORGOTTEN = 300.0
"""Seconds for which the leader still lists an observer after the last fetch of that observer (LeaderState)."""


def is_dynamic(state: ClusterState) -> bool:
    """Return whether clients can add and remove voters, as from kraft.version 1 on."""
    return state.features.get(KRAFT_VERSION, 0) > 0


def directory_id(state: ClusterState, node: int) -> UUID | None:
    """Return the id of the directory with a node's metadata log, as the quorum knows it; None if clients can't add and
    remove voters.
    """
    return uuid5(_DIRECTORIES, f"{state.cluster_id}/{node}") if is_dynamic(state) else None


def candidates(state: ClusterState) -> Mapping[int, BrokerNode | ControllerNode]:
    """Return id -> node, for the nodes that are voters or may become voters."""
    return state.controllers or state.brokers


def voters(state: ClusterState) -> list[int]:
    """Return the ids of the voters, sorted."""
    return sorted(candidates(state).keys() - state.no_voters)


def observers(state: ClusterState) -> list[BrokerNode | ControllerNode]:
    """Return the nodes that have the metadata log without being voters, sorted by id. Nodes that stopped more than
    `_FORGOTTEN` (300) seconds ago are left out.
    """
    brokers = state.brokers if state.controllers else {}
    found = {**brokers, **{each: node for each, node in candidates(state).items() if each in state.no_voters}}
    now = state.clock.time()
    return [
        node for each, node in sorted(found.items()) if node.alive or now - state.stopped_at.get(each, 0) < _FORGOTTEN
    ]


def elect(state: ClusterState) -> None:
    """Elect a live voter if the present leader is not one; if the live voters are no majority, there is no leader. Do
    nothing if the brokers are also the controllers.
    """
    if not state.controllers:
        return
    there = voters(state)
    alive = [each for each in there if state.controllers[each].alive]
    if len(alive) < majority(len(there)):
        leader = NO_LEADER
    elif state.controller_id in alive:
        return
    else:
        # Elect the voter with the most complete log: the others do not vote for a voter that is behind.
        leader = min(alive, key=lambda each: (state.controllers[each].behind, each))
    if leader != state.controller_id:
        state.move_controller(leader)


def controller_lost(state: ClusterState, node: int) -> None:
    """Record that a separate controller's process has ended. If it was the leader, another voter is elected if there is
    a majority.
    """
    state.controllers[node] = replace(state.controllers[node], alive=False)
    state.stopped_at[node] = state.clock.time()
    elect(state)


def controller_back(state: ClusterState, node: int) -> None:
    """Record that a separate controller runs again. It has all records at once."""
    state.controllers[node] = replace(state.controllers[node], alive=True, behind=0)
    state.stopped_at.pop(node, None)
    elect(state)


def replica_key(node: int, directory: UUID) -> str:
    """Return a voter's id and directory id in the form of Kafka's messages."""
    return f"ReplicaKey(id={node}, directoryId={uuid_text(directory)})"


def voter_set(state: ClusterState) -> str:
    """Return all voters in the form of Kafka's messages."""
    found = (replica_key(each, directory) for each in voters(state) if (directory := directory_id(state, each)))
    return f"[{', '.join(found)}]"


def answers_for_quorum(context: RequestContext) -> bool:
    """Return whether the receiving node answers requests about the quorum. True for the active controller, and for
    brokers, because they forward these requests.
    """
    return not context.at_controller or context.broker_id == context.state.controller_id


def refused(request: Any, context: RequestContext, doing: str) -> Refusal | None:
    """Return the reason why the voters can't be changed; None if they can.

    Args:
        request: an AddRaftVoter or RemoveRaftVoter request.
        doing: ``add`` or ``remove``.
    """
    state = context.state
    if not context.allowed("ALTER"):
        # Controllers check the permission themselves, with a message that does not name the operation.
        return Refusal(ErrorCode.cluster_authorization_failed, CLUSTER_REFUSED)
    if request.cluster_id is not None and request.cluster_id != state.cluster_id:
        message = f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{state.cluster_id}"'
        return Refusal(ErrorCode.inconsistent_cluster_id, message)
    if not answers_for_quorum(context):
        return Refusal(ErrorCode.not_leader_or_follower, "")
    if request.voter_directory_id is None:
        message = f"{doing.capitalize()} voter request didn't include a valid voter"
        return Refusal(ErrorCode.invalid_request, message)
    if not is_dynamic(state):
        gerund = "adding" if doing == "add" else "removing"
        message = f"Cluster doesn't support {gerund} voter because the {KRAFT_VERSION} feature is 0"
        return Refusal(ErrorCode.unsupported_version, message)
    return None
