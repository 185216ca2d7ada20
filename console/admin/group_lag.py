"""The lag of groups: the offsets that they committed against the ends of the partitions, of many groups at once.

A look at n groups takes one FindCoordinator for each thousand, for each coordinator one describe and one OffsetFetch
for so many groups as fit, and one ListOffsets for each leader and so many of all their partitions; a partition that
several groups read is asked for once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.admin.errors import AdminError, BrokerError, error_name, failure
from console.admin.groups import (
    COORDINATOR_MOVES,
    NO_TYPES,
    SETTLE_SECONDS,
    SINGLE_AT_ONCE,
    by_coordinator,
    dead_group,
    describe_at_coordinators,
    find_coordinators,
    parts,
)
from console.admin.halving import Halving
from console.admin.link import Link
from console.admin.partitions import LATEST, Place, offsets_of
from console.admin.routing import broker, until_settled
from console.model.cluster import CommittedOffset, Group, GroupLag, GroupLooks, PartitionLag, Places
from console.model.failure import Failure

FETCHED_AT_ONCE = 50
"""Groups of one OffsetFetch; the answer has all their partitions, 20 bytes each."""
IDS_AT_ONCE = 1_000
"""Topic ids of one Metadata."""
SHARE_OFFSETS, SHARE_OFFSETS_SINCE = "describe_share_group_offsets", "4.1"
SHARE = "share"
"""The type of share groups."""
_SEVERAL_GROUPS = 8
ABSENT = "GROUP_ID_NOT_FOUND"


async def look_at_groups(link: Link, names: Sequence[str], types: Mapping[str, str] = NO_TYPES) -> GroupLooks:
    """Return the members and the lag of each group, or why they could not be read. Raises AdminError.

    types: as in `describe_groups`.
    """
    coordinators, missing = await find_coordinators(link, names)
    described = await describe_at_coordinators(link, coordinators, missing, types)
    groups = described.groups
    shares = {name for name, group in groups.items() if group.type == SHARE}
    fetched = await asyncio.gather(
        *(
            _positions_at(link, broker_id, [name for name in mine if (name in shares) is is_share], is_share)
            for broker_id, mine in by_coordinator(coordinators).items()
            for is_share in (False, True)
        )
    )
    answers = {name: answer for part in fetched for name, answer in part.items()}
    topics = await _topics_of(link, answers)
    dead = {
        name: dead_group(name, coordinators[name])
        for name, why in described.failures.items()
        if why.name == ABSENT and any(each.offset is not None for each in _told(answers.get(name)))
    }
    groups = {**groups, **dead}
    found: dict[str, _Committed] = {}
    failures = dict(missing)
    for name, answer in answers.items():
        if isinstance(answer, Failure):
            failures[name] = answer
        elif name not in groups and not answer:
            failures[name] = described.failures[name]
        else:
            found[name] = _committed(answer, topics)
    places = {name: _places(at, groups.get(name)) for name, at in found.items()}
    ends = await offsets_of(link, dict.fromkeys((place for each in places.values() for place in each), LATEST))
    lags_found = {name: _lag(places[name], committed, ends, groups.get(name)) for name, committed in found.items()}
    undescribed = {name: why for name, why in described.failures.items() if name not in dead}
    return GroupLooks(groups, lags_found, undescribed, failures)


def _told(answer: Sequence[_Position] | Failure | None) -> Sequence[_Position]:
    return () if answer is None or isinstance(answer, Failure) else answer


async def group_lag(link: Link, name: str) -> GroupLag:
    """Return the lag of a group for each partition with a committed offset or an assignment, sorted.

    Partitions that could not be read are in the failures. Raises BrokerError if none could be, and other
    AdminErrors.
    """
    looks = await look_at_groups(link, [name])
    if name not in looks.lags:
        raise BrokerError(looks.lag_failures[name])
    return looks.lags[name]


class _Position(NamedTuple):
    """A group's place in a partition, of a topic by name or id. offset: None for none; lag: -1 if the coordinator does
    not say it. code, message: why it can't be read."""

    topic: str | UUID
    partition: int
    offset: CommittedOffset | None
    lag: int = -1
    code: int = 0
    message: str | None = None


_Positions = Mapping[str, Sequence[_Position] | Failure]
"""Group -> its positions, or why they could not be read."""


class _Committed(NamedTuple):
    """Offsets of a group, the lags that the coordinator says, and what could not be read."""

    offsets: dict[Place, CommittedOffset]
    lags: dict[Place, int]
    problems: list[Failure]


