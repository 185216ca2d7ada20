"""The transaction coordinators (TransactionCoordinator, TransactionStateManager): transactional ids, their
transactions, and the markers that end these.

Nothing waits here: when a transaction ends, its markers are written at once to all partitions that have a leader.
"""

from __future__ import annotations

from collections.abc import Iterator

from kio.schema.errors import ErrorCode

from console.embedded import producers
from console.embedded.context import Cluster, RequestContext
from console.embedded.group_coordinator import (
    GROUP_TOPIC,
    TRANSACTION_TOPIC,
    coordinator_of,
    ensure_topic,
    partition_of,
)
from console.embedded.partition_log import PartitionLog
from console.embedded.record_batch import marker_batch
from console.embedded.tables import NO_LEADER
from console.model.config import CLUSTER_DEFAULT, broker_resource

LAST_EPOCH = 2**15 - 2
"""The highest epoch of a producer id. After it, the transactional id gets another producer id."""
MAX_TIMEOUT, MAX_TIMEOUT_DEFAULT = "transaction.max.timeout.ms", "900000"
_CLEANUP_MS = 10_000
"""Milliseconds between two of a broker's searches for transactions whose timeout is over
(transaction.abort.timed.out.transaction.cleanup.interval.ms).
"""
_VERIFICATION = "transaction.partition.verification.enable"
_FORGETS_FROM = (4, 1)
"""The first release in which the start time of the last transaction is deleted when its producer starts again
(measured).
"""
_TRIES_AGAIN_FROM = (4, 1)
"""The first release in which a producer that sends InitProducerId with its own id and epoch while its transaction is
open is not fenced: after the error, its next attempt gets an epoch (measured on 4.4; not so on 4.0).
"""
_TELLS_FENCED_FROM = 4
"""The first version of InitProducerId whose response may have the error PRODUCER_FENCED."""
_FENCED_FROM = 2
"""The first version of the other requests of producers whose responses may have the error PRODUCER_FENCED (KIP-360)."""
_NONE = -1


def coordinated(context: RequestContext, id_: str) -> producers.Transaction | int | None:
    """Return the state of a transactional id that this broker coordinates, None if the id is new; or the error code
    with which the broker refuses the request.
    """
    if not id_:
        return int(ErrorCode.invalid_request)
    ensure_topic(context.state, TRANSACTION_TOPIC)
    if coordinator_of(context.view.topics, id_, TRANSACTION_TOPIC) != context.broker_id:
        return int(ErrorCode.not_coordinator)
    expire(context.cluster)
    return context.state.transactions.get(id_)


def asked(context: RequestContext, id_: str, producer_id: int, epoch: int) -> producers.Transaction | int:
    """Return the state of a transactional id for a request of its producer, or the error code with which the request is
    refused (the checks of TransactionCoordinator).
    """
    if not context.allowed("WRITE", "TRANSACTIONAL_ID", id_):
        return int(ErrorCode.transactional_id_authorization_failed)
    found = coordinated(context, id_)
    if isinstance(found, int):
        return found
    mine = own(context.cluster, id_, producer_id, epoch)
    fenced = mine == ErrorCode.producer_fenced and context.version < _FENCED_FROM
    return int(ErrorCode.invalid_producer_epoch) if fenced else mine


def own(cluster: Cluster, id_: str, producer_id: int, epoch: int) -> producers.Transaction | int:
    """Return the state of a transactional id if its present producer has this id and epoch, otherwise an error code."""
    found = cluster.state.transactions.get(id_)
    if found is None or found.producer_id != producer_id:
        return int(ErrorCode.invalid_producer_id_mapping)
    return found if found.epoch == epoch else int(ErrorCode.producer_fenced)


