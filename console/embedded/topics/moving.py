"""Reassignments: begun, cancelled, and finished after as long as copying takes (KIP-455)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.reassignment import cancelled, caught_up, is_moving, reassigned
from console.embedded.state.values import Partition, Topic
from console.embedded.topics.assignments import Replicas, move_refusal
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import DONE, Refusal
from console.embedded.topics.sizes import replica_bytes
from console.model.config import broker_resource, topic_resource

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_COPIED_EACH_SECOND = 16 * 2**20
"""Bytes that a broker copies."""
_AT_LEAST, _AT_MOST = 0.2, 20.0
"""Seconds that copying a replica takes where nothing throttles it."""
_THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
_THROTTLED_RATE = "follower.replication.throttled.rate"


def move(
    cluster: EmbeddedCluster, name: str, index: int, target: Replicas | None, *, any_replication: bool = True
) -> Refusal:
    """Begin to move a partition to these replicas, or with None go back; DONE, or why not.

    any_replication: whether it may have more or fewer replicas then.
    """
    state = cluster.state
    found = _partition(state, name, index)
    if isinstance(found, Refusal):
        # ZooKeeper's controller looks for a move to cancel before it looks for the partition.
        return _nothing(state) if target is None and not state.release.kraft else found
    topic, partition = found
    if target is None:
        if not is_moving(partition):
            return _nothing(state)
        _put(state, topic, index, cancelled(partition, state.alive()))
        return DONE
    refusal = move_refusal(target, partition.replicas, state)
    if refusal is None and not any_replication:
        refusal = _replication_refusal(state, partition, target)
    if refusal is not None:
        return refusal
    moved = reassigned(partition, target, frozenset(state.alive()))
    if moved != partition:
        _put(state, topic, index, moved)
        _copy(cluster, topic, index, moved)
    return DONE


def resume_moves(cluster: EmbeddedCluster) -> None:
    """Go on with the moves that a state which was kept has in it."""
    for topic in list(cluster.state.tables.topics.own.values()):
        for index, partition in enumerate(topic.partitions):
            _copy(cluster, topic, index, partition)


def _copy(cluster: EmbeddedCluster, topic: Topic, index: int, partition: Partition) -> None:
    if any(replica not in partition.isr for replica in partition.adding):
        cluster.run(_copied(cluster, topic.name, topic.id, index, partition.adding))


async def _copied(cluster: EmbeddedCluster, name: str, topic_id: UUID, index: int, adding: Replicas) -> None:
    """Bring the new replicas into sync, unless the move became another one meanwhile. A broker that is down comes into
    sync when it is back (see state.liveness)."""
    state = cluster.state
    size = replica_bytes(cluster, state.topics[name], index)
    await cluster.clock.sleep(max(_seconds(cluster, name, size, replica) for replica in adding))
    topic = state.topics.get(name)
    if topic is None or topic.id != topic_id or topic.partitions[index].adding != adding:
        return
    alive = frozenset(state.alive())
    partition = before = topic.partitions[index]
    for replica in adding:
        if replica in alive:
            partition = caught_up(partition, replica, alive)
    if partition != before:
        _put(state, topic, index, partition)


def _seconds(cluster: EmbeddedCluster, name: str, size: int, replica: int) -> float:
    """How long a broker copies so many bytes of a topic; a throttle of its replication is kept to (KIP-73)."""
    state = cluster.state
    throttled = state.configs.get(topic_resource(name), {}).get(_THROTTLED_REPLICAS)
    rate = state.configs.get(broker_resource(replica), {}).get(_THROTTLED_RATE)
    if throttled and rate and rate.isdigit() and int(rate) < _COPIED_EACH_SECOND:
        return max(size / max(int(rate), 1), _AT_LEAST)
    return min(max(size / _COPIED_EACH_SECOND, _AT_LEAST), _AT_MOST)


def _partition(state: ClusterState, name: str, index: int) -> tuple[Topic, Partition] | Refusal:
    said, topic = topic_messages(state.release), state.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, said.move_unknown_topic.format(name=name))
    if not 0 <= index < len(topic.partitions):
        message = said.move_unknown_partition.format(name=name, partition=index)
        return Refusal(ErrorCode.unknown_topic_or_partition, message)
    return topic, topic.partitions[index]


def _nothing(state: ClusterState) -> Refusal:
    return Refusal(ErrorCode.no_reassignment_in_progress, topic_messages(state.release).move_none)


def _replication_refusal(state: ClusterState, partition: Partition, target: Replicas) -> Refusal | None:
    now = len(set(partition.replicas) - set(partition.removing))
    if now == len(target):
        return None
    message = topic_messages(state.release).move_replication.format(now=now, wanted=len(target))
    return Refusal(ErrorCode.invalid_replication_factor, message)


def _put(state: ClusterState, topic: Topic, index: int, partition: Partition) -> None:
    partitions = (*topic.partitions[:index], partition, *topic.partitions[index + 1 :])
    state.put_topic(replace(topic, partitions=partitions))
