"""Write records and commit a group's offsets in one transaction: all of it is committed, or nothing (KIP-98, KIP-447).

The producer first takes over a transactional id, so that brokers fence the producer that had the id before. Only then
does it read the group's offsets, so that it never sees offsets of a transaction whose outcome is open. If the outcome
of a transaction is unknown, kac aborts it, takes over the id again, and reads the offsets, which show what was
committed. Brokers refuse later requests of the aborted transaction, because their epoch is old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from msgspec import Struct

from console.admin import errors
from console.admin.cluster import ASK_VERSIONS, broker_version
from console.admin.groups import COORDINATOR_MOVES, OF_GROUPS, CoordinatorsOf, find_coordinators
from console.admin.link import Link, broker, delays
from console.admin.partitions import leaders_of, topics_with_fields
from console.admin.producer import Place, Producer, Sending
from console.admin.producing import AGAIN, IN_DOUBT, NO_CODE, Transaction, at_leader
from console.admin.topics import describe_topics
from console.admin.transactions import OF_TRANSACTIONS
from console.model.changes import NewRecords
from console.model.cluster import CommittedOffset, Topic
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.identity import uuid_of
from console.model.new_records import BYTES_OF_BATCH, NewRecord, batched
from console.model.secret import Contents
from console.wire.fields import Fields

TIMEOUT = 60.0
"""The transaction timeout in seconds: if a producer sends nothing for so long, the coordinator aborts its transaction.
"""
TAKES_OVER_SECONDS = 60.0
"""Maximum seconds to get a producer id for a transactional id, and to wait for stable offsets."""
WRITES_SECONDS = 30.0
"""Maximum seconds to write the records of a transaction: well below `TIMEOUT`."""
CALL_SECONDS = 10.0
"""Maximum seconds for each other request of a transaction."""
_SECOND = 2
"""The level of the feature transaction.version from which on each transaction has its own epoch (KIP-890)."""
_FIRST_PRODUCE, _FIRST_OFFSETS, _FIRST_END, _ADD = 11, 4, 4, 3
"""Highest versions that a client may use with the former level of transaction.version, and the highest version of
AddPartitionsToTxn that is for clients."""
_FENCES = frozenset({ErrorCode.producer_fenced, ErrorCode.invalid_producer_epoch})
_NOTHING_OPEN = frozenset({ErrorCode.invalid_txn_state, ErrorCode.invalid_producer_id_mapping})
_PASSING = COORDINATOR_MOVES | {ErrorCode.concurrent_transactions, ErrorCode.unstable_offset_commit}
_PASSING_NAMES = frozenset(map(errors.error_name, _PASSING))
_WRITES_AGAIN = AGAIN | IN_DOUBT | _PASSING | {NO_CODE}
_RIGHTS: Mapping[int, str] = {
    ErrorCode.transactional_id_authorization_failed: "it needs WRITE on transactional id {id}",
    ErrorCode.group_authorization_failed: "it needs READ on group {group}",
    ErrorCode.topic_authorization_failed: "it needs WRITE on topic {topics}",
}
_FINAL = frozenset(
    {
        *_RIGHTS,
        ErrorCode.message_too_large,
        ErrorCode.record_list_too_large,
        ErrorCode.invalid_record,
        ErrorCode.invalid_timestamp,
        ErrorCode.policy_violation,
        ErrorCode.invalid_topic_exception,
        ErrorCode.unsupported_for_message_format,
        ErrorCode.transactional_id_not_found,
        ErrorCode.invalid_transaction_timeout,
        ErrorCode.offset_metadata_too_large,
    }
)
"""Errors that would occur again if the same transaction were repeated."""


class Fenced(errors.AdminError):
    """Another producer has taken over the transactional id."""


class Interrupted(errors.AdminError):
    """The transaction was not committed, or its outcome is unknown. The caller should take over the id again and read
    the offsets.
    """


class Exactly(Struct):
    """A producer with a transactional id.

    Attributes:
        id: the transactional id.
        producer: the id and epoch of the producer, and the next sequence number of each partition.
        is_second: whether the cluster gives each transaction its own epoch (transaction.version 2).
        began: the time of the first request of the open transaction, on the loop's clock; None if no transaction is
            open.
        commits: whether the commit of the open transaction was sent, after all of it was written.
    """

    id: str
    producer: Producer
    is_second: bool
    began: float | None = None
    commits: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that identify this producer in each of its requests."""
        return {
            "transactional_id": self.id,
            "producer_id": self.producer.id,
            "producer_epoch": self.producer.epoch,
        }


