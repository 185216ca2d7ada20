"""Groups: their coordinators, listed, and described with their members for all group protocols."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple, TypeVar

from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin.errors import (
    NOT_ANSWERED,
    AdminError,
    BrokerError,
    failure,
    of_all_brokers,
)
from console.admin.halving import Halving
from console.admin.link import Link
from console.admin.routing import Route, broker, until_settled
from console.model.cluster import Group, GroupListing, GroupMember, Places, StreamsTasks, Topic
from console.model.coordinators import OFFSETS
from console.model.failure import Failure

SETTLE_SECONDS = 10.0
"""Seconds of retries while a group's coordinator moves or loads."""

FOUND_AT_ONCE = 1_000
"""Groups of one FindCoordinator."""
SINGLE_AT_ONCE = 8
"""Requests at the same time where an old broker takes one group in each."""
DESCRIBED_AT_ONCE = 100
"""Groups of one describe. An answer of 100 MiB is read: each may have a megabyte of members and assignments."""

NO_TYPES: Mapping[str, str] = MappingProxyType({})
_VERSION_SIZE = 2
COORDINATOR_MOVES = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)
"""Errors of a coordinator that loads or moves: asked again."""
_NOT_OF_THIS_KIND = frozenset({ErrorCode.group_id_not_found, ErrorCode.unsupported_version, ErrorCode.invalid_group_id})
"""Errors by which another protocol may know the group; the newer ones refuse the empty name."""
_DEAD = "Dead"
_NAMED = 3

T = TypeVar("T")

log = logging.getLogger(__name__)


OF_GROUPS, OF_TRANSACTIONS = 0, 1
"""What a coordinator is of (FindCoordinatorRequest.CoordinatorType)."""


async def find_coordinators(
    link: Link, names: Iterable[str], of: int = OF_GROUPS
) -> tuple[dict[str, int], dict[str, Failure]]:
    """Return group, or transactional id -> its coordinator's broker id, and name -> failure for those without one.
    Raises AdminError."""
    wanted = tuple(dict.fromkeys(names))
    found: dict[str, int | Failure] = {}
    halving = Halving()

    async def ask(some: Sequence[str]) -> Mapping[str, int | Failure]:
        answer = await until_settled(
            partial(_coordinators, link, some, of),
            lambda answer: any(code in COORDINATOR_MOVES for _, code, _ in answer.values()),
            within=SETTLE_SECONDS,
        )
        return {name: failure(code, message) if code else node for name, (node, code, message) in answer.items()}

    for some in parts(wanted, FOUND_AT_ONCE):
        found |= await halving.read(some, ask)
    return (
        {name: node for name, node in found.items() if not isinstance(node, Failure)},
        {name: why for name, why in found.items() if isinstance(why, Failure)},
    )


async def _coordinators(link: Link, names: Sequence[str], of: int) -> dict[str, tuple[int, int, str | None]]:
    """Name -> (broker id, error code, message). Several names in one request from version 4 on (KIP-699)."""
    from console.wire.schemas import for_version

    if (await link.version("find_coordinator") or 0) >= 4:
        response = await link.call(
            "find_coordinator", lambda kio: kio.FindCoordinatorRequest(key_type=of, coordinator_keys=tuple(names))
        )
        return {c.key: (c.node_id, c.error_code, c.error_message) for c in response.coordinators}
    few = asyncio.Semaphore(SINGLE_AT_ONCE)

    async def one(name: str) -> tuple[int, int, str | None]:
        async with few:
            response = await link.call(
                "find_coordinator", lambda kio: for_version(kio.FindCoordinatorRequest, key=name, key_type=of)
            )
        return response.node_id, response.error_code, getattr(response, "error_message", None)

    return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))


