"""Groups of all types: their listings, members, lag and offsets, and changes of these.

The lag of a group in a partition is the number of offsets from the committed offset to the end of the log. A poll of n
groups sends a FindCoordinator for each thousand groups; to each coordinator, a describe and an OffsetFetch for each
batch of groups; and to each leader a ListOffsets for each batch of partitions. A partition that several groups read is
requested once. Changes commit and delete offsets (KIP-496), also those of share groups (KIP-932), and delete groups
(KIP-229).
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar
from uuid import UUID

from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from console.admin import errors
from console.admin.delivery import Answer, Sender, Senders, applied_if, refused
from console.admin.halving import Halving, parted
from console.admin.link import Link, Route, broker, until_settled
from console.admin.partitions import LATEST, Place, offsets_of, topics_with_fields
from console.admin.topics import describe_topics, topics_by_id
from console.model import changes, cluster
from console.model.coordinators import OFFSETS
from console.model.failure import Failure
from console.model.grouping import grouped
from console.model.identity import uuid_of
from console.model.numbers import first_few
from console.model.snapshot import TopicPartition
from console.model.topic_readers import TopicReaders
from console.wire.assignments import consumer_assignment, consumer_subscription, worker_position
from console.wire.fields import Fields

SETTLE_SECONDS = 10.0
"""Maximum seconds for which a request is repeated while the group's coordinator moves or loads."""

FOUND_AT_ONCE = 1_000
"""Number of groups in one FindCoordinator request."""
SINGLE_AT_ONCE = 8
"""Number of concurrent requests to an old broker, whose API takes one group in each request."""
DESCRIBED_AT_ONCE = 100
"""Number of groups in one describe request. kac reads responses up to 100 MiB, and each group may have a megabyte of
members and assignments.
"""


class CoordinatorsOf(NamedTuple):
    """A kind of coordinator: of groups, or of transactional ids."""

    type: int
    """Kafka's number of the kind (FindCoordinatorRequest.CoordinatorType)."""
    topic: str
    """The internal topic whose partition leaders are the coordinators. Brokers create it at the first FindCoordinator.
    """
    absent: ErrorCode
    """The error with which a coordinator answers for an unknown name."""
    listed: Callable[[Link], Awaitable[bool]]
    """Function that returns whether any broker lists a name of this kind. If the topic can't be described, it
    decides whether coordinators exist.
    """
    denied: Callable[[Link, Sequence[str]], Awaitable[Mapping[str, Failure]]] | None = None
    """Function that returns name -> failure for the names that the principal may not describe, without a request to
    their coordinators; None if only coordinators can tell.
    """


async def _any_group(link: Link) -> bool:
    listing = await list_groups(link)
    return bool(listing.groups or listing.failures)


async def _denied_groups(link: Link, names: Sequence[str]) -> dict[str, Failure]:
    """Return group -> failure for the groups that the principal may not describe. Any broker can answer this, because
    it checks the right before it checks whether it is the coordinator. Unlike FindCoordinator, the request never
    creates the offsets topic.
    """
    found: dict[str, Failure] = {}
    for some in parts(tuple(names), DESCRIBED_AT_ONCE):
        response = await link.call("describe_groups", {"groups": some, "include_authorized_operations": False})
        for each in response.groups:
            if each.error_code == ErrorCode.group_authorization_failed:
                found[each.group_id] = errors.failure(each.error_code, getattr(each, "error_message", None))
    return found


NO_TYPES: Mapping[str, str] = {}
COORDINATOR_MOVES = frozenset(
    {ErrorCode.coordinator_load_in_progress, ErrorCode.coordinator_not_available, ErrorCode.not_coordinator}
)
"""Retriable errors while a coordinator loads or moves to another broker."""
_NOT_OF_THIS_KIND = frozenset({ErrorCode.group_id_not_found, ErrorCode.unsupported_version, ErrorCode.invalid_group_id})
"""Errors of a describe request for a group of another type. The newer group types also return them for the empty
group name.
"""
OF_GROUPS = CoordinatorsOf(0, OFFSETS, ErrorCode.group_id_not_found, _any_group, _denied_groups)
_DEAD = "Dead"

Item = TypeVar("Item")

log = logging.getLogger(__name__)


# Listing groups.


async def list_groups(link: Link, states: Sequence[str] = ()) -> cluster.GroupListing:
    """Return all groups of all brokers (KIP-518, KIP-848). An unreachable broker has a failure under the key ``broker
    N``. If a partition of the offsets topic has no leader, its groups are missing and the topic's name has a
    failure.

    Args:
        states: Kafka's names of the states of the wanted groups; empty for all. Brokers before 2.6 return all groups.

    Raises:
        AdminError: the cluster is unreachable; or, if no broker can list groups, the first broker's error.
    """
    ids = sorted((await link.refresh()).brokers)
    asked = asyncio.gather(*(_groups_at(link, broker_id, tuple(states)) for broker_id in ids))
    answers, topic = await asyncio.gather(asked, _topic_of_offsets(link))
    parts, failures = errors.of_all_brokers(dict(zip(ids, answers, strict=True)))
    groups = {group.name: group for part in parts for group in part}
    return cluster.GroupListing(dict(sorted(groups.items())), {**failures, **_unled(topic)}, topic)


async def _topic_of_offsets(link: Link) -> cluster.Topic | None:
    """Return the offsets topic (__consumer_offsets); None if it does not exist or can't be described."""
    try:
        return (await describe_topics(link, [OFFSETS])).topics.get(OFFSETS)
    except errors.AdminError as error:
        log.info("%s: %s", OFFSETS, error.failure)
        return None


def _unled(topic: cluster.Topic | None) -> dict[str, Failure]:
    """Return the name of the offsets topic -> a failure, if some of its partitions have no leader, so that their groups
    are not listed. Empty if all partitions have a leader, or the topic is None.
    """
    down = [each.number for each in topic.partitions if each.leader < 0] if topic is not None else []
    if topic is None or not down:
        return {}
    few = first_few([str(number) for number in down])
    text = f"{len(down)} of {len(topic.partitions)} partitions have no leader ({few}): their groups can't be listed"
    return {OFFSETS: Failure("COORDINATOR_NOT_AVAILABLE", text, "Bring back a replica of them.")}


