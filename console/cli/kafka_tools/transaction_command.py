"""Carries out `kac transactions`, with kafka-transactions' tables and words."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from console.answers.results import Column, Row, Table
from console.cli.kafka_tools.aligned import safe, tabbed
from console.cli.kafka_tools.reset_offsets import Place
from console.cli.noun import Change, Changed, OptionsError, Running
from console.language.quoting import quote
from console.model.failure import Failure, sentences
from console.model.numbers import Data
from console.model.transactions import OpenTransaction, Producer, ProducerListing, Transaction, verdict

if TYPE_CHECKING:
    from console.contexts import Context
    from console.session.snapshot_reader import Client

DONE, FAILED = 0, 1
NONE = "None"
_MINUTE_MS = 60_000
_DEFAULT_MINUTES = 15
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")

LISTED = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBED = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
HANGING = (
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
)


VISIBLE = "none that this principal may DESCRIBE: brokers leave out others"
"""Printed where the list is empty, which does not mean that there are no transactions."""


def _print(
    command: Running, name: str, headers: Sequence[str], rows: Iterable[Sequence[str]], empty: str = "none"
) -> None:
    found = list(rows)
    if command.is_kafka:
        command.lines(tabbed(headers, found))
        return
    keys = [_HUMP.sub("_", header.replace("(min)", "Min")).lower() for header in headers]
    made = tuple(Row(tuple(row), {key: _data(text) for key, text in zip(keys, row, strict=True)}) for row in found)
    command.show([Table(name, tuple(map(Column, headers)), made, empty=empty)])


def _data(text: str) -> Data:
    if text == NONE:
        return None
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else text


def _fail(command: Running, what: str, failure: Failure) -> int:
    text = f"{what}: {safe(failure.message or failure.name)}"
    if command.is_kafka:
        command.lines((), (f"{text}. Enable debug logging for additional detail.",))
    else:
        command.complain(sentences(text, failure.remedy))
    return FAILED


# -- coordinators ------------------------------------------------------------------------------------------------------


async def list_(command: Running, client: Client, _context: Context) -> int:
    """Print the transactions of all coordinators; return the exit code."""
    from console.admin.errors import AdminError
    from console.admin.transactions import list_transactions

    given = command.given
    longer = -1 if given.duration_filter is None else given.duration_filter
    try:
        listing = await client.run(list_transactions, (), (), longer, given.transactional_id_pattern)
    except AdminError as error:
        return _fail(command, "Failed to list transactions", error.failure)
    rows = (
        (safe(each.id), str(each.coordinator), str(each.producer_id), safe(each.state))
        for each in listing.transactions.values()
    )
    _print(command, "transactions", LISTED, rows, VISIBLE)
    for what, failure in listing.failures.items():
        command.complain(f"{what}: {failure}")
    return FAILED if listing.failures else DONE


async def describe(command: Running, client: Client, _context: Context) -> int:
    """Print one transaction; return the exit code."""
    from console.admin.transactions import describe_transactions

    id_ = command.given.transactional_id
    listing = await client.run(describe_transactions, [id_])
    found = listing.transactions.get(id_)
    if found is None:
        failure = listing.failures[id_]
        if failure.name == "TRANSACTIONAL_ID_NOT_FOUND":
            text = f"DescribeTransactions request for transactionalId `{id_}` failed because the ID could not be found"
            failure = Failure(failure.name, text, failure.remedy)
        return _fail(command, f"Failed to describe transaction state of transactional-id `{safe(id_)}`", failure)
    _print(command, "transactions", DESCRIBED, [described(found, time.time_ns() // 1_000_000)])
    return DONE


def described(transaction: Transaction, now_ms: int) -> tuple[str, ...]:
    """Return the row of a transaction under `DESCRIBED`."""
    runs = transaction.start_ms >= 0
    return (
        str(transaction.coordinator),
        safe(transaction.id),
        str(transaction.producer_id),
        str(transaction.epoch),
        safe(transaction.state),
        str(transaction.timeout_ms),
        str(transaction.start_ms) if runs else NONE,
        str(now_ms - transaction.start_ms) if runs else NONE,
        ",".join(f"{safe(topic)}-{number}" for topic, number in sorted(transaction.partitions or ())),
    )


# -- partitions --------------------------------------------------------------------------------------------------------


async def describe_producers(command: Running, client: Client, _context: Context) -> int:
    """Print the producers of a partition; return the exit code."""
    given = command.given
    place = (given.topic, given.partition)
    listing = await _producers(client, [place], given.broker_id)
    if place in listing.failures:
        where = "leader" if given.broker_id is None else f"broker {given.broker_id}"
        shown, failure = f"{safe(place[0])}-{place[1]}", listing.failures[place]
        if failure.name == "NOT_LEADER_OR_FOLLOWER" and given.broker_id is not None:
            text = f"Failed to describe active producers for partition {shown} on brokerId {given.broker_id}"
            failure = Failure(failure.name, text, f"Broker {given.broker_id} has no replica of it: name another.")
        return _fail(command, f"Failed to describe producers for partition {shown} on {where}", failure)
    rows = (
        (
            str(each.id),
            str(each.epoch),
            str(each.coordinator_epoch),
            str(each.last_sequence),
            str(each.last_timestamp),
            str(each.start_offset) if each.start_offset >= 0 else NONE,
        )
        for each in listing.producers[place]
    )
    _print(command, "producers", PRODUCERS, rows)
    return DONE


async def _producers(client: Client, places: Sequence[Place], broker_id: int | None) -> ProducerListing:
    from console.admin.transactions import describe_producers as read

    return await client.run(read, places, broker_id)


async def find_hanging(command: Running, client: Client, _context: Context) -> int:
    """Print open transactions that no coordinator will end; return the exit code.

    With --output kafka by kafka-transactions' rule; in kac's own forms by a stricter one, with the reason for each.
    """
    from console.admin.topics import describe_topics

    given = command.given
    if given.partition is not None:
        places = [(given.topic, given.partition)]
    else:
        known = (await client.run(describe_topics, None if given.topic is None else [given.topic])).topics
        if given.topic is not None and given.topic not in known:
            missing = Failure("UNKNOWN_TOPIC_OR_PARTITION", "This server does not host this topic-partition.", "")
            return _fail(command, "Failed to describe 1 topics", missing)
        places = [
            (topic.name, each.number)
            for topic in known.values()
            if given.topic is None or topic.name == given.topic
            for each in topic.partitions
            if given.broker_id is None or given.broker_id in each.replicas
        ]
    return await (_kafkas_rule if command.is_kafka else _own_rule)(command, client, places)


async def _own_rule(command: Running, client: Client, places: Sequence[Place]) -> int:
    from console.admin.transactions import poll_transactions

    seen = await client.run(poll_transactions, places)
    columns = ("Topic", "Partition", "ProducerId", "StartOffset", "Standing", "Why")
    rows = []
    for each in seen.open:
        judged = verdict(each, seen)
        where = (safe(each.topic), str(each.partition), str(each.producer.id), str(each.producer.start_offset))
        rows.append((*where, judged.standing.value, safe(judged.why)))
    _print(command, "transactions", columns, rows)
    for place, failure in seen.failures.items():
        command.complain(f"{place[0]}-{place[1]}: {failure}")
    return FAILED if seen.failures else DONE


async def _kafkas_rule(command: Running, client: Client, places: Sequence[Place]) -> int:
    from console.admin.transactions import describe_transactions, list_transactions

    given = command.given
    listing = await _producers(client, places, given.broker_id)
    if listing.failures:
        what = (
            f"Failed to describe producers for {len(places)} partitions on broker {given.broker_id or 'Optional.empty'}"
        )
        return _fail(command, what, next(iter(listing.failures.values())))
    now = time.time_ns() // 1_000_000
    minutes = _DEFAULT_MINUTES if given.max_transaction_timeout is None else given.max_transaction_timeout
    old = candidates(listing, now, minutes * _MINUTE_MS)
    found: list[OpenTransaction] = []
    if old:
        ids = sorted({each.producer.id for each in old})
        known = await client.run(list_transactions, (), ids)
        described_ = await client.run(describe_transactions, list(known.transactions))
        unknown = {id_: each for id_, each in described_.failures.items() if each.name != "TRANSACTIONAL_ID_NOT_FOUND"}
        if known.failures or unknown:
            failure = next(iter((*known.failures.values(), *unknown.values())))
            return _fail(command, f"Failed to describe {len(ids)} transactions", failure)
        found = hanging(old, known.transactions, described_.transactions)
    _print(command, "transactions", HANGING, (hanging_row(each, now) for each in found))
    return DONE


def candidates(listing: ProducerListing, now_ms: int, longest_ms: int) -> list[OpenTransaction]:
    """Return the open transactions whose last record is older than a transaction may last."""
    return [
        OpenTransaction(*place, producer)
        for place, producers in sorted(listing.producers.items())
        for producer in producers
        if producer.start_offset >= 0 and now_ms - producer.last_timestamp > longest_ms
    ]


def hanging(
    late: Iterable[OpenTransaction], listed: Mapping[str, Transaction], described_: Mapping[str, Transaction]
) -> list[OpenTransaction]:
    """Return those that the coordinators don't list, or list without the partition, as kafka-transactions judges them
    (FindHangingTransactionsCommand.filterHangingTransactions).

    Args:
        late: open transactions that are older than they may be.
        listed: transactional id -> the transaction as ListTransactions reports it.
        described_: transactional id -> the same as DescribeTransactions reports it, with its partitions.
    """
    ids = {each.producer_id: id_ for id_, each in listed.items()}

    def is_kept(each: OpenTransaction) -> bool:
        known = described_.get(ids.get(each.producer.id, ""))
        return known is not None and each.place in (known.partitions or ())

    return [each for each in late if not is_kept(each)]


def hanging_row(each: OpenTransaction, now_ms: int) -> tuple[str, ...]:
    """Return the row of a transaction under `HANGING`."""
    producer = each.producer
    return (
        safe(each.topic),
        str(each.partition),
        str(producer.id),
        str(producer.epoch),
        str(producer.coordinator_epoch),
        str(producer.start_offset),
        str(producer.last_timestamp),
        str(int((now_ms - producer.last_timestamp) / _MINUTE_MS)),
    )


# -- ending one --------------------------------------------------------------------------------------------------------


async def abort(command: Running, client: Client, _context: Context) -> int | Change:
    """Abort a hanging transaction. Raises OptionsError where there is none."""
    given = command.given
    place = (given.topic, given.partition)
    where = f"{safe(given.topic)}-{given.partition}"
    listing = await _producers(client, [place], None)
    if place in listing.failures:
        return _fail(command, f"Failed to validate producer state for partition {where}", listing.failures[place])
    producer = _meant(listing.producers[place], given.start_offset, given.producer_id)
    if producer is None and given.start_offset is not None:
        raise OptionsError(
            f"Could not find any open transactions starting at offset {given.start_offset} on partition {where}"
        )
    if producer is None:
        raise OptionsError(f"producer {given.producer_id} has no open transaction on partition {where}")
    if given.start_offset is None:
        for name, now, told in (
            ("producer-epoch", producer.epoch, given.producer_epoch),
            ("coordinator-epoch", max(0, producer.coordinator_epoch), max(0, given.coordinator_epoch)),
        ):
            if now != told:
                raise OptionsError(f"--{name} {told}: partition {where} has {now} for producer {producer.id}")
    text = f"abort transaction topic {quote(given.topic)} partition {given.partition} producer {producer.id}"
    return Change((text,), ask=True, then=partial(_aborted, command, producer, where))


async def _aborted(command: Running, producer: Producer, where: str, changed: Changed) -> int:
    for outcome in changed.outcomes if command.is_kafka else ():
        if not outcome.ok:
            failure = outcome.failure or Failure(outcome.status.value.upper(), "", "")
            return _fail(command, f"Failed to abort transaction of producer {producer.id} on {where}", failure)
    return changed.code


def _meant(producers: Iterable[Producer], start_offset: int | None, producer_id: int | None) -> Producer | None:
    open_ = (each for each in producers if each.start_offset >= 0)
    if start_offset is not None:
        return next((each for each in open_ if each.start_offset == start_offset), None)
    return next((each for each in open_ if each.id == producer_id), None)
