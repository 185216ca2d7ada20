"""Partitions: leader elections (KIP-183, KIP-460), reassignments (KIP-455), deletion of records (KIP-107), offsets by
time (KIP-79), and the start and end offsets of very many logs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from kio.schema.errors import ErrorCode

from console.admin import link as admin_link
from console.admin.cluster import describe_cluster
from console.admin.delivery import Answer, Sender, Senders, applied_if, refuse_duplicates
from console.admin.errors import AdminError, check, error_name, failure
from console.admin.halving import Halving, parted
from console.admin.topics import describe_topics
from console.model import changes, cluster
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.observed_logs import LogOffsets, Newest
from console.wire.fields import Fields, for_version

T = TypeVar("T", bound=changes.Target)
Given = TypeVar("Given")

Place = tuple[str, int]
"""A topic's name and a partition number."""

# Neither ElectLeaders nor AlterPartitionReassignments has a validate-only form.


P = TypeVar("P", bound=changes.ElectLeaders | changes.AlterReassignments)


class _OnPartitions(Sender[P, T]):
    """The base class of changes to partitions, which brokers can't validate. A validation is FAILED if the principal
    lacks the right to the change, otherwise UNCHECKED.
    """

    async def unchecked(self, targets: Sequence[T]) -> dict[T, changes.Outcome]:
        operations = (await describe_cluster(self.link)).operations  # the principal's rights (KIP-430)
        if operations is None or "ALTER" in operations:
            return await super().unchecked(targets)
        return {target: changes.Outcome(target, changes.Status.FAILED, _MAY_NOT_ALTER) for target in targets}

    async def deliver(self, targets: Sequence[T]) -> dict[T, changes.Outcome]:
        return {target: _naming_right(each) for target, each in (await super().deliver(targets)).items()}


class _Election(_OnPartitions[changes.ElectLeaders, changes.PartitionTarget]):
    """Elects leaders. If the wanted replica is the leader already, the outcome is APPLIED, with ELECTION_NOT_NEEDED."""

    of = "partitions"
    _needless: tuple[changes.PartitionTarget, ...] = ()

    async def require(self) -> None:
        await self.link.require(self.api, 1 if self.request.unclean else 0, "2.4", self.route)

    async def refused(self) -> dict[changes.PartitionTarget, changes.Outcome]:
        return refuse_duplicates(self.request.partitions)

    async def deliver(
        self, targets: Sequence[changes.PartitionTarget]
    ) -> dict[changes.PartitionTarget, changes.Outcome]:
        outcomes = await super().deliver(targets)
        not_needed = failure(ErrorCode.election_not_needed)
        return outcomes | {
            place: changes.Outcome(place, changes.Status.APPLIED, not_needed) for place in self._needless
        }

    def fields(self, targets: Sequence[changes.PartitionTarget]) -> Fields:
        return {
            "election_type": int(self.request.unclean),
            "topic_partitions": topics_with(targets, "topic"),
            "timeout": timedelta(milliseconds=self.request.timeout_ms),
        }

    def answers(
        self, response: Any, targets: Sequence[changes.PartitionTarget]
    ) -> Mapping[changes.PartitionTarget, Answer]:
        if getattr(response, "error_code", 0):
            return super().answers(response, targets)
        answers: dict[changes.PartitionTarget, Answer] = {}
        for topic in response.replica_election_results:
            for result in topic.partition_result:
                place = changes.PartitionTarget(topic.topic, result.partition_id)
                if result.error_code == ErrorCode.election_not_needed:
                    self._needless += (place,)
                    answers[place] = 0, None
                else:
                    answers[place] = result.error_code, result.error_message
        return answers

    async def describe_again(
        self, targets: Sequence[changes.PartitionTarget]
    ) -> dict[changes.PartitionTarget, changes.Status]:
        known = await _described(self.link, targets)
        return {place: elected(known.get(place), self.request.unclean) for place in targets}


