"""Replicas: the end offsets and sizes of their logs, which of them may become leader (KIP-966), and moves between the
log directories of a broker (KIP-113).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin import partitions
from console.admin.cluster import describe_log_dirs
from console.admin.delivery import Answer, Sender, Senders, applied_if
from console.admin.errors import AdminError, failure
from console.admin.halving import Halving
from console.admin.link import ANY, Link, broker
from console.model.changes import AlterReplicaDirs, ReplicaTarget, Status
from console.model.cluster import LogDir, ReplicaLogs
from console.model.failure import Failure
from console.model.grouping import grouped
from console.wire.fields import Fields

MOST = 1_000
"""Maximum number of partitions in one read, and in one page of DescribeTopicPartitions."""

Eligible = tuple[tuple[int, ...], tuple[int, ...]]
"""The broker ids of a partition's eligible leader replicas, and of its last known eligible ones (KIP-966)."""


async def replica_logs(
    link: Link, replicas: Mapping[partitions.Place, Sequence[int]]
) -> dict[partitions.Place, ReplicaLogs]:
    """Return (topic, partition) -> the logs of its replicas, from the brokers that have them; replicas without an
    answer are missing. Reading the sizes needs Describe on the cluster, the end offsets Describe on the topic.

    Args:
        replicas: (topic, partition) -> the broker ids of its replicas. Partitions after the first `MOST` are ignored.

    Raises:
        AdminError: the connection to the cluster is lost.
    """
    wanted = dict(list(replicas.items())[:MOST])
    alive = (await link.refresh()).brokers.keys()
    holding = grouped((each, place) for place, brokers in wanted.items() for each in alive & set(brokers))
    ends, listing, eligible = await asyncio.gather(
        asyncio.gather(*(_ends(link, broker_id, places) for broker_id, places in holding.items())),
        describe_log_dirs(link, holding, grouped(wanted)),
        _eligible(link, wanted),
    )
    end_of: dict[partitions.Place, dict[int, int]] = {place: {} for place in wanted}
    for broker_id, found in zip(holding, ends, strict=True):
        for place, end in found.items():
            end_of[place][broker_id] = end
    size_of: dict[partitions.Place, dict[int, int]] = {place: {} for place in wanted}
    for broker_id, dirs in listing.dirs.items():
        for replica in (replica for log_dir in dirs for replica in log_dir.replicas):
            if not replica.is_future and (sizes := size_of.get((replica.topic, replica.partition))) is not None:
                sizes[broker_id] = replica.size
    return {place: ReplicaLogs(end_of[place], size_of[place], *eligible.get(place, (None, None))) for place in wanted}


async def _ends(link: Link, broker_id: int, places: Iterable[partitions.Place]) -> dict[partitions.Place, int]:
    """Return (topic, partition) -> the end offset of this broker's own replica; partitions without an answer are
    missing.
    """
    found = await partitions.offsets_at_broker(
        link, broker_id, dict.fromkeys(places, partitions.LATEST), partitions.ANY_REPLICA
    )
    if isinstance(found, Failure):
        return {}
    return {place: offset for place, (code, offset) in found.items() if not code}


async def _eligible(link: Link, places: Iterable[partitions.Place]) -> dict[partitions.Place, Eligible]:
    """Return (topic, partition) -> the replicas that may become leader. Empty if the read fails, for example because
    brokers refuse or lack the API (before Kafka 3.7).
    """
    wanted = frozenset(places)

    async def ask(some: Sequence[str]) -> Mapping[str, dict[partitions.Place, Eligible] | Failure]:
        return await _pages(link, some, wanted)

    try:
        found = await Halving().read(sorted({topic for topic, _ in wanted}), ask)
    except AdminError:
        return {}
    return {place: each for part in found.values() if not isinstance(part, Failure) for place, each in part.items()}