async def listed_at(link: Link, api: str, fields: Fields, broker_id: int) -> Any:
    """Send a request that lists groups or transactions to one coordinator and return its response. Repeat it for at
    most `SETTLE_SECONDS` (10 s) while the coordinator loads or moves.
    """
    return await until_settled(
        lambda: link.call(api, fields, to=broker(broker_id)),
        lambda answer: answer.error_code in COORDINATOR_MOVES,
        within=SETTLE_SECONDS,
    )


async def _groups_at(link: Link, broker_id: int, states: tuple[str, ...]) -> list[cluster.Group] | errors.AdminError:
    try:
        response = await listed_at(link, "list_groups", {"states_filter": states}, broker_id)
    except errors.AdminError as error:
        return error
    # A broker that can never be a coordinator returns this error each time: return it as one broker's failure.
    if response.error_code:
        return errors.BrokerError(errors.failure(response.error_code))
    return listed_groups(response, broker_id)


def listed_groups(response: Any, broker_id: int) -> list[cluster.Group]:
    """Return the groups of a ListGroups response of any version. Before version 5, all groups are classic."""
    return [
        cluster.Group(
            group.group_id,
            getattr(group, "group_state", ""),
            getattr(group, "group_type", "") or "classic",
            group.protocol_type,
            broker_id,
        )
        for group in response.groups
    ]


# Describing groups.


async def describe_groups(
    link: Link, names: Sequence[str], types: Mapping[str, str] = NO_TYPES
) -> cluster.GroupListing:
    """Return each group with its members and their assignments, or the failure to read it. Raises AdminError.

    Args:
        types: group -> its type, as far as a listing has shown it. For other groups, the APIs of all types are tried
            until one knows the group: consumer (KIP-848), classic, share (KIP-932), streams (KIP-1071).
    """
    coordinators, failures = await find_coordinators(link, names)
    return await describe_at_coordinators(link, coordinators, failures, types)


async def describe_at_coordinators(
    link: Link, coordinators: Mapping[str, int], missing: Mapping[str, Failure], types: Mapping[str, str]
) -> cluster.GroupListing:
    """Describe groups whose coordinators are known, as `describe_groups` does.

    Args:
        coordinators: group -> the broker id of its coordinator.
        missing: group -> the failure to find its coordinator; the result has these failures, too.
        types: group -> its type, if known.
    """

    async def at_coordinator(id_: int, names: Sequence[str]) -> dict[str, cluster.Group | Failure]:
        found: dict[str, cluster.Group | Failure] = {}
        for some in parts(names, DESCRIBED_AT_ONCE):
            found |= await _describe_some(link, id_, some, types)
        return found

    asked = (at_coordinator(id_, mine) for id_, mine in by_coordinator(coordinators).items())
    groups, failures = parted({name: each for part in await asyncio.gather(*asked) for name, each in part.items()})
    return cluster.GroupListing(groups, {**missing, **failures})


async def _describe_some(
    link: Link, broker_id: int, names: Sequence[str], types: Mapping[str, str]
) -> dict[str, cluster.Group | Failure]:
    """Return group -> the group or its failure, from one coordinator. Each group is requested by the API of its known
    type first, then by the others. If none of them knows a group, its failure is GROUP_ID_NOT_FOUND.
    """
    found: dict[str, cluster.Group | Failure] = {}
    left = dict.fromkeys(names)
    left_out: dict[str, Failure] = {}
    for is_known in (True, False):
        for protocol in _PROTOCOLS:
            asked = [name for name in left if (types.get(name) == protocol.type) is is_known]
            if not asked:
                continue
            try:
                answers = await _describe_by(link, protocol, broker_id, asked)
            except errors.AdminError as error:
                return found | dict.fromkeys(left, error.failure)
            for name, described in answers.items():
                if isinstance(described, Failure) and described.name == errors.NOT_ANSWERED:
                    left_out[name] = described
                elif isinstance(described, Failure):
                    del left[name]
                    found[name] = described
                elif described.error_code not in _NOT_OF_THIS_KIND and described.group_state != _DEAD:
                    del left[name]
                    found[name] = protocol.group(described, broker_id)
    return found | {name: left_out.get(name) or errors.failure(ErrorCode.group_id_not_found) for name in left}


def dead_group(name: str, coordinator: int) -> cluster.Group:
    """Return the model of a group that its coordinator reports as Dead although it has committed offsets. Some servers
    report groups without members in this way.
    """
    return cluster.Group(name, _DEAD, "classic", coordinator=coordinator, members=())


async def _describe_by(
    link: Link, protocol: _Protocol, broker_id: int, names: Sequence[str]
) -> Mapping[str, Any | Failure]:
    """Return group -> its description by the API of one group type, or its failure. Empty if the coordinator does not
    have the API. Raises AdminError.
    """
    to = broker(broker_id)
    if await link.version(protocol.api, to) is None:
        return {}

    async def ask(some: Sequence[str]) -> Mapping[str, Any | Failure]:
        return {
            name: errors.failure(each.error_code, getattr(each, "error_message", None))
            if each.error_code and each.error_code not in _NOT_OF_THIS_KIND
            else each
            for name, each in (await _described_by(link, protocol, to, some)).items()
        }

    return await Halving().read(names, ask)


async def _described_by(link: Link, protocol: _Protocol, to: Route, names: Sequence[str]) -> dict[str, Any]:
    """Send one describe request, and return group -> its part of the response."""

    fields = {
        "group_ids": tuple(names),
        "groups": tuple(names),
        "include_authorized_operations": False,
        "include_topology_description": len(names) == 1,  # brokers get it from a plug-in: only for one group
    }
    response = await until_settled(
        lambda: link.call(protocol.api, fields, to=to),
        lambda answer: any(group.error_code in COORDINATOR_MOVES for group in answer.groups),
        within=SETTLE_SECONDS,
    )
    return {group.group_id: group for group in response.groups}


