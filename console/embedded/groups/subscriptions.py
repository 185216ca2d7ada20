"""What consumers say when they join: the topics that they read (ConsumerProtocolSubscription)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from console.embedded.groups.group import Group

CONSUMERS = "consumer"
"""The protocol type of consumers."""
_VERSION = 2
_COUNT, _LENGTH = struct.Struct(">i"), struct.Struct(">h")


def subscribed(group: Group) -> frozenset[str]:
    """The topics that any member of a group of consumers reads."""
    if group.protocol_type != CONSUMERS:
        return frozenset()
    found: set[str] = set()
    for member in group.members.values():
        for _, metadata in member.protocols[:1]:
            found.update(_topics(metadata))
    return frozenset(found)


def _topics(metadata: bytes) -> list[str]:
    """The topics come first in every version, behind the version's number; none where the bytes are not that."""
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
    """What a consumer of these topics would say."""
    from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription
    from kio.serial import entity_writer

    buffer = BytesIO(b"\x00\x00")
    buffer.seek(_VERSION)
    entity_writer(ConsumerProtocolSubscription)(buffer, ConsumerProtocolSubscription(topics=topics, user_data=None))
    return buffer.getvalue()


def assignment(partitions: Mapping[str, tuple[int, ...]]) -> bytes:
    """What a leader would give a consumer: partitions by topic (ConsumerProtocolAssignment)."""
    from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment, TopicPartition
    from kio.serial import entity_writer

    buffer = BytesIO(b"\x00\x00")
    buffer.seek(_VERSION)
    part: Any = TopicPartition
    assigned = tuple(part(topic=name, partitions=places) for name, places in partitions.items())
    entity_writer(ConsumerProtocolAssignment)(
        buffer, ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None)
    )
    return buffer.getvalue()
