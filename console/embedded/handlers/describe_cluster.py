"""DescribeCluster (60), v0-2: the cluster's id, controller and brokers (KIP-700).

With KRaft the controller id that brokers name is that of any live broker: clients don't reach the quorum. Controllers
name the active one.

Version notes:
- v1: the endpoint type, brokers or controllers (KIP-919).
- v2: fenced brokers (KIP-1073).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import CLUSTER_OPERATIONS, NO_OPERATIONS, advertised_controller
from console.embedded.context import RequestContext
from console.embedded.controllers import named_controller
from console.embedded.tables import BrokerNode
from console.wire.fields import for_version

_BROKERS, _CONTROLLERS = 1, 2
_TYPES = {_BROKERS: "BROKER", _CONTROLLERS: "CONTROLLER"}


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the brokers, or of a controller the controllers; an error for the type of endpoints that is not the
    listener's."""
    view, schema = context.view, context.schema
    own = _CONTROLLERS if context.at_controller else _BROKERS
    asked = getattr(request, "endpoint_type", _BROKERS)
    if asked != own:
        known = asked in _TYPES
        return context.answer(
            error_code=ErrorCode.mismatched_endpoint_type if known else ErrorCode.unsupported_endpoint_type,
            error_message=(
                f"The request was sent to an endpoint of type {_TYPES[own]}, but we wanted an endpoint of type "
                f"{_TYPES[asked]}"
                if known
                else f"Unsupported endpoint type {asked}"
            ),
            endpoint_type=_BROKERS,
            cluster_id="",
            brokers=(),
        )
    operations = NO_OPERATIONS
    if request.include_cluster_authorized_operations:
        operations = context.operations(CLUSTER_OPERATIONS) if context.allowed("DESCRIBE") else 0
    fenced_too = getattr(request, "include_fenced_brokers", False)
    brokers = sorted(view.brokers.values(), key=lambda broker: broker.id)
    listed = (_broker(schema, broker) for broker in brokers if broker.alive or fenced_too)
    return context.answer(
        error_code=0,
        error_message=None,
        endpoint_type=own,
        cluster_id=context.state.cluster_id,
        controller_id=named_controller(context.state) if context.at_controller else advertised_controller(context),
        brokers=tuple(_controllers(context) if context.at_controller else listed),
        cluster_authorized_operations=operations,
    )


def _broker(schema: Any, broker: BrokerNode) -> Any:
    return for_version(
        schema.DescribeClusterBroker,
        broker_id=broker.id,
        host=broker.host,
        port=broker.port,
        rack=broker.rack,
        is_fenced=not broker.alive,
    )


def _controllers(context: RequestContext) -> Iterator[Any]:
    """Yield all controllers that are registered, also those that are down."""
    for _, node in sorted(context.state.controllers.items()):
        yield for_version(
            context.schema.DescribeClusterBroker,
            broker_id=node.id,
            host=node.host,
            port=node.port,
            rack=None,
            is_fenced=False,
        )
