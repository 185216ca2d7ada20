"""ListTransactions (66), v0-2: the transactional ids that this broker coordinates (KIP-664).

A client asks every broker and merges the answers.

Version notes:
- v1: a filter by duration (KIP-994).
- v2: a filter by a pattern of the id (KIP-1152).

Differences from Kafka: the pattern is a regular expression of Python's, not of RE2/J.
"""

from __future__ import annotations

import re
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.producers import STATES, Transaction
from console.embedded.transactions import of_broker


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the transactions that match the filters. Leaves out silently what the principal may not describe."""
    schema = context.schema
    unknown = tuple(state for state in request.state_filters if state not in STATES)
    wanted = frozenset(request.state_filters) - frozenset(unknown)
    code = 0
    pattern = None
    try:
        pattern = re.compile(getattr(request, "transactional_id_pattern", None) or "")
    except re.error:
        code = int(ErrorCode.invalid_regular_expression)
    # Where all states of the filter are unknown nothing matches, instead of everything.
    found = tuple(of_broker(context)) if not code and (wanted or not request.state_filters) else ()
    return context.answer(
        error_code=code,
        unknown_state_filters=unknown,
        transaction_states=tuple(
            schema.TransactionState(
                transactional_id=each.id, producer_id=each.producer_id, transaction_state=each.state
            )
            for each in found
            if context.allowed("DESCRIBE", "TRANSACTIONAL_ID", each.id)
            and (not wanted or each.state in wanted)
            and (not request.producer_id_filters or each.producer_id in request.producer_id_filters)
            and _long_enough(context, each, getattr(request, "duration_filter", -1))
            and (pattern is None or pattern.fullmatch(each.id) or not pattern.pattern)
        ),
    )


def _long_enough(context: RequestContext, each: Transaction, longer_than: int) -> bool:
    return longer_than < 0 or int(context.clock.time() * 1000) - each.started > longer_than
