"""What becomes of partitions when a broker goes and comes back (ReplicationControlManager, PartitionChangeBuilder)."""

from __future__ import annotations

from dataclasses import replace

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.reassignment import completed
from console.embedded.state.values import NO_LEADER, BrokerNode, Partition, Topic


def broker_lost(state: ClusterState, broker_id: int) -> int:
    """Fence a broker: it leaves the ISRs, other replicas lead its partitions, and another broker is the controller if
    it was. Returns the log's end."""
    broker = state.brokers[broker_id]
    state.put_broker(replace(broker, alive=False))
    alive = frozenset(state.alive())
    for topic in _touched(state, broker_id):
        state.put_topic(replace(topic, partitions=tuple(without(p, broker_id, alive) for p in topic.partitions)))
    if state.controller_id == broker_id:
        state.move_controller(min(alive, default=NO_LEADER))
    return state.log.end


def broker_back(state: ClusterState, broker_id: int) -> int:
    """Unfence a broker: its replicas are in sync at once, and partitions without a leader get theirs. Returns the
    log's end."""
    broker: BrokerNode = state.brokers[broker_id]
    state.put_broker(replace(broker, alive=True, epoch=state.log.end + 1))
    alive = frozenset(state.alive())
    for topic in _touched(state, broker_id):
        partitions = tuple(completed(with_(p, broker_id), alive) for p in topic.partitions)
        state.put_topic(replace(topic, partitions=partitions))
    if state.controller_id == NO_LEADER:
        state.move_controller(broker_id)
    return state.log.end


def _touched(state: ClusterState, broker_id: int) -> list[Topic]:
    """The topics with a replica there. Those that a source makes go by the brokers' liveness themselves."""
    return [
        topic for topic in state.tables.topics.own.values() if any(broker_id in p.replicas for p in topic.partitions)
    ]


def without(partition: Partition, broker_id: int, alive: frozenset[int]) -> Partition:
    """The partition after a replica was lost. The last of the ISR stays in it, without leading."""
    if broker_id not in partition.isr and partition.leader != broker_id:
        return partition
    isr = tuple(replica for replica in partition.isr if replica != broker_id) or partition.isr
    leader = partition.leader
    if leader == broker_id:
        leader = next((replica for replica in partition.replicas if replica in isr and replica in alive), NO_LEADER)
    return partition._replace(
        isr=isr,
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )


def with_(partition: Partition, broker_id: int) -> Partition:
    """The partition after a replica caught up again. It leads where nobody did and it was in sync."""
    if broker_id not in partition.replicas:
        return partition
    leads = partition.leader == NO_LEADER and broker_id in partition.isr
    if not leads and (broker_id in partition.isr or partition.leader == NO_LEADER):
        return partition
    isr = tuple(replica for replica in partition.replicas if replica in partition.isr or replica == broker_id)
    return partition._replace(
        isr=isr,
        leader=broker_id if leads else partition.leader,
        leader_epoch=partition.leader_epoch + leads,
        partition_epoch=partition.partition_epoch + 1,
    )
