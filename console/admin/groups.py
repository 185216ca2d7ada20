"""Groups: listed, described with their members for all group protocols, and their lag."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.admin.errors import (
    AdminError,
    BrokerError,
    failure,
)
from console.admin.link import Link
from console.admin.partitions import LATEST, Place, list_offsets
from console.admin.routing import broker, until_settled
from console.model.cluster import CommittedOffset, Group, GroupLag, GroupListing, GroupMember, PartitionLag
from console.model.failure import Failure

SETTLE_SECONDS = 10.0
"""Seconds of retries while a group's coordinator moves or loads."""

_VERSION_SIZE = 2
_COORDINATOR_MOVES = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)
_NOT_OF_THIS_KIND = frozenset({ErrorCode.group_id_not_found, ErrorCode.unsupported_version})
_DEAD = "Dead"

Places = tuple[tuple[str, int], ...]
"""(topic, partition) pairs."""

log = logging.getLogger(__name__)


OF_GROUPS, OF_TRANSACTIONS = 0, 1
"""What a coordinator is of (FindCoordinatorRequest.CoordinatorType)."""


async def find_coordinators(
    link: Link, names: Iterable[str], of: int = OF_GROUPS
) -> tuple[dict[str, int], dict[str, Failure]]:
    """Group, or transactional id -> its coordinator's broker id, and name -> failure for those without one. Raises
    AdminError."""
    wanted = tuple(dict.fromkeys(names))
    if not wanted:
        return {}, {}
    found = await until_settled(
        lambda: _coordinators(link, wanted, of),
        lambda answer: any(code in _COORDINATOR_MOVES for _, code, _ in answer.values()),
        within=SETTLE_SECONDS,
    )
    return (
        {name: node for name, (node, code, _) in found.items() if not code},
        {name: failure(code, message) for name, (_, code, message) in found.items() if code},
    )


async def _coordinators(link: Link, names: tuple[str, ...], of: int) -> dict[str, tuple[int, int, str | None]]:
    """Name -> (broker id, error code, message). Several names in one request from version 4 on (KIP-699)."""
    from console.wire.schemas import for_version

    if (await link.version("find_coordinator") or 0) >= 4:
        response = await link.call(
            "find_coordinator", lambda kio: kio.FindCoordinatorRequest(key_type=of, coordinator_keys=names)
        )
        return {c.key: (c.node_id, c.error_code, c.error_message) for c in response.coordinators}

    async def one(name: str) -> tuple[int, int, str | None]:
        response = await link.call(
            "find_coordinator", lambda kio: for_version(kio.FindCoordinatorRequest, key=name, key_type=of)
        )
        return response.node_id, response.error_code, getattr(response, "error_message", None)

    return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))


async def describe_groups(link: Link, names: Sequence[str]) -> GroupListing:
    """Each group with its members and their assignments, or its failure. Raises AdminError.

    The protocols are tried one after the other until the coordinator knows the group: consumer (KIP-848), classic,
    share (KIP-932), streams (KIP-1071).
    """
    coordinators, failures = await find_coordinators(link, names)
    by_broker: dict[int, list[str]] = {}
    for name, broker_id in coordinators.items():
        by_broker.setdefault(broker_id, []).append(name)
    parts = await asyncio.gather(*(_describe_at(link, broker_id, mine) for broker_id, mine in by_broker.items()))
    groups: dict[str, Group] = {}
    for part in parts:
        groups.update(part.groups)
        failures.update(part.failures)
    return GroupListing(groups, failures)


async def _describe_at(link: Link, broker_id: int, names: list[str]) -> GroupListing:
    """The groups of one coordinator."""
    groups: dict[str, Group] = {}
    failures: dict[str, Failure] = {}
    left = names
    for protocol in _PROTOCOLS:
        if not left:
            break
        try:
            answers = await _describe_by(link, protocol, broker_id, left)
        except AdminError as error:
            failures.update(dict.fromkeys(left, error.failure))
            return GroupListing(groups, failures)
        for described in answers:
            if described.error_code in _NOT_OF_THIS_KIND or described.group_state == _DEAD:
                continue
            left = [name for name in left if name != described.group_id]
            if described.error_code:
                message = getattr(described, "error_message", None)
                failures[described.group_id] = failure(described.error_code, message)
            else:
                groups[described.group_id] = protocol.group(described, broker_id)
    failures.update(dict.fromkeys(left, failure(ErrorCode.group_id_not_found)))
    return GroupListing(groups, failures)


async def _describe_by(link: Link, protocol: _Protocol, broker_id: int, names: Sequence[str]) -> Sequence[Any]:
    """The descriptions of these groups by one protocol; empty if the coordinator does not support it."""
    to = broker(broker_id)
    if await link.version(protocol.api, to) is None:
        return ()

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        request = getattr(kio, protocol.request)
        return for_version(request, group_ids=tuple(names), groups=tuple(names), include_authorized_operations=False)

    response = await until_settled(
        lambda: link.call(protocol.api, build, to=to),
        lambda answer: any(group.error_code in _COORDINATOR_MOVES for group in answer.groups),
        within=SETTLE_SECONDS,
    )
    groups: Sequence[Any] = response.groups
    return groups


