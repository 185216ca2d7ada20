"""How large replicas are, and the disks that they are on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.embedded.records.log_sizes import partition_size
from console.embedded.state.values import Topic

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_RANDOM = 4
"""The version of the ids that topics get when clients make them."""
_SMALLEST_BITS, _STEPS = 18, 10
_MIX = 0x9E3779B97F4A7C15
_MEAN = sum(1 << bits for bits in range(_SMALLEST_BITS, _SMALLEST_BITS + _STEPS)) * 3 // 2 // _STEPS
_DISK, _LARGE_DISK = 2 * 2**40, 32 * 2**40
_MANY_TOPICS = 10_000
_PARTITIONS_EACH = 3


def scenario_bytes(topic: Topic, partition: int) -> int:
    """Bytes that a partition of a scenario's topic has had from the start, 256 KiB to 256 MiB: a function of its id.

    Nothing for topics that clients made; what is in theirs was sent.
    """
    if topic.id.version == _RANDOM:
        return 0
    mixed = (topic.id.int * 31 + partition + 1) * _MIX & 0xFFFFFFFFFFFFFFFF
    smallest = 1 << _SMALLEST_BITS + (mixed >> 32) % _STEPS
    return smallest + (mixed >> 40) % smallest


def replica_bytes(cluster: EmbeddedCluster, topic: Topic, partition: int) -> int:
    """What DescribeLogDirs tells of one replica of a partition, in bytes.

    A log that has older records, or has lost some, says itself how large it is.
    """
    log = cluster.state.logs.get((topic.name, partition))
    if log is None:
        return scenario_bytes(topic, partition)
    told = partition_size(cluster, topic.name, partition)
    return told if log.older_bytes or log.start else told + scenario_bytes(topic, partition)


def disk_bytes(cluster: EmbeddedCluster) -> tuple[int, int]:
    """The size of a log directory's volume, and what is left of it; an estimate, without a look at each topic."""
    topics = len(cluster.state.topics)
    total = _LARGE_DISK if topics > _MANY_TOPICS else _DISK
    return total, total - min(topics * _PARTITIONS_EACH * _MEAN, total * 9 // 10)
