"""How far groups have read topics: committed offsets of a bounded number of groups."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from console.admin.errors import AdminError, BrokerError
from console.admin.group_lag import SHARE, committed_offsets, share_group_offsets
from console.admin.groups import find_coordinators, list_groups
from console.admin.link import Link
from console.model.cluster import CommittedOffset, Group
from console.model.failure import Failure
from console.model.snapshot import TopicPartition
from console.model.topic_readers import TopicReaders

AT_ONCE = 16
"""Groups whose offsets are read at the same time."""

Read = tuple[Mapping[TopicPartition, CommittedOffset], list[Failure]]


async def topic_readers(link: Link, topics: Collection[str], most: int) -> dict[str, TopicReaders]:
    """Return topic -> how far groups have read it. Of more than `most` groups, the first by name are asked for.

    Groups that the principal may not describe are missing without an error. Raises AdminError if the cluster is lost.
    """
    try:
        listing = await list_groups(link)
    except BrokerError as error:
        return {topic: TopicReaders({}, 0, 0, str(error.failure)) for topic in topics}
    groups = [listing.groups[name] for name in sorted(listing.groups)]
    asked = groups[:most]
    coordinators, lost = await find_coordinators(link, [group.name for group in asked])
    few = asyncio.Semaphore(AT_ONCE)

    async def read(group: Group) -> Read:
        offsets_of = share_group_offsets if group.type == SHARE else committed_offsets
        async with few:
            try:
                return await offsets_of(link, group.name, coordinators[group.name])
            except AdminError as error:
                return {}, [error.failure]

    found = [group for group in asked if group.name in coordinators]
    offsets = await asyncio.gather(*map(read, found))
    problems = [*listing.failures.values(), *lost.values(), *(each for _, failures in offsets for each in failures)]
    problem = str(problems[0]) if problems else ""
    committed: dict[str, dict[tuple[str, int], int]] = {topic: {} for topic in topics}
    for group, (known, _) in zip(found, offsets, strict=True):
        for (topic, partition), at in known.items():
            if topic in committed:
                committed[topic][group.name, partition] = at.offset
    return {topic: TopicReaders(each, len(groups), len(asked), problem) for topic, each in committed.items()}
