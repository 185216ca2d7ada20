"""InitProducerId (22), v0-5: an id for an idempotent producer, or the next epoch of a transactional one (KIP-98).

Needs WRITE on the transactional id; without one IDEMPOTENT_WRITE on the cluster or WRITE on any topic (KIP-679).

Version notes:
- v2: flexible.
- v3: the producer's current id and epoch (KIP-360).
- v4: PRODUCER_FENCED.

Differences from Kafka: the current id and epoch of v3 are not compared; every call begins the next epoch.
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.transactions import begin, new_producer

_NO_PRODUCER = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the producer's id and epoch, or the error code."""
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        code = ErrorCode.transactional_id_authorization_failed
    elif transactional_id is not None:
        timeout = round(request.transaction_timeout.total_seconds() * 1000)
        code, producer_id, epoch = begin(context, transactional_id, timeout)
    elif not (context.allowed("IDEMPOTENT_WRITE") or context.allowed_somewhere("WRITE", "TOPIC")):
        code = ErrorCode.cluster_authorization_failed
    else:
        producer_id, epoch = new_producer(context.cluster), 0
    return context.answer(error_code=code, producer_id=producer_id, producer_epoch=epoch)
