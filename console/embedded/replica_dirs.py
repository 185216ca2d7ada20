"""The log directories in which a broker has its replicas, and copies from one directory to another (KIP-113).

The replicas of all topics are distributed over the directories until a client moves one.
"""

from __future__ import annotations

from console.embedded.context import Cluster
from console.embedded.partitions import replica_bytes
from console.embedded.state import ClusterState, DirPlace
from console.embedded.tables import Topic
from console.model.config import CLUSTER_DEFAULT, broker_resource

BYTES_PER_SECOND = 50_000_000
"""Rate in bytes per second at which a broker copies between its directories if there is no throttle."""
_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
_AT_LEAST = 0.1
"""Minimum duration of a copy, in seconds."""


def dir_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> str:
    """Return the path of the directory that has a broker's replica of a partition."""
    folders = cluster.state.brokers[broker].log_dirs
    return cluster.state.replica_dirs.get((topic.id, number, broker), folders[topic.id.int % len(folders)])


def copy_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> tuple[str, float] | None:
    """Return the directory to which a replica is being copied, and the share (0 to 1) that is copied; None if it is not
    being copied.
    """
    copy = cluster.state.dir_copies.get((topic.id, number, broker))
    if copy is None:
        return None
    path, began, seconds = copy
    return path, min(1.0, (cluster.clock.time() - began) / seconds)


def cordoned_dirs(state: ClusterState, broker: int) -> frozenset[str]:
    """Return those of a broker's directories that accept no new replicas (KIP-1066), by its own config, otherwise by
    the cluster default; ``*`` means all. Empty if neither is set.
    """
    for resource in (broker_resource(broker), CLUSTER_DEFAULT):
        own = state.configs.get(resource, {}).get("cordoned.log.dirs")
        if own is not None:
            named = frozenset(each.strip() for each in own.split(",") if each.strip())
            return frozenset(state.brokers[broker].log_dirs) if "*" in named else named
    return frozenset()


def start_copy(cluster: Cluster, topic: Topic, number: int, broker: int, path: str) -> None:
    """Start to copy a replica to the directory `path` of its broker, in place of any copy to another directory. If
    the replica is in that directory already, only end the other copy. Do nothing if the replica is already being
    copied there.
    """
    state, place = cluster.state, (topic.id, number, broker)
    before = state.dir_copies.pop(place, None)
    if before is not None and before[0] == path:
        state.dir_copies[place] = before
    elif dir_of(cluster, topic, number, broker) != path:
        seconds = max(replica_bytes(state, topic, number) / _rate(state, broker), _AT_LEAST)
        state.dir_copies[place] = (path, cluster.clock.time(), seconds)
        cluster.run(_copied(cluster, place))
    state.touch()


def resume_copies(cluster: Cluster) -> None:
    """Continue the copies that a restored state has."""
    for place in cluster.state.dir_copies:
        cluster.run(_copied(cluster, place))


def _rate(state: ClusterState, broker: int) -> int:
    """Return the rate in bytes per second at which a broker copies between its directories: the throttle in its own
    config or the cluster default, at most `BYTES_PER_SECOND`.
    """
    for resource in (broker_resource(broker), CLUSTER_DEFAULT):
        own = state.configs.get(resource, {}).get(_THROTTLE, "")
        if own.isdecimal():
            return min(BYTES_PER_SECOND, max(int(own), 1))
    return BYTES_PER_SECOND


async def _copied(cluster: Cluster, place: DirPlace) -> None:
    """Wait until a copy is complete, then make it the replica, unless `start_copy` has ended the copy meanwhile."""
    state = cluster.state
    copy = path, began, seconds = state.dir_copies[place]
    await cluster.clock.sleep(began + seconds - cluster.clock.time())
    if state.dir_copies.get(place) is copy:
        del state.dir_copies[place]
        state.replica_dirs[place] = path
        state.touch()
