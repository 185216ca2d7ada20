"""The replicas of partitions: their placement, by the controller or a client; the effects of brokers that go down and
come back; reassignments (KIP-455).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

from kio.schema.errors import ErrorCode

from console.embedded.config_rules import topic_config
from console.embedded.context import Cluster
from console.embedded.partitions import replica_bytes
from console.embedded.refusals import DONE, Refusal
from console.embedded.state import ClusterState, answering
from console.embedded.tables import NO_LEADER, BrokerNode, Partition, Topic
from console.model.config import broker_resource, topic_resource

_ADDED_ONES_ARE_ENOUGH = (4, 3)


def striped(brokers: Sequence[int], partitions: int, replication: int, start: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return the broker ids of each partition's replicas; each partition begins one broker later than the previous one.

    This is the order of StripedReplicaPlacer without racks. Raises ValueError if `replication` is 0 or larger than the
    number of brokers.
    """
    if not 0 < replication <= len(brokers):
        raise ValueError(f"{replication} replicas don't fit on {len(brokers)} brokers")
    return tuple(
        tuple(brokers[(start + partition + replica) % len(brokers)] for replica in range(replication))
        for partition in range(partitions)
    )


def new_partition(replicas: Sequence[int], alive: Sequence[int]) -> Partition:
    """Return a new partition. Its replicas on live brokers are in sync, and the first of these is the leader."""
    isr = tuple(replica for replica in replicas if replica in alive)
    return Partition(tuple(replicas), isr or tuple(replicas), isr[0] if isr else NO_LEADER)


def new_topic(
    name: str,
    assignments: Sequence[Sequence[int]],
    alive: Sequence[int],
    *,
    internal: bool = False,
    topic_id: UUID | None = None,
) -> Topic:
    """Return a new topic.

    Args:
        assignments: the broker ids of the replicas of each partition.
        alive: the ids of the live brokers.
        topic_id: the id of the topic; None for a random one.
    """
    partitions = tuple(new_partition(replicas, alive) for replicas in assignments)
    return Topic(name, topic_id or uuid4(), partitions, internal)


def is_moving(partition: Partition) -> bool:
    """Return whether a reassignment of the partition is in progress."""
    return bool(partition.adding or partition.removing)


def waits_for_all(state: ClusterState) -> bool:
    """Return whether a reassignment that adds replicas also waits until the replicas that stay are in sync, as before
    Kafka 4.3.
    """
    return state.release.number < _ADDED_ONES_ARE_ENOUGH


def reassigned(
    partition: Partition, target: tuple[int, ...], alive: Collection[int], *, waits: bool = False
) -> Partition:
    """Return the partition with a reassignment to these replicas in progress; with the reassignment complete, if
    nothing has to be copied.

    As in Kafka, the adding and removing replicas of a present reassignment stay, unless the new one adds or removes
    some.

    Args:
        target: the broker ids of the new replicas, the preferred leader first.
        waits: whether the reassignment also waits for the replicas that stay (see `waits_for_all`).
    """
    gone = tuple(sorted(set(partition.replicas) - set(target)))
    fresh = tuple(sorted(set(target) - set(partition.replicas)))
    moving = partition._replace(
        # Keep the target's order, as its first replica is the preferred leader; replicas to remove stay until the
        # copies are complete.
        replicas=(*target, *gone),
        adding=fresh or partition.adding,
        removing=gone or partition.removing,
    )
    if moving == partition:
        return partition
    return completed(moving._replace(partition_epoch=partition.partition_epoch + 1), alive, waits=waits)


def cancelled(partition: Partition, alive: Collection[int]) -> Partition:
    """Return the partition as it was before the reassignment in progress (PartitionReassignmentRevert)."""
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding) or replicas[:1]
    back = partition._replace(replicas=replicas, isr=isr, adding=(), removing=())
    return _with_leader(back._replace(partition_epoch=partition.partition_epoch + 1), alive)


def caught_up(partition: Partition, replica: int, alive: Collection[int], *, waits: bool = False) -> Partition:
    """Return the partition after a replica has copied all records and is in sync; unchanged if it was in sync already,
    or is no replica of the partition. The last of the added replicas completes the reassignment. waits: see
    `waits_for_all`.
    """
    if replica not in partition.replicas or replica in partition.isr:
        return partition
    isr = tuple(each for each in partition.replicas if each in partition.isr or each == replica)
    return completed(partition._replace(isr=isr, partition_epoch=partition.partition_epoch + 1), alive, waits=waits)


