"""Transactions (KIP-98, KIP-664): listed, described, found where they hang, and ended there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, BrokerError, failure, of_all_brokers
from console.admin.groups import OF_TRANSACTIONS, SETTLE_SECONDS, find_coordinators
from console.admin.halving import Halving
from console.admin.link import Link
from console.admin.partitions import by_topic, leaders_of, place_text
from console.admin.routing import broker, until_settled
from console.model.failure import Failure
from console.model.transactions import (
    Place,
    Producer,
    ProducerListing,
    Transaction,
    TransactionListing,
)

PARTITIONS_AT_ONCE = 500
"""Partitions in one DescribeProducers, as many as Kafka's own command asks for."""
IDS_AT_ONCE = 500
"""Transactional ids in one FindCoordinator and in one DescribeTransactions."""

_NEEDS = "3.0"
_COORDINATOR_MOVES = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)
T = TypeVar("T")

# -- producers ---------------------------------------------------------------------------------------------------------


async def describe_producers(link: Link, places: Iterable[Place], replica: int | None = None) -> ProducerListing:
    """Return the producers of each partition, as its leader knows them, or its failure (KIP-664). Needs Read on the
    topic.

    replica: the broker to ask instead of the leaders. At most `PARTITIONS_AT_ONCE` partitions go into one request; a
    broker gets one request after the other. Raises Unsupported before Kafka 3.0, and AdminError if the cluster can't be
    reached.
    """
    wanted = tuple(dict.fromkeys(places))
    if not wanted:
        return ProducerListing({})
    found: dict[Place, tuple[Producer, ...]] = {}
    by_broker, failures = await leaders_of(link, wanted) if replica is None else ({replica: list(wanted)}, {})
    answers = await asyncio.gather(*(_producers_at(link, id_, mine) for id_, mine in by_broker.items()))
    for answer in answers:
        found.update(answer.producers)
        failures.update(answer.failures)
    return ProducerListing(found, failures)


async def _producers_at(link: Link, broker_id: int, places: Sequence[Place]) -> ProducerListing:
    found: dict[Place, tuple[Producer, ...]] = {}
    failures: dict[Place, Failure] = {}
    await link.require("describe_producers", 0, _NEEDS, broker(broker_id))
    halving = Halving(place_text)

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[Producer, ...] | Failure]:
        response = await link.call("describe_producers", _producers_request(some), to=broker(broker_id))
        return {
            (topic.name, part.partition_index): failure(
                part.error_code, part.error_message or f"{topic.name}-{part.partition_index}"
            )
            if part.error_code
            else tuple(map(_producer, part.active_producers))
            for topic in response.topics
            for part in topic.partitions
        }

    for chunk in chunks(places, PARTITIONS_AT_ONCE):
        try:
            answer = await halving.read(chunk, ask)
        except AdminError as error:
            failures.update(dict.fromkeys(chunk, error.failure))
            continue
        found |= {place: each for place, each in answer.items() if not isinstance(each, Failure)}
        failures |= {place: each for place, each in answer.items() if isinstance(each, Failure)}
    return ProducerListing(found, failures)


def _producers_request(places: Sequence[Place]) -> Any:
    def build(kio: ModuleType) -> Any:
        return kio.DescribeProducersRequest(
            topics=tuple(
                kio.TopicRequest(name=topic, partition_indexes=tuple(numbers))
                for topic, numbers in by_topic(places).items()
            )
        )

    return build


def _producer(state: Any) -> Producer:
    return Producer(
        int(state.producer_id),
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset,
    )


# -- coordinators ------------------------------------------------------------------------------------------------------


