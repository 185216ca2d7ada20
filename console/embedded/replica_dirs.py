"""The log directories of a broker's replicas, and copies between directories (KIP-113).

The replicas of topics are spread over the directories, until a client moves one.
"""

from __future__ import annotations

from console.embedded.context import Cluster
from console.embedded.partitions import replica_bytes
from console.embedded.state import ClusterState, DirPlace
from console.embedded.tables import Topic
from console.model.config import CLUSTER_DEFAULT, broker_resource

BYTES_PER_SECOND = 50_000_000
"""Bytes per second that a broker copies between directories without a throttle."""
_THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
_AT_LEAST = 0.1
"""Minimum duration of a copy in seconds."""


def dir_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> str:
    """Return the directory of a broker's replica."""
    folders = cluster.state.brokers[broker].log_dirs
    return cluster.state.replica_dirs.get((topic.id, number, broker), folders[topic.id.int % len(folders)])


def copy_of(cluster: Cluster, topic: Topic, number: int, broker: int) -> tuple[str, float] | None:
    """Return the target directory of a replica's copy, and the copied share from 0 to 1; None without a copy."""
    copy = cluster.state.dir_copies.get((topic.id, number, broker))
    if copy is None:
        return None
    path, began, seconds = copy
    return path, min(1.0, (cluster.clock.time() - began) / seconds)


def cordoned_dirs(state: ClusterState, broker: int) -> frozenset[str]:
    """Return a broker's directories that accept no new replicas (KIP-1066), by its config, else by the cluster default:
    all for ``*``; empty if neither is set.
    """
    for resource in (broker_resource(broker), CLUSTER_DEFAULT):
        own = state.configs.get(resource, {}).get("cordoned.log.dirs")
        if own is not None:
            named = frozenset(each.strip() for each in own.split(",") if each.strip())
            return frozenset(state.brokers[broker].log_dirs) if "*" in named else named
    return frozenset()


def start_copy(cluster: Cluster, topic: Topic, number: int, broker: int, path: str) -> None:
    """Start a copy of a replica into a directory of its broker, in place of a copy that runs into another directory. A
    copy that runs into this directory continues. If the replica is already there, start no copy.
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
    """Continue the copies of a restored state."""
    for place in cluster.state.dir_copies:
        cluster.run(_copied(cluster, place))


def _rate(state: ClusterState, broker: int) -> int:
    """Return the rate in bytes per second at which a broker copies between its directories: that of its config or of
    the cluster default, at most `BYTES_PER_SECOND`.
    """
    for resource in (broker_resource(broker), CLUSTER_DEFAULT):
        own = state.configs.get(resource, {}).get(_THROTTLE, "")
        if own.isdecimal():
            return min(BYTES_PER_SECOND, max(int(own), 1))
    return BYTES_PER_SECOND


async def _copied(cluster: Cluster, place: DirPlace) -> None:
    """Replace the replica with its copy once that is complete, unless `start_copy` ended the copy meanwhile."""
    state = cluster.state
    copy = path, began, seconds = state.dir_copies[place]
    await cluster.clock.sleep(began + seconds - cluster.clock.time())
    if state.dir_copies.get(place) is copy:
        del state.dir_copies[place]
        state.replica_dirs[place] = path
        state.touch()
