"""Features: the levels that each node supports, the finalized levels, and changes of the finalized levels (KIP-584,
KIP-778, KIP-1022).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from console.admin.cluster import ASK_VERSIONS, broker_version, describe_cluster, describe_quorum
from console.admin.delivery import Answer, Sender, Senders, applied_if
from console.admin.errors import AdminError, failure
from console.admin.link import Link, broker
from console.model.changes import FeatureTarget, Status, UpdateFeatures
from console.model.cluster import Broker, ClusterFeatures, NodeFeatures, VoterEndpoint
from console.model.failure import Failure
from console.wire.fields import Fields

CONTROLLERS = 15
"""Maximum number of controllers without a broker role to which kac tries to connect. No quorum has more; the limit
is there because clients may be unable to reach them.
"""
CONTROLLER_SECONDS = 3.0

_FENCED = Failure("FENCED", "the broker is registered and down", "Start it, or unregister it.")
_NO_ENDPOINT = Failure("UNKNOWN_ADDRESS", "the quorum does not report its address", "Look at the controller's log.")


async def describe_features(link: Link) -> ClusterFeatures:
    """Return the finalized levels of the cluster, and the levels that each reachable broker and controller supports.

    The finalized levels are those of the node with the newest epoch. Before Kafka 2.7, all levels are empty. Raises
    AdminError if no broker can be reached.
    """
    cluster, endpoints = await asyncio.gather(describe_cluster(link), _controllers(link))
    registered = {each.id: each for each in cluster.brokers}
    known = {each.id: VoterEndpoint(each.id, "", each.host, each.port) for each in cluster.controllers}
    known |= {each.id: each for each in endpoints}
    apart = [each for id_, each in known.items() if id_ not in registered][:CONTROLLERS]
    asked = await asyncio.gather(
        *(_of_broker(link, each) for each in registered.values()), *(of_controller(link, each) for each in apart)
    )
    versions = [broker_version(response) for _, response in asked if response is not None]
    newest = max(versions, key=lambda each: each.epoch, default=None)
    nodes = tuple(sorted((node for node, _ in asked), key=lambda node: (node.controller, node.id)))
    if newest is None:
        return ClusterFeatures({}, nodes)
    return ClusterFeatures(newest.finalized_features, nodes, newest.epoch)


async def _controllers(link: Link) -> list[VoterEndpoint]:
    """Return one endpoint of each voter, with an empty host if the quorum does not return endpoints. Empty if the
    quorum can't be read.
    """
    try:
        quorum = await describe_quorum(link)
    except AdminError:
        return []
    known = {each.id: each for each in reversed(quorum.endpoints)}
    return [known.get(voter.id, VoterEndpoint(voter.id, "", "", -1)) for voter in quorum.voters]


Answered = tuple[NodeFeatures, Any]
"""A node, and its ApiVersions response; None if it did not answer."""


async def _of_broker(link: Link, node: Broker) -> Answered:
    address = f"{node.host}:{node.port}"
    if node.fenced:
        return NodeFeatures(node.id, address, failure=_FENCED), None
    try:
        response = await link.call("api_versions", ASK_VERSIONS, to=broker(node.id))
    except AdminError as error:
        return NodeFeatures(node.id, address, failure=error.failure), None
    return _answered(NodeFeatures(node.id, address), response)


async def of_controller(link: Link, voter: VoterEndpoint) -> Answered:
    """Return the levels that a controller supports, by a connection to its own listener. A failure is in the result,
    and is not raised.
    """
    if not voter.host:
        return NodeFeatures(voter.id, "", controller=True, failure=_NO_ENDPOINT), None
    address = f"{voter.host}:{voter.port}"
    try:
        response = await link.call_apart((voter.host, voter.port), "api_versions", ASK_VERSIONS, CONTROLLER_SECONDS)
    except AdminError as error:
        return NodeFeatures(voter.id, address, controller=True, failure=error.failure), None
    return _answered(NodeFeatures(voter.id, address, controller=True), response)


def _answered(node: NodeFeatures, response: Any) -> Answered:
    if response.error_code:
        return NodeFeatures(node.id, node.address, node.controller, failure=failure(response.error_code)), None
    supported = broker_version(response).supported_features
    return NodeFeatures(node.id, node.address, node.controller, supported), response


_UPGRADE, _SAFE_DOWNGRADE = 1, 2
"""Types of an update. The unsafe downgrade is never sent: controllers refuse it for metadata.version, and treat it as a
safe one for other features (FeatureControlManager)."""


class _Update(Sender[UpdateFeatures, FeatureTarget]):
    """Changes finalized levels. Controllers apply all changes of a request or none. Before Kafka 3.3, a validation is
    UNCHECKED.
    """

    needs = "2.7"
    right = "changing features needs ALTER on the cluster"

    def targets(self) -> list[FeatureTarget]:
        return [FeatureTarget(name) for name in self.request.levels]

    async def require(self) -> None:
        self.has_check = await self.link.require(self.api, 0, self.needs, self.route) >= 1

    def fields(self, _targets: Sequence[FeatureTarget]) -> Fields:
        def update(name: str, level: int) -> Fields:
            lowered = name in self.request.lowered
            upgrade_type = _SAFE_DOWNGRADE if lowered else _UPGRADE
            kind = {"allow_downgrade": lowered, "upgrade_type": upgrade_type}
            return {"feature": name, "max_version_level": level, **kind}

        return {
            "timeout": timedelta(milliseconds=self.request.timeout_ms),
            "feature_updates": [update(name, level) for name, level in self.request.levels.items()],
            "validate_only": self.validate_only,
        }

    def answers(self, response: Any, targets: Sequence[FeatureTarget]) -> dict[FeatureTarget, Answer]:
        # From version 2 on, a response without an error contains no results.
        results = () if response.error_code else getattr(response, "results", ())
        by_name = {FeatureTarget(each.feature): (each.error_code, each.error_message) for each in results}
        return {**super().answers(response, targets), **by_name}

    async def describe_again(self, targets: Sequence[FeatureTarget]) -> dict[FeatureTarget, Status]:
        finalized = broker_version(await self.link.call("api_versions", ASK_VERSIONS)).finalized_features
        return {each: applied_if(finalized.get(each.name, 0) == self.request.levels[each.name]) for each in targets}


SENDERS: Senders = {UpdateFeatures: _Update}