def begin(context: RequestContext, id_: str, timeout_ms: int, mine: tuple[int, int]) -> tuple[int, int, int]:
    """Start a producer with a transactional id. Return error code, producer id and epoch (handleInitProducerId); after
    an error, id and epoch are -1.

    The previous producer is fenced. If it has an open transaction, this call aborts it and returns an error; the next
    call succeeds.

    Args:
        timeout_ms: the transaction timeout in milliseconds.
        mine: id and epoch of the producer if it continues (KIP-360); -1 and -1 for a new producer.
    """
    found = coordinated(context, id_)
    if isinstance(found, int):
        return found, _NONE, _NONE
    cluster = context.cluster
    if not 0 < timeout_ms <= int(cluster.spec.static_configs.get(MAX_TIMEOUT, MAX_TIMEOUT_DEFAULT)):
        return int(ErrorCode.invalid_transaction_timeout), _NONE, _NONE
    if found is None:
        found = producers.Transaction(id_, new_producer(cluster), 0, timeout_ms)
        context.state.transactions[id_] = found
        return 0, found.producer_id, found.epoch
    goes_on = mine[0] != _NONE
    if goes_on and mine[0] != found.producer_id:
        return _fenced(context), _NONE, _NONE
    if found.partitions:
        if found.state == producers.ONGOING:
            again = goes_on and mine[1] == found.epoch and cluster.release.number >= _TRIES_AGAIN_FROM
            found.epoch, found.last_epoch = found.epoch + 1, found.epoch if again else _NONE
            end(cluster, found, commit=False)
        return int(ErrorCode.concurrent_transactions), _NONE, _NONE
    if goes_on and mine[1] not in (found.epoch, found.last_epoch):
        return _fenced(context), _NONE, _NONE
    if goes_on and mine[1] == found.last_epoch:
        return 0, found.producer_id, found.epoch
    found.last_epoch = found.epoch if goes_on else _NONE
    found.epoch, found.timeout_ms, found.state = found.epoch + 1, timeout_ms, producers.EMPTY
    if cluster.release.number >= _FORGETS_FROM:
        found.started = _NONE
    if found.epoch > LAST_EPOCH:
        found.producer_id, found.epoch = new_producer(cluster), 0
    return 0, found.producer_id, found.epoch


def _fenced(context: RequestContext) -> int:
    newer = context.version >= _TELLS_FENCED_FROM
    return int(ErrorCode.producer_fenced if newer else ErrorCode.invalid_producer_epoch)


def new_producer(cluster: Cluster) -> int:
    """Return a producer id that no transactional id has, not even one from a state file."""
    taken = {each.producer_id for each in cluster.state.transactions.values()}
    return next(id_ for id_ in cluster.producer_ids if id_ not in taken)


def add(cluster: Cluster, found: producers.Transaction, places: set[producers.Place]) -> None:
    """Add partitions to the transaction of a transactional id; the first ones start the transaction."""
    if found.state != producers.ONGOING:
        found.state, found.started = producers.ONGOING, int(cluster.clock.time() * 1000)
        # Remaining partitions belong to the last transaction, whose markers have all been written.
        found.partitions.clear()
    found.partitions |= places


def end(cluster: Cluster, found: producers.Transaction, *, commit: bool) -> None:
    """End the ongoing transaction of a transactional id. commit: whether to commit it; otherwise it is aborted."""
    found.state = producers.PREPARE[commit]
    write_markers(cluster, found)


def write_markers(cluster: Cluster, found: producers.Transaction) -> None:
    """Write the missing markers to the partitions that have a leader. When no marker is missing, the transaction is
    complete. A deleted partition needs no marker.
    """
    commit = found.state == producers.PREPARE[True]
    # Skip a topic that was deleted meanwhile, as it needs no marker.
    for place in sorted(found.partitions):
        topic = cluster.state.topics.get(place[0])
        # Keep a partition without a leader in the set: `expire` writes its marker once there is a leader again.
        if topic is not None and place[1] < len(topic.partitions) and topic.partitions[place[1]].leader == NO_LEADER:
            continue
        if topic is not None and place[1] < len(topic.partitions):
            epoch = coordinator_epoch(cluster, found.id)
            append_marker(cluster, place, found.producer_id, found.epoch, epoch, commit=commit)
        found.partitions.discard(place)
    if not found.partitions:
        found.state = producers.COMPLETE[commit]
    cluster.state.touch()