async def committed_offsets(
    link: Link, group: str, coordinator: int
) -> tuple[dict[Place, CommittedOffset], list[Failure]]:
    """Return (topic, partition) -> what was committed, and the failures of the others. Raises AdminError."""
    return await _offsets_of_one(link, group, coordinator, is_share=False)


async def share_group_offsets(
    link: Link, group: str, coordinator: int
) -> tuple[dict[Place, CommittedOffset], list[Failure]]:
    """Return (topic, partition) -> where a share group's records in flight begin, and the failures of the others.
    Partitions that no member has used are missing. Raises AdminError; Unsupported before Kafka 4.1."""
    return await _offsets_of_one(link, group, coordinator, is_share=True)


async def _offsets_of_one(
    link: Link, group: str, coordinator: int, *, is_share: bool
) -> tuple[dict[Place, CommittedOffset], list[Failure]]:
    if is_share:
        await link.require(SHARE_OFFSETS, 0, SHARE_OFFSETS_SINCE, broker(coordinator))
    answers = await _positions_at(link, coordinator, [group], is_share)
    answer = answers[group]
    if isinstance(answer, Failure):
        raise BrokerError(answer)
    found = _committed(answer, await _topics_of(link, answers))
    return found.offsets, found.problems


def _committed(positions: Iterable[_Position], topics: Mapping[UUID, str]) -> _Committed:
    found = _Committed({}, {}, [])
    for at in positions:
        name = topics.get(at.topic, "") if isinstance(at.topic, UUID) else at.topic
        if at.code:
            found.problems.append(failure(at.code, at.message or f"{name or 'a deleted topic'}-{at.partition}"))
        elif at.offset is not None and name:
            found.offsets[name, at.partition] = at.offset
            if at.lag >= 0:
                found.lags[name, at.partition] = at.lag
    return found


def _places(committed: _Committed, group: Group | None) -> Places:
    members = (group and group.members) or ()
    return tuple(sorted(committed.offsets.keys() | {place for member in members for place in member.assignment}))


def _lag(places: Places, committed: _Committed, ends: Mapping[Place, int | Failure], group: Group | None) -> GroupLag:
    is_share = group is not None and group.type == SHARE
    members: dict[Place, str] = {}
    for member in (group and group.members) or ():
        for place in member.assignment:
            members.setdefault(place, member.member_id)
    known: dict[Place, int] = {}
    missing: dict[Failure, None] = {}
    for place in places:
        match ends.get(place):
            case int(end):
                known[place] = end
            case Failure() as why:
                missing[why] = None
    offsets = {place: each.offset for place, each in committed.offsets.items()}
    rows = lags(places, offsets, known, members, committed.lags if is_share else None)
    return GroupLag(rows, (*committed.problems, *missing))


def lags(
    places: Places,
    committed: Mapping[Place, int],
    ends: Mapping[Place, int],
    members: Mapping[Place, str],
    told: Mapping[Place, int] | None = None,
) -> tuple[PartitionLag, ...]:
    """Return a row for each partition. The lag is -1 if the committed offset or the end is unknown, else at least 0.

    told: the lags of a share group, where it is not the distance to the end: records after its start offset may be
    acknowledged already.
    """
    rows = []
    for place in places:
        at, end = committed.get(place, -1), ends.get(place, -1)
        lag = max(0, end - at) if at >= 0 and end >= 0 else -1
        if told is not None:
            lag = told.get(place, -1)
        rows.append(PartitionLag(*place, at, end, lag, members.get(place, "")))
    return tuple(rows)


# What coordinators answer.


async def _positions_at(link: Link, broker_id: int, names: Sequence[str], is_share: bool) -> _Positions:
    """Return the positions of groups of one coordinator; a lost connection is the failure of those that it left."""
    found: dict[str, Sequence[_Position] | Failure] = {}
    if not names:
        return found
    ask = _share_offsets if is_share else _fetched
    try:
        several = is_share or (await link.version("offset_fetch", broker(broker_id)) or 0) >= _SEVERAL_GROUPS
        few = asyncio.Semaphore(1 if several else SINGLE_AT_ONCE)
        halving = Halving()

        async def settled(some: Sequence[str]) -> _Positions:
            return await _settled(link, broker_id, some, ask)

        async def read(some: Sequence[str]) -> _Positions:
            async with few:
                return await halving.read(some, settled)

        for answer in await asyncio.gather(*map(read, parts(names, FETCHED_AT_ONCE if several else 1))):
            found |= answer
    except AdminError as error:
        found |= {name: error.failure for name in names if name not in found}
    return found


