"""EndTxn (26), v0-5: commits or aborts a producer's transaction (KIP-98, KIP-890).

The transaction coordinator answers.

Version notes:
- v3: flexible.
- v5: the producer's next epoch, which fences what the last one still sends (transaction.version 2).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.producers import COMPLETE, ONGOING, Transaction
from console.embedded.transactions import LAST_EPOCH, asked, end, new_producer

_NONE = -1
_BUMPS_FROM = 5
"""The first version whose answer has the producer's next epoch (transaction.version 2)."""


async def handle(request: Any, context: RequestContext) -> Any:
    """End the transaction, and return the error code; from v5 on the producer's next epoch, too."""
    found = asked(context, request.transactional_id, int(request.producer_id), request.producer_epoch)
    code = found if isinstance(found, int) else _ended(context, found, request.committed)
    told = isinstance(found, Transaction) and not code and context.version >= _BUMPS_FROM
    return context.answer(
        error_code=code,
        producer_id=found.producer_id if told and isinstance(found, Transaction) else _NONE,
        producer_epoch=found.epoch if told and isinstance(found, Transaction) else _NONE,
    )


def _ended(context: RequestContext, found: Transaction, commit: bool) -> int:
    if found.state == COMPLETE[commit] and context.version < _BUMPS_FROM:
        return 0  # sent again
    if found.state != ONGOING:
        return int(ErrorCode.concurrent_transactions if found.partitions else ErrorCode.invalid_txn_state)
    if context.version >= _BUMPS_FROM:
        found.epoch += 1
    end(context.cluster, found, commit=commit)
    # Epochs are 16 bits: when they are used up the producer gets another id.
    if found.epoch > LAST_EPOCH:
        found.producer_id, found.epoch = new_producer(context.cluster), 0
    return 0
