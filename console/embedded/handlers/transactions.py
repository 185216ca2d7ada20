"""Transactions: producers' requests, markers, and what is told of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import producers
from console.embedded import transactions as embedded_transactions
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import TRANSACTION_TOPIC, coordinator_of
from console.embedded.partitions import NotServed, asked_topic, led_partition

_NO_PRODUCER = -1


async def init_producer_id(request: Any, context: RequestContext) -> Any:
    """InitProducerId (22), v0-5: an id for an idempotent producer, or the next epoch of a transactional one (KIP-98).

    Return the producer's id and epoch, or the error code.

    Needs WRITE on the transactional id; without one IDEMPOTENT_WRITE on the cluster or WRITE on any topic (KIP-679).

    Version notes:
    - v2: flexible.
    - v3: the producer's current id and epoch (KIP-360).
    - v4: PRODUCER_FENCED.

    Differences from Kafka: the current id and epoch of v3 are not compared; every call begins the next epoch.
    """
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        code = ErrorCode.transactional_id_authorization_failed
    elif transactional_id is not None:
        timeout = round(request.transaction_timeout.total_seconds() * 1000)
        code, producer_id, epoch = embedded_transactions.begin(context, transactional_id, timeout)
    elif not (context.allowed("IDEMPOTENT_WRITE") or context.allowed_somewhere("WRITE", "TOPIC")):
        code = ErrorCode.cluster_authorization_failed
    else:
        producer_id, epoch = embedded_transactions.new_producer(context.cluster), 0
    return context.answer(error_code=code, producer_id=producer_id, producer_epoch=epoch)


_SEVERAL_FROM = 4


async def add_partitions_to_txn(request: Any, context: RequestContext) -> Any:
    """AddPartitionsToTxn (24), v0-5: names partitions to the transaction coordinator before records go there (KIP-98,
    KIP-890).

    Add the partitions to the producer's transaction, or only verify them where a broker asks (v4 and later).

    Version notes:
    - v3: flexible.
    - v4: for brokers, with several transactions, and to verify that a partition is in one (KIP-890).
    """
    schema = context.schema
    if context.version < _SEVERAL_FROM:
        found = embedded_transactions.asked(
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
                    embedded_transactions.asked(
                        context, each.transactional_id, int(each.producer_id), each.producer_epoch
                    ),
                    each.topics,
                    only_ask=each.verify_only,
                ),
            )
            for each in request.transactions
        ),
    )


def _results(
    context: RequestContext, found: producers.Transaction | int, topics: Any, *, only_ask: bool
) -> tuple[Any, ...]:
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
    context: RequestContext, found: producers.Transaction | int, topics: Any, *, only_ask: bool
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
        known = found.partitions if found.state == producers.ONGOING else set()
        return {place: 0 if place in known else int(ErrorCode.invalid_txn_state) for place in places}
    # The markers of the last transaction are still being written: the client retries.
    if found.state in producers.PREPARE.values():
        return dict.fromkeys(places, int(ErrorCode.concurrent_transactions))
    embedded_transactions.add(context.cluster, found, set(places))
    return dict.fromkeys(places, 0)


def _wrong(context: RequestContext, name: str, number: int) -> int:
    if not context.allowed("WRITE", "TOPIC", name):
        return int(ErrorCode.topic_authorization_failed)
    topic = context.view.topics.get(name)
    exists = topic is not None and 0 <= number < len(topic.partitions)
    return 0 if exists else int(ErrorCode.unknown_topic_or_partition)


_NONE = -1
_BUMPS_FROM = 5
"""The first version whose answer has the producer's next epoch (transaction.version 2)."""


async def end_txn(request: Any, context: RequestContext) -> Any:
    """EndTxn (26), v0-5: commits or aborts a producer's transaction (KIP-98, KIP-890).

    End the transaction, and return the error code; from v5 on the producer's next epoch, too.

    The transaction coordinator answers.

    Version notes:
    - v3: flexible.
    - v5: the producer's next epoch, which fences what the last one still sends (transaction.version 2).
    """
    found = embedded_transactions.asked(
        context, request.transactional_id, int(request.producer_id), request.producer_epoch
    )
    code = found if isinstance(found, int) else _ended(context, found, request.committed)
    told = isinstance(found, producers.Transaction) and not code and context.version >= _BUMPS_FROM
    return context.answer(
        error_code=code,
        producer_id=found.producer_id if told and isinstance(found, producers.Transaction) else _NONE,
        producer_epoch=found.epoch if told and isinstance(found, producers.Transaction) else _NONE,
    )


def _ended(context: RequestContext, found: producers.Transaction, commit: bool) -> int:
    if found.state == producers.COMPLETE[commit] and context.version < _BUMPS_FROM:
        return 0  # sent again
    if found.state != producers.ONGOING:
        return int(ErrorCode.concurrent_transactions if found.partitions else ErrorCode.invalid_txn_state)
    if context.version >= _BUMPS_FROM:
        found.epoch += 1
    embedded_transactions.end(context.cluster, found, commit=commit)
    # Epochs are 16 bits: when they are used up the producer gets another id.
    if found.epoch > embedded_transactions.LAST_EPOCH:
        found.producer_id, found.epoch = embedded_transactions.new_producer(context.cluster), 0
    return 0


