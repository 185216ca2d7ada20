"""InitProducerId: an id for an idempotent producer (KIP-98). There are no transactions."""

from __future__ import annotations

import logging
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import NO_TIME
from console.embedded.context import RequestContext
from console.wire.schemas import for_version

log = logging.getLogger("console.embedded")

_NO_PRODUCER = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-5. A transactional id gets UNSUPPORTED_VERSION, after which clients give up."""
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        code = ErrorCode.transactional_id_authorization_failed
    elif transactional_id is not None:
        log.warning("refused a producer with a transactional id: this cluster has no transactions")
        code = ErrorCode.unsupported_version if transactional_id else ErrorCode.invalid_request
    elif not (context.allowed("IDEMPOTENT_WRITE") or context.allowed_somewhere("WRITE", "TOPIC")):
        code = ErrorCode.cluster_authorization_failed
    else:
        producer_id, epoch = next(context.cluster.producer_ids), 0
    return for_version(
        context.schema.InitProducerIdResponse,
        throttle_time=NO_TIME,
        error_code=code,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
