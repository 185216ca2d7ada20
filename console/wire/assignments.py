"""What the leader of a classic group assigns to a member (ConsumerProtocolAssignment). Brokers do not read it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

_VERSION_SIZE = 2

log = logging.getLogger(__name__)


def consumer_assignment(data: bytes) -> tuple[tuple[str, int], ...]:
    """Return the partitions (topic, partition) that are assigned to a member, sorted.

    The bytes may be anything. Those that are not an assignment give no partitions.
    """
    from kio.schema.consumer_protocol_assignment.v0.data import ConsumerProtocolAssignment
    from kio.serial import entity_reader

    from console.wire.bounds_check import check_message

    if len(data) <= _VERSION_SIZE:
        return ()
    try:
        # Later versions only append fields, so version 0 reads them all.
        check_message(ConsumerProtocolAssignment, data, _VERSION_SIZE)
        assignment, _ = entity_reader(ConsumerProtocolAssignment)(data, _VERSION_SIZE)
    except Exception:  # noqa: BLE001 kio raises several kinds
        log.info("a member's assignment of %d bytes is not a consumer's", len(data))
        return ()
    return tuple(sorted((part.topic, number) for part in assignment.assigned_partitions for number in part.partitions))


def assignment_bytes(partitions: Mapping[str, Sequence[int]]) -> bytes:
    """Return the assignment of one member in version 0. partitions: by topic."""
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
