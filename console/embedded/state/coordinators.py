"""Which broker coordinates a group or a transaction, by the leaders of the internal topics (GroupCoordinator)."""

from __future__ import annotations

from collections.abc import Mapping

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.java_hash import java_hash
from console.embedded.state.placement import new_topic, striped
from console.embedded.state.values import NO_LEADER, Topic
from console.model.config import topic_resource

GROUP_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({GROUP_TOPIC, TRANSACTION_TOPIC})
PARTITIONS = 50
_REPLICATION = 3
_MIN_INT = -(2**31)


def partition_of(name: str, partitions: int = PARTITIONS) -> int:
    """The partition of the internal topic that a group or a transactional id belongs to (Utils.abs of its hash)."""
    value = java_hash(name)
    return 0 if value == _MIN_INT else abs(value) % partitions


def coordinator_of(topics: Mapping[str, Topic], name: str, topic: str = GROUP_TOPIC) -> int:
    """The broker that coordinates a group; NO_LEADER where there is none now."""
    found = topics.get(topic)
    if found is None or not found.partitions:
        return NO_LEADER
    return found.partitions[partition_of(name, len(found.partitions))].leader


def ensure_topic(state: ClusterState, topic: str = GROUP_TOPIC) -> None:
    """Make the internal topic where it is missing, as the first use of a coordinator does."""
    alive = state.alive()
    if topic in state.topics or not alive:
        return
    assignments = striped(alive, PARTITIONS, min(_REPLICATION, len(alive)))
    state.put_topic(new_topic(topic, assignments, alive, internal=True))
    state.alter_config(
        topic_resource(topic),
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
    )
