"""Replicas that the cluster chooses (StripedReplicaPlacer; with ZooKeeper AdminUtils.assignReplicasToBrokers)."""

from __future__ import annotations

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.state.placement import striped
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import Refusal

MOST_PARTITIONS = 100_000
"""Of one topic at once, where the release sets no limit itself: there real brokers are busy for minutes."""


def placed(state: ClusterState, partitions: int, replication: int, start: int) -> tuple[tuple[int, ...], ...] | Refusal:
    """The replicas of each new partition, begun at different brokers; with a broker that is alive first, to lead it.

    With KRaft brokers that are down get replicas too, but are never the first.
    """
    if partitions > MOST_PARTITIONS:
        message = f"{partitions} partitions are more than this cluster makes at once, which is {MOST_PARTITIONS}."
        return Refusal(ErrorCode.invalid_partitions, message)
    alive = state.alive()
    brokers = tuple(sorted(state.brokers)) if state.release.kraft else alive
    if replication > len(brokers) or not alive:
        message = topic_messages(state.release).too_few_brokers.format(wanted=replication, brokers=len(brokers))
        return Refusal(ErrorCode.invalid_replication_factor, message)
    places = striped(brokers, partitions, replication, start)
    if len(alive) == len(brokers):
        return places
    return tuple(_led(replicas, alive[(start + number) % len(alive)], alive) for number, replicas in enumerate(places))


def _led(replicas: tuple[int, ...], leader: int, alive: tuple[int, ...]) -> tuple[int, ...]:
    """The same replicas with one that is alive in front, or this leader in the place of the last where none is."""
    first = next((replica for replica in replicas if replica in alive), None)
    if first is None:
        return (leader, *replicas[:-1])
    return (first, *(replica for replica in replicas if replica != first))
