"""Which partitions a broker leads, and why it refuses others (ReplicaManager.getPartitionOrError, KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.records.log import PartitionLog
from console.embedded.state.values import NO_LEADER, Partition, Topic
from console.wire.schemas import for_version

_TELLS_LEADER = frozenset({ErrorCode.not_leader_or_follower, ErrorCode.fenced_leader_epoch})
_NO_EPOCH = -1


class Held(NamedTuple):
    """A partition that this broker leads. log: the state's, or a new one that is to be kept once something is in it."""

    topic: Topic
    place: int
    partition: Partition
    log: PartitionLog


class Refusal(NamedTuple):
    """Why a partition is not served here. leader, epoch: who leads it instead, where that is the reason."""

    code: int
    leader: int = NO_LEADER
    epoch: int = _NO_EPOCH


class Asked(NamedTuple):
    """A topic as a request names it. code: why there is no topic."""

    name: str | None
    id: UUID | None
    topic: Topic | None
    code: int = 0


def asked(context: RequestContext, item: Any) -> Asked:
    """The topic of a request's item, which names it or, in newer versions, has its id."""
    view = context.view
    name: str | None = getattr(item, "name", None) or getattr(item, "topic", None)
    if hasattr(item, "topic_id"):
        topic_id: UUID | None = item.topic_id
        name = context.state.topic_name(topic_id) if topic_id is not None else None
        topic = view.topics.get(name) if name is not None else None
        return Asked(name, topic_id, topic, 0 if topic else ErrorCode.unknown_topic_id)
    topic = view.topics.get(name or "")
    return Asked(name, None, topic, 0 if topic else ErrorCode.unknown_topic_or_partition)


def held(context: RequestContext, named: Asked, index: int, current_epoch: int = _NO_EPOCH) -> Held | Refusal:
    """The partition, or why not. current_epoch: the leader epoch that the client knows, -1 for any (KIP-320)."""
    topic = named.topic
    if topic is None:
        return Refusal(named.code)
    if not 0 <= index < len(topic.partitions):
        return Refusal(ErrorCode.unknown_topic_or_partition)
    partition = topic.partitions[index]
    if partition.leader != context.broker_id:
        return Refusal(ErrorCode.not_leader_or_follower, partition.leader, partition.leader_epoch)
    if current_epoch not in (_NO_EPOCH, partition.leader_epoch):
        code = (
            ErrorCode.fenced_leader_epoch if current_epoch < partition.leader_epoch else ErrorCode.unknown_leader_epoch
        )
        return Refusal(code, partition.leader, partition.leader_epoch)
    log = context.state.logs.get((topic.name, index)) or PartitionLog()
    return Held(topic, index, partition, log)


def told_leader(schema: Any, refusal: Refusal) -> dict[str, Any]:
    """`current_leader` of a refused partition's answer, in the versions that say where leaders are (KIP-951)."""
    if refusal.leader == NO_LEADER or refusal.code not in _TELLS_LEADER or not hasattr(schema, "NodeEndpoint"):
        return {}
    return {"current_leader": schema.LeaderIdAndEpoch(leader_id=refusal.leader, leader_epoch=refusal.epoch)}


def told_endpoints(context: RequestContext, leaders: Iterable[int]) -> dict[str, Any]:
    """`node_endpoints`: where these leaders are, in versions that have it."""
    schema = context.schema
    if not hasattr(schema, "NodeEndpoint"):
        return {}
    brokers = context.view.brokers
    return {
        "node_endpoints": tuple(
            for_version(schema.NodeEndpoint, node_id=broker.id, host=broker.host, port=broker.port, rack=broker.rack)
            for leader in sorted(set(leaders))
            if (broker := brokers.get(leader)) is not None
        )
    }