def consumer_group(described: Any, coordinator: int) -> cluster.Group:
    """Convert a group in a ConsumerGroupDescribe response to the model. coordinator: the broker id of its
    coordinator.
    """
    members = (
        cluster.GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            _assigned_places(member.assignment.topic_partitions),
            member.instance_id,
            member.member_epoch,
            _assigned_places(member.target_assignment.topic_partitions),
            protocol=_MEMBER_TYPES.get(getattr(member, "member_type", -1), ""),  # since v1
            topics=tuple(sorted(member.subscribed_topic_names)),
            regex=member.subscribed_topic_regex or "",
        )
        for member in described.members
    )
    return _newer_group(described, "consumer", coordinator, members)


_CLASSIC = "classic"
_MEMBER_TYPES: Mapping[int, str] = {0: _CLASSIC, 1: "consumer"}
"""Member type in a ConsumerGroupDescribe response (KIP-1099) -> the protocol that the member uses."""


def share_group(described: Any, coordinator: int) -> cluster.Group:
    """Convert a group in a ShareGroupDescribe response to the model. Members of share groups have no target assignment
    (KIP-932).
    """
    members = (
        cluster.GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            _assigned_places(member.assignment.topic_partitions),
            epoch=member.member_epoch,
            topics=tuple(sorted(member.subscribed_topic_names)),
        )
        for member in described.members
    )
    return _newer_group(described, "share", coordinator, members)


def streams_group(described: Any, coordinator: int) -> cluster.Group:
    """Convert a group in a StreamsGroupDescribe response to the model. A task of a member becomes a partition of each
    source topic of its subtopology.
    """
    topology = _topology(described.topology)
    sources = {part.id: (*part.sources, *part.repartition_sources) for part in topology or ()}
    members = (
        cluster.GroupMember(
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
            member.process_id,
            _CLASSIC if member.is_classic else "streams",
        )
        for member in described.members
    )
    group = _newer_group(described, "streams", coordinator, members)
    epoch = described.topology.epoch if described.topology else -1
    status = getattr(described, "topology_description_status", _NOT_REQUESTED)  # since v1
    nodes = _nodes(described.topology_description) if status != _NOT_REQUESTED else None
    return replace(group, topology_epoch=epoch, topology=topology, nodes=nodes, no_nodes=_NO_NODES.get(status, ""))


_NOT_REQUESTED = 0
_NO_NODES: Mapping[int, str] = {
    1: "brokers have no description of the topology: without a plug-in that keeps it they store none (KIP-1331)",
    2: "the brokers' plug-in failed to give the topology's description: see the coordinator's server.log",
}
"""Status of a topology description (TopologyDescriptionStatus) -> the text that is shown for it."""
_ROLES: Mapping[int, str] = {1: "source", 2: "processor", 3: "sink"}


def _nodes(described: Any) -> tuple[cluster.StreamsNode, ...]:
    """Return the nodes of a topology description, by subtopology and then those of global stores. Empty if the group
    has no topology description.
    """
    if described is None:
        return ()
    found = [_node(part.subtopology_id, each) for part in described.subtopologies for each in part.nodes]
    return (*found, *(_node("", each) for store in described.global_stores for each in (store.source, store.processor)))


def _node(part: str, node: Any) -> cluster.StreamsNode:
    topics = (*node.source_topics, *((node.sink_topic,) if node.sink_topic is not None else ()))
    role = _ROLES.get(node.node_type, f"UNKNOWN({node.node_type})")
    return cluster.StreamsNode(part, node.name, role, topics, tuple(node.stores), tuple(node.successors))


def _topology(described: Any) -> tuple[cluster.Subtopology, ...] | None:
    """Return the subtopologies sorted by id; None if the coordinator has no topology for assignments."""
    if described is None or described.subtopologies is None:
        return None
    return tuple(
        cluster.Subtopology(
            part.subtopology_id,
            tuple(part.source_topics),
            tuple(topic.name for topic in part.repartition_source_topics),
            tuple(part.repartition_sink_topics),
            tuple(topic.name for topic in part.state_changelog_topics),
        )
        for part in sorted(described.subtopologies, key=lambda part: part.subtopology_id)
    )


def _newer_group(described: Any, type_: str, coordinator: int, members: Iterable[cluster.GroupMember]) -> cluster.Group:
    return cluster.Group(
        described.group_id,
        described.group_state,
        type_,
        type_,
        coordinator,
        _members_by_client(members),
        described.group_epoch,
        described.assignment_epoch,
        getattr(described, "assignor_name", "") or "",
    )


def _tasks(assignment: Any) -> cluster.StreamsTasks:
    return cluster.StreamsTasks(
        *(
            tuple(sorted((part.subtopology_id, number) for part in tasks for number in part.partitions))
            for tasks in (assignment.active_tasks, assignment.standby_tasks, assignment.warmup_tasks)
        )
    )


def _read_places(sources: Mapping[str, Sequence[str]], tasks: cluster.StreamsTasks) -> cluster.Places:
    """Return the partitions that active tasks read. sources: subtopology id -> its source topics."""
    return tuple(sorted((topic, number) for part, number in tasks.active for topic in sources.get(part, ())))


def classic_group(described: Any, coordinator: int) -> cluster.Group:
    """Convert a group in a DescribeGroups response to the model. Assignments are decoded for protocol type ``consumer``
    only, and positions in the configs' topic for workers of Connect.
    """
    of_consumers, of_workers = described.protocol_type == "consumer", described.protocol_type == "connect"
    members = (
        cluster.GroupMember(
            member.member_id,
            member.client_id,
            member.client_host,
            consumer_assignment(member.member_assignment) if of_consumers else (),
            getattr(member, "group_instance_id", None),
            topics=consumer_subscription(member.member_metadata) if of_consumers else (),
            config_offset=worker_position(member.member_metadata) if of_workers else None,
        )
        for member in described.members
    )
    return cluster.Group(
        described.group_id,
        described.group_state,
        _CLASSIC,
        described.protocol_type,
        coordinator,
        _members_by_client(members),
        assignor=described.protocol_data if of_consumers else "",
    )


def _assigned_places(topic_partitions: Iterable[Any]) -> cluster.Places:
    return tuple(sorted((topic.topic_name, number) for topic in topic_partitions for number in topic.partitions))


