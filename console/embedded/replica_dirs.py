"""In which of its log directories a broker has a replica, and copies from one into another (KIP-113).

Topics are spread over the directories until a client moves a replica. A state file does not keep that.
"""

from __future__ import annotations

from uuid import UUID

from console.embedded.context import Cluster
from console.embedded.partitions import replica_bytes
from console.embedded.state import ClusterState
from console.embedded.tables import Topic
from console.model.config import CLUSTER_DEFAULT, broker_resource

BYTES_PER_SECOND = 50_000_000
"""What a broker copies from one directory into another."""
_AT_LEAST = 0.1
"""Seconds that a copy takes."""


def dir_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> str:
    """The directory that has a broker's replica."""
    folders = cluster.state.brokers[broker].log_dirs
    return cluster.replica_dirs.get((topic.id, number, broker), folders[topic.id.int % len(folders)])


def copy_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> tuple[str, float] | None:
    """The directory that a replica is copied into, and the share that is there; None for none."""
    copy = cluster.dir_copies.get((topic.id, number, broker))
    if copy is None:
        return None
    path, began, seconds = copy
    return path, min(1.0, (cluster.clock.time() - began) / seconds)


def cordoned_dirs(state: ClusterState, broker: int) -> frozenset[str]:
    """The directories that take no new replicas (KIP-1066), as the broker or the cluster's default has it."""
    for resource in (broker_resource(broker), CLUSTER_DEFAULT):
        own = state.configs.get(resource, {}).get("cordoned.log.dirs")
        if own is not None:
            named = frozenset(each.strip() for each in own.split(",") if each.strip())
            return frozenset(state.brokers[broker].log_dirs) if "*" in named else named
    return frozenset()


def start_copy(cluster: Cluster, topic: Topic, number: int, broker: int, path: str) -> None:
    """Copy a replica into a directory; to the one that it is in: end a copy of it. Another copy of it is dropped."""
    place = topic.id, number, broker
    before = cluster.dir_copies.pop(place, None)
    if before is not None and before[0] == path:
        cluster.dir_copies[place] = before
    elif dir_of(cluster, topic, number, broker) != path:
        seconds = max(replica_bytes(cluster.state, topic, number) / BYTES_PER_SECOND, _AT_LEAST)
        copy = cluster.dir_copies[place] = (path, cluster.clock.time(), seconds)
        cluster.run(_copied(cluster, place, copy))


async def _copied(cluster: Cluster, place: tuple[UUID, int, int], copy: tuple[str, float, float]) -> None:
    """Take the copy in place of the replica once it is whole, unless it was dropped meanwhile."""
    path, _began, seconds = copy
    await cluster.clock.sleep(seconds)
    if cluster.dir_copies.get(place) is copy:
        del cluster.dir_copies[place]
        cluster.replica_dirs[place] = path
