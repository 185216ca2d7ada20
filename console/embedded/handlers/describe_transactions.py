"""DescribeTransactions (65), v0: transactional ids as their coordinator knows them (KIP-664).

Needs DESCRIBE on the transactional id.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import TRANSACTION_TOPIC, coordinator_of
from console.embedded.producers import Transaction
from console.embedded.transactions import expire


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the transaction or an error for each id. Ends first what has timed out."""
    expire(context.cluster)
    return context.answer(transaction_states=tuple(_state(context, id_) for id_ in request.transactional_ids))


def _state(context: RequestContext, id_: str) -> Any:
    schema = context.schema
    found = context.state.transactions.get(id_)
    code = 0
    if not context.allowed("DESCRIBE", "TRANSACTIONAL_ID", id_):
        code = int(ErrorCode.transactional_id_authorization_failed)
    elif not id_:
        code = int(ErrorCode.invalid_request)
    elif coordinator_of(context.view.topics, id_, TRANSACTION_TOPIC) != context.broker_id:
        code = int(ErrorCode.not_coordinator)
    elif found is None:
        code = int(ErrorCode.transactional_id_not_found)
    if code or found is None:
        found = Transaction(id_, 0, 0, 0, "", 0)
    return schema.TransactionState(
        error_code=code,
        transactional_id=id_,
        transaction_state=found.state,
        transaction_timeout=timedelta(milliseconds=found.timeout_ms),
        transaction_start_time=found.started,
        producer_id=found.producer_id,
        producer_epoch=found.epoch,
        topics=_topics(schema, found.partitions),
    )


def _topics(schema: Any, places: Iterable[tuple[str, int]]) -> tuple[Any, ...]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(places):
        by_topic.setdefault(topic, []).append(number)
    return tuple(schema.TopicData(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic.items())
