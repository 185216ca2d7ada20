"""Partitions at their leader: the check that a broker may serve one, retention, and sizes on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.embedded.config_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.partition_log import PartitionLog
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER, Partition, Topic

_TELLS_LEADER = frozenset({ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch})
_NO_EPOCH = -1


class LedPartition(NamedTuple):
    """A partition of which this broker is the leader."""

    topic: Topic
    place: int
    partition: Partition
    log: PartitionLog
    """The log in the state; a new one, which is not in the state yet, if the partition has none."""


class NotServed(NamedTuple):
    """The error with which this broker refuses a request for a partition."""

    code: int
    leader: int = NO_LEADER
    """The broker id of the present leader, if this broker is not the leader; NO_LEADER otherwise."""
    epoch: int = _NO_EPOCH
    """The leader epoch of the present leader; -1 if unknown."""


class AskedTopic(NamedTuple):
    """A topic in a request, which names it by its name or its id. `topic` is None if the topic does not exist; `name`
    is None if its id is unknown.
    """

    name: str | None
    id: UUID | None
    topic: Topic | None
    code: int = 0
    """The error code if the topic does not exist; 0 otherwise."""


def asked_topic(context: RequestContext, item: Any) -> AskedTopic:
    """Look up the topic of an item in a request, which has the topic's name or, in newer versions, its id."""
    view = context.view
    name: str | None = getattr(item, "name", None) or getattr(item, "topic", None)
    if hasattr(item, "topic_id"):
        topic_id: UUID | None = item.topic_id
        name = context.state.topics.name_of(topic_id) if topic_id is not None else None
        topic = view.topics.get(name) if name is not None else None
        return AskedTopic(name, topic_id, topic, 0 if topic else ErrorCode.unknown_topic_id)
    topic = view.topics.get(name or "")
    return AskedTopic(name, None, topic, 0 if topic else ErrorCode.unknown_topic_or_partition)


def led_partition(
    context: RequestContext, named: AskedTopic, index: int, current_epoch: int = _NO_EPOCH
) -> LedPartition | NotServed:
    """Return a partition of which this broker is the leader, or the error with which the broker refuses the request
    (ReplicaManager.getPartitionOrError).

    Args:
        index: the partition number.
        current_epoch: the leader epoch that the client knows (KIP-320); -1 if it knows none.
    """
    topic = named.topic
    if topic is None:
        return NotServed(named.code)
    if not 0 <= index < len(topic.partitions):
        return NotServed(ErrorCode.unknown_topic_or_partition)
    partition = topic.partitions[index]
    # Followers do not serve reads here. The response names the leader (KIP-951), so that newer clients need no Metadata
    # request.
    if partition.leader != context.broker_id:
        return NotServed(ErrorCode.not_leader_or_follower, partition.leader, partition.leader_epoch)
    if current_epoch not in (_NO_EPOCH, partition.leader_epoch):
        code = (
            ErrorCode.fenced_leader_epoch if current_epoch < partition.leader_epoch else ErrorCode.unknown_leader_epoch
        )
        return NotServed(code, partition.leader, partition.leader_epoch)
    log = context.state.logs.get((topic.name, index)) or PartitionLog()
    return LedPartition(topic, index, partition, log)


def current_leader_field(context: RequestContext, refusal: NotServed) -> dict[str, Any]:
    """Return the name of the field `current_leader` -> its value in an error response (KIP-951); empty if the
    version lacks it, or the error names no leader.
    """
    if refusal.leader == NO_LEADER or refusal.code not in _TELLS_LEADER or not hasattr(context.schema, "NodeEndpoint"):
        return {}
    return {"current_leader": {"leader_id": refusal.leader, "leader_epoch": refusal.epoch}}


def node_endpoints_field(context: RequestContext, leaders: Iterable[int]) -> dict[str, Any]:
    """Return the name of the field `node_endpoints` -> its value, the addresses of these leaders (KIP-951); empty if
    the version lacks it.
    """
    if not hasattr(context.schema, "NodeEndpoint"):
        return {}
    brokers = context.view.brokers
    return {
        "node_endpoints": tuple(
            {"node_id": broker.id, "host": broker.host, "port": broker.port, "rack": broker.rack}
            for leader in sorted(set(leaders))
            if (broker := brokers.get(leader)) is not None
        )
    }


