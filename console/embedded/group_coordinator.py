"""The group coordinator of a broker, and the subscriptions of the consumer protocol."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from kio.schema.errors import ErrorCode

from console.embedded.clock import event_or_time
from console.embedded.context import Cluster, RequestContext
from console.embedded.groups import Group
from console.embedded.replicas import new_topic, striped
from console.embedded.state import ClusterState
from console.embedded.tables import ABSENT, NO_LEADER, Change, Topic
from console.model import coordinators
from console.model.config import topic_resource

GROUP_TOPIC, TRANSACTION_TOPIC = coordinators.OFFSETS, coordinators.TRANSACTIONS
INTERNAL_TOPICS = frozenset({GROUP_TOPIC, TRANSACTION_TOPIC})
COORDINATOR_PARTITIONS = 50
_REPLICATION = 3


def partition_of(name: str, partitions: int = COORDINATOR_PARTITIONS) -> int:
    """Return the partition number of the internal topic in which the group or transactional id with this name is
    stored.
    """
    return coordinators.partition_of(name, partitions)


def coordinator_of(topics: Mapping[str, Topic], name: str, topic: str = GROUP_TOPIC) -> int:
    """Return the id of the broker that coordinates a group or transactional id; NO_LEADER if there is no coordinator.
    topic: the internal topic.
    """
    found = topics.get(topic)
    if found is None or not found.partitions:
        return NO_LEADER
    return found.partitions[partition_of(name, len(found.partitions))].leader


def ensure_topic(state: ClusterState, topic: str = GROUP_TOPIC) -> None:
    """Create the internal topic if it is missing and a broker is alive, as a coordinator does when it is first
    needed.
    """
    alive = state.alive()
    # Without live brokers, the topic would have no replicas; the next use tries again.
    if topic in state.topics or not alive:
        return
    assignments = striped(alive, COORDINATOR_PARTITIONS, min(_REPLICATION, len(alive)))
    state.put_topic(new_topic(topic, assignments, alive, internal=True))
    state.alter_config(
        topic_resource(topic),
        {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
    )


_READS_ITS_LOG_FROM = (4, 0)
_INITIAL_DELAY = "group.initial.rebalance.delay.ms"
_INITIAL_DELAY_DEFAULT = "3000"


def group_error(context: RequestContext, group_id: str, operation: str = "READ", *, may_be_empty: bool = False) -> int:
    """Return the error code with which this broker refuses a request about a group; 0 if it accepts it.

    Args:
        operation: Kafka's name of the operation that the principal needs on the group.
        may_be_empty: whether to accept the empty group id, as brokers do in requests by which old clients commit.
    """
    if not context.allowed(operation, "GROUP", group_id):
        return ErrorCode.group_authorization_failed
    if not group_id and not may_be_empty:
        return ErrorCode.invalid_group_id
    return 0 if coordinator_of(context.view.topics, group_id) == context.broker_id else ErrorCode.not_coordinator


def get_or_create_group(context: RequestContext, group_id: str) -> Group:
    """Return the group; create an empty one if it is missing."""
    groups = context.state.groups
    if group_id not in groups:
        delay = context.cluster.spec.static_configs.get(_INITIAL_DELAY, _INITIAL_DELAY_DEFAULT)
        groups[group_id] = Group(group_id, int(delay) / 1000)
    return groups[group_id]


def visible_group(context: RequestContext, group_id: str) -> Group | None:
    """Return the group; None if it does not exist, or if requests don't see it yet.

    Coordinators since 4.0 see a new group only when it is written to their log (GroupMetadataManager.classicGroup by
    the last committed offset; measured on 4.3).
    """
    group = context.state.groups.get(group_id)
    if group is None or (context.cluster.release.number >= _READS_ITS_LOG_FROM and not group.written):
        return None
    return group


def run_timers(cluster: Cluster, group: Group) -> None:
    """Start a background task that ends the group's sessions and rebalances when their time is over; do nothing if it
    runs already.
    """
    if not group.watched:
        group.watched = True
        cluster.run(_pass_time(cluster, group))


async def _pass_time(cluster: Cluster, group: Group) -> None:
    try:
        while (deadline := group.next_deadline) is not None:
            group.changed.clear()
            await event_or_time(group.changed, cluster.clock, deadline)
            group.pass_time(cluster.clock.time())
    finally:
        group.watched = False
    groups = cluster.state.groups
    if (
        not (group.members or group.written) and groups.get(group.id) is group
    ):  # no member stayed and nothing was committed
        # Delete the group: a client that requested a member id and did not return must not leave a group for
        # ListGroups.
        del groups[group.id]


def topic_name_of(context: RequestContext, item: Any) -> str | None:
    """Return the topic name of an item in a request, which has the name or, since KIP-1102, the topic's id; None for an
    unknown id.
    """
    if not hasattr(item, "topic_id"):
        name: str = item.name
        return name
    found = context.state.topics.name_of(item.topic_id) if item.topic_id is not None else None
    return found if found in context.view.topics else None


def topic_error(context: RequestContext, name: str | None) -> int:
    """Return the error code with which offsets of a topic are refused; 0 if they are accepted. name: None for an
    unknown topic id.
    """
    if name is None:
        return ErrorCode.unknown_topic_id
    if not context.allowed("READ", "TOPIC", name):
        return ErrorCode.topic_authorization_failed
    return 0 if name in context.view.topics else ErrorCode.unknown_topic_or_partition


def drop_offsets_of_deleted_topics(state: ClusterState) -> None:
    """Register a listener that, whenever a topic is deleted, deletes the offsets that groups have committed in it
    (GroupCoordinator.onPartitionsDeleted).
    """

    def changed(change: Change) -> None:
        if change.table == "topics" and change.after is ABSENT:
            for group in state.groups.values():
                group.offsets = {key: value for key, value in group.offsets.items() if key[0] != change.key}

    state.subscribe(changed)


CONSUMERS = "consumer"
"""The protocol type of consumer groups."""
_VERSION = 2
_COUNT, _LENGTH = struct.Struct(">i"), struct.Struct(">h")


def subscribed(group: Group) -> frozenset[str]:
    """Return the topics to which the members of a group subscribe. Empty for a classic group whose protocol type is not
    ``consumer``.
    """
    if group.newer is not None:
        return group.newer.subscribed
    if group.protocol_type != CONSUMERS:
        return frozenset()
    found: set[str] = set()
    for member in group.members.values():
        for _, metadata in member.protocols[:1]:
            found.update(_topics(metadata))
    return frozenset(found)


def _topics(metadata: bytes) -> list[str]:
    """Return the topics in an encoded ConsumerProtocolSubscription, in which they are the first field in every
    version. Return an empty list for bytes that are no subscription.
    """
    found: list[str] = []
    try:
        (count,) = _COUNT.unpack_from(metadata, _VERSION)
        at = _VERSION + _COUNT.size
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(metadata, at)
            at += _LENGTH.size
            found.append(metadata[at : at + length].decode("utf-8", "replace"))
            at += max(length, 0)
    except struct.error:
        return []
    return found


def subscription(topics: tuple[str, ...]) -> bytes:
    """Encode a consumer's subscription to these topics (ConsumerProtocolSubscription)."""
    from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription
    from kio.serial import entity_writer

    buffer = BytesIO(b"\x00\x00")
    buffer.seek(_VERSION)
    entity_writer(ConsumerProtocolSubscription)(buffer, ConsumerProtocolSubscription(topics=topics, user_data=None))
    return buffer.getvalue()
