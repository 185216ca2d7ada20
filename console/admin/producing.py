"""Writing records: Produce with the numbers of an idempotent producer (KIP-98), sent again until a broker answers.

A batch keeps its numbers, so a broker writes it once, however often it is sent. If no response comes in time, kac looks
for the batch in its partition; if that does not show whether it was written, its outcome is unknown.
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
"""Seconds for which a leader may wait for its followers. After that it answers REQUEST_TIMED_OUT, although the batch is
in its own log.
"""
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
"""Temporary errors that a broker returns before it has written anything."""
IN_DOUBT = frozenset(
    {
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.request_timed_out,
        ErrorCode.network_exception,
        ErrorCode.unknown_server_error,
        ErrorCode.kafka_storage_error,
    }
)
"""Errors after which the batch may or may not be in the log."""
_OF_PRODUCER = frozenset(
    {
        ErrorCode.out_of_order_sequence_number,
        ErrorCode.unknown_producer_id,
        ErrorCode.invalid_producer_epoch,
        ErrorCode.invalid_producer_id_mapping,
    }
)
"""Errors about the producer's id or numbers, after which later batches get another producer id."""
_TOO_LARGE = frozenset({ErrorCode.message_too_large, ErrorCode.record_list_too_large})
_UNKNOWN = "It may have been written: apply it again here, which writes it once, or look at the topic's records."

log = logging.getLogger(__name__)


NO_CODE = -2
"""The value of `Answer.code` that means no error code. It is not -1, because Kafka has an error with the code -1."""


class Transaction(NamedTuple):
    """The transaction to which a batch belongs."""

    id: str
    """The transactional id of the producer."""
    produce_version: int | None
    """The highest version of Produce to use; None for no limit."""


class Answer(NamedTuple):
    """The result for a batch: a broker's, or the reason why there is none."""

    code: int
    """Kafka's error code; `NO_CODE` if no broker answered."""
    offset: int = -1
    failure: Failure | None = None
    lost: bool = False
    """Whether the batch may have been sent but no response came."""
    is_final: bool = False
    """Whether sending the batch again would have the same result."""


class _Passing(errors.AdminError):
    """No broker has assigned a producer id yet, but one may do so soon: the batch is tried again."""


def _no_answer(error: errors.AdminError) -> Answer:
    """Return the result for a batch that was not sent because of an error."""
    return Answer(NO_CODE, failure=error.failure, is_final=not isinstance(error, (_Passing, *errors.MAY_PASS)))


class _Produce(Sender[ProduceRecords, NewRecords]):
    """Writes one batch to each of some partitions."""

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
        """Send each batch to its partition's leader, once. Return target -> result; it is a failure for a batch whose
        partition has no leader, and for all batches if the topics can't be described.

        Args:
            seconds: the maximum seconds for the responses.
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
        """Read and store the end offsets of the partitions whose batches have none stored, because kac later looks
        for the batches from there on.
        """
        wanted = {place: LATEST for place, each in sendings.items() if each.since is None}
        if wanted:
            for place, end in (await offsets_of(self.link, wanted, topics=topics)).items():
                if isinstance(end, int):
                    sendings[place].since = end

    async def _number(self, sendings: Mapping[NewRecords, Sending]) -> None:
        """Give a timestamp and a producer's numbers to each batch that has none. Raises AdminError if no producer id
        can be got.
        """
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
        """Return a producer with an id that the cluster has assigned. Raises AdminError."""
        asked = {"transactional_id": None, "transaction_timeout": timedelta(seconds=60)}
        response = await self.link.call("init_producer_id", asked, to=ANY, change=True)
        if errors.is_retriable(response.error_code):
            raise _Passing(errors.failure(response.error_code))
        errors.check(response)
        return Producer(response.producer_id, response.producer_epoch)

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def _ended(self, target: NewRecords, sent: Sending, answer: Answer) -> Outcome | None:
        """Return the outcome of a batch from its result; None if the batch has to be sent again."""
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
        """Look in the partitions for batches in doubt. Return target -> outcome for those that were found, and for
        those whose partition can't be searched.
        """
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
        """Return target -> outcome for batches that no response has settled: APPLIED if they are found in their
        partitions, otherwise UNKNOWN. Batches with an unknown outcome keep their numbers, and later batches get
        another producer id.

        Args:
            why: target -> the reason why its outcome was not settled.
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
        """Return the offset of a batch in its partition; None if consumers do not find it there; the failure if the
        partition can't be read.
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
        """Return the offset of the batch with these numbers, between the offset `since` and the high watermark; None if
        it is not there. Raises AdminError, and ValueError if not all of that range can be read.
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
    """Send batches to their leader, once. Return target -> result; a batch without a response has the failure as its
    result.

    Args:
        leader: the broker id.
        topics: name -> topic, for the topics of the batches.
        seconds: the maximum seconds for the response.
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
    """Return whether an outcome is certain although an earlier response for the batch was lost. A refusal is not
    certain: the broker may have written the batch when it was sent before.
    """
    found = outcomes.get(target)
    return found is not None and found.status is not Status.FAILED


def _why(outcome: Outcome) -> Failure:
    return outcome.failure or Failure("NO_ANSWER", "no broker answered")


def _failed(target: NewRecords, why: Failure) -> Outcome:
    return Outcome(target, Status.FAILED, why)


def _answer(target: NewRecords, part: Any) -> Answer:
    """Convert the result for a batch in a Produce response."""
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
    """Return the content of a Produce request with batches that all go to one leader.

    Args:
        topics: name -> topic, for the topics of the batches; newer brokers need a topic's id.
        seconds: the seconds for which the leader may wait for its followers.
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
    """Encode a batch that has its numbers, by aiokafka's builder."""
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
