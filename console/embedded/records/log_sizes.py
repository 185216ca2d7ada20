"""How large partitions are on disk, as DescribeLogDirs tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster


def partition_size(cluster: EmbeddedCluster, topic: str, partition: int) -> int:
    """Bytes of one replica of a partition; 0 for one that has no records."""
    log = cluster.state.logs.get((topic, partition))
    return 0 if log is None else log.size + log.older_bytes
