"""ElectLeaders (43), v0-2: elects preferred leaders, or unclean ones (KIP-183, KIP-460;
ReplicationControlManager).

Needs ALTER on the cluster.

Version notes:
- v1: the election type, preferred before (KIP-460).
- v2: flexible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.refusals import DONE, EXPIRED, Refusal, cluster_refused
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER, Partition

Results = Iterable[tuple[str, Iterable[tuple[int, Refusal]]]]


async def handle(request: Any, context: RequestContext) -> Any:
    """Elect leaders, and return a result for each partition.

    Null partitions are all that need an election; the other topics are named too, without partitions.
    """
    kind = getattr(request, "election_type", PREFERRED)
    top = DONE
    if not context.allowed("ALTER"):
        top = cluster_refused(context, "ALTER")
    elif request.timeout.total_seconds() <= 0:
        top = EXPIRED
    elif kind not in (PREFERRED, UNCLEAN):
        top = Refusal(ErrorCode.invalid_request, f"Unknown election type {kind}")
    asked = request.topic_partitions
    results: Results = ()
    if top.code:
        results = [(topic.topic, [(index, top) for index in topic.partitions]) for topic in asked or ()]
    elif asked is None:
        results = elect_all(context.state, kind)
    else:
        results = [
            (topic.topic, [(index, elect(context.state, kind, topic.topic, index)) for index in topic.partitions])
            for topic in asked
        ]
    return _answer(context, top.code, results)


def _answer(context: RequestContext, code: int, results: Results) -> Any:
    schema = context.schema
    return context.answer(
        error_code=code,
        replica_election_results=tuple(
            schema.ReplicaElectionResult(
                topic=name,
                partition_result=tuple(
                    schema.PartitionResult(partition_id=index, error_code=refusal.code, error_message=refusal.message)
                    for index, refusal in parts
                ),
            )
            for name, parts in results
        ),
    )


PREFERRED, UNCLEAN = 0, 1


def elect(state: ClusterState, kind: int, name: str, index: int) -> Refusal:
    """Elect a leader for a partition, and return DONE or the error (ReplicationControlManager.electLeader)."""
    topic = state.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"No such topic as {name}")
    if not 0 <= index < len(topic.partitions):
        return Refusal(ErrorCode.unknown_topic_or_partition, f"No such partition as {name}-{index}")
    partition = topic.partitions[index]
    if not _needs(partition, kind):
        return Refusal(ErrorCode.election_not_needed, "Leader election not needed for topic partition.")
    led = _led(partition, kind, frozenset(state.alive()))
    if led is None:
        if kind == PREFERRED:
            return Refusal(ErrorCode.preferred_leader_not_available, "The preferred leader was not available.")
        return Refusal(ErrorCode.eligible_leaders_not_available, "Eligible topic partition leaders are not available.")
    partitions = (*topic.partitions[:index], led, *topic.partitions[index + 1 :])
    state.put_topic(replace(topic, partitions=partitions))
    if led.leader not in partition.isr and (log := state.logs.get((name, index))) is not None:
        # An unclean election: what the new leader had not copied is lost, and the others cut their logs back to its
        # end.
        log.truncate(log.end_of(led.leader))
        log.behind.pop(led.leader, None)
    return DONE


def elect_all(state: ClusterState, kind: int) -> Iterator[tuple[str, list[tuple[int, Refusal]]]]:
    """Yield each topic with the results for its partitions that need an election."""
    for topic in list(state.topics.values()):
        needy = [index for index, partition in enumerate(topic.partitions) if _needs(partition, kind)]
        yield topic.name, [(index, elect(state, kind, topic.name, index)) for index in needy]


def _needs(partition: Partition, kind: int) -> bool:
    return partition.leader != partition.replicas[0] if kind == PREFERRED else partition.leader == NO_LEADER


def _led(partition: Partition, kind: int, alive: frozenset[int]) -> Partition | None:
    """Return the partition with the elected leader, None without a candidate."""
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
