"""Features: what each node supports, and which levels are finalized (KIP-584, KIP-778, KIP-1022)."""

from __future__ import annotations

import asyncio
from typing import Any

from console.admin.cluster import ask_versions, broker_version, describe_cluster, describe_quorum
from console.admin.errors import AdminError, failure
from console.admin.link import Link
from console.admin.routing import broker
from console.model.cluster import Broker, ClusterFeatures, NodeFeatures, VoterEndpoint
from console.model.failure import Failure

CONTROLLERS = 15
"""Voters that are no brokers and are asked: more than any quorum has. Clients may be unable to reach them."""
CONTROLLER_SECONDS = 3.0

_FENCED = Failure("FENCED", "the broker is registered and down", "Start it, or unregister it.")
_NO_ENDPOINT = Failure("UNKNOWN_ADDRESS", "the quorum does not report its address", "Look at the controller's log.")


async def describe_features(link: Link) -> ClusterFeatures:
    """Finalized levels, and what each broker and each controller that can be reached supports.

    The finalized levels are those of the node that knows the newest; none before Kafka 2.7, and no node then supports
    any. Raises AdminError if no broker can be reached.
    """
    cluster, endpoints = await asyncio.gather(describe_cluster(link), _controllers(link))
    registered = {each.id: each for each in cluster.brokers}
    apart = [each for each in endpoints if each.id not in registered][:CONTROLLERS]
    asked = await asyncio.gather(
        *(_of_broker(link, each) for each in registered.values()), *(_of_controller(link, each) for each in apart)
    )
    newest = max((each for each in asked if each[1] is not None), key=lambda each: _epoch(each[1]), default=None)
    nodes = tuple(sorted((node for node, _ in asked), key=lambda node: (node.controller, node.id)))
    if newest is None:
        return ClusterFeatures({}, nodes)
    return ClusterFeatures(broker_version(newest[1]).finalized_features, nodes, _epoch(newest[1]))


def _epoch(response: Any) -> int:
    return int(getattr(response, "finalized_features_epoch", -1))


async def _controllers(link: Link) -> list[VoterEndpoint]:
    """One endpoint of each voter, with an empty host where the quorum reports none; empty where it can't be read."""
    try:
        quorum = await describe_quorum(link)
    except AdminError:
        return []
    known = {each.id: each for each in reversed(quorum.endpoints)}
    return [known.get(voter.id, VoterEndpoint(voter.id, "", "", -1)) for voter in quorum.voters]


Answered = tuple[NodeFeatures, Any]
"""A node, and its response; None where there is none."""


async def _of_broker(link: Link, node: Broker) -> Answered:
    address = f"{node.host}:{node.port}"
    if node.fenced:
        return NodeFeatures(node.id, address, failure=_FENCED), None
    try:
        response = await link.call("api_versions", ask_versions, to=broker(node.id))
    except AdminError as error:
        return NodeFeatures(node.id, address, failure=error.failure), None
    return _answered(NodeFeatures(node.id, address), response)


async def _of_controller(link: Link, voter: VoterEndpoint) -> Answered:
    if not voter.host:
        return NodeFeatures(voter.id, "", controller=True, failure=_NO_ENDPOINT), None
    address = f"{voter.host}:{voter.port}"
    try:
        response = await link.call_apart((voter.host, voter.port), "api_versions", ask_versions, CONTROLLER_SECONDS)
    except AdminError as error:
        return NodeFeatures(voter.id, address, controller=True, failure=error.failure), None
    return _answered(NodeFeatures(voter.id, address, controller=True), response)


def _answered(node: NodeFeatures, response: Any) -> Answered:
    if response.error_code:
        return NodeFeatures(node.id, node.address, node.controller, failure=failure(response.error_code)), None
    supported = broker_version(response).supported_features
    return NodeFeatures(node.id, node.address, node.controller, supported), response
