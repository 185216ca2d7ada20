"""Topics and their partitions for clients: Metadata, and DescribeTopicPartitions, its paged successor."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode

from console.embedded import answers
from console.embedded.answers import NO_OPERATIONS, TOPIC_OPERATIONS
from console.embedded.config_alter import ELR
from console.embedded.context import RequestContext
from console.embedded.group_coordinator import GROUP_TOPIC, TRANSACTION_TOPIC, ensure_topic
from console.embedded.refusals import Refusal
from console.embedded.tables import NO_LEADER, Partition, Topic, frozen
from console.embedded.topics import Planner, WantedTopic, create, is_legal
from console.wire.frames import EncodedBody, encode_body
from console.wire.tagged_fields import encode_varint

_ALL_IF_EMPTY, _BY_ID_FROM = 0, 12
_ZERO_ID = UUID(int=0)


async def metadata(request: Any, context: RequestContext) -> Any:
    """Metadata (3), v0-13: brokers, the controller, topics with their partitions (KIP-4 for v0 and v1).

    Return brokers and topics. A response with all topics is encoded here, so that other connections get their turn
    meanwhile.

    In a cluster with KRaft the controller id is that of a random live broker, since clients don't connect to the
    quorum.

    Version notes:
    - v1: the controller and racks; null requests all topics, in v0 an empty array does.
    - v2: the cluster id.
    - v4: whether to create missing topics.
    - v5: offline replicas.
    - v7: leader epochs.
    - v8 to v10: authorized operations of the cluster; those of topics stay (KIP-430, KIP-700).
    - v9: flexible.
    - v10, v12: topic ids; requests by id (KIP-516).
    - v13: the error code of the whole response.
    """
    view = context.view
    refused = _impossible(request, context)
    if refused is not None:
        return refused
    alive = frozenset(broker.id for broker in view.brokers.values() if broker.alive)
    maker = _Maker(context, alive, getattr(request, "include_topic_authorized_operations", False))
    everything = request.topics is None or (context.version == _ALL_IF_EMPTY and not request.topics)
    quick = everything and not maker.operations
    topics: Iterable[Any] = ()
    if not quick:
        topics = maker.all_topics() if everything else maker.named(request)
    operations = answers.NO_OPERATIONS
    if getattr(request, "include_cluster_authorized_operations", False):
        operations = context.operations(answers.CLUSTER_OPERATIONS) if context.allowed("DESCRIBE") else 0
    response = context.answer(
        brokers=tuple(
            context.part("MetadataResponseBroker", node_id=b.id, host=b.host, port=b.port, rack=b.rack)
            for b in sorted(view.brokers.values(), key=lambda broker: broker.id)
            if b.alive
        ),
        cluster_id=context.state.cluster_id,
        controller_id=answers.advertised_controller(context),
        topics=tuple(topics),
        cluster_authorized_operations=operations,
        error_code=0,
    )
    return await maker.with_all_topics(response) if quick else response


def _impossible(request: Any, context: RequestContext) -> Any:
    """Return the error response to a request in which a topic has neither a name nor an id, or has an id in a
    version without requests by id. Return None if there is no such topic.
    """
    for topic in request.topics or ():
        named, topic_id = topic.name is not None, getattr(topic, "topic_id", None)
        if context.version < _BY_ID_FROM and (topic_id or not named):
            code = ErrorCode.invalid_request
        elif not named and not topic_id:
            code = ErrorCode.unknown_server_error
        else:
            continue
        answer: Any = answers.error_answer(request, context.messages, code)
        return replace(answer, topics=tuple(replace(each, name=each.name or "") for each in answer.topics))
    return None


class _Maker:
    """A builder of the topics in one response."""

    def __init__(self, context: RequestContext, alive: frozenset[int], operations: bool) -> None:
        self._context = context
        self._view = context.view
        self._alive = alive
        self.operations = operations

    def all_topics(self) -> Iterator[Any]:
        """Yield, as response elements, all topics that the client may describe."""
        return map(self._topic, self._allowed())

    async def with_all_topics(self, response: Any) -> EncodedBody:
        """Return the encoded response with all topics that the client may describe; yield to other connections
        meanwhile.
        """
        context = self._context
        topics: list[bytes] = []
        element = context.schema.MetadataResponseTopic
        await answers.with_pauses(encoded_topics(context.version, self._allowed(), self._topic, element), topics.append)
        empty = encode_body(context.messages.response, response)
        return EncodedBody(with_topics(context.version, empty, topics))

    def _allowed(self) -> Iterable[Topic]:
        topics = frozen(self._view.topics).values()
        if self._context.unrestricted:
            return topics
        return (topic for topic in topics if self._context.allowed("DESCRIBE", "TOPIC", topic.name))

    def named(self, request: Any) -> Iterator[Any]:
        """Yield, as response elements, the requested topics or their errors."""
        create = getattr(request, "allow_auto_topic_creation", True)
        asked: dict[tuple[str | None, UUID | None], None] = {}
        for item in request.topics:
            asked[item.name, getattr(item, "topic_id", None) or None] = None
        for name, topic_id in asked:
            if name is None:
                yield self._by_id(topic_id or _ZERO_ID)
            elif not self._context.allowed("DESCRIBE", "TOPIC", name):
                yield self._refused(ErrorCode.topic_authorization_failed, name)
            elif name in self._view.topics:
                yield self._topic(self._view.topics[name])
            else:
                yield self._missing(name, create)

    def _by_id(self, topic_id: UUID) -> Any:
        name = self._context.state.topics.name_of(topic_id)
        if name is None or name not in self._view.topics:
            return self._refused(ErrorCode.unknown_topic_id, None, topic_id)
        if not self._context.allowed("DESCRIBE", "TOPIC", name):
            return self._refused(ErrorCode.topic_authorization_failed, None, topic_id)
        return self._topic(self._view.topics[name])

    def _missing(self, name: str, create: bool) -> Any:
        """Return the result for a topic that does not exist. Create it if the broker and the request (`create`) allow
        that.
        """
        context = self._context
        create = create and context.cluster.auto_create_topics
        if create and not (context.allowed("CREATE") or context.allowed("CREATE", "TOPIC", name)):
            return self._refused(ErrorCode.topic_authorization_failed, name)
        if not is_legal(name):
            return self._refused(ErrorCode.invalid_topic_exception, name)
        if create:
            return self._refused(_create(context, name), name)
        return self._refused(ErrorCode.unknown_topic_or_partition, name)

    def _refused(self, code: int, name: str | None, topic_id: UUID | None = None) -> Any:
        operations = answers.NO_OPERATIONS
        if self.operations and name is not None and code != ErrorCode.topic_authorization_failed:
            operations = self._context.operations(answers.TOPIC_OPERATIONS, "TOPIC", name)
        return self._context.part(
            "MetadataResponseTopic",
            error_code=code,
            name=name,
            topic_id=topic_id,
            is_internal=name in (GROUP_TOPIC, TRANSACTION_TOPIC),
            partitions=(),
            topic_authorized_operations=operations,
        )

    def _topic(self, topic: Topic) -> Any:
        operations = answers.NO_OPERATIONS
        if self.operations:
            operations = self._context.operations(answers.TOPIC_OPERATIONS, "TOPIC", topic.name)
        return self._context.part(
            "MetadataResponseTopic",
            error_code=0,
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic.internal,
            partitions=tuple(self._partition(index, partition) for index, partition in enumerate(topic.partitions)),
            topic_authorized_operations=operations,
        )

    def _partition(self, index: int, partition: Partition) -> Any:
        code, leader = 0, partition.leader
        replicas, isr = partition.replicas, partition.isr
        if leader not in self._alive:
            code, leader = ErrorCode.leader_not_available, NO_LEADER
        if self._context.version == 0:  # dead replicas are omitted, with an error (KIP-4)
            replicas = tuple(replica for replica in replicas if replica in self._alive)
            isr = tuple(replica for replica in isr if replica in self._alive)
            if not code and (len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr)):
                code = ErrorCode.replica_not_available
        return self._context.part(
            "MetadataResponsePartition",
            error_code=code,
            partition_index=index,
            leader_id=leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=tuple(replica for replica in partition.replicas if replica not in self._alive),
        )


def _create(context: RequestContext, name: str) -> int:
    """Create a topic as brokers do automatically (AutoTopicCreationManager); do nothing if the creation is refused.
    Return UNKNOWN_TOPIC_OR_PARTITION in every case: the client retries, and then finds the topic.
    """
    state = context.state
    if name in (GROUP_TOPIC, TRANSACTION_TOPIC):
        ensure_topic(state, name)
    elif name not in state.topics:
        planned = Planner(context.cluster).plan(WantedTopic(name))
        if isinstance(planned, Refusal):
            return ErrorCode.unknown_topic_or_partition
        create(state, planned)
    # The client retries; by then the topic exists, and this broker knows it.
    return ErrorCode.unknown_topic_or_partition


Describe = Callable[[Topic], Any]
"""Function that returns the response element of a topic."""

_FLEXIBLE_FROM, _IDS_FROM, _ERROR_FROM = 9, 10, 13
_OPERATIONS = range(8, 11)
_NO_ERROR = b"\x00\x00"
_NO_NAME = UUID(int=0)


def encoded_topics(version: int, topics: Iterable[Topic], describe: Describe, element: type[Any]) -> Iterator[bytes]:
    """Yield each topic as an encoded element of the response's array.

    The bytes after the topic's name and id are encoded only once for all topics with equal partitions, because even
    100,000 topics have few different partitions.

    Args:
        version: the version of Metadata.
        describe: function that returns the element of a topic. Only the fields for the name and the id may depend on
            the topic's name and id.
        element: the class of the element in this version.
    """
    tails: dict[tuple[int, bool], tuple[tuple[Partition, ...], bytes]] = {}
    flexible, with_id = version >= _FLEXIBLE_FROM, version >= _IDS_FROM
    before_tail = len(_NO_ERROR) + (1 if flexible else 2) + (16 if with_id else 0)
    for topic in topics:
        key = (id(topic.partitions), topic.internal)
        known = tails.get(key)
        if known is None:
            nameless = describe(Topic("", _NO_NAME, topic.partitions, topic.internal))
            # Store the partitions too, so that no other object gets their id() while the entry is used.
            known = tails[key] = (topic.partitions, encode_body(element, nameless)[before_tail:])
        name = topic.name.encode()
        size = encode_varint(len(name) + 1) if flexible else struct.pack(">h", len(name))
        yield b"".join((_NO_ERROR, size, name, topic.id.bytes if with_id else b"", known[1]))


def with_topics(version: int, response: bytes, topics: list[bytes]) -> bytes:
    """Insert encoded topics into an encoded response that has none."""
    # Only fields of a fixed size follow the array of topics: authorized operations, an error code and an empty section
    # of tags.
    behind = (4 if version in _OPERATIONS else 0) + (2 if version >= _ERROR_FROM else 0)
    if version >= _FLEXIBLE_FROM:
        behind += 1
        count, placeholder = encode_varint(len(topics) + 1), 1
    else:
        count, placeholder = struct.pack(">i", len(topics)), 4
    end = len(response) - behind
    return b"".join((response[: end - placeholder], count, *topics, response[end:]))


MAX_PARTITIONS = 2000
"""Maximum number of partitions in one response to DescribeTopicPartitions (max.request.partition.size.limit)."""


async def describe_topic_partitions(request: Any, context: RequestContext) -> Any:
    """DescribeTopicPartitions (75), v0: topics by name, in pages (KIP-966; DescribeTopicPartitionsRequestHandler).

    Return a page of partitions, and a cursor with which the client requests the next page. An empty array of topics
    means all. A cursor in a request must name one of the requested topics.

    Topics that may not be described are omitted, unless the request names them. Unlike Metadata, the response has the
    eligible leader replicas.
    """
    schema, view, cursor = context.schema, context.view, request.cursor
    everything = not request.topics
    begin = cursor.topic_name if cursor else ""
    asked = view.topics if everything else {topic.name for topic in request.topics}
    # Sort topics by name, as the cursor requires: a topic that is created meanwhile, after the cursor's position, is
    # still found.
    names = sorted(name for name in asked if name >= begin)
    if cursor and (cursor.partition_index < 0 or (not everything and begin not in names)):
        failed = tuple(_empty(schema, topic.name, ErrorCode.invalid_request) for topic in request.topics)
        return context.answer(topics=failed)
    allowed = [name for name in names if context.allowed("DESCRIBE", "TOPIC", name)]
    # Return one partition even if the limit is below 1, so that the cursor always advances.
    left = max(min(MAX_PARTITIONS, request.response_partition_limit), 1)
    topics: list[Any] = []
    following: Any = None
    for name in allowed:
        if left == 0:
            following = schema.Cursor(topic_name=name, partition_index=0)
            break
        topic = view.topics.get(name)
        if topic is None:
            if not everything:
                code = ErrorCode.unknown_topic_or_partition if is_legal(name) else ErrorCode.invalid_topic_exception
                topics.append(_empty(schema, name, code, context.operations(TOPIC_OPERATIONS, "TOPIC", name)))
            continue
        first = cursor.partition_index if cursor and name == begin else 0
        last = min(first + left, len(topic.partitions))
        topics.append(_topic(context, topic, first, last))
        left -= max(last - first, 0)
        if last < len(topic.partitions):
            following = schema.Cursor(topic_name=name, partition_index=last)
            break
    if not everything:
        topics += [
            _empty(schema, name, ErrorCode.topic_authorization_failed) for name in names if name not in set(allowed)
        ]
    return context.answer(topics=tuple(topics), next_cursor=following)


def _empty(schema: Any, name: str, code: int, operations: int = NO_OPERATIONS) -> Any:
    return schema.DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_id=None, partitions=(), topic_authorized_operations=operations
    )


def _topic(context: RequestContext, topic: Topic, first: int, last: int) -> Any:
    alive = frozenset(broker.id for broker in context.view.brokers.values() if broker.alive)
    return context.part(
        "DescribeTopicPartitionsResponseTopic",
        error_code=0,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.internal,
        partitions=tuple(_partition(context, index, topic.partitions[index], alive) for index in range(first, last)),
        topic_authorized_operations=context.operations(TOPIC_OPERATIONS, "TOPIC", topic.name),
    )


def _partition(context: RequestContext, index: int, partition: Partition, alive: frozenset[int]) -> Any:
    """Return a partition as a response element.

    If the feature for eligible leader replicas is on, a partition that lost the last in-sync replica has an empty ISR.
    That replica is then an eligible leader replica and the last known leader (PartitionChangeBuilder; observed on 4.3).
    """
    led = partition.leader in alive
    eligible = partition.isr if not led and context.state.features.get(ELR) else ()
    return context.part(
        "DescribeTopicPartitionsResponsePartition",
        error_code=0 if led else ErrorCode.leader_not_available,
        partition_index=index,
        leader_id=partition.leader if led else NO_LEADER,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=() if eligible else partition.isr,
        eligible_leader_replicas=eligible,
        last_known_elr=eligible[:1],
        offline_replicas=tuple(replica for replica in partition.replicas if replica not in alive),
    )