def consumer_group(described: Any, coordinator: int) -> Group:
    """The group of a ConsumerGroupDescribe response."""
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            _assigned_places(member.assignment.topic_partitions),
            member.instance_id,
        )
        for member in described.members
    )
    return Group(
        described.group_id, described.group_state, "consumer", "consumer", coordinator, _members_by_client(members)
    )


def share_group(described: Any, coordinator: int) -> Group:
    """The group of a ShareGroupDescribe response."""
    members = (
        GroupMember(
            member.member_id, member.client_id, member.client_host, _assigned_places(member.assignment.topic_partitions)
        )
        for member in described.members
    )
    return Group(described.group_id, described.group_state, "share", "share", coordinator, _members_by_client(members))


def streams_group(described: Any, coordinator: int) -> Group:
    """The group of a StreamsGroupDescribe response. A task stands for that partition of all its source topics."""
    topology = described.topology.subtopologies if described.topology else None
    sources = {
        part.subtopology_id: (*part.source_topics, *(topic.name for topic in part.repartition_source_topics))
        for part in topology or ()
    }
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            tuple(
                sorted(
                    (topic, partition)
                    for tasks in member.assignment.active_tasks
                    for topic in sources.get(tasks.subtopology_id, ())
                    for partition in tasks.partitions
                )
            ),
            member.instance_id,
        )
        for member in described.members
    )
    return Group(
        described.group_id, described.group_state, "streams", "streams", coordinator, _members_by_client(members)
    )


def classic_group(described: Any, coordinator: int) -> Group:
    """The group of a DescribeGroups response. Only the format of consumers' assignments is known."""
    of_consumers = described.protocol_type == "consumer"
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            consumer_assignment(member.member_assignment) if of_consumers else (),
            getattr(member, "group_instance_id", None),
        )
        for member in described.members
    )
    return Group(
        described.group_id,
        described.group_state,
        "classic",
        described.protocol_type,
        coordinator,
        _members_by_client(members),
    )


def consumer_assignment(data: bytes) -> Places:
    """The partitions that the group's leader assigned to a member (ConsumerProtocolAssignment).

    Brokers do not read these bytes, so they may be anything. Bytes that are not an assignment give no partitions.
    """
    from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment
    from kio.serial import entity_reader

    from console.wire.bounds_check import check_message

    if len(data) <= _VERSION_SIZE:
        return ()
    try:
        # Later versions only append fields, so version 0 reads them all.
        check_message(ConsumerProtocolAssignment, data, _VERSION_SIZE)
        assignment, _ = entity_reader(ConsumerProtocolAssignment)(data, _VERSION_SIZE)
    except Exception:  # noqa: BLE001 kio raises several kinds
        log.info("a member's assignment of %d bytes is not a consumer's", len(data))
        return ()
    return tuple(sorted((part.topic, number) for part in assignment.assigned_partitions for number in part.partitions))


def _assigned_places(topic_partitions: Iterable[Any]) -> Places:
    return tuple(sorted((topic.topic_name, number) for topic in topic_partitions for number in topic.partitions))


def _members_by_client(members: Iterable[GroupMember]) -> tuple[GroupMember, ...]:
    return tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))


class _Protocol(NamedTuple):
    """How groups of one type are described."""

    api: str
    request: str
    group: Callable[[Any, int], Group]


_PROTOCOLS = (
    _Protocol("consumer_group_describe", "ConsumerGroupDescribeRequest", consumer_group),
    _Protocol("describe_groups", "DescribeGroupsRequest", classic_group),
    _Protocol("share_group_describe", "ShareGroupDescribeRequest", share_group),
    _Protocol("streams_group_describe", "StreamsGroupDescribeRequest", streams_group),
)


# Lag: the offsets that a group committed, against the ends of the partitions.

_BY_TOPIC_ID = 10
_SEVERAL_GROUPS = 8


async def group_lag(link: Link, name: str) -> GroupLag:
    """The lag of a group for each partition with a committed offset or an assignment, sorted.

    Partitions that could not be read are in the failures. Raises BrokerError if none could be, and other
    AdminErrors.
    """
    coordinators, failures = await find_coordinators(link, [name])
    if name not in coordinators:
        raise BrokerError(failures[name])
    (offsets, problems), described = await asyncio.gather(
        committed_offsets(link, name, coordinators[name]), describe_groups(link, [name])
    )
    committed = {place: each.offset for place, each in offsets.items()}
    group = described.groups.get(name)
    if group is None and not committed:
        raise BrokerError(described.failures[name])
    members = {place: member.member_id for member in (group and group.members) or () for place in member.assignment}
    places = tuple(sorted(committed.keys() | members.keys()))
    ends, more = await list_offsets(link, dict.fromkeys(places, LATEST))
    return GroupLag(lags(places, committed, ends, members), (*problems, *more))


