"""Which records go: by the topic's retention, and what fits into memory (LogManager.cleanupLogs)."""

from __future__ import annotations

from console.embedded.configs.topic_rules import topic_config
from console.embedded.context import RequestContext
from console.embedded.records.partitions import Held
from console.embedded.state.cluster_state import ClusterState

MAX_TOTAL_BYTES = 64 * 2**20
"""What all partitions hold in memory together."""
ROOM_STEP = 2**20
"""How much a log grows between looks at that."""
_LEFT = 0.9
_INTERVAL, _DEFAULT_INTERVAL = "log.retention.check.interval.ms", "300000"


def apply_retention(context: RequestContext, held: Held) -> None:
    """Drop the partition's batches that are too old or too many for its topic, now and then. Whole batches, where
    Kafka has whole segments; a topic that is only compacted keeps all that fits."""
    cluster, name = context.cluster, held.topic.name
    now = context.clock.time()
    if held.log.looked_after is None:
        held.log.looked_after = now
    if now - held.log.looked_after < int(cluster.spec.static_configs.get(_INTERVAL, _DEFAULT_INTERVAL)) / 1000:
        return
    held.log.looked_after = now
    if "delete" not in topic_config(cluster, context.broker_id, name, "cleanup.policy"):
        return
    age = int(topic_config(cluster, context.broker_id, name, "retention.ms"))
    if age >= 0:
        held.log.expire(int(now * 1000) - age)
    size = int(topic_config(cluster, context.broker_id, name, "retention.bytes"))
    if size >= 0:
        held.log.trim(size)


def make_room(state: ClusterState) -> None:
    """Where all logs together are too large, halve the largest until they are not."""
    total = sum(log.size for log in state.logs.values())
    if total <= MAX_TOTAL_BYTES:
        return
    for log in sorted(state.logs.values(), key=lambda each: each.size, reverse=True):
        was = log.size
        log.evict(was // 2)
        total -= was - log.size
        if total <= MAX_TOTAL_BYTES * _LEFT:
            return
