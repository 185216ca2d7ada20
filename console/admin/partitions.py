"""Partitions: leader elections (KIP-183, KIP-460), reassignments (KIP-455) and offsets by time (KIP-79)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_cluster
from console.admin.delivery import Answer, deliver, refuse_duplicates
from console.admin.errors import AdminError, BrokerError, error_name, failure
from console.admin.halving import Halving
from console.admin.link import Link
from console.admin.routing import CONTROLLER, broker
from console.admin.topics import ANSWER_SECONDS, describe_topics
from console.model.changes import AlterReassignments, ElectLeaders, MoveTarget, Outcome, PartitionTarget, Status, Target
from console.model.cluster import LogRange, LogSpan, Partition, Reassignment
from console.model.failure import Failure

# Neither ElectLeaders nor AlterPartitionReassignments has a validate-only form.


T = TypeVar("T", bound=Target)

Place = tuple[str, int]
"""A topic and the number of a partition of it, to read."""


async def elect_leaders(link: Link, request: ElectLeaders, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each partition. If the wanted leader leads already it is APPLIED, with
    ELECTION_NOT_NEEDED.

    A check is UNCHECKED, or FAILED without the right to alter the cluster. Raises Unsupported for an unclean election
    before Kafka 2.4, and AdminError if nothing was sent.
    """
    await link.require("elect_leaders", 1 if request.unclean else 0, "2.4", CONTROLLER)
    outcomes = refuse_duplicates(request.partitions)
    sound = [place for place in request.partitions if place not in outcomes]
    if validate_only:
        outcomes |= await _check_right(link, sound)
        return tuple(outcomes[place] for place in dict.fromkeys(request.partitions))
    needless: set[PartitionTarget] = set()

    async def send(places: Sequence[PartitionTarget]) -> Mapping[PartitionTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            from console.wire.schemas import for_version

            return for_version(
                kio.ElectLeadersRequest,
                election_type=int(request.unclean),
                topic_partitions=tuple(
                    kio.TopicPartitions(topic=topic, partitions=tuple(numbers))
                    for topic, numbers in by_topic(places).items()
                ),
                timeout=timedelta(milliseconds=request.timeout_ms),
            )

        response = await _call_controller(link, "elect_leaders", build, request.timeout_ms)
        code = getattr(response, "error_code", 0)
        if code:
            return dict.fromkeys(places, (code, None))
        answers: dict[PartitionTarget, Answer] = {}
        for topic in response.replica_election_results:
            for result in topic.partition_result:
                place = PartitionTarget(topic.topic, result.partition_id)
                if result.error_code == ErrorCode.election_not_needed:
                    needless.add(place)
                    answers[place] = 0, None
                else:
                    answers[place] = result.error_code, result.error_message
        return answers

    async def describe_again(places: Sequence[PartitionTarget]) -> Mapping[PartitionTarget, Status]:
        known = await _described(link, places)
        return {place: elected(known.get(place), request.unclean) for place in places}

    outcomes |= await deliver(link.settings, sound, send, describe_again, validate_only=False)
    outcomes |= {place: Outcome(place, Status.APPLIED, failure(ErrorCode.election_not_needed)) for place in needless}
    return tuple(_naming_right(outcomes[place]) for place in dict.fromkeys(request.partitions))


async def alter_reassignments(link: Link, request: AlterReassignments, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each partition, once its move has started or was cancelled. The brokers continue it.

    A check is UNCHECKED, or FAILED without the right to alter the cluster. Raises Unsupported before Kafka 2.4, and
    AdminError if nothing was sent.
    """
    await link.require("alter_partition_reassignments", 0, "2.4", CONTROLLER)
    if validate_only:
        return tuple((await _check_right(link, request.moves)).values())

    async def send(places: Sequence[MoveTarget]) -> Mapping[MoveTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterPartitionReassignmentsRequest(
                timeout=timedelta(milliseconds=request.timeout_ms),
                topics=tuple(
                    kio.ReassignableTopic(
                        name=topic,
                        partitions=tuple(
                            kio.ReassignablePartition(
                                partition_index=number, replicas=request.moves[MoveTarget(topic, number)]
                            )
                            for number in numbers
                        ),
                    )
                    for topic, numbers in by_topic((place.topic, place.number) for place in places).items()
                ),
            )

        response = await _call_controller(link, "alter_partition_reassignments", build, request.timeout_ms)
        if response.error_code:
            return dict.fromkeys(places, (response.error_code, response.error_message))
        return {
            MoveTarget(topic.name, result.partition_index): (result.error_code, result.error_message)
            for topic in response.responses
            for result in topic.partitions
        }

    async def describe_again(targets: Sequence[MoveTarget]) -> Mapping[MoveTarget, Status]:
        places = {target: (target.topic, target.number) for target in targets}
        known = await _described(link, places.values())
        moving = {(move.topic, move.partition): move for move in await list_reassignments(link)}
        return {
            target: moved(request.moves[target], known.get(place), moving.get(place), request.original.get(target))
            for target, place in places.items()
        }

    outcomes = await deliver(link.settings, request.moves, send, describe_again, validate_only=False)
    return tuple(_naming_right(outcomes[place]) for place in request.moves)


_MAY_NOT_ALTER = Failure(
    error_name(ErrorCode.cluster_authorization_failed),
    "elections and moves need ALTER on the cluster",
    "Ask an administrator of the cluster for an ACL: ALTER on CLUSTER kafka-cluster.",
)


async def _check_right(link: Link, targets: Iterable[T]) -> dict[T, Outcome]:
    """Check all that can be checked: brokers say what the principal may do on the cluster (KIP-430)."""
    operations = (await describe_cluster(link)).operations
    if operations is None or "ALTER" in operations:
        return {target: Outcome(target, Status.UNCHECKED) for target in targets}
    return {target: Outcome(target, Status.FAILED, _MAY_NOT_ALTER) for target in targets}


def _naming_right(outcome: Outcome) -> Outcome:
    """Return the outcome, with the right that was missing."""
    if outcome.failure is not None and outcome.failure.name == _MAY_NOT_ALTER.name:
        return Outcome(outcome.target, outcome.status, _MAY_NOT_ALTER)
    return outcome


async def list_reassignments(link: Link) -> tuple[Reassignment, ...]:
    """Return the partitions that are being moved (KIP-455). Raises AdminError; Unsupported before Kafka 2.4."""
    await link.require("list_partition_reassignments", 0, "2.4", CONTROLLER)

    def build(kio: ModuleType) -> Any:
        return kio.ListPartitionReassignmentsRequest(topics=None)

    response = await link.ask_controller("list_partition_reassignments", build)
    if response.error_code:
        raise BrokerError(failure(response.error_code, response.error_message))
    return reassignments(response)


def reassignments(response: Any) -> tuple[Reassignment, ...]:
    """Return the moves of a ListPartitionReassignments response, sorted by topic and partition."""
    found = (
        Reassignment(topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in response.topics
        for p in topic.partitions
    )
    return tuple(sorted(found, key=lambda move: (move.topic, move.partition)))


def elected(partition: Partition | None, unclean: bool) -> Status:
    """Return whether the preferred replica leads, or after an unclean election any replica."""
    if partition is None:
        return Status.UNKNOWN
    leads = partition.leader >= 0 if unclean else partition.replicas[:1] == (partition.leader,)
    return Status.APPLIED if leads else Status.NOT_APPLIED


def moved(
    wanted: tuple[int, ...] | None,
    partition: Partition | None,
    move: Reassignment | None,
    original: tuple[int, ...] | None = None,
) -> Status:
    """Return whether the partition is on the wanted replicas or moves there. wanted None: whether its move was
    cancelled: it does not move, and is on its original replicas, where these are given."""
    if partition is None:
        return Status.UNKNOWN
    if wanted is None:
        back = move is None and (original is None or set(partition.replicas) == set(original))
        return Status.APPLIED if back else Status.NOT_APPLIED
    if move is None:
        return Status.APPLIED if partition.replicas == wanted else Status.NOT_APPLIED
    target = {replica for replica in move.replicas if replica not in move.removing}
    return Status.APPLIED if target == set(wanted) else Status.NOT_APPLIED


def by_topic(places: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Return topic -> partition numbers."""
    found: dict[str, list[int]] = {}
    for topic, number in places:
        found.setdefault(topic, []).append(number)
    return found


async def _call_controller(link: Link, api: str, build: Any, timeout_ms: int) -> Any:
    timeout = max(link.settings.request_timeout, timeout_ms / 1000 + ANSWER_SECONDS)
    return await link.call(api, build, to=CONTROLLER, timeout=timeout, change=True)


async def _described(link: Link, places: Iterable[Place]) -> dict[Place, Partition]:
    listing = await describe_topics(link, [topic for topic, _ in places])
    return {
        (topic.name, partition.number): partition for topic in listing.topics.values() for partition in topic.partitions
    }


# Offsets by time, each from the partition's leader.

LATEST, EARLIEST = -1, -2
"""Timestamps for the end and for the first record of a partition."""

PARTITIONS_AT_ONCE = 2_000
"""Partitions of one ListOffsets."""
TOPICS_AT_ONCE = 1_000
"""Topics of one Metadata that finds their leaders."""

WAIT_SECONDS = 10.0
"""Seconds that a leader may wait for tiered storage (v10)."""

_LEADER_MOVED = frozenset({ErrorCode.leader_not_available, ErrorCode.not_leader_or_follower})


async def log_spans(
    link: Link, since: Mapping[Place, int], began: Mapping[Place, int]
) -> tuple[dict[Place, LogSpan], list[Failure]]:
    """Return (topic, partition) -> its span with the first records at or after two times (ms since 1970), and the
    failures of the others. Four requests to each leader, at once."""
    (first, missing), (end, no_end), (found, unknown), (before, no_before) = await asyncio.gather(
        list_offsets(link, dict.fromkeys(since, EARLIEST)),
        list_offsets(link, dict.fromkeys(since, LATEST)),
        list_offsets(link, since),
        list_offsets(link, began),
    )
    spans = {
        place: LogSpan(
            first[place], end[place], *(at[place] if at[place] >= 0 else end[place] for at in (found, before))
        )
        for place in since
        if all(place in each for each in (first, end, found, before))
    }
    return spans, list(dict.fromkeys((*missing, *no_end, *unknown, *no_before)))


async def log_ranges(link: Link, places: Sequence[Place]) -> tuple[dict[Place, LogRange], list[Failure]]:
    """Return (topic, partition) -> the offsets of its first record and of its end, and the failures of the others. Two
    requests to each leader, at once."""
    (first, missing), (end, no_end) = await asyncio.gather(
        list_offsets(link, dict.fromkeys(places, EARLIEST)), list_offsets(link, dict.fromkeys(places, LATEST))
    )
    ranges = {place: LogRange(first[place], end[place]) for place in places if place in first and place in end}
    return ranges, list(dict.fromkeys((*missing, *no_end)))


async def list_offsets(
    link: Link, wanted: Mapping[Place, int], *, stable: bool = False
) -> tuple[dict[Place, int], list[Failure]]:
    """Return (topic, partition) -> the first offset at or after a timestamp (ms, `LATEST` or `EARLIEST`), -1 if there
    is no such record; and the failures of the others. One request to each leader for so many partitions as fit.

    stable: the latest offset is the last stable one, as for consumers with read_committed, else the high watermark.
    """
    found = await offsets_of(link, wanted, stable=stable)
    return (
        {place: offset for place, offset in found.items() if not isinstance(offset, Failure)},
        list(dict.fromkeys(why for why in found.values() if isinstance(why, Failure))),
    )


async def offsets_of(link: Link, wanted: Mapping[Place, int], *, stable: bool = False) -> dict[Place, int | Failure]:
    """Do as `list_offsets`, each partition with its offset or its failure."""
    found: dict[Place, int | Failure] = {}
    left = tuple(wanted)
    for last in (False, True):  # retried once with the new leader
        if not left:
            break
        leaders, leaderless = await leaders_of(link, left)
        found |= leaderless
        answers = await asyncio.gather(
            *(
                _offsets_of_leader(link, leader, {place: wanted[place] for place in mine}, stable)
                for leader, mine in leaders.items()
            )
        )
        left = ()
        for answer in answers:
            for place, (code, offset) in answer.items():
                if isinstance(code, Failure):
                    found[place] = code
                elif not code:
                    found[place] = offset
                elif code in _LEADER_MOVED and not last:
                    left = (*left, place)
                else:
                    found[place] = _failure_of(place, code)
    return found


async def leaders_of(link: Link, places: Iterable[Place]) -> tuple[dict[int, list[Place]], dict[Place, Failure]]:
    """Return leader -> its partitions, and the failures of partitions without a leader."""
    places = tuple(places)
    topics = list(dict.fromkeys(topic for topic, _ in places))
    leading: dict[Place, int] = {}
    failures: dict[str, Failure] = {}
    for start in range(0, len(topics), TOPICS_AT_ONCE):
        listing = await describe_topics(link, topics[start : start + TOPICS_AT_ONCE])
        failures.update(listing.failures)
        leading.update(
            ((topic.name, partition.number), partition.leader)
            for topic in listing.topics.values()
            for partition in topic.partitions
        )
    by_leader: dict[int, list[Place]] = {}
    problems: dict[Place, Failure] = {}
    for place in places:
        leader = leading.get(place, -1)
        if leader >= 0:
            by_leader.setdefault(leader, []).append(place)
        else:
            problems[place] = failures.get(place[0]) or _failure_of(place, ErrorCode.leader_not_available)
    return by_leader, problems


async def _offsets_of_leader(
    link: Link, leader: int, wanted: Mapping[Place, int], stable: bool
) -> dict[Place, tuple[int | Failure, int]]:
    """Return (topic, partition) -> (error code, or the failure of its request; offset)."""
    places = list(wanted)
    found: dict[Place, tuple[int | Failure, int]] = {}
    halving = Halving(place_text)

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int | Failure, int] | Failure]:
        answer = await _offsets_answered(link, leader, {place: wanted[place] for place in some}, CONSUMER, stable)
        return {
            place: (code, offset) if not code or code in _LEADER_MOVED else _failure_of(place, code)
            for place, (code, offset) in answer.items()
        }

    for start in range(0, len(places), PARTITIONS_AT_ONCE):
        try:
            answer = await halving.read(places[start : start + PARTITIONS_AT_ONCE], ask)
        except AdminError as error:
            return found | dict.fromkeys(places[start:], (error.failure, -1))
        found |= {place: (each, -1) if isinstance(each, Failure) else each for place, each in answer.items()}
    return found


