"""How far a group is behind: what it committed, against the ends of the partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from uuid import UUID

from console.admin.error_codes import failure
from console.admin.errors import BrokerError
from console.admin.group_describe import MOVING, SETTLE_SECONDS, Places, describe_groups, find_coordinators
from console.admin.link import Link
from console.admin.list_offsets import LATEST, Place, list_offsets
from console.admin.retry import until_settled
from console.admin.routing import broker
from console.model.cluster import GroupLag, PartitionLag
from console.model.failure import Failure

_UNSTABLE_OFFSET_COMMIT = 88
_BY_TOPIC_ID = 10
_SEVERAL_GROUPS = 8


async def group_lag(link: Link, name: str) -> GroupLag:
    """The lag of a group by partition: all that it committed to or is assigned, sorted.

    What could not be read of some partitions is in the failures; raises BrokerError where nothing could be, and other
    AdminErrors.
    """
    coordinators, failures = await find_coordinators(link, [name])
    if name not in coordinators:
        raise BrokerError(failures[name])
    (committed, problems), described = await asyncio.gather(
        _committed(link, name, coordinators[name]), describe_groups(link, [name])
    )
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
    """A row for each partition; the lag is -1 where the commit or the end is not known, and never negative else."""
    rows = []
    for place in places:
        at, end = committed.get(place, -1), ends.get(place, -1)
        lag = max(0, end - at) if at >= 0 and end >= 0 else -1
        rows.append(PartitionLag(*place, at, end, lag, members.get(place, "")))
    return tuple(rows)


async def _committed(link: Link, group: str, coordinator: int) -> tuple[dict[Place, int], list[Failure]]:
    """(topic, partition) -> the committed offset, and why for those that have none to tell."""
    to = broker(coordinator)

    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        if kio.OffsetFetchRequest.__version__ >= _SEVERAL_GROUPS:
            one = for_version(kio.OffsetFetchRequestGroup, group_id=group, topics=None)
            return kio.OffsetFetchRequest(groups=(one,), require_stable=False)
        return for_version(kio.OffsetFetchRequest, group_id=group, topics=None, require_stable=False)

    response = await until_settled(
        lambda: link.call("offset_fetch", ask, to=to),
        lambda answer: _group_error(answer) in {*MOVING, _UNSTABLE_OFFSET_COMMIT},
        within=SETTLE_SECONDS,
    )
    code = _group_error(response)
    if code:
        raise BrokerError(failure(code))
    found = response.groups[0] if hasattr(response, "groups") else response
    names = await _names(link, [topic.topic_id for topic in found.topics if hasattr(topic, "topic_id")])
    committed: dict[Place, int] = {}
    problems: list[Failure] = []
    for topic in found.topics:
        name = names.get(topic.topic_id, "") if hasattr(topic, "topic_id") else topic.name
        for partition in topic.partitions:
            if partition.error_code:
                problem = failure(partition.error_code, f"{name or 'a deleted topic'}-{partition.partition_index}")
                problems.append(problem)
            elif partition.committed_offset >= 0 and name:
                committed[name, partition.partition_index] = partition.committed_offset
    return committed, problems


def _group_error(response: Any) -> int:
    code: int = response.groups[0].error_code if hasattr(response, "groups") else getattr(response, "error_code", 0)
    return code


async def _names(link: Link, topic_ids: list[UUID]) -> dict[UUID, str]:
    """Topic id -> name (KIP-848's OffsetFetch v10 tells ids); a topic that was deleted meanwhile is missing."""
    if not topic_ids:
        return {}

    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        return for_version(
            kio.MetadataRequest,
            topics=tuple(kio.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in topic_ids),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )

    response = await link.call("metadata", ask)
    return {topic.topic_id: topic.name for topic in response.topics if topic.name and not topic.error_code}