def _members_by_client(members: Iterable[cluster.GroupMember]) -> tuple[cluster.GroupMember, ...]:
    return tuple(sorted(members, key=lambda member: (member.client_id, member.member_id)))


class _Protocol(NamedTuple):
    """The API that describes groups of one type, and the function that converts a group in its response."""

    type: str
    api: str
    group: Callable[[Any, int], cluster.Group]


_PROTOCOLS = (
    _Protocol("consumer", "consumer_group_describe", consumer_group),
    _Protocol("classic", "describe_groups", classic_group),
    _Protocol("share", "share_group_describe", share_group),
    _Protocol("streams", "streams_group_describe", streams_group),
)


# The lag of groups.

FETCHED_AT_ONCE = 200
"""Number of groups in one OffsetFetch request. The response has about 20 bytes for each partition with an offset."""
SHARE_OFFSETS, SHARE_OFFSETS_SINCE = "describe_share_group_offsets", "4.1"
SHARE = "share"
"""The type of share groups."""
_SEVERAL_GROUPS = 8
ABSENT = "GROUP_ID_NOT_FOUND"
_NO_TOPIC = errors.error_name(ErrorCode.unknown_topic_or_partition)


async def poll_groups(link: Link, names: Sequence[str], types: Mapping[str, str] = NO_TYPES) -> cluster.GroupPolls:
    """Return the members and the lag of each group, or the failure to read it. A group that its coordinator does not
    know, but that has committed offsets, is returned as dead. Raises AdminError.

    Args:
        types: group -> its type, as in `describe_groups`.
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
    names_of = {topic_id: topic.name for topic_id, topic in topics.items()}
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
            found[name] = _committed(answer, names_of)
    places = {name: _places(at, groups.get(name)) for name, at in found.items()}
    wanted = dict.fromkeys((place for each in places.values() for place in each), LATEST)
    ends = await offsets_of(link, wanted, topics={topic.name: topic for topic in topics.values()})
    lags_found = {name: _lag(places[name], committed, ends, groups.get(name)) for name, committed in found.items()}
    undescribed = {name: why for name, why in described.failures.items() if name not in dead}
    return cluster.GroupPolls(groups, lags_found, undescribed, failures)


def _told(answer: Sequence[_Position] | Failure | None) -> Sequence[_Position]:
    return () if answer is None or isinstance(answer, Failure) else answer


class _Position(NamedTuple):
    """A group's committed offset in a partition."""

    topic: str | UUID
    """The name or the id of the topic."""
    partition: int
    offset: cluster.CommittedOffset | None
    """The committed offset; None if the group has none."""
    lag: int = -1
    """The lag that the coordinator reports, as a number of offsets; -1 if it reports none."""
    code: int = 0
    """Kafka's error code, 0 without an error."""
    message: str | None = None
    """The broker's error message; None if there is no error, or the broker sent no message."""


_Positions = Mapping[str, Sequence[_Position] | Failure]
"""Group -> its committed offsets, or the failure to read them."""


class _Committed(NamedTuple):
    """The committed offsets of a group, the lags that the coordinator reports, and the failures of partitions."""

    offsets: dict[Place, cluster.CommittedOffset]
    lags: dict[Place, int]
    problems: list[Failure]


async def offsets_of_group(
    link: Link, group: str, coordinator: int, *, is_share: bool
) -> tuple[dict[Place, cluster.CommittedOffset], list[Failure]]:
    """Return (topic, partition) -> the committed offset, and the failures of partitions that can't be read. For a share
    group the offset is its share-partition start offset; partitions that no member has used are missing.

    Args:
        coordinator: the broker id of the group's coordinator.
        is_share: whether the group is a share group.

    Raises:
        Unsupported: a share group before Kafka 4.1.
        AdminError: the coordinator did not answer.
    """
    if is_share:
        await link.require(SHARE_OFFSETS, 0, SHARE_OFFSETS_SINCE, broker(coordinator))
    answers = await _positions_at(link, coordinator, [group], is_share)
    answer = answers[group]
    if isinstance(answer, Failure):
        raise errors.BrokerError(answer)
    topics = await _topics_of(link, answers)
    found = _committed(answer, {topic_id: topic.name for topic_id, topic in topics.items()})
    return found.offsets, found.problems


def _committed(positions: Iterable[_Position], topics: Mapping[UUID, str]) -> _Committed:
    found = _Committed({}, {}, [])
    for at in positions:
        # Intern the name, as thousands of groups read the same topics.
        name = topics.get(at.topic, "") if isinstance(at.topic, UUID) else sys.intern(at.topic)
        if at.code:
            found.problems.append(errors.failure(at.code, at.message or f"{name or 'a deleted topic'}-{at.partition}"))
        elif at.offset is not None and name:
            found.offsets[name, at.partition] = at.offset
            if at.lag >= 0:
                found.lags[name, at.partition] = at.lag
    return found


def _places(committed: _Committed, group: cluster.Group | None) -> cluster.Places:
    members = (group and group.members) or ()
    return tuple(sorted(committed.offsets.keys() | {place for member in members for place in member.assignment}))


def _lag(
    places: cluster.Places, committed: _Committed, ends: Mapping[Place, int | Failure], group: cluster.Group | None
) -> cluster.GroupLag:
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
    return cluster.GroupLag(rows, (*committed.problems, *missing))


def lags(
    places: cluster.Places,
    committed: Mapping[Place, int],
    ends: Mapping[Place, int],
    members: Mapping[Place, str],
    told: Mapping[Place, int] | None = None,
) -> tuple[cluster.PartitionLag, ...]:
    """Return the lag of each partition as a number of offsets, at least 0; -1 if the committed offset or the end offset
    is unknown.

    Args:
        committed: partition -> the committed offset.
        ends: partition -> the end offset of the log.
        members: partition -> the member to which it is assigned.
        told: partition -> the lag that the coordinator of a share group reports. It is not the distance to the end,
            since records after the start offset may be acknowledged already. None for other groups.
    """
    rows = []
    for place in places:
        at, end = committed.get(place, -1), ends.get(place, -1)
        lag = max(0, end - at) if at >= 0 and end >= 0 else -1
        if told is not None:
            lag = told.get(place, -1)
        rows.append(cluster.PartitionLag(*place, at, end, lag, members.get(place, "")))
    return tuple(rows)


