"""More partitions for a topic (ReplicationControlManager.createPartitions; with ZooKeeper ZkAdminManager)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.placement import new_partition
from console.embedded.state.reassignment import is_moving
from console.embedded.topics.assignments import Replicas, more_partitions_refusal, unknown_brokers_refusal
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.placing import placed
from console.embedded.topics.refusal import Refusal

Growth = tuple[Replicas, ...]
"""The replicas of each partition that is added."""


def planned_growth(state: ClusterState, name: str, count: int, given: Sequence[Replicas] | None) -> Growth | Refusal:
    """What is added for a topic to have `count` partitions, or why that can't be. given: None for the cluster's
    choice."""
    said, topic = topic_messages(state.release), state.topics.get(name)
    if topic is None:
        message = said.grow_unknown
        return Refusal(ErrorCode.unknown_topic_or_partition, message and message.format(name=name))
    if not state.release.kraft and any(is_moving(partition) for partition in topic.partitions):
        message = f"A partition reassignment is in progress for the topic '{name}'."
        return Refusal(ErrorCode.reassignment_in_progress, message)
    now = len(topic.partitions)
    if count == now:
        return Refusal(ErrorCode.invalid_partitions, said.grow_same.format(now=now))
    if count < now:
        return Refusal(ErrorCode.invalid_partitions, said.grow_fewer.format(name=name, now=now, wanted=count))
    replication = len(topic.partitions[0].replicas)
    if given is None:
        return placed(state, count - now, replication, now)
    if not state.release.kraft and (unknown := unknown_brokers_refusal(given, state)) is not None:
        return unknown
    if len(given) != count - now:
        message = said.grow_assignments.format(more=count - now, given=len(given))
        return Refusal(ErrorCode.invalid_replica_assignment, message)
    return more_partitions_refusal(given, now, replication, state) or tuple(given)


def grow(state: ClusterState, name: str, growth: Growth) -> int:
    """Add the partitions; the offset in the log at which they are there."""
    topic, alive = state.topics[name], state.alive()
    more = tuple(new_partition(replicas, alive) for replicas in growth)
    return state.put_topic(replace(topic, partitions=topic.partitions + more))
