"""A client of a scenario that really produces, over a socket like any other, faster than its quota lets it."""

from __future__ import annotations

import asyncio
import logging
import struct
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from console.embedded.scenarios.traffic import batch_of
from console.embedded.state.values import NO_LEADER
from console.wire.frames import encode_header, encode_payload
from console.wire.schemas import request_module

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

log = logging.getLogger("console.embedded")

_VERSION = 9
"""Of Produce: the first flexible one, which all releases have."""
_LEADER = 1
_RECORDS, _RECORD = 30, 1_000
"""Records of a request, and bytes of each."""
_PAUSE = 0.25
_RETRY = 2.0
"""Seconds."""
_LENGTH = struct.Struct(">i")


async def load(cluster: EmbeddedCluster, client_id: str, topic: str, partition: int = 0) -> None:
    """Produce without end, 120 kB a second where no quota holds it back, until it is cancelled."""
    while True:
        leader = _leader(cluster, topic, partition)
        try:
            if leader != NO_LEADER:
                await _produce_to(cluster, leader, client_id, topic, partition)
        except (OSError, EOFError) as error:
            log.info("%s lost broker %d: %s", client_id, leader, error)
        await cluster.clock.sleep(_RETRY)


def _leader(cluster: EmbeddedCluster, topic: str, partition: int) -> int:
    found = cluster.state.topics.get(topic)
    return NO_LEADER if found is None else found.partitions[partition].leader


async def _produce_to(cluster: EmbeddedCluster, leader: int, client_id: str, topic: str, partition: int) -> None:
    """Until another broker leads. Raises OSError or EOFError once the connection ends."""
    reader, writer = await asyncio.open_connection(*cluster.addresses[leader])
    try:
        number = 0
        while _leader(cluster, topic, partition) == leader:
            number += 1
            payload = _request(topic, partition, int(cluster.clock.time() * 1000), number)
            frame = encode_header(payload, number, client_id) + encode_payload(payload)
            writer.write(_LENGTH.pack(len(frame)) + frame)
            await writer.drain()
            (size,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
            await reader.readexactly(size)
            await cluster.clock.sleep(_PAUSE)
    finally:
        writer.close()


def _request(topic: str, partition: int, moment: int, number: int) -> Any:
    messages: Any = request_module("produce", _VERSION)
    values = [f"{number}-{place}".encode().ljust(_RECORD, b".") for place in range(_RECORDS)]
    data = messages.PartitionProduceData(index=partition, records=batch_of(values, moment, b"load"))
    return messages.ProduceRequest(
        acks=_LEADER,
        timeout=timedelta(seconds=10),
        topic_data=(messages.TopicProduceData(name=topic, partition_data=(data,)),),
    )