def parts(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Return the items in parts of at most so many, each for a request."""
    return (items[start : start + most] for start in range(0, len(items), most))


def by_coordinator(coordinators: Mapping[str, int]) -> dict[int, list[str]]:
    """Return broker id -> the groups that it coordinates."""
    found: dict[int, list[str]] = {}
    for name, broker_id in coordinators.items():
        found.setdefault(broker_id, []).append(name)
    return found


async def describe_groups(link: Link, names: Sequence[str], types: Mapping[str, str] = NO_TYPES) -> GroupListing:
    """Return each group with its members and their assignments, or its failure. Raises AdminError.

    types: the groups' types as far as they are known from a listing. A group of unknown type is asked for by one
    protocol after the other until the coordinator knows it: consumer (KIP-848), classic, share (KIP-932), streams
    (KIP-1071).
    """
    coordinators, failures = await find_coordinators(link, names)
    return await describe_at_coordinators(link, coordinators, failures, types)


async def describe_at_coordinators(
    link: Link, coordinators: Mapping[str, int], missing: Mapping[str, Failure], types: Mapping[str, str]
) -> GroupListing:
    """Do as `describe_groups`, of groups whose coordinators are found, or are missing with a failure."""
    found = await asyncio.gather(
        *(_describe_at(link, id_, mine, types) for id_, mine in by_coordinator(coordinators).items())
    )
    groups: dict[str, Group] = {}
    failures = dict(missing)
    for part in found:
        groups.update(part.groups)
        failures.update(part.failures)
    return GroupListing(groups, failures)


async def _describe_at(link: Link, broker_id: int, names: Sequence[str], types: Mapping[str, str]) -> GroupListing:
    """Return the groups of one coordinator."""
    groups: dict[str, Group] = {}
    failures: dict[str, Failure] = {}
    for some in parts(names, DESCRIBED_AT_ONCE):
        listing = await _describe_some(link, broker_id, some, types)
        groups.update(listing.groups)
        failures.update(listing.failures)
    return GroupListing(groups, failures)


async def _describe_some(link: Link, broker_id: int, names: Sequence[str], types: Mapping[str, str]) -> GroupListing:
    """Describe so many groups of one coordinator as go into a request: first each by the protocol of its type."""
    groups: dict[str, Group] = {}
    failures: dict[str, Failure] = {}
    left = dict.fromkeys(names)
    left_out: dict[str, Failure] = {}
    for is_known in (True, False):
        for protocol in _PROTOCOLS:
            asked = [name for name in left if (types.get(name) == protocol.type) is is_known]
            if not asked:
                continue
            try:
                answers = await _describe_by(link, protocol, broker_id, asked)
            except AdminError as error:
                failures.update(dict.fromkeys(left, error.failure))
                return GroupListing(groups, failures)
            for name, described in answers.items():
                if isinstance(described, Failure) and described.name == NOT_ANSWERED:
                    left_out[name] = described
                elif isinstance(described, Failure):
                    del left[name]
                    failures[name] = described
                elif described.error_code not in _NOT_OF_THIS_KIND and described.group_state != _DEAD:
                    del left[name]
                    groups[name] = protocol.group(described, broker_id)
    failures.update({name: left_out.get(name) or failure(ErrorCode.group_id_not_found) for name in left})
    return GroupListing(groups, failures)


def dead_group(name: str, coordinator: int) -> Group:
    """Return a group that its coordinator calls Dead, as one that does not exist, and that has offsets: as some servers
    say of groups without members."""
    return Group(name, _DEAD, "classic", coordinator=coordinator, members=())


async def _describe_by(
    link: Link, protocol: _Protocol, broker_id: int, names: Sequence[str]
) -> Mapping[str, Any | Failure]:
    """Return group -> its description by one protocol, or why the answer says nothing of it; empty if the coordinator
    does not support the protocol. Raises AdminError."""
    to = broker(broker_id)
    if await link.version(protocol.api, to) is None:
        return {}

    async def ask(some: Sequence[str]) -> Mapping[str, Any | Failure]:
        return {
            name: failure(each.error_code, getattr(each, "error_message", None))
            if each.error_code and each.error_code not in _NOT_OF_THIS_KIND
            else each
            for name, each in (await _described_by(link, protocol, to, some)).items()
        }

    return await Halving().read(names, ask)


async def _described_by(link: Link, protocol: _Protocol, to: Route, names: Sequence[str]) -> dict[str, Any]:
    """Read one answer."""

    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        request = getattr(kio, protocol.request)
        return for_version(request, group_ids=tuple(names), groups=tuple(names), include_authorized_operations=False)

    response = await until_settled(
        lambda: link.call(protocol.api, build, to=to),
        lambda answer: any(group.error_code in COORDINATOR_MOVES for group in answer.groups),
        within=SETTLE_SECONDS,
    )
    return {group.group_id: group for group in response.groups}


def consumer_group(described: Any, coordinator: int) -> Group:
    """Return the group of a ConsumerGroupDescribe response."""
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            _assigned_places(member.assignment.topic_partitions),
            member.instance_id,
            member.member_epoch,
            _assigned_places(member.target_assignment.topic_partitions),
        )
        for member in described.members
    )
    return _newer_group(described, "consumer", coordinator, members)


def share_group(described: Any, coordinator: int) -> Group:
    """Return the group of a ShareGroupDescribe response. Members of share groups have no target (KIP-932)."""
    members = (
        GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            _assigned_places(member.assignment.topic_partitions),
            epoch=member.member_epoch,
        )
        for member in described.members
    )
    return _newer_group(described, "share", coordinator, members)


def streams_group(described: Any, coordinator: int) -> Group:
    """Return the group of a StreamsGroupDescribe response. A task stands for that partition of all its source
    topics."""
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
            _read_places(sources, tasks := _tasks(member.assignment)),
            member.instance_id,
            member.member_epoch,
            _read_places(sources, wanted := _tasks(member.target_assignment)),
            tasks,
            wanted,
            member.topology_epoch,
        )
        for member in described.members
    )
    group = _newer_group(described, "streams", coordinator, members)
    return replace(group, topology_epoch=described.topology.epoch if described.topology else -1)


def _newer_group(described: Any, type_: str, coordinator: int, members: Iterable[GroupMember]) -> Group:
    return Group(
        described.group_id,
        described.group_state,
        type_,
        type_,
        coordinator,
        _members_by_client(members),
        described.group_epoch,
        described.assignment_epoch,
        getattr(described, "assignor_name", ""),
    )


def _tasks(assignment: Any) -> StreamsTasks:
    return StreamsTasks(
        *(
            tuple(sorted((part.subtopology_id, number) for part in tasks for number in part.partitions))
            for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
        )
    )


def _read_places(sources: Mapping[str, Sequence[str]], tasks: StreamsTasks) -> Places:
    """Return the partitions that active tasks read."""
    return tuple(sorted((topic, number) for part, number in tasks.active for topic in sources.get(part, ())))


def classic_group(described: Any, coordinator: int) -> Group:
    """Return the group of a DescribeGroups response. Only the format of consumers' assignments is known."""
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
        assignor=described.protocol_data if of_consumers else "",
    )


