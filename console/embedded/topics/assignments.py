"""Replicas that a client names itself: for the partitions of a new topic, for more of them, for one that moves.

(ReplicationControlManager.validateManualPartitionAssignment; with ZooKeeper ZkAdminManager, AdminZkClient and
KafkaController, each with rules of its own.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kio.schema.errors import ErrorCode

from console.embedded.state.cluster_state import ClusterState
from console.embedded.topics.messages import topic_messages
from console.embedded.topics.refusal import Refusal

Replicas = tuple[int, ...]


def _bad(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_replica_assignment, message)


def scala(kind: str, brokers: Sequence[int]) -> str:
    """Brokers as a broker written in Scala prints them: ``ArrayBuffer(1, 2)``."""
    return f"{kind}({', '.join(map(str, brokers))})"


def replicas_refusal(replicas: Replicas, state: ClusterState, before: int | None = None) -> Refusal | None:
    """What KRaft's controller has against one partition's replicas. before: how many the partitions before it have."""
    said = topic_messages(state.release)
    if not replicas:
        return _bad(said.no_replicas)
    previous: int | None = None
    for broker in sorted(replicas):
        if broker not in state.brokers:
            return _bad(said.unknown_broker.format(broker=broker))
        if broker == previous:
            return _bad(said.broker_twice.format(broker=broker))
        previous = broker
    if before is not None and len(replicas) != before:
        return _bad(said.uneven.format(replicas=len(replicas), before=before))
    return None


def _fenced(partition: int, replicas: Replicas, state: ClusterState, alive: Collection[int]) -> Refusal | None:
    if any(broker in alive for broker in replicas):
        return None
    return _bad(topic_messages(state.release).all_fenced.format(partition=partition))


def new_topic_refusal(given: Sequence[tuple[int, Replicas]], state: ClusterState) -> Refusal | None:
    """Why a topic can't have these replicas, by partition number in the request's order; None where it can."""
    if not state.release.kraft:
        return _new_topic_with_zookeeper(given, state)
    said, alive = topic_messages(state.release), state.alive()
    before: int | None = None
    numbers: set[int] = set()
    for number, replicas in given:
        if number in numbers:
            return _bad(said.partition_twice.format(partition=number))
        numbers.add(number)
        refusal = replicas_refusal(replicas, state, before) or _fenced(number, replicas, state, alive)
        if refusal is not None:
            return refusal
        before = len(replicas)
    return None if numbers == set(range(len(numbers))) else _bad(said.not_consecutive)


def _new_topic_with_zookeeper(given: Sequence[tuple[int, Replicas]], state: ClusterState) -> Refusal | None:
    """Brokers that nobody knows are taken, as they are by AdminZkClient.validateTopicCreate."""
    parts = dict(given)
    sizes = {len(replicas) for replicas in parts.values()}
    if any(number < 0 for number in parts) and len(sizes) == 1:
        return Refusal(ErrorCode.unknown_server_error)
    if len(sizes) > 1:
        return _bad("All partitions should have the same number of replicas")
    if any(len(set(replicas)) != len(replicas) for replicas in parts.values()):
        shown = ", ".join(f"{number} -> {scala('ArrayBuffer', replicas)}" for number, replicas in parts.items())
        return _bad(f"Duplicate replica assignment found: HashMap({shown})")
    if set(parts) != set(range(len(parts))):
        return _bad(topic_messages(state.release).not_consecutive)
    empty = next((number for number, replicas in parts.items() if not replicas), None)
    return None if empty is None else _bad(f"Cannot have replication factor of 0 for partition id {empty}.")


def more_partitions_refusal(given: Sequence[Replicas], first: int, before: int, state: ClusterState) -> Refusal | None:
    """Why partitions from number `first` on can't have these replicas. before: how many the topic's others have."""
    if not state.release.kraft:
        return _more_with_zookeeper(given, first, before)
    alive = state.alive()
    for replicas in given:
        if (refusal := replicas_refusal(replicas, state, before)) is not None:
            return refusal
    return next(
        (
            refusal
            for number, replicas in enumerate(given, first)
            if (refusal := _fenced(number, replicas, state, alive)) is not None
        ),
        None,
    )


def unknown_brokers_refusal(given: Sequence[Replicas], state: ClusterState) -> Refusal | None:
    """What ZooKeeper's controller looks at before it counts the assignments (ZkAdminManager.createPartitions)."""
    unknown = sorted({broker for replicas in given for broker in replicas} - set(state.alive()))
    return _bad(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.") if unknown else None


def _more_with_zookeeper(given: Sequence[Replicas], first: int, before: int) -> Refusal | None:
    """(AdminZkClient.validateReplicaAssignment)"""
    uneven: list[tuple[int, int]] = []
    for number, replicas in enumerate(given, first):
        if not replicas:
            return _bad(f"Cannot have replication factor of 0 for partition id {number}.")
        if len(set(replicas)) != len(replicas):
            listed = ", ".join(map(str, replicas))
            return _bad(f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {number}.")
        if len(replicas) != before:
            uneven.append((number, len(replicas)))
    if not uneven:
        return None
    numbers, sizes = (", ".join(map(str, column)) for column in zip(*uneven, strict=True))
    return _bad(
        f"Inconsistent replication factor between partitions, partition 0 has {before} while partitions [{numbers}] "
        f"have replication factors [{sizes}], respectively."
    )


def move_refusal(replicas: Replicas, now: Replicas, state: ClusterState) -> Refusal | None:
    """Why a partition can't go to these replicas."""
    if state.release.kraft:
        return replicas_refusal(replicas, state)
    if not replicas:
        return _bad("Empty replica list specified in partition reassignment.")
    if len(set(replicas)) != len(replicas):
        listed = scala("ArrayBuffer", replicas)
        return _bad(f"Duplicate replica ids in partition reassignment replica list: {listed}")
    if any(broker < 0 for broker in replicas):
        return _bad(f"Invalid broker id in replica list: {scala('ArrayBuffer', replicas)}")
    alive = state.alive()
    fresh = [broker for broker in replicas if broker not in now]
    if any(broker not in alive for broker in fresh):
        return _bad(
            "Replica assignment has brokers that are not alive. Replica list: "
            f"{scala('ArrayBuffer', fresh)}, live broker list: {scala('Set', alive)}"
        )
    return None