async def list_transactions(
    link: Link,
    states: Sequence[str] = (),
    producer_ids: Collection[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> TransactionListing:
    """Return all transactions of all brokers, not described. A broker that can't be reached is the failure ``broker
    N``.

    states, producer_ids: only these; empty for all. longer_than_ms: only those that have run longer, Kafka 3.8 and
    newer. pattern: only ids that match this regular expression (RE2), Kafka 4.1 and newer.

    **What the principal may not DESCRIBE is left out silently.** Raises Unsupported if a filter is, before Kafka 3.0,
    AdminError if the cluster can't be reached, and the first broker's error if no broker can list.
    """
    least, needs = (2, "4.1") if pattern else (1, "3.8") if longer_than_ms >= 0 else (0, _NEEDS)
    await link.require("list_transactions", least, needs)
    ids = sorted((await link.refresh()).brokers)
    answers = await asyncio.gather(
        *(_listed_at(link, id_, least, needs, (states, tuple(producer_ids), longer_than_ms, pattern)) for id_ in ids)
    )
    parts, failures = of_all_brokers(dict(zip(ids, answers, strict=True)))
    found = {each.id: each for part in parts for each in part}
    return TransactionListing(dict(sorted(found.items())), failures)


async def _listed_at(
    link: Link,
    broker_id: int,
    least: int,
    needs: str,
    filters: tuple[Sequence[str], tuple[int, ...], int, str | None],
) -> list[Transaction] | AdminError:
    states, producer_ids, longer_than_ms, pattern = filters

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(
            kio.ListTransactionsRequest,
            state_filters=tuple(states),
            producer_id_filters=producer_ids,
            duration_filter=longer_than_ms,
            transactional_id_pattern=pattern,
        )

    try:
        await link.require("list_transactions", least, needs, broker(broker_id))
        response = await until_settled(
            lambda: link.call("list_transactions", build, to=broker(broker_id)),
            lambda answer: answer.error_code in _COORDINATOR_MOVES,
            within=SETTLE_SECONDS,
        )
    except AdminError as error:
        return error
    if response.error_code:
        return BrokerError(failure(response.error_code))
    if response.unknown_state_filters:
        text = f"broker {broker_id} does not know the state {response.unknown_state_filters[0]}"
        return BrokerError(Failure("INVALID_REQUEST", text, "States are Kafka's, such as Ongoing or PrepareAbort."))
    return [
        Transaction(each.transactional_id, int(each.producer_id), each.transaction_state, broker_id)
        for each in response.transaction_states
    ]


async def describe_transactions(link: Link, ids: Iterable[str]) -> TransactionListing:
    """Return each transactional id as its coordinator knows it, or its failure. Needs Describe on the transactional id.

    Raises Unsupported before Kafka 3.0, and AdminError if the cluster can't be reached.
    """
    await link.require("describe_transactions", 0, _NEEDS)
    found: dict[str, Transaction] = {}
    failures: dict[str, Failure] = {}
    for chunk in chunks(tuple(dict.fromkeys(ids)), IDS_AT_ONCE):
        coordinators, without = await find_coordinators(link, chunk, OF_TRANSACTIONS)
        by_broker: dict[int, list[str]] = {}
        for id_, broker_id in coordinators.items():
            by_broker.setdefault(broker_id, []).append(id_)
        parts = await asyncio.gather(*(_described_at(link, broker_id, mine) for broker_id, mine in by_broker.items()))
        failures.update(without)
        for part in parts:
            found.update(part.transactions)
            failures.update(part.failures)
    return TransactionListing(found, failures)


async def _described_at(link: Link, broker_id: int, ids: Sequence[str]) -> TransactionListing:
    async def ask(some: Sequence[str]) -> Mapping[str, Transaction | Failure]:
        response = await until_settled(
            lambda: describe_ids(link, broker_id, some),
            lambda answer: any(each.error_code in _COORDINATOR_MOVES for each in answer.transaction_states),
            within=SETTLE_SECONDS,
        )
        return {
            each.transactional_id: failure(each.error_code, each.transactional_id)
            if each.error_code
            else _described(each, broker_id)
            for each in response.transaction_states
        }

    try:
        answer = await Halving().read(ids, ask)
    except AdminError as error:
        return TransactionListing({}, dict.fromkeys(ids, error.failure))
    return TransactionListing(
        {id_: each for id_, each in answer.items() if not isinstance(each, Failure)},
        {id_: each for id_, each in answer.items() if isinstance(each, Failure)},
    )


def describe_ids(link: Link, broker_id: int, ids: Sequence[str]) -> Awaitable[Any]:
    """Return the answer of one broker to DescribeTransactions for these ids."""
    return link.call(
        "describe_transactions",
        lambda kio: kio.DescribeTransactionsRequest(transactional_ids=tuple(ids)),
        to=broker(broker_id),
    )


def _described(state: Any, coordinator: int) -> Transaction:
    return Transaction(
        state.transactional_id,
        int(state.producer_id),
        state.transaction_state,
        coordinator,
        state.producer_epoch,
        round(state.transaction_timeout.total_seconds() * 1000),
        state.transaction_start_time,
        frozenset((topic.topic, number) for topic in state.topics for number in topic.partitions),
    )


def chunks(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return the items in parts of at most this size."""
    return [items[start : start + size] for start in range(0, len(items), size)]
