"""ElectLeaders (KIP-183, KIP-460) and AlterPartitionReassignments (KIP-455). Neither has a validate-only form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

from console.admin.changes_delivery import Answer, deliver, refuse_duplicates
from console.admin.changes_topics import ANSWER_SECONDS
from console.admin.error_codes import failure
from console.admin.link import Link
from console.admin.routing import CONTROLLER
from console.admin.topics import describe_topics, list_reassignments
from console.model.changes import AlterReassignments, ElectLeaders, Outcome, Status
from console.model.cluster import Partition, Reassignment

Place = tuple[str, int]

ELECTION_NOT_NEEDED = 84


async def elect_leaders(link: Link, request: ElectLeaders, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each partition; where the wanted leader leads already it is APPLIED, with ELECTION_NOT_NEEDED.

    Raises Unsupported for an unclean election before Kafka 2.4, and AdminError where nothing was sent.
    """
    await link.require("elect_leaders", 1 if request.unclean else 0, "2.4", CONTROLLER)
    outcomes = refuse_duplicates(request.partitions)
    sound = [place for place in request.partitions if place not in outcomes]
    if validate_only:
        outcomes |= {place: Outcome(place, Status.UNCHECKED) for place in sound}
        return tuple(outcomes[place] for place in dict.fromkeys(request.partitions))
    needless: set[Place] = set()

    async def ask(places: Sequence[Place]) -> Mapping[Place, Answer]:
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

        response = await _call(link, "elect_leaders", build, request.timeout_ms)
        code = getattr(response, "error_code", 0)
        if code:
            return dict.fromkeys(places, (code, None))
        answers: dict[Place, Answer] = {}
        for topic in response.replica_election_results:
            for result in topic.partition_result:
                place = topic.topic, result.partition_id
                if result.error_code == ELECTION_NOT_NEEDED:
                    needless.add(place)
                    answers[place] = 0, None
                else:
                    answers[place] = result.error_code, result.error_message
        return answers

    async def look(places: Sequence[Place]) -> Mapping[Place, Status]:
        known = await _partitions(link, places)
        return {place: elected(known.get(place), request.unclean) for place in places}

    outcomes |= await deliver(sound, ask, look, validate_only=False)
    outcomes |= {place: Outcome(place, Status.APPLIED, failure(ELECTION_NOT_NEEDED)) for place in needless}
    return tuple(outcomes[place] for place in dict.fromkeys(request.partitions))


async def alter_reassignments(link: Link, request: AlterReassignments, *, validate_only: bool) -> tuple[Outcome, ...]:
    """One outcome for each partition, once its move has begun or was cancelled; it goes on in the brokers.

    Raises Unsupported before Kafka 2.4, and AdminError where nothing was sent.
    """
    await link.require("alter_partition_reassignments", 0, "2.4", CONTROLLER)
    if validate_only:
        return tuple(Outcome(place, Status.UNCHECKED) for place in request.moves)

    async def ask(places: Sequence[Place]) -> Mapping[Place, Answer]:
        def build(kio: ModuleType) -> Any:
            return kio.AlterPartitionReassignmentsRequest(
                timeout=timedelta(milliseconds=request.timeout_ms),
                topics=tuple(
                    kio.ReassignableTopic(
                        name=topic,
                        partitions=tuple(
                            kio.ReassignablePartition(partition_index=number, replicas=request.moves[topic, number])
                            for number in numbers
                        ),
                    )
                    for topic, numbers in by_topic(places).items()
                ),
            )

        response = await _call(link, "alter_partition_reassignments", build, request.timeout_ms)
        if response.error_code:
            return dict.fromkeys(places, (response.error_code, response.error_message))
        return {
            (topic.name, result.partition_index): (result.error_code, result.error_message)
            for topic in response.responses
            for result in topic.partitions
        }

    async def look(places: Sequence[Place]) -> Mapping[Place, Status]:
        known = await _partitions(link, places)
        moving = {(move.topic, move.partition): move for move in await list_reassignments(link)}
        return {place: moved(request.moves[place], known.get(place), moving.get(place)) for place in places}

    outcomes = await deliver(request.moves, ask, look, validate_only=False)
    return tuple(outcomes[place] for place in request.moves)


def elected(partition: Partition | None, unclean: bool) -> Status:
    """Whether the preferred replica leads, or after an unclean election any."""
    if partition is None:
        return Status.UNKNOWN
    leads = partition.leader >= 0 if unclean else partition.replicas[:1] == (partition.leader,)
    return Status.APPLIED if leads else Status.NOT_APPLIED


def moved(wanted: tuple[int, ...] | None, partition: Partition | None, move: Reassignment | None) -> Status:
    """Whether the partition is on the wanted replicas or on its way there; with None, whether nothing moves it."""
    if partition is None:
        return Status.UNKNOWN
    if wanted is None:
        return Status.APPLIED if move is None else Status.NOT_APPLIED
    if move is None:
        return Status.APPLIED if partition.replicas == wanted else Status.NOT_APPLIED
    target = {replica for replica in move.replicas if replica not in move.removing}
    return Status.APPLIED if target == set(wanted) else Status.NOT_APPLIED


def by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    """Topic -> partition numbers."""
    found: dict[str, list[int]] = {}
    for topic, number in places:
        found.setdefault(topic, []).append(number)
    return found


async def _call(link: Link, api: str, build: Any, timeout_ms: int) -> Any:
    timeout = max(link.settings.request_timeout, timeout_ms / 1000 + ANSWER_SECONDS)
    return await link.call(api, build, to=CONTROLLER, timeout=timeout, change=True)


async def _partitions(link: Link, places: Iterable[Place]) -> dict[Place, Partition]:
    listing = await describe_topics(link, [topic for topic, _ in places])
    return {
        (topic.name, partition.number): partition for topic in listing.topics.values() for partition in topic.partitions
    }