class _Reassignment(_OnPartitions[changes.AlterReassignments, changes.MoveTarget]):
    """Starts or cancels the moves of replicas. Brokers answer when a move has started or is cancelled, not when it is
    complete.
    """

    of = "moves"
    needs = "2.4"

    def fields(self, targets: Sequence[changes.MoveTarget]) -> Fields:
        moves = {(target.topic, target.number): {"replicas": self.request.moves[target]} for target in targets}
        timeout = timedelta(milliseconds=self.request.timeout_ms)
        return {"timeout": timeout, "topics": topics_with_fields(moves)}

    def answers(self, response: Any, targets: Sequence[changes.MoveTarget]) -> Mapping[changes.MoveTarget, Answer]:
        if response.error_code:
            return super().answers(response, targets)
        return {
            changes.MoveTarget(topic.name, result.partition_index): (result.error_code, result.error_message)
            for topic in response.responses
            for result in topic.partitions
        }

    async def describe_again(self, targets: Sequence[changes.MoveTarget]) -> dict[changes.MoveTarget, changes.Status]:
        places = {target: (target.topic, target.number) for target in targets}
        known = await _described(self.link, places.values())
        moving = {(move.topic, move.partition): move for move in await list_reassignments(self.link)}
        moves, original = self.request.moves, self.request.original
        return {
            target: moved(moves[target], known.get(place), moving.get(place), original.get(target))
            for target, place in places.items()
        }


_MAY_NOT_ALTER = Failure(
    error_name(ErrorCode.cluster_authorization_failed),
    "elections and moves need ALTER on the cluster",
    "Ask an administrator of the cluster for an ACL: ALTER on CLUSTER kafka-cluster.",
)


def _naming_right(outcome: changes.Outcome) -> changes.Outcome:
    """Return the outcome; if it failed because a right on the cluster is missing, the failure names that right."""
    if outcome.failure is not None and outcome.failure.name == _MAY_NOT_ALTER.name:
        return changes.Outcome(outcome.target, outcome.status, _MAY_NOT_ALTER)
    return outcome


async def list_reassignments(link: admin_link.Link) -> tuple[cluster.Reassignment, ...]:
    """Return the reassignments in progress (KIP-455). Raises Unsupported before Kafka 2.4, and other AdminErrors."""
    await link.require("list_partition_reassignments", 0, "2.4", admin_link.CONTROLLER)
    response = await link.ask_controller("list_partition_reassignments", {"topics": None})
    check(response)
    return reassignments(response)


