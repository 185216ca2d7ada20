"""Writing records: Produce with the numbers of an idempotent producer (KIP-98), sent again until a broker answers.

A batch keeps its numbers, so a broker writes it once however often it arrives. If no answer comes in time, the
partition's records show whether it was written; if they don't, its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.admin import errors
from console.admin.delivery import Sender, Senders
from console.admin.link import ANY, Link, broker, delays
from console.admin.partitions import LATEST, leaders_of, offsets_of
from console.admin.producer import Numbers, Place, Producer, Sending
from console.admin.record_times import fetch_request
from console.admin.topics import describe_topics
from console.lean_imports import import_alone
from console.model.changes import NewRecords, Outcome, ProduceRecords, Status
from console.model.cluster import Topic
from console.model.failure import Failure
from console.model.identity import uuid_of
from console.model.records import NO_TIMESTAMP
from console.wire.fields import Fields
from console.wire.record_batches import batches

ALL_REPLICAS = -1
REPLICAS_SECONDS = 10.0
"""Seconds that a leader may wait for its followers. Afterwards it answers REQUEST_TIMED_OUT, and the batch is in its
log."""
ANSWER_SECONDS = 5.0
MOST_THROTTLED = 60.0
"""Maximum seconds to wait before a request because a broker reported that the client exceeds its quota."""
FETCHED, MOST_FETCHED = 1 << 20, 64 << 20
"""Maximum size in bytes of one Fetch, and of all of them together, to find a batch again."""

AGAIN = frozenset(
    {
        ErrorCode.not_leader_or_follower,
        ErrorCode.leader_not_available,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_topic_id,
        ErrorCode.replica_not_available,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.unknown_leader_epoch,
        ErrorCode.not_enough_replicas,
    }
)
"""Errors that may pass, and that a broker returns before it wrote anything."""
IN_DOUBT = frozenset(
    {
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.request_timed_out,
        ErrorCode.network_exception,
        ErrorCode.unknown_server_error,
        ErrorCode.kafka_storage_error,
    }
)
"""Errors after which the batch may be in a log, or not."""
_OF_PRODUCER = frozenset(
    {
        ErrorCode.out_of_order_sequence_number,
        ErrorCode.unknown_producer_id,
        ErrorCode.invalid_producer_epoch,
        ErrorCode.invalid_producer_id_mapping,
    }
)
"""Errors about the producer's id or numbers: kac takes another id for later batches."""
_TOO_LARGE = frozenset({ErrorCode.message_too_large, ErrorCode.record_list_too_large})
_UNKNOWN = "It may have been written: apply it again here, which writes it once, or look at the topic's records."

log = logging.getLogger(__name__)


NO_CODE = -2
"""Stands for no error code; brokers' own codes include -1."""


class Transaction(NamedTuple):
    """The transaction of a batch."""

    id: str
    """The transactional id of the producer."""
    produce_version: int | None
    """The highest version of Produce to use; None for any."""


class Answer(NamedTuple):
    """A broker's answer about a batch, or the reason why there is none."""

    code: int
    """The error code; `NO_CODE` without an answer."""
    offset: int = -1
    failure: Failure | None = None
    lost: bool = False
    """Whether the batch was sent, but no answer came."""
    is_final: bool = False
    """Whether sending the batch again would be useless."""


class _Passing(errors.AdminError):
    """No broker has assigned a producer id yet; one may do so soon."""


def _no_answer(error: errors.AdminError) -> Answer:
    """Return the answer in place of an error before a batch was sent."""
    return Answer(NO_CODE, failure=error.failure, is_final=not isinstance(error, (_Passing, *errors.MAY_PASS)))


