"""Handlers for transactions: the requests of producers, the markers that end transactions in partitions, and the
descriptions of producers and transactions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import producers
from console.embedded import transactions as embedded_transactions
from console.embedded.answers import Result, each_item, elements, error_answer
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import TRANSACTION_TOPIC, coordinator_of, ensure_topic
from console.embedded.partitions import NotServed, asked_topic, led_partition
from console.embedded.refusals import Refusal
from console.model.grouping import grouped

_NO_PRODUCER = -1


async def init_producer_id(request: Any, context: RequestContext) -> Any:
    """InitProducerId (22), v0-5: an id for an idempotent producer, or the next epoch of a transactional one (KIP-98).

    Return the producer's id and epoch, or the error code.

    Needs WRITE on the transactional id; without one, IDEMPOTENT_WRITE on the cluster or WRITE on any topic (KIP-679).

    Version notes:
    - v2: flexible.
    - v3: the producer's current id and epoch (KIP-360); a producer with another id or epoch is fenced.
    - v4: PRODUCER_FENCED.

    Differences from Kafka: when a producer has used up its epochs and gets another id, it can't repeat the request with
    its former id.
    """
    code, producer_id, epoch = 0, _NO_PRODUCER, _NO_PRODUCER
    transactional_id = request.transactional_id
    if transactional_id is not None and not context.allowed("WRITE", "TRANSACTIONAL_ID", transactional_id):
        code = ErrorCode.transactional_id_authorization_failed
    elif transactional_id is not None:
        timeout = round(request.transaction_timeout.total_seconds() * 1000)
        mine = int(getattr(request, "producer_id", _NO_PRODUCER)), getattr(request, "producer_epoch", _NO_PRODUCER)
        code, producer_id, epoch = embedded_transactions.begin(context, transactional_id, timeout, mine)
    elif not (context.allowed("IDEMPOTENT_WRITE") or context.allowed_somewhere("WRITE", "TOPIC")):
        code = ErrorCode.cluster_authorization_failed
    else:
        producer_id, epoch = embedded_transactions.new_producer(context.cluster), 0
    return context.answer(error_code=code, producer_id=producer_id, producer_epoch=epoch)


_SEVERAL_FROM = 4


async def add_partitions_to_txn(request: Any, context: RequestContext) -> Any:
    """AddPartitionsToTxn (24), v0-5: adds partitions to a transaction before records are written to them (KIP-98,
    KIP-890).

    Add the partitions to the producer's transaction; for a broker (v4 and later), only verify that they are in it.

    Version notes:
    - v3: flexible.
    - v4: for brokers: several transactions, and verification that a partition is in one (KIP-890).
    """
    if context.version < _SEVERAL_FROM:
        found = embedded_transactions.asked(
            context,
            request.v3_and_below_transactional_id,
            int(request.v3_and_below_producer_id),
            request.v3_and_below_producer_epoch,
        )
        codes = _codes(context, found, request.v3_and_below_topics, only_ask=False)
        return each_item(context, request, lambda topic, number: codes[topic.name, number])
    if not context.allowed("CLUSTER_ACTION"):
        return context.answer(error_code=ErrorCode.cluster_authorization_failed)
    return context.answer(results_by_transaction=tuple(_transaction(context, each) for each in request.transactions))


def _transaction(context: RequestContext, asked: Any) -> Any:
    id_ = asked.transactional_id
    found = embedded_transactions.asked(context, id_, int(asked.producer_id), asked.producer_epoch)
    codes = _codes(context, found, asked.topics, only_ask=asked.verify_only)
    type_ = context.schema.AddPartitionsToTxnResult
    arrays = (("topic_results", "topics"), ("results_by_partition", "partitions"))
    return type_(
        transactional_id=id_, **elements(type_, asked, arrays, lambda topic, number: codes[topic.name, number])
    )


def _codes(
    context: RequestContext, found: producers.Transaction | int, topics: Any, *, only_ask: bool
) -> dict[tuple[str, int], int]:
    """Add partitions to a transaction, unless one is refused. Return (topic, partition) -> error code, 0 for success;
    if some are refused, the others get OPERATION_NOT_ATTEMPTED.

    Args:
        found: the transaction, or an error code, which then all partitions get.
        topics: the topics in the request, with their partitions.
        only_ask: whether to add nothing, and only verify that the transaction has the partitions.
    """
    # Add all partitions or none: a producer retries the whole request, and Kafka's coordinator writes the set of
    # partitions as one record.
    places = [(topic.name, number) for topic in topics for number in topic.partitions]
    wrong = {place: code for place in places if (code := _wrong(context, *place))}
    if wrong and not isinstance(found, int):
        return {place: wrong.get(place, int(ErrorCode.operation_not_attempted)) for place in places}
    if isinstance(found, int):
        return dict.fromkeys(places, found)
    if only_ask:
        known = found.partitions if found.state == producers.ONGOING else set()
        return {place: 0 if place in known else int(ErrorCode.invalid_txn_state) for place in places}
    # While the coordinator writes the markers of the last transaction, the client has to retry.
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


async def add_offsets_to_txn(request: Any, context: RequestContext) -> Any:
    """AddOffsetsToTxn (25), v0-4: adds a group to a transaction before its offsets are committed in it (KIP-98).

    Add the partition with the group's offsets to the producer's transaction, and return the error code.

    Needs WRITE on the transactional id and READ on the group.

    Version notes:
    - v3: flexible.
    - v4: ABORTABLE_TRANSACTION, which is not returned here (KIP-890).
    """
    found = embedded_transactions.asked(
        context, request.transactional_id, int(request.producer_id), request.producer_epoch
    )
    if isinstance(found, int):
        return context.answer(error_code=found)
    if not context.allowed("READ", "GROUP", request.group_id):
        return context.answer(error_code=ErrorCode.group_authorization_failed)
    if found.state in producers.PREPARE.values():
        return context.answer(error_code=ErrorCode.concurrent_transactions)
    ensure_topic(context.state)
    embedded_transactions.add(
        context.cluster, found, {embedded_transactions.place_of_offsets(context, request.group_id)}
    )
    return context.answer()


_NONE = -1
_BUMPS_FROM = 5
"""The first version of EndTxn whose response has the producer's next epoch (transaction.version 2)."""