def reassignments(response: Any) -> tuple[cluster.Reassignment, ...]:
    """Return the reassignments in a ListPartitionReassignments response, sorted by topic and partition."""
    found = (
        cluster.Reassignment(topic.name, p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in response.topics
        for p in topic.partitions
    )
    return tuple(sorted(found, key=lambda move: (move.topic, move.partition)))


def elected(partition: cluster.Partition | None, unclean: bool) -> changes.Status:
    """Return UNKNOWN if `partition` is None, because it was not described. Otherwise return APPLIED if the preferred
    replica is the leader (after an unclean election: if any replica is), and NOT_APPLIED if not.
    """
    if partition is None:
        return changes.Status.UNKNOWN
    leads = partition.leader >= 0 if unclean else partition.replicas[:1] == (partition.leader,)
    return applied_if(leads)


def moved(
    wanted: tuple[int, ...] | None,
    partition: cluster.Partition | None,
    move: cluster.Reassignment | None,
    original: tuple[int, ...] | None = None,
) -> changes.Status:
    """Return APPLIED if the partition is on the wanted replicas or is being moved to them, otherwise NOT_APPLIED;
    UNKNOWN if `partition` is None, because it was not described.

    Args:
        wanted: the broker ids of the wanted replicas. None for a cancellation, which is applied if the partition is no
            longer being moved, and is on its original replicas if `original` is given.
        move: the partition's present reassignment; None if it is not being moved.
        original: the broker ids of the replicas before the move; None if unknown.
    """
    if partition is None:
        return changes.Status.UNKNOWN
    if wanted is None:
        back = move is None and (original is None or set(partition.replicas) == set(original))
        return applied_if(back)
    if move is None:
        return applied_if(partition.replicas == wanted)
    target = {replica for replica in move.replicas if replica not in move.removing}
    return applied_if(target == set(wanted))


def topics_with(places: Iterable[tuple[str, int]], name: str = "name", numbers: str = "partitions") -> list[Fields]:
    """Group partitions by topic, in the form of a request: for each topic its name and its partition numbers.

    Args:
        name: the name of the request's field for the topic's name.
        numbers: the name of the request's field for the partition numbers.
    """
    return [{name: topic, numbers: tuple(found)} for topic, found in grouped(places).items()]


def topics_with_fields(places: Mapping[tuple[str, int], Fields], name: str = "name") -> list[Fields]:
    """Group partitions by topic, in the form of a request: for each topic its name, and a structure for each of its
    partitions.

    Args:
        places: (topic, partition) -> the fields of the partition's structure, without its number.
        name: the name of the request's field for the topic's name.
    """
    return [
        {name: topic, "partitions": [{"partition_index": each, **places[topic, each]} for each in numbers]}
        for topic, numbers in grouped(places).items()
    ]


async def _described(link: admin_link.Link, places: Iterable[Place]) -> dict[Place, cluster.Partition]:
    listing = await describe_topics(link, [topic for topic, _ in places])
    return {
        (topic.name, partition.number): partition for topic in listing.topics.values() for partition in topic.partitions
    }


# Deleted records: those before an offset.


class _TrimAt(Sender[changes.DeleteRecords, changes.LogTarget]):
    """Deletes records at one partition leader, which answers when its followers have deleted them, too."""

    of = "before"

    def fields(self, targets: Sequence[changes.LogTarget]) -> Fields:
        before = {(target.topic, target.number): {"offset": self.request.before[target]} for target in targets}
        timeout = timedelta(milliseconds=self.request.timeout_ms)
        return {"topics": topics_with_fields(before), "timeout": timeout}

    def answers(self, response: Any, _targets: Sequence[changes.LogTarget]) -> dict[changes.LogTarget, Answer]:
        return {
            changes.LogTarget(topic.name, part.partition_index): (
                part.error_code,
                _why_kept(topic.name, part.error_code),
            )
            for topic in response.topics
            for part in topic.partitions
        }

    async def describe_again(self, targets: Sequence[changes.LogTarget]) -> dict[changes.LogTarget, changes.Status]:
        places = dict.fromkeys(((each.topic, each.number) for each in targets), EARLIEST)
        starts, _ = await list_offsets(self.link, places)
        return {each: deleted(self.request.before[each], starts.get((each.topic, each.number))) for each in targets}


class _Trim(_TrimAt):
    """Deletes records by one request to each partition leader, concurrently."""

    async def deliver(self, targets: Sequence[changes.LogTarget]) -> dict[changes.LogTarget, changes.Outcome]:
        outcomes: dict[changes.LogTarget, changes.Outcome] = {}
        left = targets
        for last in (False, True):  # a second round sends partitions that a broker does not lead to the new leader
            if not left:
                break
            leaders, leaderless = await leaders_of(self.link, [(target.topic, target.number) for target in left])
            led = {leader: [changes.LogTarget(*place) for place in places] for leader, places in leaders.items()}
            answers = await asyncio.gather(*(self._deliver_at(leader, mine) for leader, mine in led.items()))
            found = {target: outcome for answer in answers for target, outcome in answer.items()}
            outcomes |= found
            outcomes |= {
                changes.LogTarget(*place): changes.Outcome(changes.LogTarget(*place), changes.Status.FAILED, why)
                for place, why in leaderless.items()
            }
            left = [target for target, outcome in found.items() if not last and _is_moved(outcome)]
        return outcomes

    async def _deliver_at(
        self, leader: int, targets: Sequence[changes.LogTarget]
    ) -> dict[changes.LogTarget, changes.Outcome]:
        at_leader = _TrimAt(self.link, self.request, self.validate_only)
        at_leader.route = admin_link.broker(leader)
        try:
            return await at_leader.deliver(targets)
        except AdminError as error:  # the request was not sent to this leader; other leaders may have received theirs
            return {target: changes.Outcome(target, changes.Status.FAILED, error.failure) for target in targets}


SENDERS: Senders = {
    changes.ElectLeaders: _Election,
    changes.AlterReassignments: _Reassignment,
    changes.DeleteRecords: _Trim,
}


def _is_moved(outcome: changes.Outcome) -> bool:
    """Return whether the outcome shows that the broker does not lead the partition any more; the request is then
    sent to the new leader.
    """
    names = {failure(code).name for code in _LEADER_MOVED}
    return outcome.status is changes.Status.FAILED and outcome.failure is not None and outcome.failure.name in names


def _why_kept(topic: str, code: int) -> str | None:
    """Return a message for an error code that brokers return without a text; None for other codes."""
    if code == ErrorCode.topic_authorization_failed:
        return f"deleting records needs DELETE on topic {topic}"
    if code == ErrorCode.policy_violation:
        return f"cleanup.policy of {topic} has no delete in it"
    return None


def deleted(before: int, start: int | None) -> changes.Status:
    """Return APPLIED if the log begins at or after the offset `before`, otherwise NOT_APPLIED. start: the log's start
    offset; None if it can't be read, for which the result is UNKNOWN.
    """
    if start is None:
        return changes.Status.UNKNOWN
    return applied_if(start >= before)


# Offsets by time, each from the partition's leader.

LATEST, EARLIEST = -1, -2
"""The special timestamps of ListOffsets for the end and for the first record of a partition."""

PARTITIONS_AT_ONCE = 2_000
"""Number of partitions in one ListOffsets request."""
TOPICS_AT_ONCE = 1_000
"""Number of topics in one Metadata request for the leaders of partitions."""

WAIT_SECONDS = 10.0
"""Seconds for which a leader may wait for tiered storage: the timeout in ListOffsets v10."""

_LEADER_MOVED = frozenset({ErrorCode.leader_not_available, ErrorCode.not_leader_or_follower})


async def log_spans(
    link: admin_link.Link, since: Mapping[Place, int], began: Mapping[Place, int]
) -> tuple[dict[Place, cluster.LogSpan], list[Failure]]:
    """Return (topic, partition) -> the span of its log with the offsets of the first records at or after two times, and
    the failures of other partitions. Send four requests to each leader, concurrently.

    Args:
        since, began: (topic, partition) -> a time, milliseconds since 1970. If no record is that new, the offset is the
        end of the log.
    """
    earliest, latest = dict.fromkeys(since, EARLIEST), dict.fromkeys(since, LATEST)
    (first, end, found, before), failures = await _at_once(link, earliest, latest, since, began)
    spans = {
        place: cluster.LogSpan(
            first[place], end[place], *(at[place] if at[place] >= 0 else end[place] for at in (found, before))
        )
        for place in since
        if all(place in each for each in (first, end, found, before))
    }
    return spans, failures


async def _at_once(link: admin_link.Link, *wanted: Mapping[Place, int]) -> tuple[list[dict[Place, int]], list[Failure]]:
    """Read several mappings concurrently by `list_offsets`. Return the offsets of each, and all failures together."""
    answers = await asyncio.gather(*(list_offsets(link, each) for each in wanted))
    return [found for found, _ in answers], list(dict.fromkeys(why for _, failures in answers for why in failures))


async def log_ranges(
    link: admin_link.Link, places: Sequence[Place]
) -> tuple[dict[Place, cluster.LogRange], list[Failure]]:
    """Return (topic, partition) -> its start and end offsets, and the failures of other partitions. Send two requests
    to each leader, concurrently.
    """
    (first, end), failures = await _at_once(link, dict.fromkeys(places, EARLIEST), dict.fromkeys(places, LATEST))
    ranges = {place: cluster.LogRange(first[place], end[place]) for place in places if place in first and place in end}
    return ranges, failures


LOCAL_START, TIERED_END, PENDING_START = -4, -5, -6
"""The special timestamps of ListOffsets for the first record on the leader's disk, the last one in remote storage, and
the first one still to be copied."""
LOCAL_SINCE, TIERED_SINCE, PENDING_SINCE = 8, 9, 11
"""The first versions of ListOffsets with these timestamps (KIP-405, KIP-1005, KIP-1023)."""


async def local_starts(link: admin_link.Link, places: Sequence[Place]) -> dict[Place, int]:
    """Return (topic, partition) -> the offset of the first record on its leader's disk. Partitions whose brokers don't
    answer are missing. Empty before Kafka 3.4. Raises AdminError.
    """
    if (await link.version("list_offsets") or 0) < LOCAL_SINCE:
        return {}
    found, _ = await list_offsets(link, dict.fromkeys(places, LOCAL_START))
    return found


async def tiered_offsets(
    link: admin_link.Link, places: Sequence[Place]
) -> tuple[dict[Place, cluster.TieredOffsets], list[Failure]]:
    """Return (topic, partition) -> its offsets on the leader's disk and in remote storage, and the failures of other
    partitions. Send up to three requests to each leader, concurrently. Return nothing before Kafka 3.4, without a
    request. Raises AdminError.
    """
    version = await link.version("list_offsets") or 0
    asked = [(LOCAL_START, LOCAL_SINCE), (TIERED_END, TIERED_SINCE), (PENDING_START, PENDING_SINCE)]
    known = [dict.fromkeys(places, timestamp) for timestamp, since in asked if version >= since]
    answers, failures = await _at_once(link, *known)
    local, *others = answers or [{}]
    tiered = {
        place: cluster.TieredOffsets(each, *(found.get(place) for found in others)) for place, each in local.items()
    }
    return tiered, failures


async def list_offsets(
    link: admin_link.Link, wanted: Mapping[Place, int], *, stable: bool = False
) -> tuple[dict[Place, int], list[Failure]]:
    """Return (topic, partition) -> the offset of its first record at or after a time, -1 if no record is that new; and
    the failures of other partitions. Send one request to each leader for each batch of partitions.

    Args:
        wanted: (topic, partition) -> a time in milliseconds since 1970, or `LATEST` or `EARLIEST`.
        stable: whether `LATEST` means the last stable offset, as for consumers with read_committed, instead of the high
            watermark.
    """
    found, failures = parted(await offsets_of(link, wanted, stable=stable))
    return found, list(dict.fromkeys(failures.values()))


async def offsets_of(
    link: admin_link.Link,
    wanted: Mapping[Place, int],
    *,
    stable: bool = False,
    topics: Mapping[str, cluster.Topic] = MappingProxyType({}),
) -> dict[Place, int | Failure]:
    """Read offsets as `list_offsets` does. Return (topic, partition) -> the offset, or the failure to read it.

    Args:
        wanted: (topic, partition) -> a time in milliseconds since 1970, or `LATEST` or `EARLIEST`.
        stable: whether `LATEST` means the last stable offset.
        topics: name -> topic, for topics that were just read; other topics are read for their leaders.
    """
    found: dict[Place, int | Failure] = {}
    left = tuple(wanted)
    for last in (False, True):  # a second round asks the new leader
        if not left:
            break
        leaders, leaderless = await leaders_of(link, left, topics if not last else {})
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


async def leaders_of(
    link: admin_link.Link, places: Iterable[Place], known: Mapping[str, cluster.Topic] = MappingProxyType({})
) -> tuple[dict[int, list[Place]], dict[Place, Failure]]:
    """Return broker id -> the partitions that it leads, and the failures of partitions without a leader.

    Args:
        known: name -> topic, for topics that need no request.
    """
    places = tuple(places)
    topics = {topic: known.get(topic) for topic, _ in places}
    unknown = [name for name, topic in topics.items() if topic is None]
    failures: dict[str, Failure] = {}
    for start in range(0, len(unknown), TOPICS_AT_ONCE):
        listing = await describe_topics(link, unknown[start : start + TOPICS_AT_ONCE])
        failures.update(listing.failures)
        topics.update(listing.topics)
    leading = {
        (topic.name, partition.number): partition.leader
        for topic in topics.values()
        if topic is not None
        for partition in topic.partitions
    }
    by_leader: dict[int, list[Place]] = {}
    problems: dict[Place, Failure] = {}
    for place in places:
        leader = leading.get(place, -1)
        if leader >= 0:
            by_leader.setdefault(leader, []).append(place)
        else:
            problems[place] = failures.get(place[0]) or _leaderless(place, topics.get(place[0]))
    return by_leader, problems


def _leaderless(place: Place, topic: cluster.Topic | None) -> Failure:
    """Return the failure of a partition without a leader, with the brokers that have its replicas. topic: None if it
    was not described.
    """
    found = cluster.partition_in(topic, place[1])
    if found is None:
        return _failure_of(place, ErrorCode.leader_not_available)
    brokers = f"broker{'' if len(found.replicas) == 1 else 's'} {', '.join(map(str, found.replicas))}"
    message = f"{place_text(place)} has no leader: its replicas are on {brokers}"
    return failure(ErrorCode.leader_not_available, message)


async def _offsets_of_leader(
    link: admin_link.Link, leader: int, wanted: Mapping[Place, int], stable: bool
) -> dict[Place, tuple[int | Failure, int]]:
    """Return (topic, partition) -> (result, offset), as one broker answers. The result is 0 for success. Otherwise
    the offset is -1, and the result is the error code if the leader has moved, or else the failure of the
    partition or of the whole request.
    """
    places = list(wanted)
    found: dict[Place, tuple[int | Failure, int]] = {}
    halving = Halving(place_text)

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int | Failure, int] | Failure]:
        asked = {place: wanted[place] for place in some}
        answer = await _listed(link, leader, asked, _code_and_offset, stable=stable)
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
"""The replica id of a request for offsets: a consumer's, which only leaders answer, with the high watermark; or a
debugger's (ListOffsetsRequest.DEBUGGING_REPLICA_ID), which each replica answers with the end of its own log."""


