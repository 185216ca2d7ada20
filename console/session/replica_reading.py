"""Read the logs of partitions' replicas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from console.model import snapshot as refresh
from console.model.snapshot import Snapshot, TopicPartition


async def replica_logs_of(
    run: Callable[..., Awaitable[Any]], snapshot: Snapshot, places: Iterable[TopicPartition]
) -> Callable[[Snapshot], Snapshot]:
    """Read the logs of partitions' replicas. Return a function that enters them into a snapshot. run: that of a
    client."""
    from console.admin.replicas import replica_logs
    from console.model.cluster import partition_in

    replicas: dict[TopicPartition, tuple[int, ...]] = {}
    for topic, number in places:
        partition = partition_in(snapshot.topics.get(topic), number)
        replicas[topic, number] = partition.replicas if partition is not None else ()
    logs = await run(replica_logs, replicas) if replicas else {}
    return lambda known: refresh.with_replica_logs(known, replicas, logs)
