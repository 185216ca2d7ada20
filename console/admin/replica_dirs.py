"""Moves replicas between the log directories of their broker (KIP-113)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from kio.schema.errors import ErrorCode

from console.admin.cluster import describe_log_dirs
from console.admin.delivery import Answer, deliver
from console.admin.link import Link
from console.admin.partitions import by_topic
from console.admin.routing import broker
from console.model.changes import AlterReplicaDirs, Outcome, ReplicaTarget, Status
from console.model.cluster import LogDir

_EXPLAINED: Mapping[int, str] = {
    ErrorCode.cluster_authorization_failed: "moving replicas between directories needs ALTER on the cluster",
    ErrorCode.log_dir_not_found: "the broker has no such log directory",
    ErrorCode.kafka_storage_error: "the log directory is offline",
    ErrorCode.unknown_topic_or_partition: "the broker knows no such partition",
    ErrorCode.not_leader_or_follower: "the broker has no replica of it; one that it gets later goes there",
    ErrorCode.invalid_replica_assignment: "the log directory is cordoned: it takes no new replicas",
}
"""What brokers leave out: their answers have no texts."""


async def alter_replica_dirs(link: Link, request: AlterReplicaDirs, *, validate_only: bool) -> tuple[Outcome, ...]:
    """Return one outcome for each replica, once its broker has begun to copy it. The broker goes on by itself.

    A check is UNCHECKED. Raises Unsupported before Kafka 2.0, and AdminError if nothing was sent.
    """
    to = broker(request.broker)
    await link.require("alter_replica_log_dirs", 1, "2.0", to)
    if validate_only:
        return tuple(Outcome(target, Status.UNCHECKED) for target in request.paths)

    async def send(targets: Sequence[ReplicaTarget]) -> Mapping[ReplicaTarget, Answer]:
        def build(kio: ModuleType) -> Any:
            wanted: dict[str, list[ReplicaTarget]] = {}
            for target in targets:
                wanted.setdefault(request.paths[target], []).append(target)
            return kio.AlterReplicaLogDirsRequest(
                dirs=tuple(
                    kio.AlterReplicaLogDir(
                        path=path,
                        topics=tuple(
                            kio.AlterReplicaLogDirTopic(name=topic, partitions=tuple(numbers))
                            for topic, numbers in by_topic((each.topic, each.number) for each in some).items()
                        ),
                    )
                    for path, some in wanted.items()
                )
            )

        response = await link.call("alter_replica_log_dirs", build, to=to, change=True)
        return {
            ReplicaTarget(topic.topic_name, part.partition_index, request.broker): (
                part.error_code,
                _EXPLAINED.get(part.error_code),
            )
            for topic in response.results
            for part in topic.partitions
        }

    async def describe_again(targets: Sequence[ReplicaTarget]) -> Mapping[ReplicaTarget, Status]:
        topics = by_topic((target.topic, target.number) for target in targets)
        listing = await describe_log_dirs(link, [request.broker], topics)
        dirs = listing.dirs.get(request.broker)
        return {target: _placed(target, request.paths[target], dirs) for target in targets}

    outcomes = await deliver(link.settings, request.paths, send, describe_again, validate_only=False)
    return tuple(outcomes[target] for target in request.paths)


def _placed(target: ReplicaTarget, path: str, dirs: Sequence[LogDir] | None) -> Status:
    """Return whether a replica is in a directory, or is copied into it. dirs: None if they are unknown."""
    if dirs is None:
        return Status.UNKNOWN
    places = {
        is_future: each.path
        for each in dirs
        for topic, number, _size, _lag, is_future in each.replicas
        if (topic, number) == (target.topic, target.number)
    }
    return Status.APPLIED if places.get(True, places.get(False)) == path else Status.NOT_APPLIED