# Offsets that coordinators return.


async def _positions_at(link: Link, broker_id: int, names: Sequence[str], is_share: bool) -> _Positions:
    """Return group -> its committed offsets or its failure, for groups of one coordinator. If the connection is
    lost, this is the failure of all groups that are not read yet.
    """
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
    except errors.AdminError as error:
        found |= {name: error.failure for name in names if name not in found}
    return found


_Answers = dict[str, tuple[Failure | None, Sequence[_Position]]]
"""Group -> the coordinator's refusal, None without one, and the group's committed offsets."""


async def _settled(
    link: Link, broker_id: int, names: Sequence[str], ask: Callable[[Link, int, Sequence[str]], Awaitable[_Answers]]
) -> _Positions:
    """Return the committed offsets of groups. Repeat the request, for at most `SETTLE_SECONDS`, for groups whose
    coordinator moves or whose offsets are in an open transaction. A group that the responses omit has a failure.

    Args:
        broker_id: the id of the groups' coordinator.
        ask: function of (link, broker id, groups) that sends one request.
    """
    found: _Answers = {}

    def moving() -> list[str]:
        return [name for name in names if name in found and (why := found[name][0]) and why.name in _UNSETTLED]

    async def again() -> list[str]:
        found.update(await ask(link, broker_id, moving() if found else names))
        return moving()

    await until_settled(again, bool, within=SETTLE_SECONDS)
    missing = errors.failure(ErrorCode.unknown_server_error, "the coordinator's answer leaves the group out")
    return {name: why or positions for name in names for why, positions in (found.get(name, (missing, ())),)}


_UNSETTLED = frozenset(errors.error_name(code) for code in (*COORDINATOR_MOVES, ErrorCode.unstable_offset_commit))


async def _fetched(link: Link, broker_id: int, names: Sequence[str]) -> _Answers:
    """Send OffsetFetch and return the response's content. Before version 8 a request has only one group, the first
    (KIP-709).
    """
    groups = [{"group_id": name, "topics": None} for name in names]
    fields = {**groups[0], "groups": groups, "require_stable": False}
    response = await link.call("offset_fetch", fields, to=broker(broker_id))
    if hasattr(response, "groups"):
        return {group.group_id: (_refusal(group.error_code), _fetched_of(group.topics)) for group in response.groups}
    return {names[0]: (_refusal(getattr(response, "error_code", 0)), _fetched_of(response.topics))}


def _refusal(code: int, message: str | None = None) -> Failure | None:
    return errors.failure(code, message) if code else None


def _fetched_of(topics: Iterable[Any]) -> list[_Position]:
    """Return the committed offsets in a part of a response. Since version 10, topics have ids instead of names
    (KIP-848).
    """
    return [
        _Position(
            topic.topic_id if hasattr(topic, "topic_id") else topic.name,
            each.partition_index,
            cluster.CommittedOffset(
                each.committed_offset, getattr(each, "committed_leader_epoch", -1), each.metadata or ""
            )
            if each.committed_offset >= 0
            else None,
            code=each.error_code,
        )
        for topic in topics
        for each in topic.partitions
    ]