class _Produce(Sender[ProduceRecords, NewRecords]):
    """Writes a batch to each of some partitions."""

    of = "batches"

    async def deliver(self, targets: Sequence[NewRecords]) -> dict[NewRecords, Outcome]:
        loop = asyncio.get_running_loop()
        known = self.link.producing
        await asyncio.sleep(min(max(0.0, known.ready_at - loop.time()), MOST_THROTTLED))
        sendings = {each: known.unknown.get(self._key(each)) or Sending(self._records(each)) for each in targets}
        outcomes = await self._found_again({each: sent for each, sent in sendings.items() if sent.in_doubt})
        left = [each for each in targets if each not in outcomes]
        why: dict[NewRecords, Failure] = {}
        deadline, waits = loop.time() + self.link.settings.request_timeout, delays(0.1, 1.0)
        while left:
            answers = await self._round({each: sendings[each] for each in left}, deadline - loop.time())
            for target, answer in answers.items():
                ended = self._ended(target, sendings[target], answer)
                if ended is not None:
                    outcomes[target] = ended
                elif answer.failure is not None:
                    why[target] = answer.failure
            left = [each for each in left if each not in outcomes]
            if loop.time() + (wait := next(waits)) > deadline:
                break
            if left:
                await asyncio.sleep(wait)
        doubtful = {
            each: sendings[each] for each in targets if sendings[each].in_doubt and not _is_sure(outcomes, each)
        }
        outcomes |= {each: _failed(each, why[each]) for each in left if each not in doubtful}
        if doubtful:
            outcomes |= await self._settled(
                doubtful, {each: why.get(each) or _why(outcomes[each]) for each in doubtful}
            )
        for each in targets:
            if outcomes[each].status is not Status.UNKNOWN:
                known.unknown.pop(self._key(each), None)
            if outcomes[each].status is Status.FAILED:
                known.give_back((each.topic, each.number), sendings[each].numbers)
        return {each: outcomes[each] for each in targets}

    def _records(self, target: NewRecords) -> Any:
        return self.request.batches[target]

    def _key(self, target: NewRecords) -> Any:
        return target, self._records(target)

    # -- one round -----------------------------------------------------------------------------------------------------

    async def _round(self, sendings: Mapping[NewRecords, Sending], seconds: float) -> dict[NewRecords, Answer]:
        """Send each batch to its leader, once. Return the answer for each batch: a failure for a batch whose partition
        has no leader, and for all batches if the topics can't be described.
        """
        by_place = {(each.topic, each.number): each for each in sendings}
        try:
            listing = await describe_topics(self.link, list(dict.fromkeys(topic for topic, _ in by_place)))
            topics = listing.topics
            leaders, leaderless = await leaders_of(self.link, by_place, topics)
            await self._note_ends({place: sendings[each] for place, each in by_place.items()}, topics)
            await self._number(sendings)
        except errors.AdminError as error:
            return dict.fromkeys(sendings, _no_answer(error))
        found = {by_place[place]: Answer(NO_CODE, failure=problem) for place, problem in leaderless.items()}
        asked = [
            at_leader(
                self.link, leader, topics, {by_place[place]: sendings[by_place[place]] for place in places}, seconds
            )
            for leader, places in leaders.items()
        ]
        for answer in await asyncio.gather(*asked):
            found |= answer
        return found

    async def _note_ends(self, sendings: Mapping[Place, Sending], topics: Mapping[str, Topic]) -> None:
        """Note the end of each partition before its batch is sent for the first time."""
        wanted = {place: LATEST for place, each in sendings.items() if each.since is None}
        if wanted:
            for place, end in (await offsets_of(self.link, wanted, topics=topics)).items():
                if isinstance(end, int):
                    sendings[place].since = end

    async def _number(self, sendings: Mapping[NewRecords, Sending]) -> None:
        """Give a time and the numbers of a producer to each batch without them. Raises AdminError."""
        new = {each: sent for each, sent in sendings.items() if sent.numbers is None}
        if not new:
            return
        known = self.link.producing
        if known.producer is None:
            known.producer = await self._new_producer()
        for target, sent in new.items():
            place, count = (target.topic, target.number), len(sent.records.reveal())
            sent.numbers = known.producer.numbers(place, count)
            sent.timestamp = self.link.now_ms()

    async def _new_producer(self) -> Producer:
        """Return a producer with an id that the cluster assigned. Raises AdminError."""
        asked = {"transactional_id": None, "transaction_timeout": timedelta(seconds=60)}
        response = await self.link.call("init_producer_id", asked, to=ANY, change=True)
        if errors.is_retriable(response.error_code):
            raise _Passing(errors.failure(response.error_code))
        errors.check(response)
        return Producer(response.producer_id, response.producer_epoch)

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def _ended(self, target: NewRecords, sent: Sending, answer: Answer) -> Outcome | None:
        """Return the outcome of an answer; None to send the batch again."""
        if answer.code in (0, ErrorCode.duplicate_sequence_number):
            offset = answer.offset if answer.offset >= 0 else None
            return Outcome(target, Status.APPLIED, offset=offset)
        if answer.lost or answer.code in IN_DOUBT:
            sent.in_doubt = True
            return None
        if (answer.code == NO_CODE or answer.code in AGAIN) and not answer.is_final:
            return None
        if answer.code in _OF_PRODUCER:
            self.link.producing.producer = None
        assert answer.failure is not None
        return _failed(target, answer.failure)

    async def _found_again(self, sendings: Mapping[NewRecords, Sending]) -> dict[NewRecords, Outcome]:
        """Return the outcomes of batches in doubt that were found in their partitions, or can't be looked for."""
        found: dict[NewRecords, Outcome] = {}
        for target, sent in sendings.items():
            seen = await self._seen(target, sent)
            if isinstance(seen, Failure):
                found[target] = Outcome(target, Status.UNKNOWN, seen)
            elif seen is not None:
                found[target] = Outcome(target, Status.APPLIED, offset=seen)
        return found

    async def _settled(
        self, sendings: Mapping[NewRecords, Sending], why: Mapping[NewRecords, Failure]
    ) -> dict[NewRecords, Outcome]:
        """Return the outcomes of batches that no answer has settled: APPLIED if they are found in their partitions,
        else UNKNOWN. Batches with an unknown outcome keep their numbers; later batches get another producer id.
        """
        known = self.link.producing
        outcomes = {each: found for each, found in (await self._found_again(sendings)).items() if found.ok}
        for target, sent in sendings.items():
            if target not in outcomes:
                problem = why[target]
                outcomes[target] = Outcome(target, Status.UNKNOWN, Failure(problem.name, problem.message, _UNKNOWN))
                known.unknown[self._key(target)] = sent
                known.producer = None
        return outcomes

    async def _seen(self, target: NewRecords, sent: Sending) -> int | Failure | None:
        """Return the offset of a batch in its partition, None if consumers can't read it there, or the reason why that
        is unknown.
        """
        unseen = Failure("NOT_SEEN", "whether it was written can't be seen in the partition", _UNKNOWN)
        if sent.since is None or sent.numbers is None:
            return unseen
        try:
            listing = await describe_topics(self.link, [target.topic])
            topic = listing.topics.get(target.topic)
            found = next((each for each in topic.partitions if each.number == target.number), None) if topic else None
            if topic is None or found is None or found.leader < 0:
                return unseen
            return await self._searched(topic, found.leader, target.number, sent.since, sent.numbers)
        except (errors.AdminError, ValueError) as error:
            log.warning("looking for a batch of %s/%d: %s", target.topic, target.number, error)
            return unseen

    async def _searched(self, topic: Topic, leader: int, number: int, since: int, numbers: Numbers) -> int | None:
        """Return the offset of the batch with these numbers, from an offset on up to the high watermark; None without
        one. Raises AdminError, and ValueError if not all of the range can be read.
        """
        offset = since
        for _ in range(MOST_FETCHED // FETCHED):
            wanted = {"partition": number, "fetch_offset": offset, "partition_max_bytes": FETCHED}
            response = await self.link.call("fetch", fetch_request([(topic, [wanted])], FETCHED), to=broker(leader))
            errors.check(response)
            (part,) = (part for each in response.responses for part in each.partitions)
            if part.error_code:
                raise errors.BrokerError(errors.failure(part.error_code))
            before = offset
            for batch in batches(part.records or b""):
                facts = batch.facts
                if Numbers(facts.producer_id, facts.producer_epoch, facts.base_sequence) == numbers:
                    return batch.base_offset
                offset = max(offset, batch.last_offset + 1)
            if offset >= part.high_watermark:
                return None
            if offset == before:
                raise ValueError("the partition's records can't be read up to its end")
        raise ValueError(f"more than {MOST_FETCHED >> 20} MiB were written meanwhile")


async def at_leader(
    link: Link,
    leader: int,
    topics: Mapping[str, Topic],
    sendings: Mapping[NewRecords, Sending],
    seconds: float,
    transaction: Transaction | None = None,
) -> dict[NewRecords, Answer]:
    """Send batches to their leader, once. Return the answers; a batch that got none has an answer with the failure.

    Args:
        topics: the topics of the batches, by name.
        seconds: the seconds that are left for the answers.
        transaction: the transaction of the batches; None without one.
    """
    waits = min(REPLICAS_SECONDS, max(seconds, 1.0))
    try:
        response = await link.call(
            "produce",
            produce_request(topics, sendings, waits, transaction and transaction.id),
            to=broker(leader),
            timeout=waits + ANSWER_SECONDS,
            change=True,
            at_most=transaction and transaction.produce_version,
        )
    except errors.OutcomeUnknown as error:
        log.warning("produce at broker %d: %s", leader, error.failure)
        return dict.fromkeys(sendings, Answer(NO_CODE, failure=error.failure, lost=True))
    except errors.AdminError as error:
        return dict.fromkeys(sendings, _no_answer(error))
    throttled = getattr(response, "throttle_time", timedelta(0)).total_seconds()
    link.producing.ready_at = max(link.producing.ready_at, asyncio.get_running_loop().time() + throttled)
    names: dict[object, str] = {uuid_of(each.topic_id): name for name, each in topics.items() if each.topic_id}
    found = {
        (getattr(topic, "name", "") or names.get(getattr(topic, "topic_id", None), ""), part.index): part
        for topic in response.responses
        for part in topic.partition_responses
    }
    silent = Answer(NO_CODE, failure=Failure("NO_ANSWER", "the broker's answer does not mention it"), lost=True)
    return {
        each: silent if (part := found.get((each.topic, each.number))) is None else _answer(each, part)
        for each in sendings
    }


def _is_sure(outcomes: Mapping[NewRecords, Outcome], target: NewRecords) -> bool:
    """Return whether an outcome counts although an answer was lost: a refusal proves nothing about the batch that was
    sent before.
    """
    found = outcomes.get(target)
    return found is not None and found.status is not Status.FAILED


def _why(outcome: Outcome) -> Failure:
    return outcome.failure or Failure("NO_ANSWER", "no broker answered")


def _failed(target: NewRecords, why: Failure) -> Outcome:
    return Outcome(target, Status.FAILED, why)


def _answer(target: NewRecords, part: Any) -> Answer:
    """Return a broker's answer about a batch."""
    if not part.error_code:
        return Answer(0, part.base_offset)
    text = getattr(part, "error_message", None) or ""
    rejected = [each for each in getattr(part, "record_errors", ()) if each.batch_index_error_message]
    if rejected:
        first = rejected[0]
        text = f"record {first.batch_index + 1} of the batch: {first.batch_index_error_message}"
    made = errors.failure(part.error_code, text)
    if part.error_code in _TOO_LARGE:
        message = text or f"the batch is larger than max.message.bytes of topic {target.topic}"
        made = Failure(made.name, message, "Write smaller records, or raise max.message.bytes of the topic.")
    elif part.error_code == ErrorCode.topic_authorization_failed:
        made = Failure(made.name, f"writing needs WRITE on topic {target.topic}", made.remedy)
    elif part.error_code in (ErrorCode.not_enough_replicas, ErrorCode.not_enough_replicas_after_append):
        message = f"{target.topic}/{target.number} has fewer replicas in sync than min.insync.replicas"
        made = Failure(made.name, message, "Bring its brokers back, then apply again.")
    return Answer(part.error_code, failure=made)


def produce_request(
    topics: Mapping[str, Topic],
    sendings: Mapping[NewRecords, Sending],
    seconds: float,
    transactional_id: str | None = None,
) -> Fields:
    """Return the fields of a Produce request with batches, all for one leader.

    Args:
        topics: the topics of the batches, by name: newer brokers know a topic by its id.
        seconds: the time for which the leader may wait for its followers.
        transactional_id: the transactional id of the producer; None without a transaction.
    """
    by_topic: dict[str, list[Fields]] = {}
    for target, sent in sendings.items():
        data = batch_bytes(sent, is_transactional=transactional_id is not None)
        by_topic.setdefault(target.topic, []).append({"index": target.number, "records": data})
    return {
        "transactional_id": transactional_id,
        "acks": ALL_REPLICAS,
        "timeout": timedelta(seconds=seconds),
        "topic_data": [
            {
                "name": name,
                "topic_id": uuid_of(found) if (found := topics[name].topic_id) else None,
                "partition_data": parts,
            }
            for name, parts in by_topic.items()
        ],
    }


def batch_bytes(sent: Sending, *, is_transactional: bool = False) -> bytes:
    """Return the bytes of a batch that has its numbers, by aiokafka's builder."""
    assert sent.numbers is not None
    records = sent.records.reveal()
    builder = import_alone("aiokafka.record._crecords.default_records").DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=int(is_transactional),
        producer_id=sent.numbers.producer_id,
        producer_epoch=sent.numbers.epoch,
        base_sequence=sent.numbers.sequence,
        batch_size=sum(each.most_in_batch for each in records) + (1 << 10),
    )
    for place, each in enumerate(records):
        moment = sent.timestamp if each.timestamp == NO_TIMESTAMP else each.timestamp
        headers = [(name.decode(), value) for name, value in each.headers]
        assert builder.append(place, moment, each.key, each.value, headers) is not None
    return bytes(builder.build())


SENDERS: Senders = {ProduceRecords: _Produce}
