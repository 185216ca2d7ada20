"""Electing leaders on request (ReplicationControlManager.electLeader, KIP-460)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.values import NO_LEADER, Partition
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import DONE, Refusal

PREFERRED, UNCLEAN = 0, 1


def elect(state: ClusterState, kind: int, name: str, index: int) -> Refusal:
    """Elect a leader for a partition, where it needs one and can have it; DONE, or why not."""
    said, topic = topic_messages(state.release), state.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, said.elect_unknown_topic.format(name=name))
    if not 0 <= index < len(topic.partitions):
        message = said.elect_unknown_partition.format(name=name, partition=index)
        return Refusal(ErrorCode.unknown_topic_or_partition, message)
    partition = topic.partitions[index]
    if not _needs(partition, kind):
        return Refusal(ErrorCode.election_not_needed, said.not_needed)
    led = _led(partition, kind, frozenset(state.alive()))
    if led is None:
        if kind == PREFERRED:
            message = said.preferred_gone.format(name=name, partition=index)
            return Refusal(ErrorCode.preferred_leader_not_available, message)
        return Refusal(ErrorCode.eligible_leaders_not_available, said.none_eligible.format(name=name, partition=index))
    partitions = (*topic.partitions[:index], led, *topic.partitions[index + 1 :])
    state.put_topic(replace(topic, partitions=partitions))
    return DONE


def elect_all(state: ClusterState, kind: int) -> Iterator[tuple[str, list[tuple[int, Refusal]]]]:
    """Every topic with the partitions that an election was tried for: those that needed one."""
    for topic in list(state.topics.values()):
        needy = [index for index, partition in enumerate(topic.partitions) if _needs(partition, kind)]
        yield topic.name, [(index, elect(state, kind, topic.name, index)) for index in needy]


def _needs(partition: Partition, kind: int) -> bool:
    return partition.leader != partition.replicas[0] if kind == PREFERRED else partition.leader == NO_LEADER


def _led(partition: Partition, kind: int, alive: frozenset[int]) -> Partition | None:
    """The partition with the leader that the election gives, None where there is nobody."""
    candidates = [replica for replica in partition.replicas if replica in alive]
    in_sync = [replica for replica in candidates if replica in partition.isr]
    preferred = partition.replicas[0]
    if kind == PREFERRED:
        if preferred not in in_sync:
            return None
        leader, isr = preferred, partition.isr
    else:
        if not candidates:
            return None
        leader, isr = (in_sync[0], partition.isr) if in_sync else (candidates[0], (candidates[0],))
    return partition._replace(
        leader=leader,
        isr=isr,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
