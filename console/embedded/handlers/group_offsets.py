"""Group offsets: commit, fetch and deletion."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, partial
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded import group_coordinator, producers
from console.embedded import transactions as embedded_transactions
from console.embedded.answers import each_item
from console.embedded.context import RequestContext
from console.embedded.groups import Committed, Group
from console.model.grouping import grouped

_MAX_METADATA = 4096
"""Maximum number of characters of the metadata in a commit (offset.metadata.max.bytes)."""
_NOT_FOUND_FROM = 9
_TELLS_NOT_FOUND_FROM = (4, 0)
_SHARE = "share"


async def offset_commit(request: Any, context: RequestContext) -> Any:
    """OffsetCommit (8), v2-10: stores offsets of a group, for its members or a client outside the group.

    Store the offsets, and return the error code of each partition.

    Needs READ on the group and on the topics.

    Version notes:
    - v6: leader epochs (KIP-320).
    - v7: the instance id (KIP-345).
    - v8: flexible.
    - v9: GROUP_ID_NOT_FOUND for a missing group (KIP-848; since 4.0).
    - v10: topics have ids instead of names.

    Differences from Kafka: offsets do not expire.
    """
    group = context.state.groups.get(request.group_id)
    code = group_coordinator.group_error(context, request.group_id, may_be_empty=True) or _refused_member(
        request, context, group
    )
    error_of = cache(lambda name: code or group_coordinator.topic_error(context, name))
    offsets: dict[tuple[str, int], Committed] = {}
    answer = each_item(context, request, partial(_commit, context, offsets, error_of))
    if offsets:
        stored = group_coordinator.get_or_create_group(context, request.group_id)
        stored.written = True
        stored.offsets |= offsets
    if not code:
        context.state.touch()
    return answer


def _refused_member(request: Any, context: RequestContext, group: Group | None) -> int:
    generation = request.generation_id_or_member_epoch
    if group is None:
        if generation < 0:
            return 0
        newer = context.version >= _NOT_FOUND_FROM and context.cluster.release.number >= _TELLS_NOT_FOUND_FROM
        return ErrorCode.group_id_not_found if newer else ErrorCode.illegal_generation
    if group.type == _SHARE:
        return ErrorCode.group_id_not_found
    instance_id = getattr(request, "group_instance_id", None)
    return group.committed(request.member_id, instance_id, generation, context.clock.time())


def _commit(
    context: RequestContext,
    offsets: dict[tuple[str, int], Committed],
    error_of: Callable[[str | None], int],
    topic: Any,
    part: Any,
) -> int:
    """Check the commit of a partition's offset. Return 0 after adding it to `offsets`, or the error code.

    Args:
        offsets: (topic, partition) -> the offsets to commit.
        error_of: function that returns the error code for a topic, 0 if it is permitted.
        topic: the topic in the request.
        part: the partition in the request.
    """
    name = group_coordinator.topic_name_of(context, topic)
    code = error_of(name)
    if code or name is None:
        return code
    if not 0 <= part.partition_index < len(context.view.topics[name].partitions):
        return ErrorCode.unknown_topic_or_partition
    if len(part.committed_metadata or "") > _MAX_METADATA:
        return ErrorCode.offset_metadata_too_large
    offsets[name, part.partition_index] = Committed(
        part.committed_offset,
        getattr(part, "committed_leader_epoch", -1),
        part.committed_metadata or "",
        context.clock.time(),
    )
    return 0


_ADDS_FROM = 5
"""The first version of TxnOffsetCommit that itself adds the group to the transaction (KIP-890)."""


async def txn_offset_commit(request: Any, context: RequestContext) -> Any:
    """TxnOffsetCommit (28), v0-5: stores offsets of a group in a producer's transaction (KIP-98).

    Keep the offsets until the transaction's marker commits or drops them, and return the error code of each partition.

    Needs WRITE on the transactional id, and READ on the group and on the topics.

    Version notes:
    - v2: leader epochs.
    - v3: flexible; the member and its generation (KIP-447).
    - v5: adds the group to the transaction (KIP-890).
    """
    denied = _denied(request, context)
    code = denied or _refused_transaction(request, context)
    error_of = cache(lambda name: denied or group_coordinator.topic_error(context, name) or code)
    offsets: dict[tuple[str, int], Committed] = {}
    answer = each_item(context, request, partial(_commit, context, offsets, error_of))
    if offsets:
        group = group_coordinator.get_or_create_group(context, request.group_id)
        group.unstable.setdefault(int(request.producer_id), {}).update(offsets)
        context.state.touch()
    return answer


def _denied(request: Any, context: RequestContext) -> int:
    """Return the error code if the principal lacks the right to the transactional id or to the group; otherwise 0."""
    if not context.allowed("WRITE", "TRANSACTIONAL_ID", request.transactional_id):
        return ErrorCode.transactional_id_authorization_failed
    return 0 if context.allowed("READ", "GROUP", request.group_id) else ErrorCode.group_authorization_failed


def _refused_transaction(request: Any, context: RequestContext) -> int:
    """Return the error code if the request's producer has no such transaction, or the group is not part of it;
    otherwise 0.
    """
    id_, group_id = request.transactional_id, request.group_id
    if code := group_coordinator.group_error(context, group_id):
        return code
    generation, member = getattr(request, "generation_id", -1), getattr(request, "member_id", "")
    group = context.state.groups.get(group_id)
    if group is not None and (generation >= 0 or member):
        instance = getattr(request, "group_instance_id", None)
        if code := group.committed(member, instance, generation, context.clock.time()):
            return code
    sent = id_, int(request.producer_id), request.producer_epoch
    place = embedded_transactions.place_of_offsets(context, group_id)
    if context.version >= _ADDS_FROM:
        found = embedded_transactions.own(context.cluster, *sent)
        if isinstance(found, int):
            return ErrorCode.invalid_producer_epoch if found == ErrorCode.producer_fenced else found
        if found.state in producers.PREPARE.values():
            return ErrorCode.concurrent_transactions
        embedded_transactions.add(context.cluster, found, {place})
    if not embedded_transactions.verified(context, *sent, place):
        return ErrorCode.invalid_txn_state
    return 0


_SEVERAL_FROM, _TOP_ERROR_FROM, _IDS_FROM = 8, 2, 10
_ERROR_IN_V1_FROM = (4, 1)
_NOTHING = Committed(-1)


async def offset_fetch(request: Any, context: RequestContext) -> Any:
    """OffsetFetch (9), v1-10: committed offsets of groups.

    Return the offsets of the groups; -1 for a partition without one.

    Needs DESCRIBE on the group and on the topics.

    Version notes:
    - v2: null topics request all; the error code of the group.
    - v5: leader epochs (KIP-320).
    - v6: flexible.
    - v7: UNSTABLE_OFFSET_COMMIT for offsets of an open transaction, if the client requires stable ones (KIP-447).
    - v8: several groups (KIP-709).
    - v10: topics have ids instead of names.

    Differences from Kafka: the member and its epoch of v9 are not checked.
    """
    stable = getattr(request, "require_stable", False)
    if context.version >= _SEVERAL_FROM:
        return context.answer(groups=tuple(_group(context, group, stable=stable) for group in request.groups))
    code = group_coordinator.group_error(context, request.group_id, "DESCRIBE", may_be_empty=True)
    # v1 has no top-level error_code, so Kafka 3.7 to 4.0 report no error at all (measured).
    says_so = context.cluster.release.number >= _ERROR_IN_V1_FROM
    per_partition = code if context.version < _TOP_ERROR_FROM and says_so else 0
    asked = request.group_id, request.topics, per_partition
    topics = () if code and not per_partition else _topics(context, *asked, stable=stable)
    return context.answer(topics=tuple(topics), error_code=code)


def _group(context: RequestContext, asked: Any, *, stable: bool) -> Any:
    code = group_coordinator.group_error(context, asked.group_id, "DESCRIBE", may_be_empty=True)
    topics = () if code else tuple(_topics(context, asked.group_id, asked.topics, 0, stable=stable))
    return {"group_id": asked.group_id, "topics": topics, "error_code": code}


def _topics(
    context: RequestContext, group_id: str, topics: Iterable[Any] | None, code: int, *, stable: bool
) -> Iterator[Any]:
    group = context.state.groups.get(group_id)
    # The start offsets of a share group are not committed offsets, so do not list them.
    offsets = group.offsets if group is not None and group.type != "share" else {}
    pending = {place for each in group.unstable.values() for place in each} if stable and group is not None else set()
    if topics is None:
        yield from _everything(context, offsets, pending)
        return
    for item in topics:
        name = group_coordinator.topic_name_of(context, item)
        why = code
        if not why and name is None:
            why = ErrorCode.unknown_topic_id
        elif not why and not context.allowed("DESCRIBE", "TOPIC", name or ""):
            why = ErrorCode.topic_authorization_failed
        found = {} if why or name is None else {index: offsets.get((name, index)) for index in item.partition_indexes}
        parts = [(index, found.get(index) or _NOTHING) for index in item.partition_indexes]
        yield _fetched_topic(name, getattr(item, "topic_id", None), parts, why, pending)


def _everything(
    context: RequestContext, offsets: dict[tuple[str, int], Committed], pending: Container[tuple[str, int]]
) -> Iterator[Any]:
    by_topic = grouped((name, (index, committed)) for (name, index), committed in sorted(offsets.items()))
    for name, parts in by_topic.items():
        topic = context.view.topics.get(name)
        # Skip a deleted topic in v10 and newer, as the topic has no id.
        if context.allowed("DESCRIBE", "TOPIC", name) and (topic is not None or context.version < _IDS_FROM):
            yield _fetched_topic(name, topic.id if topic else None, parts, 0, pending)


def _fetched_topic(
    name: str | None,
    topic_id: Any,
    parts: Iterable[tuple[int, Committed]],
    code: int,
    pending: Container[tuple[str, int]],
) -> Any:
    def fetched(index: int, committed: Committed) -> Any:
        why = code
        if not why and (name, index) in pending:
            why, committed = int(ErrorCode.unstable_offset_commit), _NOTHING
        return {
            "partition_index": index,
            "committed_offset": committed.offset,
            "committed_leader_epoch": committed.leader_epoch,
            "metadata": committed.metadata,
            "error_code": why,
        }

    return {"name": name or "", "topic_id": topic_id, "partitions": tuple(fetched(*each) for each in parts)}


_KEEPS_EMPTY_FROM = (4, 0)


async def offset_delete(request: Any, context: RequestContext) -> Any:
    """OffsetDelete (47), v0: deletes a group's offsets of topics to which no member subscribes (KIP-496).

    Delete the offsets, and return the error code of each partition.

    Needs DELETE on the group and READ on the topics.
    """
    code = group_coordinator.group_error(context, request.group_id, "DELETE")
    group = context.state.groups.get(request.group_id)
    if not code and group is None:
        code = ErrorCode.group_id_not_found
    # Only the metadata of the consumer protocol contain subscriptions; members with another protocol could use any
    # topic.
    if not code and group is not None and group.members and group.protocol_type != group_coordinator.CONSUMERS:
        code = ErrorCode.non_empty_group
    if code or group is None:
        return context.answer(error_code=code)
    error_of = cache(partial(_deleting_error, context, group))

    def forget(topic: Any, part: Any) -> int:
        if not error_of(topic.name) and group.offsets.pop((topic.name, part.partition_index), None) is not None:
            context.state.touch()
        return error_of(topic.name)

    answer = each_item(context, request, forget)
    if answer.topics and not (group.members or group.offsets or _keeps_empty(context)):
        del context.state.groups[group.id]
    return answer


def _keeps_empty(context: RequestContext) -> bool:
    """Return whether a group without members stays after its last offset was deleted. Before 4.0, brokers delete
    such a group together with the offset (measured).
    """
    return context.cluster.release.number >= _KEEPS_EMPTY_FROM


def _deleting_error(context: RequestContext, group: Group, topic: str) -> int:
    code = group_coordinator.topic_error(context, topic)
    return code or (ErrorCode.group_subscribed_to_topic if topic in group_coordinator.subscribed(group) else 0)
