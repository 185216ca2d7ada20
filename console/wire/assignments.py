"""The bytes that members of a classic group exchange: subscriptions, positions of Connect's workers, and the leader's
assignments. Brokers do not parse them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

_VERSION_SIZE, _OFFSET_SIZE = 2, 8

log = logging.getLogger(__name__)


def consumer_assignment(data: bytes) -> tuple[tuple[str, int], ...]:
    """Decode a classic group member's assignment into sorted pairs (topic, partition).

    Return an empty tuple for bytes that are not an assignment: clients may store any bytes there.
    """
    from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment

    found = _read(ConsumerProtocolAssignment, data)
    if found is None:
        return ()
    return tuple(sorted((part.topic, number) for part in found.assigned_partitions for number in part.partitions))


def consumer_subscription(data: bytes) -> tuple[str, ...]:
    """Decode a classic group member's subscription into sorted topic names; return an empty tuple for bytes that are
    not a subscription.
    """
    from kio.schema.consumer_protocol_subscription.v0.data import ConsumerProtocolSubscription

    found = _read(ConsumerProtocolSubscription, data)
    return () if found is None else tuple(sorted(found.topics))


def worker_position(data: bytes) -> int | None:
    """Decode the offset up to which a worker of Connect has read its topic of configs, -1 for none; return None for
    bytes in any other format. In all versions, the version and the worker's URL precede it.
    """
    start = 2 * _VERSION_SIZE + int.from_bytes(data[_VERSION_SIZE : 2 * _VERSION_SIZE], signed=True)
    found = data[start : start + _OFFSET_SIZE]
    if start < 2 * _VERSION_SIZE or len(found) < _OFFSET_SIZE:
        return None
    return int.from_bytes(found, signed=True)


def _read(entity: Any, data: bytes) -> Any:
    """Decode the structure from the bytes, which begin with its version; return None for bytes in any other format."""
    from kio.serial import entity_reader

    from console.wire.bounds_check import check_message

    if len(data) <= _VERSION_SIZE:
        return None
    try:
        # Later versions only append fields, so version 0 reads them all.
        check_message(entity, data, _VERSION_SIZE)
        found, _ = entity_reader(entity)(data, _VERSION_SIZE)
    except Exception:  # noqa: BLE001 kio raises several classes
        log.info("%d bytes of a member are no %s", len(data), entity.__name__)
        return None
    return found


def assignment_bytes(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """Encode the assignment of one member in version 0 of the consumer protocol. partitions: topic -> partition
    numbers.
    """
    from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment, TopicPartition
    from kio.serial import entity_writer

    buffer = BytesIO(bytes(_VERSION_SIZE))
    buffer.seek(_VERSION_SIZE)
    part: Any = TopicPartition
    assigned = tuple(part(topic=name, partitions=tuple(places)) for name, places in partitions.items())
    entity_writer(ConsumerProtocolAssignment)(
        buffer, ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None)
    )
    return buffer.getvalue()
