"""Offsets of partitions by time (KIP-79), each asked of its leader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import ModuleType
from typing import Any

from console.admin.error_codes import NOT_LEADER_OR_FOLLOWER, failure
from console.admin.errors import AdminError
from console.admin.link import Link
from console.admin.routing import broker
from console.admin.topics import describe_topics
from console.model.cluster import LogSpan
from console.model.failure import Failure

LATEST, EARLIEST = -1, -2
"""Timestamps that ask for the end and for the first record of a partition."""

WAIT_SECONDS = 10.0
"""How long a leader may wait for what it needs to answer (v10, tiered storage)."""

_LEADER_NOT_AVAILABLE = 5
_MOVED = frozenset({_LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER})

Place = tuple[str, int]


async def log_spans(
    link: Link, since: Mapping[Place, int], began: Mapping[Place, int]
) -> tuple[dict[Place, LogSpan], list[Failure]]:
    """(topic, partition) -> its span with the first records at or after two moments (ms since the epoch), and why for
    those that have none to tell. Four requests to each leader, at once."""
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


async def list_offsets(link: Link, wanted: Mapping[Place, int]) -> tuple[dict[Place, int], list[Failure]]:
    """(topic, partition) -> the first offset at or after a timestamp (ms, `LATEST` or `EARLIEST`), -1 where no record
    is as young; and why for those that have none to tell. One request to each leader."""
    found: dict[Place, int] = {}
    problems: list[Failure] = []
    left = tuple(wanted)
    for last in (False, True):  # a leader that has just moved is looked for once more
        if not left:
            break
        leaders, leaderless = await _leaders(link, left)
        answers = await asyncio.gather(
            *(_told_by(link, leader, {place: wanted[place] for place in mine}) for leader, mine in leaders.items())
        )
        left = ()
        for answer in answers:
            if isinstance(answer, Failure):
                problems.append(answer)
                continue
            for place, (code, offset) in answer.items():
                if not code:
                    found[place] = offset
                elif code in _MOVED and not last:
                    left = (*left, place)
                else:
                    problems.append(_of_place(place, code))
        problems += leaderless
    return found, problems


async def _leaders(link: Link, places: Iterable[Place]) -> tuple[dict[int, list[Place]], list[Failure]]:
    """Leader -> the partitions that it leads, and a failure for those without one."""
    listing = await describe_topics(link, list(dict.fromkeys(topic for topic, _ in places)))
    leading = {
        (topic.name, partition.number): partition.leader
        for topic in listing.topics.values()
        for partition in topic.partitions
    }
    by_leader: dict[int, list[Place]] = {}
    problems = []
    for place in places:
        leader = leading.get(place, -1)
        if leader >= 0:
            by_leader.setdefault(leader, []).append(place)
        else:
            problems.append(listing.failures.get(place[0]) or _of_place(place, _LEADER_NOT_AVAILABLE))
    return by_leader, list(dict.fromkeys(problems))


async def _told_by(link: Link, leader: int, wanted: Mapping[Place, int]) -> dict[Place, tuple[int, int]] | Failure:
    """(topic, partition) -> (error code, offset), or why the leader could not be asked."""

    def ask(kio: ModuleType) -> Any:
        from console.wire.schemas import for_version

        by_topic: dict[str, list[Any]] = {}
        for (topic, number), timestamp in wanted.items():
            partition = for_version(kio.ListOffsetsPartition, partition_index=number, timestamp=timestamp)
            by_topic.setdefault(topic, []).append(partition)
        return for_version(
            kio.ListOffsetsRequest,
            replica_id=-1,
            isolation_level=0,
            topics=tuple(kio.ListOffsetsTopic(name=name, partitions=tuple(mine)) for name, mine in by_topic.items()),
            timeout=timedelta(seconds=WAIT_SECONDS),
        )

    try:
        response = await link.call("list_offsets", ask, to=broker(leader))
    except AdminError as error:
        return error.failure
    return {
        (topic.name, p.partition_index): (p.error_code, p.offset) for topic in response.topics for p in topic.partitions
    }


def _of_place(place: Place, code: int) -> Failure:
    topic, number = place
    return failure(code, f"{topic}-{number}")
