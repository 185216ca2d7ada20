"""OffsetFetch (9), v1-10: committed offsets of groups.

Needs DESCRIBE on the group and on the topics.

Version notes:
- v2: null topics are all; the error code of the group.
- v5: leader epochs (KIP-320).
- v6: flexible.
- v8: several groups (KIP-709).
- v10: topics have ids instead of names.

Differences from Kafka: no offset is pending in a transaction, so none is UNSTABLE_OFFSET_COMMIT (KIP-447); the member
and its epoch of v9 are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.context import RequestContext
from console.embedded.group_coordinator import group_error, topic_name_of
from console.embedded.groups import Committed
from console.wire.fields import for_version

_SEVERAL_FROM, _TOP_ERROR_FROM, _IDS_FROM = 8, 2, 10
_ERROR_IN_V1_FROM = (4, 1)
_NOTHING = Committed(-1)


async def handle(request: Any, context: RequestContext) -> Any:
    """Return the offsets of the groups; -1 for a partition without one."""
    if context.version >= _SEVERAL_FROM:
        return context.answer(groups=tuple(_group(context, group) for group in request.groups))
    code = group_error(context, request.group_id, "DESCRIBE", may_be_empty=True)
    # v1 has no top-level error_code; Kafka 3.7 to 4.0 then report no error at all (measured).
    says_so = context.cluster.release.number >= _ERROR_IN_V1_FROM
    per_partition = code if context.version < _TOP_ERROR_FROM and says_so else 0
    topics = () if code and not per_partition else _topics(context, request.group_id, request.topics, per_partition)
    return context.answer(topics=tuple(topics), error_code=code)


def _group(context: RequestContext, asked: Any) -> Any:
    code = group_error(context, asked.group_id, "DESCRIBE", may_be_empty=True)
    return context.schema.OffsetFetchResponseGroup(
        group_id=asked.group_id,
        topics=() if code else tuple(_topics(context, asked.group_id, asked.topics, 0)),
        error_code=code,
    )


def _topics(context: RequestContext, group_id: str, topics: Iterable[Any] | None, code: int) -> Iterator[Any]:
    group = context.state.groups.get(group_id)
    # A share group's start offsets are no committed ones.
    offsets = group.offsets if group is not None and group.type != "share" else {}
    if topics is None:
        yield from _everything(context, offsets)
        return
    for item in topics:
        name = topic_name_of(context, item)
        why = code
        if not why and name is None:
            why = ErrorCode.unknown_topic_id
        elif not why and not context.allowed("DESCRIBE", "TOPIC", name or ""):
            why = ErrorCode.topic_authorization_failed
        found = {} if why or name is None else {index: offsets.get((name, index)) for index in item.partition_indexes}
        parts = ((index, found.get(index) or _NOTHING) for index in item.partition_indexes)
        yield _topic(context, name, getattr(item, "topic_id", None), parts, why)


def _everything(context: RequestContext, offsets: dict[tuple[str, int], Committed]) -> Iterator[Any]:
    by_topic: dict[str, list[tuple[int, Committed]]] = {}
    for (name, index), committed in sorted(offsets.items()):
        by_topic.setdefault(name, []).append((index, committed))
    for name, parts in by_topic.items():
        topic = context.view.topics.get(name)
        # A deleted topic has no id by which v10 could name it.
        if context.allowed("DESCRIBE", "TOPIC", name) and (topic is not None or context.version < _IDS_FROM):
            yield _topic(context, name, topic.id if topic else None, parts, 0)


def _topic(
    context: RequestContext, name: str | None, topic_id: Any, parts: Iterable[tuple[int, Committed]], code: int
) -> Any:
    schema = context.schema
    several = context.version >= _SEVERAL_FROM
    topic = schema.OffsetFetchResponseTopics if several else schema.OffsetFetchResponseTopic
    partition = schema.OffsetFetchResponsePartitions if several else schema.OffsetFetchResponsePartition
    return for_version(
        topic,
        name=name or "",
        topic_id=topic_id,
        partitions=tuple(
            for_version(
                partition,
                partition_index=index,
                committed_offset=committed.offset,
                committed_leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
                error_code=code,
            )
            for index, committed in parts
        ),
    )
