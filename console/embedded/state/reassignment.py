"""How a partition goes to other replicas, step by step (PartitionReassignmentReplicas, PartitionReassignmentRevert)."""

from __future__ import annotations

from collections.abc import Collection

from console.embedded.state.values import NO_LEADER, Partition


def is_moving(partition: Partition) -> bool:
    """Whether a reassignment is under way."""
    return bool(partition.adding or partition.removing)


def reassigned(partition: Partition, target: tuple[int, ...], alive: Collection[int]) -> Partition:
    """The partition on its way to these replicas, or there where nothing has to be copied.

    As in Kafka, what was being added and removed before stays so where the new target adds or removes nothing itself.
    """
    gone = tuple(sorted(set(partition.replicas) - set(target)))
    fresh = tuple(sorted(set(target) - set(partition.replicas)))
    moving = partition._replace(
        replicas=(*target, *gone), adding=fresh or partition.adding, removing=gone or partition.removing
    )
    if moving == partition:
        return partition
    return completed(moving._replace(partition_epoch=partition.partition_epoch + 1), alive)


def cancelled(partition: Partition, alive: Collection[int]) -> Partition:
    """The partition back on the replicas that it has without those being added."""
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding) or replicas[:1]
    back = partition._replace(replicas=replicas, isr=isr, adding=(), removing=())
    return _led(back._replace(partition_epoch=partition.partition_epoch + 1), alive)


def caught_up(partition: Partition, replica: int, alive: Collection[int]) -> Partition:
    """The partition after a replica has copied everything; with the last one that is added, the move is over."""
    if replica not in partition.replicas or replica in partition.isr:
        return partition
    isr = tuple(each for each in partition.replicas if each in partition.isr or each == replica)
    return completed(partition._replace(isr=isr, partition_epoch=partition.partition_epoch + 1), alive)


def completed(partition: Partition, alive: Collection[int]) -> Partition:
    """The partition without what is removed, if everything that is added is in sync; else as it is."""
    if not is_moving(partition):
        return partition
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.removing)
    isr = tuple(replica for replica in partition.isr if replica not in partition.removing)
    if not replicas or not isr or not set(partition.adding) <= set(isr):
        return partition
    done = _led(partition._replace(replicas=replicas, isr=isr, adding=(), removing=()), alive)
    if done.leader_epoch == partition.leader_epoch and partition.removing:
        return done._replace(leader_epoch=partition.leader_epoch + 1)
    return done


def _led(partition: Partition, alive: Collection[int]) -> Partition:
    """The partition with a leader out of its ISR, the first replica before the others."""
    if partition.leader in partition.isr:
        return partition
    leader = next(
        (replica for replica in partition.replicas if replica in partition.isr and replica in alive), NO_LEADER
    )
    return partition._replace(leader=leader, leader_epoch=partition.leader_epoch + 1)