async def end_txn(request: Any, context: RequestContext) -> Any:
    """EndTxn (26), v0-5: commits or aborts a producer's transaction (KIP-98, KIP-890).

    End the transaction, and return the error code and, since v5, the producer's next epoch. Only the transaction
    coordinator accepts it.

    Version notes:
    - v3: flexible.
    - v5: the producer's next epoch, which fences late records of the last one (transaction.version 2).
    """
    found = embedded_transactions.asked(
        context, request.transactional_id, int(request.producer_id), request.producer_epoch
    )
    if isinstance(found, int) and (known := _asked_again(context, request)) is not None:
        found, code = known, _known_end(known, request.committed)
    else:
        code = found if isinstance(found, int) else _ended(context, found, request.committed)
    if isinstance(found, int) or code or context.version < _BUMPS_FROM:
        return context.answer(error_code=code, producer_id=_NONE, producer_epoch=_NONE)
    return context.answer(producer_id=found.producer_id, producer_epoch=found.epoch)


def _asked_again(context: RequestContext, request: Any) -> producers.Transaction | None:
    """Return the transaction if this producer has ended it before, so that the request repeats an earlier EndTxn;
    otherwise None.
    """
    found = context.state.transactions.get(request.transactional_id)
    mine = int(request.producer_id), request.producer_epoch
    if context.version < _BUMPS_FROM or found is None or (found.producer_id, found.last_epoch) != mine:
        return None
    return found if found.state not in (producers.EMPTY, producers.ONGOING) else None


def _known_end(found: producers.Transaction, commit: bool) -> int:
    if found.state == producers.PREPARE[commit]:
        return int(ErrorCode.concurrent_transactions)
    return 0 if found.state == producers.COMPLETE[commit] else int(ErrorCode.invalid_txn_state)


def _ended(context: RequestContext, found: producers.Transaction, commit: bool) -> int:
    if context.version >= _BUMPS_FROM and not commit and not found.partitions:
        found.state = producers.ONGOING  # the transaction has no partitions, so only its epoch has to end
    if found.state == producers.COMPLETE[commit] and context.version < _BUMPS_FROM:
        return 0  # the request is a retry
    if found.state != producers.ONGOING:
        return int(ErrorCode.concurrent_transactions if found.partitions else ErrorCode.invalid_txn_state)
    if context.version >= _BUMPS_FROM:
        found.epoch, found.last_epoch = found.epoch + 1, found.epoch
    embedded_transactions.end(context.cluster, found, commit=commit)
    # An epoch has 16 bits: after the last epoch, the producer gets another id.
    if found.epoch > embedded_transactions.LAST_EPOCH:
        found.producer_id, found.epoch = embedded_transactions.new_producer(context.cluster), 0
    return 0


async def write_txn_markers(request: Any, context: RequestContext) -> Any:
    """WriteTxnMarkers (27), v1-2: ends transactions in partitions (KIP-98). Brokers send it, and clients for
    transactions that hang (KIP-664).

    Append a marker to each partition, and return its error code.

    Needs CLUSTER_ACTION or ALTER on the cluster.

    Version notes:
    - v1: flexible.
    - v2: the transaction's version, which is not compared here (KIP-1228).
    """
    if not (context.allowed("ALTER") or context.allowed("CLUSTER_ACTION")):
        return error_answer(request, context.messages, ErrorCode.cluster_authorization_failed)
    return each_item(context, request, partial(_write, context))


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
"""Error code of a whole topic -> its message. Errors of single partitions have no message."""


