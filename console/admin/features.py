"""Features: what each node supports, which levels are finalized, and other levels (KIP-584, KIP-778, KIP-1022)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.cluster import ask_versions, broker_version, describe_cluster, describe_quorum
from console.admin.delivery import Answer, deliver
from console.admin.errors import AdminError, failure
from console.admin.link import CONTROLLER, Link, broker
from console.admin.topics import ANSWER_SECONDS
from console.model.changes import FeatureTarget, Outcome, Status, UpdateFeatures
from console.model.cluster import Broker, ClusterFeatures, NodeFeatures, VoterEndpoint
from console.model.failure import Failure

CONTROLLERS = 15
"""Voters that are no brokers and are asked: more than any quorum has. Clients may be unable to reach them."""
CONTROLLER_SECONDS = 3.0

_FENCED = Failure("FENCED", "the broker is registered and down", "Start it, or unregister it.")
_NO_ENDPOINT = Failure("UNKNOWN_ADDRESS", "the quorum does not report its address", "Look at the controller's log.")


async def describe_features(link: Link) -> ClusterFeatures:
    """Return finalized levels, and what each broker and each controller that can be reached supports.

    The finalized levels are those of the node that knows the newest; none before Kafka 2.7, and no node then supports
    any. Raises AdminError if no broker can be reached.
    """
    cluster, endpoints = await asyncio.gather(describe_cluster(link), _controllers(link))
    registered = {each.id: each for each in cluster.brokers}
    known = {each.id: VoterEndpoint(each.id, "", each.host, each.port) for each in cluster.controllers}
    known |= {each.id: each for each in endpoints}
    apart = [each for id_, each in known.items() if id_ not in registered][:CONTROLLERS]
    asked = await asyncio.gather(
        *(_of_broker(link, each) for each in registered.values()), *(of_controller(link, each) for each in apart)
    )
    newest = max((each for each in asked if each[1] is not None), key=lambda each: _epoch(each[1]), default=None)
    nodes = tuple(sorted((node for node, _ in asked), key=lambda node: (node.controller, node.id)))
    if newest is None:
        return ClusterFeatures({}, nodes)
    return ClusterFeatures(broker_version(newest[1]).finalized_features, nodes, _epoch(newest[1]))


def _epoch(response: Any) -> int:
    return int(getattr(response, "finalized_features_epoch", -1))


async def _controllers(link: Link) -> list[VoterEndpoint]:
    """Return one endpoint of each voter, with an empty host where the quorum reports none; empty where it can't be
    read."""
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


async def of_controller(link: Link, voter: VoterEndpoint) -> Answered:
    """Return what a controller supports, from its own listener. Never raises AdminError."""
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


_UPGRADE, _SAFE_DOWNGRADE = 1, 2
"""Kinds of an update. Controllers refuse an unsafe downgrade of metadata.version, and treat that of others as a safe
one (FeatureControlManager), so it is never sent."""


async def update_features(link: Link, request: UpdateFeatures, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each feature: controllers do all or none. A check is UNCHECKED before Kafka 3.3.

    Raises Unsupported before Kafka 2.7, and AdminError if nothing was sent.
    """
    targets = [FeatureTarget(name) for name in request.levels]
    version = await link.require("update_features", 0, "2.7", CONTROLLER)
    if validate_only and version < 1:
        return tuple(Outcome(target, Status.UNCHECKED) for target in targets)

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        def update(name: str, level: int) -> Any:
            lowered = name in request.lowered
            return for_version(
                kio.FeatureUpdateKey,
                feature=name,
                max_version_level=level,
                allow_downgrade=lowered,
                upgrade_type=_SAFE_DOWNGRADE if lowered else _UPGRADE,
            )

        return for_version(
            kio.UpdateFeaturesRequest,
            timeout=timedelta(milliseconds=request.timeout_ms),
            feature_updates=tuple(update(name, level) for name, level in request.levels.items()),
            validate_only=validate_only,
        )

    async def send(some: Sequence[FeatureTarget]) -> Mapping[FeatureTarget, Answer]:
        timeout = max(link.settings.request_timeout, request.timeout_ms / 1000 + ANSWER_SECONDS)
        response = await link.call("update_features", build, to=CONTROLLER, timeout=timeout, change=not validate_only)
        if response.error_code == ErrorCode.cluster_authorization_failed:
            return dict.fromkeys(some, (response.error_code, "changing features needs ALTER on the cluster"))
        if response.error_code:
            return dict.fromkeys(some, (response.error_code, response.error_message))
        # From version 2 on, an answer without an error has no results.
        answers: dict[FeatureTarget, Answer] = dict.fromkeys(some, (0, None))
        for result in getattr(response, "results", ()):
            answers[FeatureTarget(result.feature)] = result.error_code, result.error_message
        return answers

    async def describe_again(some: Sequence[FeatureTarget]) -> Mapping[FeatureTarget, Status]:
        finalized = broker_version(await link.call("api_versions", ask_versions)).finalized_features
        return {
            each: Status.APPLIED if finalized.get(each.name, 0) == request.levels[each.name] else Status.NOT_APPLIED
            for each in some
        }

    outcomes = await deliver(link.settings, targets, send, describe_again, validate_only=validate_only)
    return tuple(outcomes[target] for target in targets)