async def offsets_at_broker(
    link: admin_link.Link, broker_id: int, wanted: Mapping[Place, int], asker: int
) -> dict[Place, tuple[int, int]] | Failure:
    """Return (topic, partition) -> (Kafka's error code, offset), from one broker. Partitions whose request failed are
    missing. If all requests failed, return the failure.

    Args:
        wanted: (topic, partition) -> a time in milliseconds since 1970, or a special timestamp.
        asker: the replica id in the request.
    """

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int, int] | Failure]:
        asked = {place: wanted[place] for place in some}
        answer = await _listed(link, broker_id, asked, _code_and_offset, asker=asker)
        # A partition's own error, such as that another broker leads it, is a result; it must not fail the batch.
        return {
            place: _failure_of(place, code) if code == ErrorCode.unknown_server_error else (code, offset)
            for place, (code, offset) in answer.items()
        }

    try:
        found, failures = parted(await Halving(place_text).read(list(wanted), ask))
    except AdminError as error:
        return error.failure
    return next(iter(failures.values())) if failures and not found else found


def _code_and_offset(code: int, _timestamp: int, offset: int) -> tuple[int, int]:
    return code, offset


async def _listed(
    link: admin_link.Link,
    broker_id: int,
    wanted: Mapping[Place, int],
    said: Callable[[int, int, int], Given],
    *,
    asker: int = CONSUMER,
    stable: bool = False,
    within: float | None = None,
) -> dict[Place, Given]:
    """Return (topic, partition) -> a value that `said` makes of the result in one broker's response.

    Args:
        wanted: (topic, partition) -> a time in milliseconds since 1970, or a special timestamp.
        said: function of (Kafka's error code, timestamp in ms since 1970, offset).
        asker: the replica id in the request.
        stable: whether to use read_committed.
        within: the timeout of the request in seconds; None for the settings' request timeout.

    Raises:
        AdminError: the broker did not answer.
    """

    raw = await link.call_raw(
        "list_offsets",
        lambda kio: _list_offsets(kio, wanted, asker, stable, within or WAIT_SECONDS),
        to=admin_link.broker(broker_id),
        timeout=within,
        prepare=admin_link.import_partition_decoders,
    )
    from console.wire.partition_decoders import decode_offsets

    size = len(raw.body)
    found = await admin_link.aside(size, lambda: decode_offsets(raw.version, raw.body, said))
    if found is not None:
        return found
    response = await admin_link.aside(size, lambda: admin_link.decode(raw))
    return {
        (sys.intern(topic.name), each.partition_index): said(
            each.error_code, getattr(each, "timestamp", -1), getattr(each, "offset", -1)
        )
        for topic in response.topics
        for each in topic.partitions
    }