MAX_TOTAL_BYTES = 64 * 2**20
"""Maximum size in bytes of all partitions' records in memory."""
ROOM_STEP = 2**20
"""Number of bytes by which a log grows from one call of `make_room` to the next."""
_LEFT = 0.9
"""The share, from 0 to 1, of MAX_TOTAL_BYTES to which `make_room` reduces the memory. It is below 1, so that
`make_room` does not have to drop batches again at its next call.
"""
_INTERVAL, _DEFAULT_INTERVAL = "log.retention.check.interval.ms", "300000"


def apply_retention(context: RequestContext, held: LedPartition) -> None:
    """Drop the batches that exceed the topic's retention.ms or retention.bytes (LogManager.cleanupLogs). Whole batches
    are dropped, as Kafka drops whole segments.

    Do nothing if log.retention.check.interval.ms has not passed since the last call that applied it, or if the topic's
    cleanup.policy has no ``delete``.
    """
    cluster, name = context.cluster, held.topic.name
    now = context.clock.time()
    # The first interval begins with the first use of the log, as a broker's checks begin when the broker starts.
    if held.log.cleaned_at is None:
        held.log.cleaned_at = now
    if now - held.log.cleaned_at < int(cluster.spec.static_configs.get(_INTERVAL, _DEFAULT_INTERVAL)) / 1000:
        return
    held.log.cleaned_at = now
    if "delete" not in topic_config(cluster, context.broker_id, name, "cleanup.policy"):
        return
    age = int(topic_config(cluster, context.broker_id, name, "retention.ms"))
    if age >= 0:
        held.log.expire(int(now * 1000) - age)
    size = int(topic_config(cluster, context.broker_id, name, "retention.bytes"))
    if size >= 0:
        held.log.trim(size)


def make_room(state: ClusterState) -> None:
    """Halve the logs in memory, the largest first, until all logs together have at most nine tenths of
    `MAX_TOTAL_BYTES`. Do nothing if they have at most `MAX_TOTAL_BYTES` (64 MiB).
    """
    total = sum(log.size for log in state.logs.values())
    if total <= MAX_TOTAL_BYTES:
        return
    for log in sorted(state.logs.values(), key=lambda each: each.size, reverse=True):
        was = log.size
        log.evict(was // 2)
        total -= was - log.size
        if total <= MAX_TOTAL_BYTES * _LEFT:
            return


def partition_size(state: ClusterState, topic: str, partition: int) -> int:
    """Return the bytes of one replica of a partition that were written in this cluster; 0 if there are none."""
    log = state.logs.get((topic, partition))
    return 0 if log is None else log.size + log.older_bytes


_RANDOM = 4
"""The UUID version of topic ids that are random, as those of topics that clients create; ids of scenarios' topics have
another.
"""
_SMALLEST_BITS, _STEPS = 18, 10
_MIX = 0x9E3779B97F4A7C15
_MEAN = sum(1 << bits for bits in range(_SMALLEST_BITS, _SMALLEST_BITS + _STEPS)) * 3 // 2 // _STEPS
_DISK, _LARGE_DISK = 2 * 2**40, 32 * 2**40
_MANY_TOPICS = 10_000
_PARTITIONS_EACH = 3


def scenario_bytes(topic: Topic, partition: int) -> int:
    """Return the size in bytes that a partition of a scenario's topic has from the beginning: 256 KiB to 256 MiB,
    computed from the topic's id. Return 0 for a topic that a client created.
    """
    if topic.id.version == _RANDOM:
        return 0
    mixed = (topic.id.int * 31 + partition + 1) * _MIX & 0xFFFFFFFFFFFFFFFF
    smallest = 1 << _SMALLEST_BITS + (mixed >> 32) % _STEPS
    return smallest + (mixed >> 40) % smallest


def replica_bytes(state: ClusterState, topic: Topic, partition: int) -> int:
    """Return the size in bytes of one replica of a partition for DescribeLogDirs.

    These are the bytes of the log, and `scenario_bytes` in addition, unless the log has a start above 0 or
    `older_bytes`.
    """
    log = state.logs.get((topic.name, partition))
    if log is None:
        return scenario_bytes(topic, partition)
    size = partition_size(state, topic.name, partition)
    return size if log.older_bytes or log.start else size + scenario_bytes(topic, partition)


def disk_bytes(state: ClusterState) -> tuple[int, int]:
    """Return the total and the usable bytes of a log directory's volume, estimated from the number of topics."""
    topics = len(state.topics)
    total = _LARGE_DISK if topics > _MANY_TOPICS else _DISK
    return total, total - min(topics * _PARTITIONS_EACH * _MEAN, total * 9 // 10)