def lags(
    places: Places, committed: Mapping[Place, int], ends: Mapping[Place, int], members: Mapping[Place, str]
) -> tuple[PartitionLag, ...]:
    """A row for each partition. The lag is -1 if the committed offset or the end is unknown, else at least 0."""
    rows = []
    for place in places:
        at, end = committed.get(place, -1), ends.get(place, -1)
        lag = max(0, end - at) if at >= 0 and end >= 0 else -1
        rows.append(PartitionLag(*place, at, end, lag, members.get(place, "")))
    return tuple(rows)


async def committed_offsets(
    link: Link, group: str, coordinator: int
) -> tuple[dict[Place, CommittedOffset], list[Failure]]:
    """(topic, partition) -> what was committed, and the failures of the others. Raises AdminError."""
    to = broker(coordinator)

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        if kio.OffsetFetchRequest.__version__ >= _SEVERAL_GROUPS:
            one = for_version(kio.OffsetFetchRequestGroup, group_id=group, topics=None)
            return kio.OffsetFetchRequest(groups=(one,), require_stable=False)
        return for_version(kio.OffsetFetchRequest, group_id=group, topics=None, require_stable=False)

    response = await until_settled(
        lambda: link.call("offset_fetch", build, to=to),
        lambda answer: _group_error(answer) in {*_COORDINATOR_MOVES, ErrorCode.unstable_offset_commit},
        within=SETTLE_SECONDS,
    )
    code = _group_error(response)
    if code:
        raise BrokerError(failure(code))
    found = response.groups[0] if hasattr(response, "groups") else response
    names = await _topic_names(link, [topic.topic_id for topic in found.topics if hasattr(topic, "topic_id")])
    committed: dict[Place, CommittedOffset] = {}
    problems: list[Failure] = []
    for topic in found.topics:
        name = names.get(topic.topic_id, "") if hasattr(topic, "topic_id") else topic.name
        for each in topic.partitions:
            if each.error_code:
                problem = failure(each.error_code, f"{name or 'a deleted topic'}-{each.partition_index}")
                problems.append(problem)
            elif each.committed_offset >= 0 and name:
                epoch = getattr(each, "committed_leader_epoch", -1)
                offset = CommittedOffset(each.committed_offset, epoch, each.metadata or "")
                committed[name, each.partition_index] = offset
    return committed, problems


def _group_error(response: Any) -> int:
    code: int = response.groups[0].error_code if hasattr(response, "groups") else getattr(response, "error_code", 0)
    return code


async def _topic_names(link: Link, topic_ids: list[UUID]) -> dict[UUID, str]:
    """Topic id -> name, since OffsetFetch v10 returns ids (KIP-848). A deleted topic is missing."""
    if not topic_ids:
        return {}

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(
            kio.MetadataRequest,
            topics=tuple(kio.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )

    response = await link.call("metadata", build)
    return {topic.topic_id: topic.name for topic in response.topics if topic.name and not topic.error_code}


# Listing.

__all__ = ["describe_groups", "group_lag", "list_groups", "listed_groups"]


async def list_groups(link: Link, states: Sequence[str] = ()) -> GroupListing:
    """All groups of all brokers (KIP-518, KIP-848). A broker that can't be reached is the failure ``broker N``.

    states: only groups in one of these states, by Kafka's names; brokers before 2.6 list all.
    Raises AdminError if the cluster can't be reached at all, and the first broker's error if no broker can list: that
    is not an empty list.
    """
    ids = sorted((await link.refresh()).brokers)
    answers = await asyncio.gather(*(_groups_at(link, broker_id, tuple(states)) for broker_id in ids))
    groups: dict[str, Group] = {}
    failures: dict[str, Failure] = {}
    for broker_id, answer in zip(ids, answers, strict=True):
        if isinstance(answer, AdminError):
            failures[f"broker {broker_id}"] = answer.failure
        else:
            groups.update((group.name, group) for group in answer)
    if answers and len(failures) == len(answers):
        raise next(answer for answer in answers if isinstance(answer, AdminError))
    return GroupListing(dict(sorted(groups.items())), failures)


async def _groups_at(link: Link, broker_id: int, states: tuple[str, ...]) -> list[Group] | AdminError:
    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListGroupsRequest, states_filter=states)

    try:
        response = await until_settled(
            lambda: link.call("list_groups", build, to=broker(broker_id)),
            lambda answer: answer.error_code in _COORDINATOR_MOVES,
            within=SETTLE_SECONDS,
        )
    except AdminError as error:
        return error
    # A broker that can never be a coordinator returns this error each time.
    if response.error_code:
        return BrokerError(failure(response.error_code))
    return listed_groups(response, broker_id)


def listed_groups(response: Any, broker_id: int) -> list[Group]:
    """The groups of a ListGroups response, any version. Before version 5 all groups are classic."""
    return [
        Group(
            group.group_id,
            getattr(group, "group_state", ""),
            getattr(group, "group_type", "") or "classic",
            group.protocol_type,
            broker_id,
        )
        for group in response.groups
    ]
