"""The cluster: its brokers, their unregistration, and its feature levels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import CLUSTER_OPERATIONS, NO_OPERATIONS, advertised_controller
from console.embedded.config_alter import ELR, take_min_isr_from_brokers
from console.embedded.context import RequestContext
from console.embedded.controllers import named_controller
from console.embedded.refusals import DONE, Refusal, cluster_refusal_message, cluster_refused
from console.embedded.replicas import broker_lost
from console.embedded.spec import METADATA_VERSION
from console.embedded.tables import BrokerNode, ControllerNode
from console.model.feature_levels import why_no_way_back

_BROKERS, _CONTROLLERS = 1, 2
_TYPES = {_BROKERS: "BROKER", _CONTROLLERS: "CONTROLLER"}


async def describe_cluster(request: Any, context: RequestContext) -> Any:
    """DescribeCluster (60), v0-2: the cluster's id, controller and brokers (KIP-700).

    Return the brokers; a controller returns the controllers. If the request's endpoint type is not the one of the node,
    return an error.

    In a cluster with KRaft, brokers name a random live broker as the controller, since clients don't connect to the
    quorum. Controllers name the active one.

    Version notes:
    - v1: the endpoint type, brokers or controllers (KIP-919).
    - v2: fenced brokers (KIP-1073).
    """
    own = _CONTROLLERS if context.at_controller else _BROKERS
    asked = getattr(request, "endpoint_type", _BROKERS)
    if asked != own:
        refusal = Refusal(ErrorCode.unsupported_endpoint_type, f"Unsupported endpoint type {asked}")
        if asked in _TYPES:
            refusal = Refusal(
                ErrorCode.mismatched_endpoint_type,
                f"The request was sent to an endpoint of type {_TYPES[own]}, but we wanted an endpoint of type "
                f"{_TYPES[asked]}",
            )
        return context.answer(error_code=refusal.code, error_message=refusal.message, endpoint_type=_BROKERS)
    operations = NO_OPERATIONS
    if request.include_cluster_authorized_operations:
        operations = context.operations(CLUSTER_OPERATIONS) if context.allowed("DESCRIBE") else 0
    fenced_too = getattr(request, "include_fenced_brokers", False)
    brokers = [broker for broker in context.view.brokers.values() if broker.alive or fenced_too]
    # List all registered controllers, including those that are down.
    controllers = context.state.controllers.values()
    nodes: Iterable[BrokerNode | ControllerNode] = controllers if context.at_controller else brokers
    return context.answer(
        endpoint_type=own,
        cluster_id=context.state.cluster_id,
        controller_id=named_controller(context.state) if context.at_controller else advertised_controller(context),
        brokers=tuple(_node(node) for node in sorted(nodes, key=lambda node: node.id)),
        cluster_authorized_operations=operations,
    )


def _node(node: BrokerNode | ControllerNode) -> Any:
    broker = node if isinstance(node, BrokerNode) else None
    return {
        "broker_id": node.id,
        "host": node.host,
        "port": node.port,
        "rack": broker and broker.rack,
        "is_fenced": broker is not None and not broker.alive,
    }


_MESSAGES_FROM = (4, 1)


async def unregister_broker(request: Any, context: RequestContext) -> Any:
    """UnregisterBroker (64), v0: removes a broker's registration (KIP-500; ReplicationControlManager.unregisterBroker).

    Remove the broker's registration, whether the broker is alive or not, and return the error code, 0 for success.

    Needs ALTER on the cluster. KRaft only.

    Differences from Kafka: a live broker stops; a real one keeps running outside the cluster.
    """
    refusal = _unregister(context, int(request.broker_id))
    return context.answer(error_code=refusal.code, error_message=refusal.message)


def _unregister(context: RequestContext, broker_id: int) -> Refusal:
    if not context.allowed("ALTER"):
        return cluster_refused(context, "ALTER")
    state = context.state
    if broker_id not in state.brokers:
        message = f"Broker ID {broker_id} is not currently registered"
        return Refusal(
            ErrorCode.broker_id_not_registered,
            message if context.cluster.release.number >= _MESSAGES_FROM else "",
        )
    if state.brokers[broker_id].alive:
        broker_lost(state, broker_id)
    state.remove("brokers", broker_id)
    return DONE


_UPGRADE, _SAFE, _UNSAFE = 1, 2, 3
_ALL_OR_NONE_FROM = (4, 0)
_NAMES_BOTH_FROM = (4, 2)
_FAILED = "The update failed for all features since the following feature had an error: "
_NOT_SAFE = "Refusing to perform the requested downgrade because it might delete metadata information."
_NOT_UNSAFE = "Unsafe metadata downgrade is not supported in this version."


async def update_features(request: Any, context: RequestContext) -> Any:
    """UpdateFeatures (57), v0-2: changes the finalized levels of features (KIP-584, KIP-778; FeatureControlManager).

    Apply all updates or none. Since 4.0, the response has the first error as that of the whole request. Before, it has
    an error for each refused feature, and 0 for the other features, although they are not changed either.

    Needs ALTER on the cluster.

    Version notes:
    - v1: safe and unsafe downgrades instead of one flag; validation only (KIP-778).
    - v2: one error instead of results by feature.
    """
    if not context.allowed("ALTER"):
        return _answer(context, ErrorCode.cluster_authorization_failed, cluster_refusal_message(context, "ALTER"), {})
    wanted = {update.feature: (update.max_version_level, _kind(update)) for update in request.feature_updates}
    reasons = {feature: _reason(context, feature, *wanted[feature]) for feature in sorted(wanted)}
    refused = [reason for reason in reasons.values() if reason]
    if not refused and not getattr(request, "validate_only", False):
        for feature, (level, _) in wanted.items():
            # With eligible leader replicas (KIP-966), the controller needs a single value of min.insync.replicas, so
            # brokers may not have their own.
            if feature == ELR and level and not context.state.features.get(ELR):
                take_min_isr_from_brokers(context.cluster)
            context.state.set_feature(feature, level)
    modern = context.cluster.release.number >= _ALL_OR_NONE_FROM
    if modern and refused:
        return _answer(context, ErrorCode.invalid_update_version, _FAILED + refused[0], {})
    results = {
        feature: (ErrorCode.invalid_update_version, reason) if reason else (0, "NONE" if modern else None)
        for feature, reason in reasons.items()
    }
    return _answer(context, 0, None if modern else "", results)


def _kind(update: Any) -> int:
    if hasattr(update, "allow_downgrade"):
        return _SAFE if update.allow_downgrade else _UPGRADE
    return int(update.upgrade_type)


def _reason(context: RequestContext, feature: str, level: int, kind: int) -> str | None:
    """Return the reason why a feature can't have this level; None if it can. kind: the kind of update: an upgrade, or a
    safe or unsafe downgrade.
    """
    release, now = context.cluster.release, context.state.features.get(feature, 0)
    begin = f"Invalid update version {level} for feature {feature}. "
    controller = f"Local controller {context.state.controller_id} "
    if kind not in (_UPGRADE, _SAFE, _UNSAFE):
        return begin + "The controller does not support the given upgrade type."
    if level < 0:
        return begin + "A feature version cannot be less than 0."
    modern = release.number >= _ALL_OR_NONE_FROM
    if feature not in release.supported:
        if level:
            return begin + controller + "does not support this feature."
        return begin + f"Feature {feature} not found." if modern else None
    low, high = release.supported[feature]
    if not low <= level <= high:
        return f"{begin}{controller}only supports versions {low}-{high}"
    if level >= now:
        return None
    if kind == _UPGRADE:
        return begin + (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
            "unsafe downgrade."
        )
    if feature == METADATA_VERSION and why_no_way_back(feature, level, now):
        refusal = _NOT_SAFE if kind == _SAFE else _NOT_UNSAFE
        if release.number >= _NAMES_BOTH_FROM:
            return f"Unsupported {METADATA_VERSION} downgrade from {now} to {level}. {refusal}"
        return f"Invalid {METADATA_VERSION} {level}. {refusal}"
    return None


def _answer(context: RequestContext, code: int, message: str | None, results: dict[str, tuple[int, str | None]]) -> Any:
    if not hasattr(context.schema, "UpdatableFeatureResult"):
        return context.answer(error_code=code, error_message=message)
    return context.answer(
        error_code=code,
        error_message=message,
        results=tuple(
            {"feature": feature, "error_code": error, "error_message": reason}
            for feature, (error, reason) in results.items()
        ),
    )
