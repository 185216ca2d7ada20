"""Where the replicas of a new topic go (StripedReplicaPlacer without racks)."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID, uuid4

from console.embedded.state.values import NO_LEADER, Partition, Topic


def striped(brokers: Sequence[int], partitions: int, replication: int, start: int = 0) -> tuple[tuple[int, ...], ...]:
    """Replicas for each partition: each begins one broker further than the one before it.

    Raises ValueError where there are fewer brokers than replicas, or none.
    """
    if not 0 < replication <= len(brokers):
        raise ValueError(f"{replication} replicas don't fit on {len(brokers)} brokers")
    return tuple(
        tuple(brokers[(start + partition + replica) % len(brokers)] for replica in range(replication))
        for partition in range(partitions)
    )


def new_partition(replicas: Sequence[int], alive: Sequence[int]) -> Partition:
    """A partition that begins: those of its replicas that are alive are in sync, the first of them leads."""
    isr = tuple(replica for replica in replicas if replica in alive)
    return Partition(tuple(replicas), isr or tuple(replicas), isr[0] if isr else NO_LEADER)


def new_topic(
    name: str,
    assignments: Sequence[Sequence[int]],
    alive: Sequence[int],
    *,
    internal: bool = False,
    topic_id: UUID | None = None,
) -> Topic:
    """A topic whose partition i has the replicas assignments[i]."""
    partitions = tuple(new_partition(replicas, alive) for replicas in assignments)
    return Topic(name, topic_id or uuid4(), partitions, internal)