async def _pages(
    link: Link, topics: Sequence[str], wanted: Collection[partitions.Place]
) -> dict[str, dict[partitions.Place, Eligible] | Failure]:
    """Read the eligible leader replicas page by page. Return topic -> (topic, partition) -> its replicas, or the
    topic's failure. If a broker returns an empty page or does not advance the cursor, the topics that are not
    complete get a failure. Raises AdminError.
    """
    found: dict[str, dict[partitions.Place, Eligible] | Failure] = {name: {} for name in topics}
    left = list(topics)
    cursor: partitions.Place | None = None
    while left:
        response = await link.call("describe_topic_partitions", _page(left, cursor), to=ANY)
        for topic in response.topics:
            mine = found.get(topic.name)
            if topic.error_code and not topic.partitions:
                found[topic.name] = failure(topic.error_code)
            elif isinstance(mine, dict):
                for partition in topic.partitions:
                    if (place := (topic.name, partition.partition_index)) in wanted:
                        eligible, last = partition.eligible_leader_replicas, partition.last_known_elr
                        mine[place] = tuple(eligible or ()), tuple(last or ())
        following = response.next_cursor
        after = (following.topic_name, following.partition_index) if following is not None else None
        if after is None:
            break
        if not response.topics or (cursor is not None and after <= cursor):
            stuck = Failure("BAD_ANSWER", f"the pages stop at partition {after[1]} of {after[0]}", "Try again.")
            found |= {name: stuck for name in left if name >= after[0]}
            break
        cursor = after
        left = [name for name in left if name >= after[0]]
    return found


def _page(topics: Sequence[str], cursor: partitions.Place | None) -> Fields:
    return {
        "topics": [{"name": name} for name in topics],
        "response_partition_limit": MOST,
        "cursor": None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]},
    }


# Moving replicas between the log directories of their broker.

_EXPLAINED: Mapping[int, str] = {
    ErrorCode.cluster_authorization_failed: "moving replicas between directories needs ALTER on the cluster",
    ErrorCode.log_dir_not_found: "the broker has no such log directory",
    ErrorCode.kafka_storage_error: "the log directory is offline",
    ErrorCode.unknown_topic_or_partition: "the broker knows no such partition",
    ErrorCode.not_leader_or_follower: "the broker has no replica of it; one that it gets later goes there",
    ErrorCode.invalid_replica_assignment: "the log directory is cordoned: it takes no new replicas",
}
"""Error code -> a message, for codes that brokers return without a text."""


class _ToDirectories(Sender[AlterReplicaDirs, ReplicaTarget]):
    """Moves replicas to other log directories of their broker. The broker answers when it has begun to copy."""

    of = "paths"

    def __init__(self, link: Link, request: AlterReplicaDirs, validate_only: bool) -> None:
        super().__init__(link, request, validate_only)
        self.route = broker(request.broker)

    async def require(self) -> None:
        await self.link.require(self.api, 1, "2.0", self.route)

    def fields(self, targets: Sequence[ReplicaTarget]) -> Fields:
        wanted = grouped((self.request.paths[target], (target.topic, target.number)) for target in targets)
        return {"dirs": [{"path": path, "topics": partitions.topics_with(some)} for path, some in wanted.items()]}

    def answers(self, response: Any, _targets: Sequence[ReplicaTarget]) -> dict[ReplicaTarget, Answer]:
        return {
            ReplicaTarget(topic.topic_name, part.partition_index, self.request.broker): (
                part.error_code,
                _EXPLAINED.get(part.error_code),
            )
            for topic in response.results
            for part in topic.partitions
        }

    async def describe_again(self, targets: Sequence[ReplicaTarget]) -> dict[ReplicaTarget, Status]:
        topics = grouped((target.topic, target.number) for target in targets)
        listing = await describe_log_dirs(self.link, [self.request.broker], topics)
        dirs = listing.dirs.get(self.request.broker)
        return {target: _placed(target, self.request.paths[target], dirs) for target in targets}


SENDERS: Senders = {AlterReplicaDirs: _ToDirectories}


def _placed(target: ReplicaTarget, path: str, dirs: Sequence[LogDir] | None) -> Status:
    """Return APPLIED if a replica is being copied to the directory `path`, or is there and is not being copied
    elsewhere; otherwise NOT_APPLIED. dirs: the broker's log directories; None if they can't be read, for which the
    result is UNKNOWN.
    """
    if dirs is None:
        return Status.UNKNOWN
    places = {
        is_future: each.path
        for each in dirs
        for topic, number, _size, _lag, is_future in each.replicas
        if (topic, number) == (target.topic, target.number)
    }
    return applied_if(places.get(True, places.get(False)) == path)