def completed(partition: Partition, alive: Collection[int], *, waits: bool = False) -> Partition:
    """Return the partition with its reassignment complete, that is without the removed replicas, if all added replicas
    are in sync; otherwise unchanged. waits: see `waits_for_all`.
    """
    if not is_moving(partition):
        return partition
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.removing)
    isr = tuple(replica for replica in partition.isr if replica not in partition.removing)
    needed = replicas if waits and partition.adding else partition.adding
    if not replicas or not isr or not set(needed) <= set(isr):
        return partition
    done = _with_leader(partition._replace(replicas=replicas, isr=isr, adding=(), removing=()), alive)
    # KRaft raises the leader epoch whenever replicas are removed, so that a removed replica can't fetch with the old
    # epoch (PartitionChangeBuilder).
    if done.leader_epoch == partition.leader_epoch and partition.removing:
        return done._replace(leader_epoch=partition.leader_epoch + 1)
    return done


def _with_leader(partition: Partition, alive: Collection[int]) -> Partition:
    """Return the partition with a leader from its ISR: the present leader if it is in the ISR, otherwise the first
    replica in the ISR whose broker is live; NO_LEADER if there is no such replica.
    """
    if partition.leader in partition.isr:
        return partition
    leader = next(
        (replica for replica in partition.replicas if replica in partition.isr and replica in alive), NO_LEADER
    )
    return partition._replace(leader=leader, leader_epoch=partition.leader_epoch + 1)


def hand_over(state: ClusterState, broker_id: int) -> int:
    """Begin the controlled shutdown of a broker, which still answers, and return the end of the change log
    (ReplicationControlManager.handleBrokerInControlledShutdown).

    The broker's replicas leave the ISRs, and other replicas become leaders. A partition without another in-sync replica
    has no leader.
    """
    others = frozenset(state.alive()) - {broker_id}
    for topic in _touched(state, broker_id):
        partitions = tuple(left_isr(p, broker_id, others) for p in topic.partitions)
        if partitions == topic.partitions:
            continue
        state.put_topic(replace(topic, partitions=partitions))
        for index, partition in enumerate(partitions):
            if broker_id not in partition.isr:
                _copy_ends(state, topic.name, index, broker_id)
    return state.log.end


def process_ended(state: ClusterState, broker_id: int) -> None:
    """Record that a broker neither answers nor sends heartbeats. Until the controller fences it at the end of its
    session, its replicas stay in the ISRs, and it stays the leader of its partitions. If it was the controller,
    another broker becomes the controller, as an election of the quorum takes only a second or two.
    """
    state.stopped_at[broker_id] = state.clock.time()
    for topic in _touched(state, broker_id):
        for index, partition in enumerate(topic.partitions):
            if broker_id in partition.replicas:
                _copy_ends(state, topic.name, index, broker_id)
    # Without separate controllers, the brokers are the voters: the lowest live id stands for the result of an election.
    if state.controller_id == broker_id:
        state.move_controller(min(answering(state), default=NO_LEADER))


def process_resumed(state: ClusterState, broker_id: int) -> None:
    """Record that a broker answers again without having been fenced; it fetches the records that it lacks."""
    state.stopped_at.pop(broker_id, None)
    for topic in _touched(state, broker_id):
        for index, partition in enumerate(topic.partitions):
            if (log := state.logs.get((topic.name, index))) is not None and broker_id in partition.isr:
                log.behind.pop(broker_id, None)


def _copy_ends(state: ClusterState, topic: str, partition: int, broker_id: int) -> None:
    """Record that a broker's replica of a partition gets no further records, so that its log ends where the leader's
    log ends now. If an unclean election makes the replica the leader, the records after that offset are lost
    (`elect_leaders`).
    """
    if (log := state.logs.get((topic, partition))) is not None:
        log.behind.setdefault(broker_id, log.end)


def broker_lost(state: ClusterState, broker_id: int) -> int:
    """Fence a broker, and return the end of the change log (ReplicationControlManager.handleBrokerFenced).

    The broker's replicas leave the ISRs, and other replicas become the leaders of partitions that the broker still
    leads.
    """
    state.put_broker(replace(state.brokers[broker_id], alive=False))
    if broker_id not in state.stopped_at:
        process_ended(state, broker_id)
    return hand_over(state, broker_id)