def _list_offsets(kio: ModuleType, wanted: Mapping[Place, int], asker: int, stable: bool, within: float) -> Any:
    """Make a ListOffsets request. kio: kio's module of the version; the other arguments are those of `_listed`."""

    @cache  # most topics have the same numbers of partitions
    def partitions(asked: tuple[tuple[int, int], ...]) -> tuple[Any, ...]:
        return tuple(
            for_version(kio.ListOffsetsPartition, partition_index=number, timestamp=timestamp)
            for number, timestamp in asked
        )

    topics = grouped((topic, (number, timestamp)) for (topic, number), timestamp in wanted.items())
    return for_version(
        kio.ListOffsetsRequest,
        replica_id=asker,
        isolation_level=int(stable),
        topics=[{"name": name, "partitions": partitions(tuple(asked))} for name, asked in topics.items()],
        timeout=timedelta(seconds=within),
    )


async def ends_at_leaders(link: admin_link.Link, leaders: Mapping[int, Sequence[Place]]) -> dict[Place, int]:
    """Return (topic, partition) -> the end offset of its log. Send one request to each leader for each batch of
    partitions. A partition that its broker does not lead any more is missing.

    Args:
        leaders: broker id -> the partitions that it leads, as far as known.
    """
    answers = await asyncio.gather(
        *(_offsets_of_leader(link, leader, dict.fromkeys(mine, LATEST), False) for leader, mine in leaders.items())
    )
    return {place: offset for answer in answers for place, (code, offset) in answer.items() if not code}