def append_marker(
    cluster: Cluster, place: producers.Place, producer_id: int, epoch: int, coordinator_epoch: int, *, commit: bool
) -> None:
    """Append a marker to a partition, which ends the producer's transaction there.

    Raises:
        FencedProducer: the partition has a newer epoch of the producer.
        FencedCoordinator: the partition has a newer epoch of the coordinator.
    """
    log = cluster.state.logs.setdefault(place, PartitionLog())
    batch = marker_batch(producer_id, epoch, coordinator_epoch, int(cluster.clock.time() * 1000), commit=commit)
    # Check before the append: a coordinator that has lost its partition must not end a transaction of its successor.
    log.producers.check_marker(batch)
    log.append(batch, cluster.state.topics[place[0]].partitions[place[1]].leader_epoch)
    if place[0] == GROUP_TOPIC:
        _settle_offsets(cluster, place[1], producer_id, commit=commit)
    cluster.state.touch()


def place_of_offsets(context: RequestContext, group_id: str) -> producers.Place:
    """Return the partition of the internal topic in which a group's offsets are stored."""
    return GROUP_TOPIC, partition_of(group_id, len(context.state.topics[GROUP_TOPIC].partitions))


def _settle_offsets(cluster: Cluster, number: int, producer_id: int, *, commit: bool) -> None:
    """Commit or drop the offsets that a producer's transaction has for groups in one partition of the offsets topic
    (GroupCoordinator.completeTransaction). number: that partition.
    """
    partitions = len(cluster.state.topics[GROUP_TOPIC].partitions)
    for group in cluster.state.groups.values():
        if producer_id in group.unstable and partition_of(group.id, partitions) == number:
            offsets = group.unstable.pop(producer_id)
            if commit:
                group.offsets |= offsets
                group.written = True


def coordinator_epoch(cluster: Cluster, id_: str) -> int:
    """Return the epoch of a transactional id's coordinator: the leader epoch of its partition in the internal topic."""
    topic = cluster.state.topics[TRANSACTION_TOPIC]
    return topic.partitions[partition_of(id_, len(topic.partitions))].leader_epoch


def expire(cluster: Cluster) -> None:
    """Abort the transactions whose timeout has been over for `_CLEANUP_MS`, and write the missing markers of
    transactions that have ended (TransactionCoordinator.abortTimedOutTransactions).
    """
    now = int(cluster.clock.time() * 1000)
    for found in tuple(cluster.state.transactions.values()):
        if found.state == producers.ONGOING and now > found.started + found.timeout_ms + _CLEANUP_MS:
            found.epoch, found.last_epoch = found.epoch + 1, _NONE
            end(cluster, found, commit=False)
        elif found.state in producers.PREPARE.values():
            write_markers(cluster, found)


def of_broker(context: RequestContext) -> Iterator[producers.Transaction]:
    """Yield the state of each transactional id that this broker coordinates."""
    expire(context.cluster)
    topics = context.view.topics
    for found in context.state.transactions.values():
        if coordinator_of(topics, found.id, TRANSACTION_TOPIC) == context.broker_id:
            yield found


def verified(context: RequestContext, id_: str, producer_id: int, epoch: int, place: producers.Place) -> bool:
    """Return whether transactional records may be appended to a partition: the producer's transaction has the
    partition, according to the coordinator (KIP-890). If the brokers have verification disabled, return True.
    """
    cluster = context.cluster
    if not _verifies(context):
        return True
    expire(cluster)
    found = context.state.transactions.get(id_)
    return (
        found is not None
        and (found.producer_id, found.epoch, found.state) == (producer_id, epoch, producers.ONGOING)
        and place in found.partitions
    )


def _verifies(context: RequestContext) -> bool:
    configs = context.view.configs
    for layer in (
        configs.get(broker_resource(context.broker_id), {}),
        configs.get(CLUSTER_DEFAULT, {}),
        context.cluster.spec.static_configs,
    ):
        if _VERIFICATION in layer:
            return layer[_VERIFICATION].strip().lower() == "true"
    return True