def broker_back(state: ClusterState, broker_id: int) -> int:
    """Unfence a broker, and return the end of the change log.

    Its replicas join the ISRs at once. In a partition without a leader, the broker's replica becomes the leader if it
    is still in the ISR; otherwise it does not join the ISR.
    """
    broker: BrokerNode = state.brokers[broker_id]
    state.put_broker(replace(broker, alive=True, epoch=state.log.end + 1))
    state.stopped_at.pop(broker_id, None)
    alive = frozenset(state.alive())
    for topic in _touched(state, broker_id):
        waits = waits_for_all(state)
        partitions = tuple(completed(joined_isr(p, broker_id), alive, waits=waits) for p in topic.partitions)
        state.put_topic(replace(topic, partitions=partitions))
        for index, partition in enumerate(partitions):
            if (log := state.logs.get((topic.name, index))) is not None and broker_id in partition.isr:
                log.behind.pop(broker_id, None)
    if state.controller_id == NO_LEADER and not state.controllers:
        state.move_controller(broker_id)
    return state.log.end


def _touched(state: ClusterState, broker_id: int) -> list[Topic]:
    """Return the stored topics that have a replica on this broker. Computed topics (those of a source) depend on the
    live brokers anyway.
    """
    return [
        topic for topic in state.tables.topics.own.values() if any(broker_id in p.replicas for p in topic.partitions)
    ]


def left_isr(partition: Partition, broker_id: int, alive: frozenset[int]) -> Partition:
    """Return the partition after this broker's replica was lost. If that was the last in-sync replica, it stays in
    the ISR, but the partition has no leader.
    """
    if broker_id not in partition.isr and partition.leader != broker_id:
        return partition
    # An ISR is never empty: its last replica stays, as only that one is known to have all committed records.
    isr = tuple(replica for replica in partition.isr if replica != broker_id) or partition.isr
    leader = partition.leader
    if leader == broker_id:
        leader = next((replica for replica in partition.replicas if replica in isr and replica in alive), NO_LEADER)
    if (isr, leader) == (partition.isr, partition.leader):
        return partition
    return partition._replace(
        isr=isr,
        leader=leader,
        leader_epoch=partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )


def joined_isr(partition: Partition, broker_id: int) -> Partition:
    """Return the partition after this broker's replica has caught up: it joins the ISR. But if the partition has no
    leader, the replica becomes the leader if it is in the ISR, and otherwise stays out of the ISR.
    """
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


Replicas = tuple[int, ...]


def _bad(message: str) -> Refusal:
    return Refusal(ErrorCode.invalid_replica_assignment, message)