def place_text(place: Place) -> str:
    """Return the display name of a partition: ``orders-3``."""
    topic, number = place
    return f"{topic}-{number}"


def _failure_of(place: Place, code: int) -> Failure:
    return failure(code, place_text(place))


# Starts, ends and last stable offsets of very many logs, and their newest records, from known leaders. A partition
# without an answer is missing: the next round reads it again.

MAX_TIMESTAMP = -3
"""The special timestamp in ListOffsets that means the record with the highest timestamp (KIP-734)."""
MAX_TIMESTAMP_SINCE = 7
"""The first version of ListOffsets that knows `MAX_TIMESTAMP` (Kafka 3.0). Older brokers would treat it as a time."""
LEADER_SECONDS = 5.0
"""Timeout in seconds of one request to a leader."""
REFUSED = (-1, -2)
"""The result, in place of timestamp and offset, for a partition with an error of its own, such as that another broker
leads it. Other partitions in the same request are not affected.
"""

Said = TypeVar("Said")


async def log_offsets(
    link: admin_link.Link, led: Mapping[int, Sequence[Place]], *, stable: bool
) -> dict[Place, LogOffsets]:
    """Return (topic, partition) -> its start and end offsets. Send two or three requests to each leader for each batch
    of partitions. Partitions that can't be read are missing; only cancellation is raised.

    Args:
        led: broker id -> the partitions that it leads.
        stable: whether to read the last stable offsets as well.
    """

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, LogOffsets]:
        # Read the stable offset first: if it is behind the end then, it was already behind before the end was read.
        held = await _timed_offsets(link, leader, places, LATEST, stable=True) if stable else {}
        starts = await _timed_offsets(link, leader, places, EARLIEST)
        ends = await _timed_offsets(link, leader, places, LATEST)
        return {
            place: LogOffsets(starts[place][1], held[place][1] if stable else end, end)
            for place, (_, end) in ends.items()
            if place in starts and (not stable or place in held)
        }

    return await _of_leaders(led, at_leader)


