"""InitProducerId: a number for an idempotent producer (KIP-98). There are no transactions."""

from __future__ import annotations

import logging
from typing import Any

from console.embedded.context import RequestContext
from console.embedded.handlers.common import NO_TIME
from console.wire.schemas import for_version

log = logging.getLogger("console.embedded")

_CLUSTER_AUTHORIZATION_FAILED, _UNSUPPORTED_VERSION, _INVALID_REQUEST = 31, 35, 42
_NO_PRODUCER = -1


async def handle(request: Any, context: RequestContext) -> Any:
    """v0-5. A transactional id gets UNSUPPORTED_VERSION, on which clients give up."""
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    if request.transactional_id is not None:
        log.warning("refused a producer with a transactional id: this cluster has no transactions")
        code = _INVALID_REQUEST if not request.transactional_id else _UNSUPPORTED_VERSION
    elif not (context.allowed("IDEMPOTENT_WRITE") or _writes_somewhere(context)):
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


def _writes_somewhere(context: RequestContext) -> bool:
    """Whoever may write to a topic may do so once (KIP-679)."""
    return any(context.allowed("WRITE", "TOPIC", name) for name in context.view.topics)
