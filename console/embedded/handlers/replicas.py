"""Replicas: moves between brokers and directories, their sizes, and leader elections."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.answers import WireFormat, each_item, error_answer, with_pauses
from console.embedded.context import RequestContext
from console.embedded.partitions import disk_bytes, replica_bytes
from console.embedded.refusals import DONE, EXPIRED, Refusal, cluster_refused
from console.embedded.replica_dirs import copy_of, cordoned_dirs, dir_of, start_copy
from console.embedded.replicas import copied_share, is_moving, put_partition, start_move
from console.embedded.state import ClusterState
from console.embedded.tables import NO_LEADER, Partition, Topic, frozen
from console.wire.frames import EncodedBody


async def alter_partition_reassignments(request: Any, context: RequestContext) -> Any:
    """AlterPartitionReassignments (45), v0-1: starts and cancels moves of replicas (KIP-455).

    Start or cancel the moves, and return a result for each partition without waiting for the copies.

    Needs ALTER on the cluster.

    Version notes:
    - v1: AllowReplicationFactorChange (KIP-860).

    Differences from Kafka: no data is copied; a new replica is in sync after the time that a copy would take.
    """
    # v0 has no such field: it always allows a change of the replication factor.
    any_replication = getattr(request, "allow_replication_factor_change", True)
    top = _refusal_of_all(request, context)

    def begin(topic: Any, part: Any) -> Refusal:
        # Null replicas cancel the move under way.
        target = None if part.replicas is None else tuple(part.replicas)
        return start_move(context.cluster, topic.name, part.partition_index, target, any_replication=any_replication)

    return each_item(
        context,
        request,
        (lambda _topic, _part: top) if top.code else begin,
        allow_replication_factor_change=any_replication,
        error_code=top.code,
        error_message=top.message if top.code or request.topics else "",
    )


def _refusal_of_all(request: Any, context: RequestContext) -> Refusal:
    """Return the reason why no partition of the request is changed; DONE if there is none."""
    if not context.allowed("ALTER"):
        return cluster_refused(context, "ALTER")
    return EXPIRED if request.timeout.total_seconds() <= 0 else DONE


async def list_partition_reassignments(request: Any, context: RequestContext) -> Any:
    """ListPartitionReassignments (46), v0: the moves of replicas in progress (KIP-455).

    Return the reassignments of the partitions in the request; null topics mean all partitions. Partitions without one,
    and unknown partitions, are omitted.

    Needs DESCRIBE on the cluster. The response has no sizes, which are in DescribeLogDirs.
    """
    if not context.allowed("DESCRIBE"):
        code, message = cluster_refused(context, "DESCRIBE")
        return context.answer(error_code=code, error_message=message)
    topics = _all(context) if request.topics is None else _named(request, context)
    return context.answer(
        topics=tuple(
            {
                "name": topic.name,
                "partitions": tuple(_partition(index, topic.partitions[index]) for index in moving),
            }
            for topic, indexes in topics
            if (moving := [index for index in indexes if is_moving(topic.partitions[index])])
        ),
    )


def _all(context: RequestContext) -> Iterator[tuple[Topic, Iterable[int]]]:
    """Yield each topic that may be in a reassignment, with its partition numbers. The topics of a source (computed
    topics) never are.
    """
    for topic in context.state.tables.topics.own.values():
        yield topic, range(len(topic.partitions))


def _named(request: Any, context: RequestContext) -> Iterator[tuple[Topic, Iterable[int]]]:
    for asked in request.topics:
        topic = context.state.topics.get(asked.name)
        if topic is not None:
            yield topic, [index for index in asked.partition_indexes if 0 <= index < len(topic.partitions)]


def _partition(index: int, partition: Partition) -> Any:
    return {
        "partition_index": index,
        "replicas": partition.replicas,
        "adding_replicas": partition.adding,
        "removing_replicas": partition.removing,
    }


async def elect_leaders(request: Any, context: RequestContext) -> Any:
    """ElectLeaders (43), v0-2: elects preferred leaders, or unclean ones (KIP-183, KIP-460; ReplicationControlManager).

    Elect leaders, and return a result for each partition.

    Null partitions in the request mean all that need an election. The response then also names the other topics,
    without partitions.

    Needs ALTER on the cluster.

    Version notes:
    - v1: the election type, preferred before (KIP-460).
    - v2: flexible.
    """
    kind = getattr(request, "election_type", PREFERRED)
    top = _refusal_of_all(request, context)
    if not top.code and kind not in (PREFERRED, UNCLEAN):
        top = Refusal(ErrorCode.invalid_request, f"Unknown election type {kind}")
    if top.code:
        return error_answer(request, context.messages, *top)
    if request.topic_partitions is not None:
        return each_item(context, request, lambda topic, index: elect(context.state, kind, topic.topic, index))
    return context.answer(
        replica_election_results=tuple(
            {
                "topic": name,
                "partition_result": tuple(
                    {"partition_id": index, "error_code": code, "error_message": message}
                    for index, (code, message) in parts
                ),
            }
            for name, parts in elect_all(context.state, kind)
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
    put_partition(state, topic, index, led)
    if led.leader not in partition.isr and (log := state.logs.get((name, index))) is not None:
        # The election is unclean: records that the new leader had not copied are lost, and the other replicas truncate
        # their logs to its end.
        log.truncate(log.end_of(led.leader))
        log.behind.pop(led.leader, None)
    return DONE


def elect_all(state: ClusterState, kind: int) -> Iterator[tuple[str, list[tuple[int, Refusal]]]]:
    """Yield each topic with the results for those of its partitions that need an election."""
    for topic in list(state.topics.values()):
        needy = [index for index, partition in enumerate(topic.partitions) if _needs(partition, kind)]
        yield topic.name, [(index, elect(state, kind, topic.name, index)) for index in needy]


def _needs(partition: Partition, kind: int) -> bool:
    return partition.leader != partition.replicas[0] if kind == PREFERRED else partition.leader == NO_LEADER


def _led(partition: Partition, kind: int, alive: frozenset[int]) -> Partition | None:
    """Return the partition with the leader that an election of this kind gives it; None if no replica can become
    leader.
    """
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


_FLEXIBLE_FROM, _ERROR_FROM, _VOLUME_FROM, _CORDONED_FROM = 2, 3, 4, 5
_REPLICA = struct.Struct(">iqq?")
"""The encoding of a replica: partition number, size in bytes, lag in offsets, and whether it is a future replica."""
_AT_ONCE = 5000
"""Number of topics after whose encoding other connections get their turn."""
Wanted = tuple[Topic, frozenset[int] | None]
"""A topic, and the numbers of its requested partitions; None for all."""


async def describe_log_dirs(request: Any, context: RequestContext) -> Any:
    """DescribeLogDirs (35), v1-5: the replicas on a broker's disks with their bytes and lag (KIP-113).

    Return the broker's own replicas in each directory; null topics in the request mean all. Topics without a replica on
    the broker are omitted.

    Needs DESCRIBE on the cluster. The response is encoded directly, because it may have 300,000 replicas.

    Version notes:
    - v2: flexible.
    - v3: the error code of the whole response.
    - v4: total and usable bytes of the volume (KIP-827).
    - v5: whether the directory is cordoned (KIP-1066).
    """
    form, version = WireFormat(context.version >= _FLEXIBLE_FROM), context.version
    refused = not context.allowed("DESCRIBE")
    parts = [bytes(4)]  # throttle time 0
    if version >= _ERROR_FROM:
        parts.append(struct.pack(">h", ErrorCode.cluster_authorization_failed if refused else 0))
    folders = () if refused else context.state.brokers[context.broker_id].log_dirs
    parts.append(form.length(len(folders)))
    topics: list[Wanted] = []
    if not refused:
        await with_pauses(_asked(request, context), topics.append)
    cordoned = cordoned_dirs(context.state, context.broker_id)
    for folder in folders:
        encoded = await _encoded_topics(topics, context, form, folder)
        parts += [struct.pack(">h", 0), form.string(folder), form.length(len(encoded)), *encoded]
        if version >= _VOLUME_FROM:
            parts.append(struct.pack(">qq", *disk_bytes(context.state)))
        if version >= _CORDONED_FROM:
            parts.append(struct.pack(">?", folder in cordoned))
        parts.append(form.end)
    return EncodedBody(b"".join((*parts, form.end)))


async def _encoded_topics(topics: list[Wanted], context: RequestContext, form: WireFormat, folder: str) -> list[bytes]:
    """Return the encoded topics that have replicas in the directory `folder`; yield to other connections meanwhile."""
    encoded: list[bytes] = []
    for begin in range(0, len(topics), _AT_ONCE):
        encoded += filter(None, (_topic(*each, context, form, folder) for each in topics[begin : begin + _AT_ONCE]))
        await asyncio.sleep(0)
    return encoded


def _topic(
    topic: Topic, wanted: frozenset[int] | None, context: RequestContext, form: WireFormat, folder: str
) -> bytes:
    """Encode a topic with those of its requested partitions that have a replica in the directory `folder`; return
    ``b""`` if there are none. wanted: the requested partition numbers; None for all.
    """
    replicas = [
        packed + form.end
        for index, partition in enumerate(topic.partitions)
        if context.broker_id in partition.replicas and (wanted is None or index in wanted)
        for packed in _replicas(topic, index, partition, context, folder)
    ]
    if not replicas:
        return b""
    return b"".join((form.string(topic.name), form.length(len(replicas)), *replicas, form.end))


def _replicas(topic: Topic, index: int, partition: Partition, context: RequestContext, folder: str) -> Iterator[bytes]:
    """Yield the encoding of the broker's replica if it is in the directory `folder`, and of its copy if that is being
    made there.
    """
    cluster, broker = context.cluster, context.broker_id
    if dir_of(cluster, topic, index, broker) == folder:
        yield _REPLICA.pack(index, _held(topic, index, partition, context), 0, False)
    # List a copy into another directory of the broker as a future replica, in addition to the replica that it will
    # replace.
    copy = copy_of(cluster, topic, index, broker)
    if copy is not None and copy[0] == folder:
        log = context.state.logs.get((topic.name, index))
        behind = int((log.end if log is not None else 0) * (1 - copy[1]))
        yield _REPLICA.pack(index, int(_held(topic, index, partition, context) * copy[1]), behind, True)


def _held(topic: Topic, index: int, partition: Partition, context: RequestContext) -> int:
    """Return the size in bytes of the broker's replica; while a reassignment adds it, the number of bytes copied so
    far.
    """
    size = replica_bytes(context.state, topic, index)
    if context.broker_id not in partition.adding or context.broker_id in partition.isr:
        return size
    return int(size * copied_share(context.cluster, topic.name, index, context.broker_id))


def _asked(request: Any, context: RequestContext) -> Iterable[Wanted]:
    topics = context.view.topics
    if request.topics is None:
        return ((topic, None) for topic in frozen(topics).values())
    wanted: dict[str, set[int]] = {}
    for item in request.topics:
        wanted.setdefault(item.topic, set()).update(item.partitions)
    return ((topics[name], frozenset(parts)) for name, parts in wanted.items() if name in topics)


async def alter_replica_log_dirs(request: Any, context: RequestContext) -> Any:
    """AlterReplicaLogDirs (34), v1-2: moves replicas into other directories of their broker (KIP-113; ReplicaManager).

    Start the copies, and return a result for each partition.

    Each broker only moves its own replicas. Needs ALTER on the cluster.

    Version notes:
    - v2: flexible.
    """
    allowed = context.allowed("ALTER")
    results: dict[str, list[Any]] = {}
    for item in request.dirs:
        for topic in item.topics:
            for number in topic.partitions:
                code = _move(context, item.path, topic.name, number) if allowed else _REFUSED
                results.setdefault(topic.name, []).append({"partition_index": number, "error_code": code})
    return context.answer(
        results=tuple({"topic_name": name, "partitions": tuple(parts)} for name, parts in results.items())
    )


_REFUSED = ErrorCode.cluster_authorization_failed


def _move(context: RequestContext, path: str, name: str, number: int) -> int:
    broker = context.state.brokers[context.broker_id]
    if path not in broker.log_dirs:
        return ErrorCode.log_dir_not_found
    topic = context.state.topics.get(name)
    if topic is None or not 0 <= number < len(topic.partitions):
        return ErrorCode.unknown_topic_or_partition
    if broker.id not in topic.partitions[number].replicas:
        return ErrorCode.not_leader_or_follower
    # A cordoned directory accepts no new replicas, but the request may name a replica that is already in it (KIP-1066).
    if path in cordoned_dirs(context.state, broker.id) and dir_of(context.cluster, topic, number, broker.id) != path:
        return ErrorCode.invalid_replica_assignment
    start_copy(context.cluster, topic, number, broker.id, path)
    return 0