async def held_back(link: admin_link.Link, led: Mapping[int, Sequence[Place]]) -> frozenset[Place]:
    """Return the partitions in which an open transaction holds records back from consumers with read_committed. led:
    broker id -> the partitions that it leads.
    """

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, int]:
        # Read stable offsets first: if one is behind the end then, it was already behind before the end was read.
        stable = await _timed_offsets(link, leader, places, LATEST, stable=True)
        ends = await _timed_offsets(link, leader, places, LATEST)
        return {place: end for place, (_, end) in ends.items() if place in stable and stable[place][1] < end}

    return frozenset(await _of_leaders(led, at_leader))


async def newest_records(link: admin_link.Link, led: Mapping[int, Sequence[Place]]) -> dict[Place, Newest]:
    """Return (topic, partition) -> its record with the highest timestamp. Partitions that are empty or can't be read
    are missing, as are all partitions of brokers before Kafka 3.0. led: broker id -> the partitions that it leads.
    """

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, Newest]:
        version = await link.version("list_offsets", admin_link.broker(leader))
        if version is None or version < MAX_TIMESTAMP_SINCE:
            return {}
        found = await _timed_offsets(link, leader, places, MAX_TIMESTAMP)
        return {place: Newest(*each) for place, each in found.items() if each[1] >= 0}

    return await _of_leaders(led, at_leader)