async def _share_offsets(link: Link, broker_id: int, names: Sequence[str]) -> _Answers:
    """Send DescribeShareGroupOffsets (KIP-932) and return the response's content; it has lags since version 1
    (KIP-1226).
    """
    groups = [{"group_id": name, "topics": None} for name in names]
    response = await link.call(SHARE_OFFSETS, {"groups": groups}, to=broker(broker_id))
    return {
        group.group_id: (
            _refusal(group.error_code, group.error_message),
            [
                _Position(
                    topic.topic_name,
                    each.partition_index,
                    cluster.CommittedOffset(each.start_offset, each.leader_epoch) if each.start_offset >= 0 else None,
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


async def _topics_of(link: Link, answers: _Positions) -> dict[UUID, cluster.Topic]:
    """Return topic id -> topic, for the offsets whose topic has only an id. A deleted topic is missing."""
    positions = (each for each in answers.values() if not isinstance(each, Failure))
    return await topics_by_id(link, {at.topic for each in positions for at in each if isinstance(at.topic, UUID)})


# Positions of groups.

_AT_ONCE = 16
"""Number of groups whose committed offsets are read concurrently."""


async def group_position(link: Link, name: str) -> cluster.GroupPosition:
    """Return one group with its members and committed offsets. Raises BrokerError if the brokers refuse, and other
    AdminErrors.
    """
    found, failures = await group_positions(link, [name])
    if name in failures:
        raise errors.BrokerError(failures[name])
    return found[name]


async def group_positions(
    link: Link, names: Iterable[str]
) -> tuple[dict[str, cluster.GroupPosition], dict[str, Failure]]:
    """Return group -> its members and committed offsets; and group -> the failure to read it. A group that does not
    exist is returned without members and offsets. Raises AdminError.
    """
    wanted = tuple(dict.fromkeys(names))
    coordinators, failures = await find_coordinators(link, wanted)
    listing = await describe_at_coordinators(link, coordinators, {}, NO_TYPES)
    few = asyncio.Semaphore(_AT_ONCE)
    found = {name: cluster.GroupPosition(None, {}) for name, why in failures.items() if why.name == ABSENT}
    failures = {name: why for name, why in failures.items() if name not in found}

    async def dead(name: str) -> cluster.GroupPosition:
        """Return the committed offsets of a group that its coordinator does not know. If it has some, the group
        exists.
        """
        try:
            async with few:
                committed, problems = await offsets_of_group(link, name, coordinators[name], is_share=False)
        except errors.BrokerError as error:
            log.info("offsets of group %s, which there is not: %s", name, error.failure)
            return cluster.GroupPosition(None, {})
        if not committed:
            return cluster.GroupPosition(None, {})
        return cluster.GroupPosition(
            dead_group(name, coordinators[name]), dict(sorted(committed.items())), tuple(problems)
        )

    async def read(name: str) -> None:
        group = listing.groups.get(name)
        if group is None:
            why = listing.failures[name]
            if why.name == ABSENT:
                found[name] = await dead(name)
            else:
                failures[name] = why
            return
        is_share = group.type == SHARE
        try:
            async with few:
                committed, problems = await offsets_of_group(link, name, coordinators[name], is_share=is_share)
        except errors.BrokerError as error:
            failures[name] = error.failure
        else:
            found[name] = cluster.GroupPosition(group, dict(sorted(committed.items())), tuple(problems))

    await asyncio.gather(*map(read, coordinators))
    return found, failures


# Changes. None of these APIs has a validate-only form.

_JOINED = frozenset(
    {
        ErrorCode.unknown_member_id,
        ErrorCode.non_empty_group,
        ErrorCode.rebalance_in_progress,
        ErrorCode.illegal_generation,
        ErrorCode.stale_member_epoch,
    }
)
"""The errors with which coordinators refuse a change because the group has members."""


G = TypeVar(
    "G",
    bound=changes.CommitOffsets
    | changes.DeleteOffsets
    | changes.AlterShareGroupOffsets
    | changes.DeleteShareGroupOffsets,
)
D = TypeVar("D", bound=changes.DeleteOffsets | changes.DeleteShareGroupOffsets)


class _OfGroup(Sender[G, changes.GroupOffsetTarget]):
    """The base class of changes that go to the group's coordinator. A coordinator that refuses the whole change because
    the group has moved has applied nothing, so the change is sent to the new coordinator.
    """

    is_share: ClassVar[bool] = False

    async def require(self) -> None:
        """Do nothing: `send` checks whether the coordinator has the API."""

    async def offsets(self) -> dict[TopicPartition, cluster.CommittedOffset]:
        """Return the present committed offsets of the group. Raises BrokerError if one of them can't be read, because a
        missing partition would count as one without an offset.
        """
        group = self.request.group
        coordinators, failures = await find_coordinators(self.link, [group])
        if group not in coordinators:
            if failures[group].name == ABSENT:
                return {}
            raise errors.BrokerError(failures[group])
        found, problems = await offsets_of_group(self.link, group, coordinators[group], is_share=self.is_share)
        if problems:
            raise errors.BrokerError(problems[0])
        return found

    async def send(self, targets: Sequence[changes.GroupOffsetTarget]) -> Mapping[changes.GroupOffsetTarget, Answer]:
        group = self.request.group
        response = await _at_coordinator(self.link, self.api, group, self.fields(targets), self.codes, since=self.needs)
        return self.answers(response, targets)

    def codes(self, response: Any) -> Iterable[int]:
        """Return the error codes in a response that show whether the group has another coordinator now; by default
        the top-level code alone.
        """
        return (response.error_code,)

    def explained(self, each: Any) -> Answer:
        """Return the result of a target. each: the target's part of the response, with its error code."""
        return _explained(self.request.group, each.error_code, getattr(each, "error_message", None))

    def answers(
        self, response: Any, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, Answer]:
        if getattr(response, "error_code", 0):
            return dict.fromkeys(targets, self.explained(response))
        return {
            changes.GroupOffsetTarget(self.request.group, self.topic_of(topic), each.partition_index): self.explained(
                each
            )
            for topic in (response.topics if hasattr(response, "topics") else response.responses)
            for each in topic.partitions
        }

    def topic_of(self, topic: Any) -> str:
        """Return the name of a topic in a response, which may have only its id."""
        name: str = topic.name if hasattr(topic, "name") else topic.topic_name
        return name


class _Commit(_OfGroup[changes.CommitOffsets]):
    """Commits offsets without a member id and generation. Brokers refuse this while the group has members."""

    of = "offsets"
    _ids: dict[str, UUID | None]

    async def prepare(
        self, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, changes.Outcome]:
        self._ids = await _topic_ids(self.link, self.request)
        return {
            each: refused(each, "UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {each.topic}", "Check the name.")
            for each in targets
            if each.topic not in self._ids
        }

    def fields(self, targets: Sequence[changes.GroupOffsetTarget]) -> Fields:
        offsets = {(target.topic, target.number): self.request.offsets[target] for target in targets}
        places = {
            place: {
                "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch,
                "committed_metadata": each.metadata,
            }
            for place, each in offsets.items()
        }
        topics = [{**topic, "topic_id": self._ids[topic["name"]]} for topic in topics_with_fields(places)]
        member = {"generation_id_or_member_epoch": -1, "member_id": ""}
        return {"group_id": self.request.group, **member, "topics": topics}

    def codes(self, response: Any) -> Iterable[int]:
        return (each.error_code for topic in response.topics for each in topic.partitions)

    def topic_of(self, topic: Any) -> str:
        names = {each: name for name, each in self._ids.items()}
        return names.get(topic.topic_id, "") if hasattr(topic, "topic_id") else super().topic_of(topic)

    async def describe_again(
        self, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, changes.Status]:
        known = await self.offsets()
        return {target: applied_if(offset_at(known, target, self.request.offsets[target])) for target in targets}


class _Forgetting(_OfGroup[D]):
    of = "targets"

    async def describe_again(
        self, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, changes.Status]:
        known = await self.offsets()
        return {target: applied_if((target.topic, target.number) not in known) for target in targets}


class _Deletion(_Forgetting[changes.DeleteOffsets]):
    needs = "2.4"

    def fields(self, targets: Sequence[changes.GroupOffsetTarget]) -> Fields:
        places: dict[Place, Fields] = {(target.topic, target.number): {} for target in targets}
        return {"group_id": self.request.group, "topics": topics_with_fields(places)}


class _ShareReset(_OfGroup[changes.AlterShareGroupOffsets]):
    """Sets the share-partition start offset. The group then reads the records from this offset on again, with new
    delivery counts.
    """

    of = "offsets"
    needs = SHARE_OFFSETS_SINCE
    is_share = True

    def fields(self, targets: Sequence[changes.GroupOffsetTarget]) -> Fields:
        places = {(target.topic, target.number): {"start_offset": self.request.offsets[target]} for target in targets}
        return {"group_id": self.request.group, "topics": topics_with_fields(places, "topic_name")}

    async def describe_again(
        self, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, changes.Status]:
        known = await self.offsets()
        wanted = {target: cluster.CommittedOffset(self.request.offsets[target]) for target in targets}
        return {target: applied_if(offset_at(known, target, wanted[target])) for target in targets}


class _ShareDeletion(_Forgetting[changes.DeleteShareGroupOffsets]):
    """Deletes a share group's offsets of whole topics, since brokers can't delete those of single partitions. kac
    refuses a topic if the group has an offset in a partition that the change does not name.
    """

    needs = SHARE_OFFSETS_SINCE
    is_share = True

    async def prepare(
        self, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, changes.Outcome]:
        named = {(target.topic, target.number) for target in targets}
        in_part = {topic for topic, number in await self.offsets() if (topic, number) not in named}
        message = "brokers delete a share group's offsets of a whole topic, and this names a part of it"
        remedy = "Delete those of the topic, or reset each to where it should begin."
        return {
            target: refused(target, "WHOLE_TOPICS_ONLY", message, remedy)
            for target in targets
            if target.topic in in_part
        }

    def fields(self, targets: Sequence[changes.GroupOffsetTarget]) -> Fields:
        topics = dict.fromkeys(target.topic for target in targets)
        return {"group_id": self.request.group, "topics": [{"topic_name": topic} for topic in topics]}

    def answers(
        self, response: Any, targets: Sequence[changes.GroupOffsetTarget]
    ) -> dict[changes.GroupOffsetTarget, Answer]:
        if response.error_code:
            return dict.fromkeys(targets, self.explained(response))
        of_topic = {each.topic_name: self.explained(each) for each in response.responses}
        return {target: of_topic[target.topic] for target in targets if target.topic in of_topic}


class _GroupDeletion(Sender[changes.DeleteGroups, changes.GroupTarget]):
    """Deletes groups of all types, by one request to each coordinator. If a coordinator refuses a request because
    its groups have moved, the whole request is sent again to the new coordinator of its first group.
    """

    _coordinators: Mapping[str, int]

    def targets(self) -> Iterable[changes.GroupTarget]:
        return map(changes.GroupTarget, self.request.names)

    async def prepare(self, targets: Sequence[changes.GroupTarget]) -> dict[changes.GroupTarget, changes.Outcome]:
        self._coordinators, failures = await find_coordinators(self.link, [target.name for target in targets])
        return {
            changes.GroupTarget(name): changes.Outcome(changes.GroupTarget(name), changes.Status.FAILED, why)
            for name, why in failures.items()
        }

    async def deliver(self, targets: Sequence[changes.GroupTarget]) -> dict[changes.GroupTarget, changes.Outcome]:
        by_broker = grouped((self._coordinators[target.name], target) for target in targets)
        parts = await asyncio.gather(*map(super().deliver, by_broker.values()))
        return {target: outcome for part in parts for target, outcome in part.items()}

    async def send(self, targets: Sequence[changes.GroupTarget]) -> Mapping[changes.GroupTarget, Answer]:
        def codes(response: Any) -> Iterable[int]:
            return (each.error_code for each in response.results)

        fields = {"groups_names": tuple(target.name for target in targets)}
        response = await _at_coordinator(self.link, self.api, targets[0].name, fields, codes, since="1.1")
        return {
            # The message, new in v3, has the reason if the code is generic.
            changes.GroupTarget(each.group_id): _explained(
                each.group_id, each.error_code, getattr(each, "error_message", None)
            )
            for each in response.results
        }

    async def describe_again(self, targets: Sequence[changes.GroupTarget]) -> dict[changes.GroupTarget, changes.Status]:
        positions, _ = await group_positions(self.link, [target.name for target in targets])
        return {each: applied_if(positions[each.name].group is None) for each in targets if each.name in positions}


SENDERS: Senders = {
    changes.CommitOffsets: _Commit,
    changes.DeleteOffsets: _Deletion,
    changes.AlterShareGroupOffsets: _ShareReset,
    changes.DeleteShareGroupOffsets: _ShareDeletion,
    changes.DeleteGroups: _GroupDeletion,
}


def offset_at(
    known: Mapping[TopicPartition, cluster.CommittedOffset],
    target: changes.GroupOffsetTarget,
    wanted: cluster.CommittedOffset,
) -> bool:
    """Return whether a group has the wanted committed offset and metadata in a partition. Leader epochs are ignored,
    because the broker may have added one.
    """
    there = known.get((target.topic, target.number))
    return there is not None and (there.offset, there.metadata) == (wanted.offset, wanted.metadata)


def _explained(group: str, code: int, message: str | None = None) -> Answer:
    """Return a coordinator's result. If the coordinator refuses because the group has members, add a text, since the
    response has only a code.
    """
    if code in _JOINED:
        return ErrorCode.non_empty_group, f"group {group} has members now ({errors.error_name(code)}): one has joined"
    return code, message


async def _at_coordinator(
    link: Link,
    api: str,
    group: str,
    fields: Fields,
    codes: Callable[[Any], Iterable[int]],
    *,
    since: str = "",
) -> Any:
    """Send a change to the group's coordinator and return the response. A coordinator that refuses the whole change
    because the group has moved has applied nothing, so the change is sent to the new coordinator. Raises AdminError.

    Args:
        codes: function that returns the error codes in a response.
        since: the first Kafka release that has the API, for the error message.
    """

    if link.settings.read_only:
        raise errors.ReadOnly(api)

    async def once() -> Any:
        coordinators, failures = await find_coordinators(link, [group], is_change=True)
        if group not in coordinators:
            raise errors.BrokerError(failures[group])
        to = broker(coordinators[group])
        await link.require(api, 0, since, to)
        return await link.call(api, fields, to=to, change=True)

    def moved(response: Any) -> bool:
        found = set(codes(response))
        return bool(found) and found <= COORDINATOR_MOVES

    return await until_settled(once, moved, within=SETTLE_SECONDS)


async def _topic_ids(link: Link, request: changes.CommitOffsets) -> dict[str, UUID | None]:
    """Return topic -> its id, which OffsetCommit needs since version 10 (KIP-848); None as id if the brokers have no
    topic ids. Topics that do not exist are missing.
    """
    known: dict[str, UUID | None] = {name: uuid_of(text) for name, text in request.topic_ids.items()}
    unknown = list(dict.fromkeys(target.topic for target in request.offsets if target.topic not in known))
    listing = await describe_topics(link, unknown)
    for name, topic in listing.topics.items():
        known[name] = uuid_of(topic.topic_id) if topic.topic_id is not None else None
    return known


# Positions of groups in topics.

_Read = tuple[Mapping[TopicPartition, cluster.CommittedOffset], list[Failure]]


async def topic_readers(link: Link, topics: Collection[str], most: int) -> dict[str, TopicReaders]:
    """Return topic -> the groups with committed offsets in it. If there are more than `most` groups, only the first
    `most` by name are read.

    Groups that the principal may not describe are missing, without an error. Raises AdminError if the connection is
    lost.
    """
    try:
        listing = await list_groups(link)
    except errors.BrokerError as error:
        return {topic: TopicReaders({}, 0, 0, str(error.failure)) for topic in topics}
    groups = [listing.groups[name] for name in sorted(listing.groups)]
    asked = groups[:most]
    coordinators, lost = await find_coordinators(link, [group.name for group in asked])
    few = asyncio.Semaphore(_AT_ONCE)

    async def read(group: cluster.Group) -> _Read:
        async with few:
            try:
                return await offsets_of_group(link, group.name, coordinators[group.name], is_share=group.type == SHARE)
            except errors.AdminError as error:
                return {}, [error.failure]

    found = [group for group in asked if group.name in coordinators]
    described = describe_at_coordinators(link, coordinators, lost, {group.name: group.type for group in asked})
    members, offsets = await asyncio.gather(described, asyncio.gather(*map(read, found)))
    problems = [
        *listing.failures.values(),
        *members.failures.values(),
        *(each for _, failures in offsets for each in failures),
    ]
    problem = str(problems[0]) if problems else ""
    committed: dict[str, dict[tuple[str, int], int]] = {topic: {} for topic in topics}
    for group, (known, _) in zip(found, offsets, strict=True):
        for (topic, partition), at in known.items():
            if topic in committed:
                committed[topic][group.name, partition] = at.offset
    listed, having = frozenset(listing.groups), _members_of(members.groups.values(), topics)
    return {
        topic: TopicReaders(each, len(groups), len(asked), problem, having[topic], listed)
        for topic, each in committed.items()
    }


def _members_of(groups: Iterable[cluster.Group], topics: Collection[str]) -> dict[str, dict[str, int]]:
    """Return topic -> group -> the number of the group's members that have a partition of the topic."""
    found: dict[str, dict[str, int]] = {topic: {} for topic in topics}
    for group in groups:
        for member in group.members or ():
            for topic in {topic for topic, _ in member.assignment} & found.keys():
                found[topic][group.name] = found[topic].get(group.name, 0) + 1
    return found


# Finding the coordinators of groups and transactional ids.


async def find_coordinators(
    link: Link, names: Iterable[str], of: CoordinatorsOf = OF_GROUPS, *, is_change: bool = False
) -> tuple[dict[str, int], dict[str, Failure]]:
    """Return name -> the broker id of its coordinator, and name -> the failure to find it. A name is a group or a
    transactional id, according to `of`. Raises AdminError.

    Args:
        is_change: whether brokers may create the coordinators' internal topic, as they do when they receive
            FindCoordinator. If False, no FindCoordinator is sent before the topic exists: all names then have a
            failure, because without the topic there is no group or transaction.
    """
    wanted = tuple(dict.fromkeys(names))
    if wanted and not is_change and not await _has_coordinators(link, of):
        absent = errors.failure(of.absent, f"this cluster has no {of.topic} yet, or it is hidden and none is listed")
        denied = await of.denied(link, wanted) if of.denied is not None else {}
        return {}, {**dict.fromkeys(wanted, absent), **denied}
    found: dict[str, int | Failure] = {}
    halving = Halving()

    async def ask(some: Sequence[str]) -> Mapping[str, int | Failure]:
        answer = await until_settled(
            partial(_coordinators, link, some, of),
            lambda answer: any(code in COORDINATOR_MOVES for _, code, _ in answer.values()),
            within=SETTLE_SECONDS,
        )
        return {name: errors.failure(code, message) if code else node for name, (node, code, message) in answer.items()}

    for some in parts(wanted, FOUND_AT_ONCE):
        found |= await halving.read(some, ask)
    return parted(found)


async def _has_coordinators(link: Link, of: CoordinatorsOf) -> bool:
    from console.admin.recorded import NOT_RECORDED

    try:
        listing = await describe_topics(link, [of.topic])
    except errors.BrokerError as error:
        if error.failure.name == NOT_RECORDED:  # a record creates no topic, and its FindCoordinator is safe
            return True
        raise
    if of.topic in listing.failures and listing.failures[of.topic].name != _NO_TOPIC:
        return await of.listed(link)
    return of.topic in listing.topics


async def _coordinators(link: Link, names: Sequence[str], of: CoordinatorsOf) -> dict[str, tuple[int, int, str | None]]:
    """Send FindCoordinator and return name -> (broker id, error code, error message). Since version 4 one request may
    have several names (KIP-699).
    """
    if (await link.version("find_coordinator") or 0) >= 4:
        response = await link.call("find_coordinator", {"key_type": of.type, "coordinator_keys": tuple(names)})
        return {c.key: (c.node_id, c.error_code, c.error_message) for c in response.coordinators}
    few = asyncio.Semaphore(SINGLE_AT_ONCE)

    async def one(name: str) -> tuple[int, int, str | None]:
        async with few:
            response = await link.call("find_coordinator", {"key_type": of.type, "key": name})
        return response.node_id, response.error_code, getattr(response, "error_message", None)

    return dict(zip(names, await asyncio.gather(*map(one, names)), strict=True))


def parts(items: Sequence[Item], most: int) -> Iterator[Sequence[Item]]:
    """Divide items into batches of at most `most` items."""
    return (items[start : start + most] for start in range(0, len(items), most))


def by_coordinator(coordinators: Mapping[str, int]) -> dict[int, list[str]]:
    """Return broker id -> the names that it coordinates."""
    return grouped((broker_id, name) for name, broker_id in coordinators.items())