# -- taking over a transactional id ------------------------------------------------------------------------------------


async def take_over(link: Link, id_: str, before: Exactly | None = None) -> Exactly:
    """Take over a transactional id and return its new producer. Brokers fence the producer that had the id before, and
    abort its open transaction.

    Args:
        id_: the transactional id.
        before: the caller's own previous producer with this id; None without one. If another producer has taken over
            the id since then, raise Fenced and leave that producer alone. A producer whose transaction has been open
            for more than `TIMEOUT` counts as None, because the coordinator has fenced it.

    Raises:
        Fenced: another producer has the id; only if `before` is given.
        Interrupted: no coordinator returned a producer id and epoch in time.
        BrokerError: the brokers refuse the request.
        ReadOnly: the client is read-only.
    """
    if link.settings.read_only:
        raise errors.ReadOnly("init_producer_id")
    now = asyncio.get_running_loop().time()
    if before is not None and before.began is not None and now - before.began > TIMEOUT:
        before = None  # its timeout is over: the coordinator has aborted it, and fenced its producer
    is_second = await _is_second(link)
    if before is not None and before.began is not None:
        await _abort(link, before)
    mine = {} if before is None else before.fields
    asked = {"transactional_id": id_, "transaction_timeout": timedelta(seconds=TIMEOUT), **mine}
    response = await _at(link, OF_TRANSACTIONS, id_, "init_producer_id", asked, _top, since=(3, "2.5"))
    _check_fence(response.error_code, id_)
    return Exactly(id_, Producer(response.producer_id, response.producer_epoch), is_second)


async def _is_second(link: Link) -> bool:
    """Return whether the cluster gives each transaction its own epoch (transaction.version 2). Raises Interrupted if no
    broker answers.
    """
    try:
        response = await link.call("api_versions", ASK_VERSIONS, timeout=CALL_SECONDS)
    except errors.MAY_PASS as error:
        raise Interrupted(error.failure) from error
    return broker_version(response).finalized_features.get("transaction.version", 0) >= _SECOND


async def _abort(link: Link, mine: Exactly) -> None:
    """Abort the open transaction of a producer. Raises Fenced, Interrupted, BrokerError."""
    response = await _end(link, mine, commit=False)
    if response.error_code == ErrorCode.invalid_txn_state and mine.is_second and mine.commits:
        # The transaction is committed, and the answer with the next epoch was lost: a repeated request returns it.
        again = await _end(link, mine, commit=True)
        response = response if again.error_code else again
    if response.error_code not in _NOTHING_OPEN:
        _check_fence(response.error_code, mine.id)
        if mine.is_second:
            mine.producer = Producer(response.producer_id, response.producer_epoch)
    mine.began, mine.commits = None, False


async def give_up(link: Link, mine: Exactly) -> None:
    """Abort the open transaction, so that readers need not wait for its timeout. Errors are ignored, because the
    timeout aborts it otherwise. Call `take_over` before the next write, since brokers miss the sequence numbers of
    batches that they refused.
    """
    if mine.began is not None:
        try:
            await _abort(link, mine)
        except errors.AdminError:
            return