def consumer_assignment(data: bytes) -> Places:
    """Return the partitions that the group's leader assigned to a member (ConsumerProtocolAssignment).

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

    type: str
    api: str
    request: str
    group: Callable[[Any, int], Group]


_PROTOCOLS = (
    _Protocol("consumer", "consumer_group_describe", "ConsumerGroupDescribeRequest", consumer_group),
    _Protocol("classic", "describe_groups", "DescribeGroupsRequest", classic_group),
    _Protocol("share", "share_group_describe", "ShareGroupDescribeRequest", share_group),
    _Protocol("streams", "streams_group_describe", "StreamsGroupDescribeRequest", streams_group),
)


# Listing.


async def list_groups(link: Link, states: Sequence[str] = ()) -> GroupListing:
    """Return all groups of all brokers (KIP-518, KIP-848). A broker that can't be reached is the failure ``broker N``;
    groups whose coordinator's partition has no leader are in no list, and the failure is that of the topic.

    states: only groups in one of these states, by Kafka's names; brokers before 2.6 list all.
    Raises AdminError if the cluster can't be reached at all, and the first broker's error if no broker can list: that
    is not an empty list.
    """
    ids = sorted((await link.refresh()).brokers)
    asked = asyncio.gather(*(_groups_at(link, broker_id, tuple(states)) for broker_id in ids))
    answers, topic = await asyncio.gather(asked, _topic_of_offsets(link))
    parts, failures = of_all_brokers(dict(zip(ids, answers, strict=True)))
    groups = {group.name: group for part in parts for group in part}
    return GroupListing(dict(sorted(groups.items())), {**failures, **_unled(topic)}, topic)


async def _topic_of_offsets(link: Link) -> Topic | None:
    """Return the topic of the coordinators; None where there is none, or it may not be described."""
    from console.admin.topics import describe_topics

    try:
        return (await describe_topics(link, [OFFSETS])).topics.get(OFFSETS)
    except AdminError as error:
        log.info("%s: %s", OFFSETS, error.failure)
        return None


def _unled(topic: Topic | None) -> dict[str, Failure]:
    """Return why some groups are in no broker's list."""
    down = [each.number for each in topic.partitions if each.leader < 0] if topic is not None else []
    if topic is None or not down:
        return {}
    few = ", ".join(map(str, down[:_NAMED])) + (f" and {len(down) - _NAMED} more" if down[_NAMED:] else "")
    text = f"{len(down)} of {len(topic.partitions)} partitions have no leader ({few}): their groups can't be listed"
    return {OFFSETS: Failure("COORDINATOR_NOT_AVAILABLE", text, "Bring back a replica of them.")}


async def _groups_at(link: Link, broker_id: int, states: tuple[str, ...]) -> list[Group] | AdminError:
    def build(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(kio.ListGroupsRequest, states_filter=states)

    try:
        response = await until_settled(
            lambda: link.call("list_groups", build, to=broker(broker_id)),
            lambda answer: answer.error_code in COORDINATOR_MOVES,
            within=SETTLE_SECONDS,
        )
    except AdminError as error:
        return error
    # A broker that can never be a coordinator returns this error each time.
    if response.error_code:
        return BrokerError(failure(response.error_code))
    return listed_groups(response, broker_id)


def listed_groups(response: Any, broker_id: int) -> list[Group]:
    """Return the groups of a ListGroups response, any version. Before version 5 all groups are classic."""
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