def replicas_refusal(replicas: Replicas, state: ClusterState, before: int | None = None) -> Refusal | None:
    """Return the reason why the controller refuses these replicas of a partition; None if it accepts them
    (ReplicationControlManager.validateManualPartitionAssignment).

    Args:
        before: the number of replicas that the topic's earlier partitions have; None for the first partition.
    """
    if not replicas:
        return _bad("The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    # Like Kafka, sort by id to find duplicates, which decides which error comes first.
    for broker in sorted(replicas):
        if broker not in state.brokers:
            return _bad(f"The manual partition assignment includes broker {broker}, but no such broker is registered.")
        if broker == previous:
            return _bad(f"The manual partition assignment includes the broker {broker} more than once.")
        previous = broker
    if before is not None and len(replicas) != before:
        return _bad(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {before} replica(s)."
        )
    return None


def _fenced(partition: int, replicas: Replicas, alive: Collection[int]) -> Refusal | None:
    if any(broker in alive for broker in replicas):
        return None
    return _bad(
        f"All brokers specified in the manual partition assignment for partition {partition} are fenced or in "
        "controlled shutdown."
    )


def new_topic_refusal(given: Sequence[tuple[int, Replicas]], state: ClusterState) -> Refusal | None:
    """Return the reason why a new topic can't have these replicas; None if it can. given: partition number and broker
    ids, in the order of the request.
    """
    alive = state.alive()
    before: int | None = None
    numbers: set[int] = set()
    for number, replicas in given:
        if number in numbers:
            return _bad(f"Found multiple manual partition assignments for partition {number}")
        numbers.add(number)
        refusal = replicas_refusal(replicas, state, before) or _fenced(number, replicas, alive)
        if refusal is not None:
            return refusal
        before = len(replicas)
    if numbers != set(range(len(numbers))):
        return _bad("partitions should be a consecutive 0-based integer sequence")
    return None


def more_partitions_refusal(given: Sequence[Replicas], first: int, before: int, state: ClusterState) -> Refusal | None:
    """Return the reason why added partitions, numbered from `first` on, can't have these replicas; None if they can.
    before: the number of replicas that the topic's other partitions have.
    """
    alive = state.alive()
    for replicas in given:
        if (refusal := replicas_refusal(replicas, state, before)) is not None:
            return refusal
    return next(
        (
            refusal
            for number, replicas in enumerate(given, first)
            if (refusal := _fenced(number, replicas, alive)) is not None
        ),
        None,
    )


_CORDONED_FROM = (4, 3)
MOST_PARTITIONS = 100_000
"""Maximum number of partitions of a topic in a proposal's request. Kafka has no limit, but a real broker would be busy
for minutes.
"""


def place_replicas(
    state: ClusterState, partitions: int, replication: int, start: int
) -> tuple[tuple[int, ...], ...] | Refusal:
    """Return the broker ids of the replicas of each new partition, or the reason why they can't be placed.

    Fenced brokers get replicas, too, but the first replica of each partition is on a live broker
    (StripedReplicaPlacer). start: the index of the broker with which the placement begins.
    """
    if partitions > MOST_PARTITIONS:
        message = f"{partitions} partitions are more than this cluster makes at once, which is {MOST_PARTITIONS}."
        return Refusal(ErrorCode.invalid_partitions, message)
    alive = state.alive()
    # Count fenced brokers too, so that a topic can be created while brokers restart.
    brokers = tuple(sorted(state.brokers))
    if replication > len(brokers) or not alive:
        cordoned = (
            " or some brokers have all their log directories cordoned" if state.release.number >= _CORDONED_FROM else ""
        )
        message = (
            f"Unable to replicate the partition {replication} time(s): The target replication factor of {replication} "
            f"cannot be reached because only {len(brokers)} broker(s) are registered{cordoned}."
        )
        return Refusal(ErrorCode.invalid_replication_factor, message)
    places = striped(brokers, partitions, replication, start)
    if len(alive) == len(brokers):
        return places
    return tuple(
        _with_first(replicas, alive[(start + number) % len(alive)], alive) for number, replicas in enumerate(places)
    )


def _with_first(replicas: tuple[int, ...], leader: int, alive: tuple[int, ...]) -> tuple[int, ...]:
    """Return the replicas in an order in which the first one is on a live broker. If none is, `leader` replaces the
    last replica and comes first.
    """
    first = next((replica for replica in replicas if replica in alive), None)
    if first is None:
        return (leader, *replicas[:-1])
    return (first, *(replica for replica in replicas if replica != first))


_COPIED_EACH_SECOND = 16 * 2**20
"""Rate in bytes per second at which a broker copies a partition from another if there is no throttle."""
_AT_LEAST, _AT_MOST = 0.2, 20.0
"""Minimum and maximum seconds for copying a replica without a throttle."""
_THROTTLED_REPLICAS = "follower.replication.throttled.replicas"
_THROTTLED_RATE = "follower.replication.throttled.rate"


def start_move(
    cluster: Cluster, name: str, index: int, target: Replicas | None, *, any_replication: bool = True
) -> Refusal:
    """Start a reassignment of a partition, or cancel the one in progress.

    Args:
        name: the topic.
        index: the partition number.
        target: the broker ids of the new replicas, the preferred leader first; None to cancel.
        any_replication: whether the number of replicas may change.

    Returns:
        DONE, or the reason why it is refused.
    """
    state = cluster.state
    found = _found_partition(state, name, index)
    if isinstance(found, Refusal):
        return found
    topic, partition = found
    if target is None:
        if not is_moving(partition):
            return Refusal(ErrorCode.no_reassignment_in_progress)
        if not _may_be_cancelled(cluster, name, partition):
            return Refusal(ErrorCode.invalid_replica_assignment, _UNCLEAN.format(name, index))
        put_partition(state, topic, index, cancelled(partition, state.alive()))
        return DONE
    refusal = replicas_refusal(target, state)
    if refusal is None and not any_replication:
        refusal = _replication_refusal(partition, target)
    if refusal is not None:
        return refusal
    moved = reassigned(partition, target, frozenset(state.alive()), waits=waits_for_all(state))
    if moved != partition:
        put_partition(state, topic, index, moved)
        _copy(cluster, topic, index, moved)
    return DONE


_UNCLEAN = "Unable to revert partition assignment for {}:{} because it would require an unclean leader election."


def _may_be_cancelled(cluster: Cluster, topic: str, partition: Partition) -> bool:
    """Return whether a reassignment may be cancelled: an original replica is in sync, or unclean elections are enabled
    (ReplicationControlManager).
    """
    key, alive = "unclean.leader.election.enable", sorted(cluster.state.alive())[:1]
    has_old = bool(set(partition.isr) & (set(partition.replicas) - set(partition.adding)))
    return has_old or any(topic_config(cluster, each, topic, key) == "true" for each in alive)


def resume_moves(cluster: Cluster) -> None:
    """Continue the reassignments that a restored state has."""
    for topic in list(cluster.state.tables.topics.own.values()):
        for index, partition in enumerate(topic.partitions):
            _copy(cluster, topic, index, partition)


def _copy(cluster: Cluster, topic: Topic, index: int, partition: Partition) -> None:
    if any(replica not in partition.isr for replica in partition.adding):
        cluster.run(_copied(cluster, topic.name, topic.id, index, partition.adding))


async def _copied(cluster: Cluster, name: str, topic_id: UUID, index: int, adding: Replicas) -> None:
    """Wait as long as the copies of a reassignment take, then put the new replicas in sync, unless the reassignment has
    changed.

    A replica on a broker that is down joins the ISR only when the broker is back (`broker_back`).
    """
    state = cluster.state
    size = replica_bytes(state, state.topics[name], index)
    now = cluster.clock.time()
    copies = {(name, index, replica): (now, _seconds(cluster, name, size, replica)) for replica in adding}
    cluster.copies |= copies
    await cluster.clock.sleep(max(seconds for _, seconds in copies.values()))
    for place, copy in copies.items():
        if cluster.copies.get(place) is copy:
            del cluster.copies[place]
    topic = state.topics.get(name)
    # Stop if the topic was deleted, and perhaps created again with this name, or if another reassignment has replaced
    # this one.
    if topic is None or topic.id != topic_id or topic.partitions[index].adding != adding:
        return
    alive = frozenset(state.alive())
    partition = before = topic.partitions[index]
    for replica in adding:
        if replica in alive:
            partition = caught_up(partition, replica, alive, waits=waits_for_all(state))
    if partition != before:
        put_partition(state, topic, index, partition)


def copied_share(cluster: Cluster, name: str, index: int, replica: int) -> float:
    """Return the share (0 to 1) of a partition's bytes that a replica has: 1 unless it is being copied. replica: its
    broker id.
    """
    copy = cluster.copies.get((name, index, replica))
    if copy is None:
        return 1.0
    began, seconds = copy
    return min(1.0, (cluster.clock.time() - began) / seconds)


def _seconds(cluster: Cluster, name: str, size: int, replica: int) -> float:
    """Return the seconds in which a broker copies `size` bytes of a topic: at least `_AT_LEAST`, and at most
    `_AT_MOST`, unless a replication throttle (KIP-73) limits the rate. replica: the id of that broker.
    """
    state = cluster.state
    throttled = state.configs.get(topic_resource(name), {}).get(_THROTTLED_REPLICAS)
    rate = state.configs.get(broker_resource(replica), {}).get(_THROTTLED_RATE)
    # A throttle applies only if the topic lists its replicas and the broker has a rate; kafka-reassign-partitions sets
    # both (KIP-73).
    if throttled and rate and rate.isdigit() and int(rate) < _COPIED_EACH_SECOND:
        return max(size / max(int(rate), 1), _AT_LEAST)
    return min(max(size / _COPIED_EACH_SECOND, _AT_LEAST), _AT_MOST)


def _found_partition(state: ClusterState, name: str, index: int) -> tuple[Topic, Partition] | Refusal:
    topic = state.topics.get(name)
    if topic is None:
        return Refusal(ErrorCode.unknown_topic_or_partition, f"Unable to find a topic named {name}.")
    if not 0 <= index < len(topic.partitions):
        message = f"Unable to find partition {name}:{index}."
        return Refusal(ErrorCode.unknown_topic_or_partition, message)
    return topic, topic.partitions[index]


def _replication_refusal(partition: Partition, target: Replicas) -> Refusal | None:
    now = len(set(partition.replicas) - set(partition.removing))
    if now == len(target):
        return None
    message = f"The replication factor is changed from {now} to {len(target)}"
    return Refusal(ErrorCode.invalid_replication_factor, message)


def put_partition(state: ClusterState, topic: Topic, index: int, partition: Partition) -> None:
    """Replace one partition of a topic."""
    partitions = (*topic.partitions[:index], partition, *topic.partitions[index + 1 :])
    state.put_topic(replace(topic, partitions=partitions))