CONSUMER, ANY_REPLICA = -1, -2
"""Who asks for offsets: a consumer, which only leaders answer, up to the high watermark; or a debugger
(ListOffsetsRequest.DEBUGGING_REPLICA_ID), which each replica answers with the end of its own log."""


async def offsets_at_broker(
    link: Link, broker_id: int, wanted: Mapping[Place, int], asker: int = CONSUMER, *, stable: bool = False
) -> dict[Place, tuple[int, int]] | Failure:
    """Return (topic, partition) -> (error code, offset) for a timestamp each, or the failure of the request."""

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int, int] | Failure]:
        answer = await _offsets_answered(link, broker_id, {place: wanted[place] for place in some}, asker, stable)
        # A partition's own refusal, as where another broker leads it, is no error of the batch.
        return {
            place: _failure_of(place, code) if code == ErrorCode.unknown_server_error else (code, offset)
            for place, (code, offset) in answer.items()
        }

    try:
        found = await Halving(place_text).read(list(wanted), ask)
    except AdminError as error:
        return error.failure
    failures = [each for each in found.values() if isinstance(each, Failure)]
    if failures and len(failures) == len(found):
        return failures[0]
    return {place: each for place, each in found.items() if not isinstance(each, Failure)}


async def _offsets_answered(
    link: Link, broker_id: int, wanted: Mapping[Place, int], asker: int, stable: bool
) -> dict[Place, tuple[int, int]]:
    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        by_topic: dict[str, list[Any]] = {}
        for (topic, number), timestamp in wanted.items():
            partition = for_version(kio.ListOffsetsPartition, partition_index=number, timestamp=timestamp)
            by_topic.setdefault(topic, []).append(partition)
        return for_version(
            kio.ListOffsetsRequest,
            replica_id=asker,
            isolation_level=int(stable),
            topics=tuple(kio.ListOffsetsTopic(name=name, partitions=tuple(mine)) for name, mine in by_topic.items()),
            timeout=timedelta(seconds=WAIT_SECONDS),
        )

    response = await link.call("list_offsets", build, to=broker(broker_id))
    return {
        (topic.name, p.partition_index): (p.error_code, p.offset) for topic in response.topics for p in topic.partitions
    }


async def ends_at_leaders(link: Link, leaders: Mapping[int, Sequence[Place]]) -> dict[Place, int]:
    """Return (topic, partition) -> the end of its log. leaders: broker -> the partitions that it leads, as far as is
    known. It costs one request to each leader for so many partitions as fit; one that is wrong about a leader has no
    answer."""
    answers = await asyncio.gather(
        *(_offsets_of_leader(link, leader, dict.fromkeys(mine, LATEST), False) for leader, mine in leaders.items())
    )
    return {place: offset for answer in answers for place, (code, offset) in answer.items() if not code}


def place_text(place: Place) -> str:
    """Return a partition for people: ``orders-3``."""
    topic, number = place
    return f"{topic}-{number}"


def _failure_of(place: Place, code: int) -> Failure:
    return failure(code, place_text(place))