async def stable_positions(link: Link, group: str, topic: str) -> dict[int, CommittedOffset | None]:
    """Return partition -> the group's committed offset in it, None if the group has none. While a transaction on these
    offsets is open, wait.

    The request names each partition of the topic: a request for all offsets of the group would miss a partition whose
    first offset is in an open transaction.

    Raises:
        Interrupted: a transaction on the offsets was still open after `TAKES_OVER_SECONDS`.
        BrokerError: the brokers refuse the request, or the topic does not exist.
    """
    found = await _topic(link, topic)
    numbers = [each.number for each in found.partitions]
    about = {
        "group_id": group,
        "topics": [
            {
                "name": topic,
                "topic_id": uuid_of(found.topic_id) if found.topic_id else None,
                "partition_indexes": tuple(numbers),
            }
        ],
    }
    asked = {**about, "groups": [about], "require_stable": True}

    def codes(response: Any) -> list[int]:
        each = response.groups[0] if hasattr(response, "groups") else response
        return [each.error_code, *(part.error_code for topic in each.topics for part in topic.partitions)]

    response = await _at(link, OF_GROUPS, group, "offset_fetch", asked, codes, since=(7, "2.5"), is_change=False)
    _check(codes(response), group)
    whole = response.groups[0] if hasattr(response, "groups") else response
    seen = {
        part.partition_index: CommittedOffset(part.committed_offset, -1, part.metadata or "")
        for topic in whole.topics
        for part in topic.partitions
        if part.committed_offset >= 0
    }
    return {number: seen.get(number) for number in numbers}


async def _topic(link: Link, name: str) -> Topic:
    try:
        listing = await describe_topics(link, [name])
    except errors.MAY_PASS as error:
        raise Interrupted(error.failure) from error
    if name not in listing.topics:
        raise errors.BrokerError(listing.failures[name])
    return listing.topics[name]


# -- a transaction -----------------------------------------------------------------------------------------------------


async def commit(
    link: Link,
    mine: Exactly,
    records: Mapping[Place, Sequence[NewRecord]],
    group: str,
    positions: Mapping[Place, CommittedOffset],
    most: int = BYTES_OF_BATCH,
) -> dict[Place, list[tuple[int, int]]]:
    """Write records and a group's offsets in one transaction, and commit it.

    Args:
        records: (topic, partition) -> the records to write, in order.
        group: the id of the group.
        positions: (topic, partition) -> the group's offset to commit.
        most: the maximum number of bytes in one batch.

    Returns:
        (topic, partition) -> for each of its batches: the offset of the first record, -1 if no broker returned it, and
        the number of records.

    Raises:
        Interrupted: the outcome is unknown; see `take_over`.
        BrokerError: the brokers refuse the transaction, which is not committed.
    """
    mine.began = asyncio.get_running_loop().time()
    if not mine.is_second and records:
        await _add_partitions(link, mine, records)
    waiting = {place: [Contents(batch) for batch in batched(some, most)] for place, some in records.items()}
    written: dict[Place, list[tuple[int, int]]] = {place: [] for place in waiting}
    while waiting:
        offsets = await _write(link, mine, {place: batches[0] for place, batches in waiting.items()})
        for place, offset in offsets.items():
            written[place].append((offset, len(waiting[place][0].reveal())))
        waiting = {place: batches[1:] for place, batches in waiting.items() if batches[1:]}
    await _commit_positions(link, mine, group, positions)
    mine.commits = True
    response = await _end(link, mine, commit=True)
    _check([response.error_code], mine.id)
    mine.began, mine.commits = None, False
    if mine.is_second:
        mine.producer = Producer(response.producer_id, response.producer_epoch)
    return written


async def _add_partitions(link: Link, mine: Exactly, places: Iterable[Place]) -> None:
    topics = [{"name": name, "partitions": tuple(numbers)} for name, numbers in grouped(places).items()]
    asked = {f"v3_and_below_{name}": value for name, value in mine.fields.items()} | {"v3_and_below_topics": topics}

    def codes(response: Any) -> list[int]:
        return [
            part.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        ]

    response = await _at(link, OF_TRANSACTIONS, mine.id, "add_partitions_to_txn", asked, codes, at_most=_ADD)
    _check(codes(response), mine.id, topics=sorted({topic for topic, _ in places}))


