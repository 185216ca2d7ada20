"""InitProducerId: a number for an idempotent producer (KIP-98). There are no transactions."""

from __future__ import annotations

import logging
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.wire.schemas import for_version

log = logging.getLogger("console.embedded")

_CLUSTER_AUTHORIZATION_FAILED, _UNSUPPORTED_VERSION, _INVALID_REQUEST, _TRANSACTION_REFUSED = 31, 35, 42, 53
_NO_PRODUCER = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-5. A transactional id gets UNSUPPORTED_VERSION, on which clients give up."""
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        code = _TRANSACTION_REFUSED
    elif transactional_id is not None:
        log.warning("refused a producer with a transactional id: this cluster has no transactions")
        code = _UNSUPPORTED_VERSION if transactional_id else _INVALID_REQUEST
    elif not (context.allowed("IDEMPOTENT_WRITE") or context.allowed_somewhere("WRITE", "TOPIC")):
        code = _CLUSTER_AUTHORIZATION_FAILED
    else:
        producer_id, epoch = next(context.cluster.producer_ids), 0
    return for_version(
        context.schema.InitProducerIdResponse,
        throttle_time=NO_TIME,
        error_code=code,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