_Answers = dict[str, tuple[Failure | None, Sequence[_Position]]]
"""Group -> why its coordinator refuses it, and its positions."""


async def _settled(
    link: Link, broker_id: int, names: Sequence[str], ask: Callable[[Link, int, Sequence[str]], Awaitable[_Answers]]
) -> _Positions:
    """Return the answers for some groups; those whose coordinator moves, or that have unstable offsets, are asked
    again."""
    found: _Answers = {}

    def moving() -> list[str]:
        return [name for name in names if name in found and (why := found[name][0]) and why.name in _UNSETTLED]

    async def again() -> list[str]:
        found.update(await ask(link, broker_id, moving() if found else names))
        return moving()

    await until_settled(again, bool, within=SETTLE_SECONDS)
    missing = failure(ErrorCode.unknown_server_error, "the coordinator's answer leaves the group out")
    return {name: why or positions for name in names for why, positions in (found.get(name, (missing, ())),)}


_UNSETTLED = frozenset(error_name(code) for code in (*COORDINATOR_MOVES, ErrorCode.unstable_offset_commit))


async def _fetched(link: Link, broker_id: int, names: Sequence[str]) -> _Answers:
    """Send OffsetFetch; of one group before version 8 (KIP-709)."""

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        if kio.OffsetFetchRequest.__version__ >= _SEVERAL_GROUPS:
            groups = tuple(for_version(kio.OffsetFetchRequestGroup, group_id=name, topics=None) for name in names)
            return kio.OffsetFetchRequest(groups=groups, require_stable=False)
        return for_version(kio.OffsetFetchRequest, group_id=names[0], topics=None, require_stable=False)

    response = await link.call("offset_fetch", build, to=broker(broker_id))
    if hasattr(response, "groups"):
        return {group.group_id: (_refusal(group.error_code), _fetched_of(group.topics)) for group in response.groups}
    return {names[0]: (_refusal(getattr(response, "error_code", 0)), _fetched_of(response.topics))}


def _refusal(code: int, message: str | None = None) -> Failure | None:
    return failure(code, message) if code else None


def _fetched_of(topics: Iterable[Any]) -> list[_Position]:
    """Return the offsets of an answer: topics have ids instead of names since version 10 (KIP-848)."""
    return [
        _Position(
            topic.topic_id if hasattr(topic, "topic_id") else topic.name,
            each.partition_index,
            CommittedOffset(each.committed_offset, getattr(each, "committed_leader_epoch", -1), each.metadata or "")
            if each.committed_offset >= 0
            else None,
            code=each.error_code,
        )
        for topic in topics
        for each in topic.partitions
    ]


async def _share_offsets(link: Link, broker_id: int, names: Sequence[str]) -> _Answers:
    """Send DescribeShareGroupOffsets (KIP-932), with lags since version 1 (KIP-1226)."""

    def build(kio: ModuleType) -> Any:
        group = kio.DescribeShareGroupOffsetsRequestGroup
        return kio.DescribeShareGroupOffsetsRequest(groups=tuple(group(group_id=name, topics=None) for name in names))

    response = await link.call(SHARE_OFFSETS, build, to=broker(broker_id))
    return {
        group.group_id: (
            _refusal(group.error_code, group.error_message),
            [
                _Position(
                    topic.topic_name,
                    each.partition_index,
                    CommittedOffset(each.start_offset, each.leader_epoch) if each.start_offset >= 0 else None,
                    getattr(each, "lag", -1),
                    each.error_code,
                    each.error_message,
                )
                for topic in group.topics
                for each in topic.partitions
            ],
        )
        for group in response.groups
    }


async def _topics_of(link: Link, answers: _Positions) -> dict[UUID, str]:
    """Return the names of the topics that are named by id."""
    positions = (each for each in answers.values() if not isinstance(each, Failure))
    return await _topic_names(link, {at.topic for each in positions for at in each if isinstance(at.topic, UUID)})


async def _topic_names(link: Link, topic_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return topic id -> name. A deleted topic is missing."""
    names: dict[UUID, str] = {}
    for some in parts(sorted(topic_ids), IDS_AT_ONCE):

        def build(kio: ModuleType, some: Sequence[UUID] = some) -> Any:
            from console.wire.schemas import for_version

            return for_version(
                kio.MetadataRequest,
                topics=tuple(kio.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in some),
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )

        response = await link.call("metadata", build)
        names |= {topic.topic_id: topic.name for topic in response.topics if topic.name and not topic.error_code}
    return names