async def _write(link: Link, mine: Exactly, batches: Mapping[Place, Contents]) -> dict[Place, int]:
    """Write one batch to each partition. Return (topic, partition) -> the offset of the batch's first record.

    Raises:
        Interrupted: not all batches were written in time, or a broker refused one for a temporary reason.
        BrokerError: a broker refused a batch permanently.
    """
    loop = asyncio.get_running_loop()
    await asyncio.sleep(min(max(0.0, link.producing.ready_at - loop.time()), WRITES_SECONDS))
    targets = {place: NewRecords(*place) for place in batches}
    sendings = {
        targets[place]: Sending(data, mine.producer.numbers(place, len(data.reveal())), timestamp=link.now_ms())
        for place, data in batches.items()
    }
    about = Transaction(mine.id, None if mine.is_second else _FIRST_PRODUCE)
    found: dict[Place, int] = {}
    deadline, waits = loop.time() + WRITES_SECONDS, delays(0.05, 1.0)
    why = Failure("NO_ANSWER", "no broker answered")
    while left := [place for place in batches if place not in found]:
        try:
            topics = (await describe_topics(link, list(dict.fromkeys(topic for topic, _ in left)))).topics
            leaders, leaderless = await leaders_of(link, left, topics)
        except errors.MAY_PASS as error:
            leaders, leaderless = {}, dict.fromkeys(left, error.failure)
        else:
            _check_places(left, topics)
        why = next(iter(leaderless.values()), why)
        asked = [
            at_leader(
                link,
                leader,
                topics,
                {targets[place]: sendings[targets[place]] for place in places},
                deadline - loop.time(),
                about,
            )
            for leader, places in leaders.items()
        ]
        for answers in await asyncio.gather(*asked):
            for target, answer in answers.items():
                if answer.code in (0, ErrorCode.duplicate_sequence_number):
                    found[target.topic, target.number] = answer.offset
                    continue
                why = answer.failure or why
                if answer.code == NO_CODE and answer.is_final:
                    raise errors.BrokerError(why)
                if answer.code not in _WRITES_AGAIN:
                    _check([answer.code], mine.id, why)
        if len(found) == len(batches):
            break
        if loop.time() + (wait := next(waits)) > deadline:
            raise Interrupted(why)
        await asyncio.sleep(wait)
    return found


def _check_places(places: Iterable[Place], topics: Mapping[str, Topic]) -> None:
    """Raise Interrupted if a topic no longer has one of these partitions. The topic was created again with fewer
    partitions, so the caller has to choose other partitions for the records.
    """
    for name, number in places:
        if name in topics and all(each.number != number for each in topics[name].partitions):
            raise Interrupted(Failure("UNKNOWN_TOPIC_OR_PARTITION", f"topic {name} has no partition {number} now"))


async def _commit_positions(link: Link, mine: Exactly, group: str, positions: Mapping[Place, CommittedOffset]) -> None:
    if not mine.is_second:
        asked = {**mine.fields, "group_id": group}
        response = await _at(link, OF_TRANSACTIONS, mine.id, "add_offsets_to_txn", asked, _top)
        _check([response.error_code], mine.id, group=group)
    topics = topics_with_fields(
        {
            place: {
                "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch,
                "committed_metadata": each.metadata,
            }
            for place, each in positions.items()
        }
    )

    def codes(response: Any) -> list[int]:
        return [part.error_code for topic in response.topics for part in topic.partitions]

    asked = {**mine.fields, "group_id": group, "topics": topics}
    at_most = None if mine.is_second else _FIRST_OFFSETS
    response = await _at(link, OF_GROUPS, group, "txn_offset_commit", asked, codes, at_most=at_most)
    _check(codes(response), mine.id, group=group, topics=sorted({topic for topic, _ in positions}))


async def _end(link: Link, mine: Exactly, *, commit: bool) -> Any:
    asked = {**mine.fields, "committed": commit}
    at_most = None if mine.is_second else _FIRST_END
    return await _at(link, OF_TRANSACTIONS, mine.id, "end_txn", asked, _top, at_most=at_most)


