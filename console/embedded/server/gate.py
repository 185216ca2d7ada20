"""What every request passes on its way to its handler and back: forwarding, counting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from console.embedded.context import RequestContext
from console.embedded.server.error_answers import error_answer
from console.wire.server_frames import encode_body, response_frame
from console.wire.server_schemas import Messages

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

NOT_CONTROLLER = 41
CONTROLLER_APIS = frozenset(
    {
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_partitions",
        "create_topics",
        "delete_topics",
        "elect_leaders",
        "list_partition_reassignments",
        "update_features",
    }
)
"""What only the controller answers where brokers don't forward (KafkaApis of 2.8 with ZooKeeper)."""

Handled = Callable[[Any, RequestContext, Messages], Awaitable[Any]]


class Gate:
    """Lets requests through to their handlers."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster

    async def answer(
        self,
        request: Any,
        context: RequestContext,
        found: Messages,
        frame: bytes,
        correlation_id: int,
        handled: Handled,
    ) -> bytes | None:
        """The response frame, None where the request wants none."""
        cluster = self._cluster
        if not cluster.forwarding and found.api in CONTROLLER_APIS and context.broker_id != cluster.state.controller_id:
            payload = error_answer(request, found, NOT_CONTROLLER)
        else:
            payload = await handled(request, context, found)
        data = None
        if payload is not None:
            data = response_frame(found.response, correlation_id, encode_body(found.response, payload))
        cluster.counters.add(found.api, context.broker_id, context.client_id, len(frame) + 4, len(data or b""))
        return data
