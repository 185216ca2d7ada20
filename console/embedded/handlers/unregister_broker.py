"""UnregisterBroker (64), v0: removes a broker's registration (KIP-500; ReplicationControlManager.unregisterBroker).

Needs ALTER on the cluster. KRaft only.

Differences from Kafka: a broker that is alive ends; a real one runs on outside of the cluster.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, Refusal, cluster_refused
from console.embedded.replicas import broker_lost

_MESSAGES_FROM = (4, 1)


async def handle(request: Any, context: RequestContext) -> Any:
    """Remove the broker, alive or not, and return the error."""
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