# -- requests to coordinators ------------------------------------------------------------------------------------------


def _top(response: Any) -> list[int]:
    return [response.error_code]


async def _at(
    link: Link,
    of: CoordinatorsOf,
    name: str,
    api: str,
    asked: Fields,
    codes: Callable[[Any], Iterable[int]],
    *,
    since: tuple[int, str] = (0, "0.11"),
    at_most: int | None = None,
    is_change: bool = True,
) -> Any:
    """Send a request to the coordinator of a group or a transactional id and return the response. Repeat it while the
    coordinator moves, loads, or completes a transaction.

    A change without a response is not repeated, except InitProducerId and aborts, which have no further effect.

    Args:
        of: the kind of coordinator.
        name: the group's or the transactional id.
        codes: function that returns the error codes in a response.
        since: the lowest version of the request that kac can use, and the first Kafka release that has it.
        at_most: the highest version of the request that kac can use; None for any.
        is_change: whether the request changes something.

    Raises:
        Interrupted: there was no response.
        BrokerError: the cluster does not have the API in a version that kac can use.
    """
    loop = asyncio.get_running_loop()
    deadline, waits = loop.time() + TAKES_OVER_SECONDS, delays(0.02, 1.0)
    repeats = not is_change or api == "init_producer_id" or (api == "end_txn" and not asked["committed"])
    while True:
        why: errors.AdminError
        try:
            coordinators, failures = await find_coordinators(link, [name], of, is_change=True)
            if name not in coordinators:
                if failures[name].name not in _PASSING_NAMES:
                    raise errors.BrokerError(failures[name])
                raise errors.RequestTimedOut(failures[name])
            to = broker(coordinators[name])
            await link.require(api, *since, to)
            response = await link.call(api, asked, to=to, timeout=CALL_SECONDS, change=is_change, at_most=at_most)
            seen = {code for code in codes(response) if code}
            if not seen or not seen <= _PASSING:
                return response
            why = errors.BrokerError(errors.failure(next(iter(seen))))
        except errors.OutcomeUnknown as error:
            if not repeats:
                raise Interrupted(error.failure) from error
            why = error
        except errors.MAY_PASS as error:
            why = error
        if loop.time() + (wait := next(waits)) > deadline:
            raise Interrupted(why.failure)
        await asyncio.sleep(wait)


def _check(
    codes: Iterable[int],
    id_: str,
    why: Failure | None = None,
    *,
    group: str = "",
    topics: Sequence[str] = (),
) -> None:
    """Raise an error if any of the codes of a response is an error: BrokerError if a repeated transaction would get the
    same error, otherwise Interrupted.

    Args:
        codes: the error codes in the response.
        id_: the transactional id, for the message.
        why: the failure to report; None to make it from the code.
        group, topics: the group and the topics for the message about a missing right; empty if the request has none.
    """
    for code in codes:
        if not code:
            continue
        problem = why or errors.failure(code)
        if code in _RIGHTS:
            right = _RIGHTS[code].format(id=id_, group=group or id_, topics=", ".join(topics) or "the letters go to")
            raise errors.BrokerError(Failure(problem.name, right, problem.remedy))
        if code in _FINAL:
            raise errors.BrokerError(problem)
        raise Interrupted(problem)


def _check_fence(code: int, id_: str) -> None:
    """Raise an error if a coordinator refuses a producer that continues with its own id and epoch: Fenced if the
    epoch is no longer valid, otherwise as `_check` does. code: the error code in the response; 0 for success.
    """
    if code in _FENCES:
        raise Fenced(
            Failure(
                errors.error_name(code),
                f"another kac sends these letters now: it has taken over transactional id {id_}, "
                f"or the coordinator ended the transaction after {TIMEOUT:.0f} s",
                "No letter is sent twice. Leave it to that process, or end that one and continue here.",
            )
        )
    _check([code], id_)
