"""AddPartitionsToTxn (24), v0-5: names partitions to the transaction coordinator before records go there (KIP-98,
KIP-890).

Version notes:
- v3: flexible.
- v4: for brokers, with several transactions, and to verify that a partition is in one (KIP-890).
"""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.producers import ONGOING, PREPARE, Transaction
from console.embedded.transactions import add, asked

_SEVERAL_FROM = 4


async def handle(request: Any, context: RequestContext) -> Any:
    """Add the partitions to the producer's transaction, or only verify them where a broker asks (v4 and later)."""
    schema = context.schema
    if context.version < _SEVERAL_FROM:
        found = asked(
            context,
            request.v3_and_below_transactional_id,
            int(request.v3_and_below_producer_id),
            request.v3_and_below_producer_epoch,
        )
        return context.answer(
            results_by_topic_v3_and_below=_results(context, found, request.v3_and_below_topics, only_ask=False)
        )
    if not context.allowed("CLUSTER_ACTION"):
        return context.answer(error_code=int(ErrorCode.cluster_authorization_failed), results_by_transaction=())
    return context.answer(
        error_code=0,
        results_by_transaction=tuple(
            schema.AddPartitionsToTxnResult(
                transactional_id=each.transactional_id,
                topic_results=_results(
                    context,
                    asked(context, each.transactional_id, int(each.producer_id), each.producer_epoch),
                    each.topics,
                    only_ask=each.verify_only,
                ),
            )
            for each in request.transactions
        ),
    )


def _results(context: RequestContext, found: Transaction | int, topics: Any, *, only_ask: bool) -> tuple[Any, ...]:
    schema = context.schema
    codes = _codes(context, found, topics, only_ask=only_ask)
    return tuple(
        schema.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=tuple(
                schema.AddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=codes[topic.name, number]
                )
                for number in topic.partitions
            ),
        )
        for topic in topics
    )


def _codes(
    context: RequestContext, found: Transaction | int, topics: Any, *, only_ask: bool
) -> dict[tuple[str, int], int]:
    """Return the error code of each partition. If one is refused the others are not attempted."""
    # Nothing is added unless all partitions can be: a producer retries the whole request, and Kafka's coordinator
    # writes the set of partitions as one record.
    places = [(topic.name, number) for topic in topics for number in topic.partitions]
    wrong = {place: code for place in places if (code := _wrong(context, *place))}
    if wrong and not isinstance(found, int):
        return {place: wrong.get(place, int(ErrorCode.operation_not_attempted)) for place in places}
    if isinstance(found, int):
        return dict.fromkeys(places, found)
    if only_ask:
        known = found.partitions if found.state == ONGOING else set()
        return {place: 0 if place in known else int(ErrorCode.invalid_txn_state) for place in places}
    # The markers of the last transaction are still being written: the client retries.
    if found.state in PREPARE.values():
        return dict.fromkeys(places, int(ErrorCode.concurrent_transactions))
    add(context.cluster, found, set(places))
    return dict.fromkeys(places, 0)


def _wrong(context: RequestContext, name: str, number: int) -> int:
    if not context.allowed("WRITE", "TOPIC", name):
        return int(ErrorCode.topic_authorization_failed)
    topic = context.view.topics.get(name)
    exists = topic is not None and 0 <= number < len(topic.partitions)
    return 0 if exists else int(ErrorCode.unknown_topic_or_partition)
