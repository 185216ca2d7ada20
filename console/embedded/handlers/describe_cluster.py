"""DescribeCluster (60), v0-2: the cluster's id, controller and brokers (KIP-700).

With KRaft the controller id is that of any live broker: clients don't reach the quorum.

Version notes:
- v1: the endpoint type, brokers or controllers (KIP-919).
- v2: fenced brokers (KIP-1073).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import CLUSTER_OPERATIONS, NO_OPERATIONS, NO_TIME, advertised_controller
from console.embedded.context import RequestContext
from console.wire.schemas import for_version

_BROKERS, _CONTROLLERS = 1, 2


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the brokers; an error for the type of controllers' endpoints, which a broker does not describe."""
    view, schema = context.view, context.schema
    endpoint = getattr(request, "endpoint_type", _BROKERS)
    if endpoint != _BROKERS:
        known = endpoint == _CONTROLLERS
        return for_version(
            schema.DescribeClusterResponse,
            throttle_time=NO_TIME,
            error_code=ErrorCode.mismatched_endpoint_type if known else ErrorCode.unsupported_endpoint_type,
            error_message=(
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
                if known
                else f"Unsupported endpoint type {endpoint}"
            ),
            endpoint_type=_BROKERS,
            cluster_id="",
            brokers=(),
        )
    operations = NO_OPERATIONS
    if request.include_cluster_authorized_operations:
        operations = context.operations(CLUSTER_OPERATIONS) if context.allowed("DESCRIBE") else 0
    fenced_too = getattr(request, "include_fenced_brokers", False)
    return for_version(
        schema.DescribeClusterResponse,
        throttle_time=NO_TIME,
        error_code=0,
        error_message=None,
        endpoint_type=_BROKERS,
        cluster_id=context.state.cluster_id,
        controller_id=advertised_controller(context),
        brokers=tuple(
            for_version(
                schema.DescribeClusterBroker,
                broker_id=broker.id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_fenced=not broker.alive,
            )
            for broker in sorted(view.brokers.values(), key=lambda broker: broker.id)
            if broker.alive or fenced_too
        ),
        cluster_authorized_operations=operations,
    )