async def offsets_at(
    link: admin_link.Link, led: Mapping[int, Sequence[Place]], times_ms: Sequence[int]
) -> dict[Place, dict[int, int]]:
    """Return (topic, partition) -> time -> the offset of its first record at or after that time, -1 if there is none.
    Partitions that can't be read are missing.

    Args:
        led: broker id -> the partitions that it leads.
        times_ms: times in milliseconds since 1970. Each needs a request of its own, since a request may name a
            partition only once.
    """

    async def at_leader(leader: int, places: Sequence[Place]) -> dict[Place, dict[int, int]]:
        found: dict[Place, dict[int, int]] = {}
        for each in times_ms:
            for place, (_, offset) in (await _timed_offsets(link, leader, places, each)).items():
                found.setdefault(place, {})[each] = offset
        return found

    return await _of_leaders(led, at_leader)


async def _of_leaders(
    led: Mapping[int, Sequence[Place]], ask: Callable[[int, Sequence[Place]], Awaitable[dict[Place, Said]]]
) -> dict[Place, Said]:
    async def answered(leader: int, places: Sequence[Place]) -> dict[Place, Said]:
        found: dict[Place, Said] = {}
        try:
            for start in range(0, len(places), PARTITIONS_AT_ONCE):
                found.update(await ask(leader, places[start : start + PARTITIONS_AT_ONCE]))
        except AdminError:
            return found
        return found

    parts = await asyncio.gather(*(answered(leader, places) for leader, places in led.items()))
    return {place: each for part in parts for place, each in part.items()}


async def _timed_offsets(
    link: admin_link.Link, leader: int, places: Sequence[Place], timestamp: int, *, stable: bool = False
) -> dict[Place, tuple[int, int]]:
    """Return (topic, partition) -> (timestamp in ms since 1970, offset), from the leader; partitions with an error are
    missing. Raises AdminError.

    Args:
        timestamp: the time in milliseconds since 1970, or a special timestamp, to request for each partition.
        stable: whether to use read_committed.
    """

    def said(code: int, when: int, offset: int) -> tuple[int, int] | Failure:
        if not code:
            return when, offset
        return failure(code) if code == ErrorCode.unknown_server_error else REFUSED

    async def ask(some: Sequence[Place]) -> Mapping[Place, tuple[int, int] | Failure]:
        asked = dict.fromkeys(some, timestamp)
        return await _listed(link, leader, asked, said, stable=stable, within=LEADER_SECONDS)

    found, _ = parted(await Halving(place_text).read(places, ask))
    return {place: each for place, each in found.items() if each != REFUSED}