async def describe_producers(request: Any, context: RequestContext) -> Any:
    """DescribeProducers (61), v0: the producers in partitions, from the state of one replica (KIP-664).

    Return the producers or an error for each partition.

    Each broker with a replica answers, not only the leader: a transaction may hang on one replica only. Needs READ on
    the topic.
    """
    embedded_transactions.expire(context.cluster)
    return each_item(context, request, partial(_producers, context))


def _producers(context: RequestContext, topic: Any, number: int) -> Result:
    name = topic.name
    if code := _error(context, name, number):
        return Refusal(code, _MESSAGES.get(code) if _of_topic(context, name, code) else None)
    log = context.state.logs.get((name, number))
    active = () if log is None else log.producers.entries()
    return {"active_producers": tuple(_producer(id_, entry) for id_, entry in active)}


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


def _producer(id_: int, entry: producers.ProducerEntry) -> Any:
    return {
        "producer_id": id_,
        "producer_epoch": entry.epoch,
        "last_sequence": entry.last_sequence,
        "last_timestamp": entry.timestamp,
        "coordinator_epoch": entry.coordinator_epoch,
        "current_txn_start_offset": entry.start,
    }


async def describe_transactions(request: Any, context: RequestContext) -> Any:
    """DescribeTransactions (65), v0: transactional ids as their coordinator knows them (KIP-664).

    Return the transaction or an error for each id. First abort the transactions that have timed out.

    Needs DESCRIBE on the transactional id.
    """
    embedded_transactions.expire(context.cluster)
    return each_item(context, request, partial(_state, context))


def _state(context: RequestContext, id_: str) -> Result:
    if not context.allowed("DESCRIBE", "TRANSACTIONAL_ID", id_):
        return ErrorCode.transactional_id_authorization_failed
    if not id_:
        return ErrorCode.invalid_request
    if coordinator_of(context.view.topics, id_, TRANSACTION_TOPIC) != context.broker_id:
        return ErrorCode.not_coordinator
    found = context.state.transactions.get(id_)
    if found is None:
        return ErrorCode.transactional_id_not_found
    by_topic = grouped((topic, number) for topic, number in sorted(found.partitions))
    return {
        "transaction_state": found.state,
        "transaction_timeout": timedelta(milliseconds=found.timeout_ms),
        "transaction_start_time": found.started,
        "producer_id": found.producer_id,
        "producer_epoch": found.epoch,
        "topics": tuple({"topic": topic, "partitions": tuple(numbers)} for topic, numbers in by_topic.items()),
    }


async def list_transactions(request: Any, context: RequestContext) -> Any:
    """ListTransactions (66), v0-2: the transactional ids that this broker coordinates (KIP-664).

    Return the transactions that match the filters. Those that the principal may not describe are omitted without an
    error.

    A client sends the request to every broker and merges the responses.

    Version notes:
    - v1: a filter by duration (KIP-994).
    - v2: a filter by a pattern of the id (KIP-1152).

    Differences from Kafka: the pattern is a regular expression of Python, not of RE2/J.
    """
    unknown = tuple(state for state in request.state_filters if state not in producers.STATES)
    wanted = frozenset(request.state_filters) - frozenset(unknown)
    try:
        pattern = re.compile(getattr(request, "transactional_id_pattern", None) or "")
    except re.error:
        return context.answer(error_code=ErrorCode.invalid_regular_expression, unknown_state_filters=unknown)
    # If the filter contains only unknown states, no transaction matches, whereas all match an empty filter.
    found = embedded_transactions.of_broker(context) if wanted or not request.state_filters else ()
    return context.answer(
        unknown_state_filters=unknown,
        transaction_states=tuple(
            {"transactional_id": each.id, "producer_id": each.producer_id, "transaction_state": each.state}
            for each in found
            if context.allowed("DESCRIBE", "TRANSACTIONAL_ID", each.id)
            and (not wanted or each.state in wanted)
            and (not request.producer_id_filters or each.producer_id in request.producer_id_filters)
            and _long_enough(context, each, getattr(request, "duration_filter", -1))
            and (pattern.fullmatch(each.id) or not pattern.pattern)
        ),
    )


def _long_enough(context: RequestContext, each: producers.Transaction, longer_than: int) -> bool:
    return longer_than < 0 or int(context.clock.time() * 1000) - each.started > longer_than