async def write_txn_markers(request: Any, context: RequestContext) -> Any:
    """WriteTxnMarkers (27), v1-2: ends transactions in partitions (KIP-98); for brokers, and for what hangs (KIP-664).

    Append a marker to each partition, and return its error code.

    Needs CLUSTER_ACTION or ALTER on the cluster.

    Version notes:
    - v1: flexible.
    - v2: the transaction's version, which is not compared here (KIP-1228).
    """
    schema = context.schema
    allowed = context.allowed("ALTER") or context.allowed("CLUSTER_ACTION")
    return context.answer(
        markers=tuple(
            schema.WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=tuple(
                    schema.WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=tuple(
                            schema.WritableTxnMarkerPartitionResult(
                                partition_index=number,
                                error_code=_write(context, marker, topic, number)
                                if allowed
                                else int(ErrorCode.cluster_authorization_failed),
                            )
                            for number in topic.partition_indexes
                        ),
                    )
                    for topic in marker.topics
                ),
            )
            for marker in request.markers
        )
    )


def _write(context: RequestContext, marker: Any, topic: Any, number: int) -> int:
    found = led_partition(context, asked_topic(context, topic), number)
    if isinstance(found, NotServed):
        return found.code
    try:
        embedded_transactions.append_marker(
            context.cluster,
            (topic.name, number),
            int(marker.producer_id),
            marker.producer_epoch,
            marker.coordinator_epoch,
            commit=marker.transaction_result,
        )
    except producers.FencedProducer:
        return int(ErrorCode.invalid_producer_epoch)
    except producers.FencedCoordinator:
        return int(ErrorCode.transaction_coordinator_fenced)
    return 0


_MESSAGES: Mapping[int, str] = {
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
}
"""Of errors of a whole topic; those of a partition have none."""


async def describe_producers(request: Any, context: RequestContext) -> Any:
    """DescribeProducers (61), v0: the producers of partitions, as a replica knows them (KIP-664).

    Return the producers or an error for each partition.

    Any replica answers, not the leader alone: that is how a producer is found that hangs on one. Needs READ on the
    topic.
    """
    schema = context.schema
    embedded_transactions.expire(context.cluster)
    return context.answer(
        topics=tuple(
            schema.TopicResponse(
                name=topic.name,
                partitions=tuple(_partition(context, topic.name, number) for number in topic.partition_indexes),
            )
            for topic in request.topics
        )
    )


def _partition(context: RequestContext, name: str, number: int) -> Any:
    schema = context.schema
    code = _error(context, name, number)
    log = context.state.logs.get((name, number)) if not code else None
    return schema.PartitionResponse(
        partition_index=number,
        error_code=code,
        error_message=_MESSAGES.get(code) if code and _of_topic(context, name, code) else None,
        active_producers=()
        if log is None
        else tuple(_producer(schema, id_, entry) for id_, entry in log.producers.entries()),
    )


def _error(context: RequestContext, name: str, number: int) -> int:
    if not context.allowed("READ", "TOPIC", name):
        return int(ErrorCode.topic_authorization_failed)
    topic = context.view.topics.get(name)
    if topic is None or not 0 <= number < len(topic.partitions):
        return int(ErrorCode.unknown_topic_or_partition)
    if context.broker_id not in topic.partitions[number].replicas:
        return int(ErrorCode.not_leader_or_follower)
    return 0


def _of_topic(context: RequestContext, name: str, code: int) -> bool:
    return code == ErrorCode.topic_authorization_failed or name not in context.view.topics


def _producer(schema: Any, id_: int, entry: producers.ProducerEntry) -> Any:
    return schema.ProducerState(
        producer_id=id_,
        producer_epoch=entry.epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=entry.start,
    )


async def describe_transactions(request: Any, context: RequestContext) -> Any:
    """DescribeTransactions (65), v0: transactional ids as their coordinator knows them (KIP-664).

    Return the transaction or an error for each id. Ends first what has timed out.

    Needs DESCRIBE on the transactional id.
    """
    embedded_transactions.expire(context.cluster)
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
        found = producers.Transaction(id_, 0, 0, 0, "", 0)
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


async def list_transactions(request: Any, context: RequestContext) -> Any:
    """ListTransactions (66), v0-2: the transactional ids that this broker coordinates (KIP-664).

    Return the transactions that match the filters. Leaves out silently what the principal may not describe.

    A client asks every broker and merges the answers.

    Version notes:
    - v1: a filter by duration (KIP-994).
    - v2: a filter by a pattern of the id (KIP-1152).

    Differences from Kafka: the pattern is a regular expression of Python's, not of RE2/J.
    """
    schema = context.schema
    unknown = tuple(state for state in request.state_filters if state not in producers.STATES)
    wanted = frozenset(request.state_filters) - frozenset(unknown)
    code = 0
    pattern = None
    try:
        pattern = re.compile(getattr(request, "transactional_id_pattern", None) or "")
    except re.error:
        code = int(ErrorCode.invalid_regular_expression)
    # Where all states of the filter are unknown nothing matches, instead of everything.
    found = (
        tuple(embedded_transactions.of_broker(context)) if not code and (wanted or not request.state_filters) else ()
    )
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


def _long_enough(context: RequestContext, each: producers.Transaction, longer_than: int) -> bool:
    return longer_than < 0 or int(context.clock.time() * 1000) - each.started > longer_than
