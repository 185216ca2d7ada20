"""The scenario `quiet` with several problems at once: a broker that crashes repeatedly, replicas that lag, a throttled
client, a group that lags and, if the cluster has Connect, a sink that fails.
"""

from __future__ import annotations

import asyncio
import logging
import struct
from datetime import timedelta
from typing import Any

from console.embedded.context import Cluster
from console.embedded.scenarios import connectors, quiet
from console.embedded.scenarios import seed as scenarios_seed
from console.embedded.tables import NO_LEADER
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.wire.frames import encode_header, encode_payload
from console.wire.schemas import request_module

log = logging.getLogger("console.embedded")

_VERSION = 9
"""The version of Produce that is used: the first flexible one, which all releases have."""
_ACKS_OF_LEADER = 1
_RECORDS, _RECORD = 30, 1_000
"""Number of records in a request, and bytes of a record."""
_PAUSE = 0.25
_RETRY = 2.0
"""Seconds between two requests, and before a retry."""
_LENGTH = struct.Struct(">i")


async def produce_load(cluster: Cluster, client_id: str, topic: str, partition: int = 0) -> None:
    """Produce over a socket at 120 kB per second, or less if a quota throttles the client, until cancelled."""
    while True:
        leader = _leader(cluster, topic, partition)
        try:
            if leader != NO_LEADER:
                await _produce_to(cluster, leader, client_id, topic, partition)
        except (OSError, EOFError) as error:
            log.info("%s lost broker %d: %s", client_id, leader, error)
        await cluster.clock.sleep(_RETRY)


def _leader(cluster: Cluster, topic: str, partition: int) -> int:
    found = cluster.state.topics.get(topic)
    return NO_LEADER if found is None else found.partitions[partition].leader


async def _produce_to(cluster: Cluster, leader: int, client_id: str, topic: str, partition: int) -> None:
    """Produce to the leader of a partition until another broker becomes the leader. Raises OSError or EOFError if the
    connection ends.
    """
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
    data = messages.PartitionProduceData(index=partition, records=scenarios_seed.batch_of(values, moment, b"load"))
    return messages.ProduceRequest(
        acks=_ACKS_OF_LEADER,
        timeout=timedelta(seconds=10),
        topic_data=(messages.TopicProduceData(name=topic, partition_data=(data,)),),
    )


FLAPPING = 3
"""The id of the broker that crashes repeatedly."""
SLOW = 2
"""The id of the broker whose replicas leave the ISR."""
UP, DOWN = 25.0, 15.0
SHRINK_EVERY = 5.0
"""Seconds for which the crashing broker is up, and then down; also the seconds between two times at which replicas
leave the ISR.
"""
THROTTLED = "checkout-loader"
"""The id of the client that exceeds the default quota."""
IMPOSSIBLE = "checkout.gift-cards"
"""A topic whose min.insync.replicas is larger than its number of replicas. Brokers then require all existing replicas
(measured on 3.9 and 4.3).
"""
LEFTOVER = "logistics.stock"
"""A topic with the replication throttles of a reassignment that ended long ago."""
LOADED = "checkout.carts"
"""The topic to which the throttled client writes."""
BEHIND = "cart-reminders"
"""The group that lags in the topic `LOADED`."""
_BEHIND_BY = 250_000
_READ_EVERY, _READ = 3.0, 60
"""Seconds between reads, and number of records in a read: a third of the number that the client writes."""
_LAGGING = ("logistics.shipments", "logistics.stock", "logistics.stock-changes", "logistics.carriers")


def seed(cluster: Cluster) -> None:
    """Fill the cluster as the scenario `quiet` does, and add the problems."""
    quiet.seed(cluster)
    state = cluster.state
    scenarios_seed.add_topic(state, IMPOSSIBLE, 6, 2, {"min.insync.replicas": "3"})
    scenarios_seed.add_group(cluster, BEHIND, (LOADED,), ("reminders-1",), _BEHIND_BY)
    scenarios_seed.quota(state, {"client-id": None}, producer_byte_rate=65_536.0, consumer_byte_rate=131_072.0)
    state.alter_config(
        topic_resource(LEFTOVER),
        {"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*"},
    )
    for broker in state.alive():
        state.alter_config(
            broker_resource(broker),
            {"leader.replication.throttled.rate": "1048576", "follower.replication.throttled.rate": "1048576"},
        )
    state.alter_config(CLUSTER_DEFAULT, {"min.insync.replicas": "2"})
    if SLOW in state.alive():
        scenarios_seed.leave_isr(state, _LAGGING[0], SLOW)
    if cluster.spec.connect is not None:
        connectors.seed_connectors(cluster)


async def live(cluster: Cluster) -> None:
    """Simulate the crashing broker, the lagging replicas, the throttled client, the lagging group and changes by other
    clients, until cancelled.
    """
    await asyncio.gather(
        _flap(cluster),
        _shrink(cluster),
        produce_load(cluster, THROTTLED, LOADED),
        _lag(cluster),
        quiet.live(cluster),
    )


async def _lag(cluster: Cluster) -> None:
    while True:
        await cluster.clock.sleep(_READ_EVERY)
        scenarios_seed.commit_later_offset(cluster, BEHIND, LOADED, _READ)


async def _flap(cluster: Cluster) -> None:
    if FLAPPING not in cluster.state.brokers or len(cluster.state.brokers) < 2:
        return
    while True:
        await cluster.clock.sleep(UP)
        await cluster.broker_killed(FLAPPING)
        await cluster.clock.sleep(DOWN)
        await cluster.broker_up(FLAPPING)


async def _shrink(cluster: Cluster) -> None:
    if SLOW not in cluster.state.brokers:
        return
    while True:
        for change in (scenarios_seed.leave_isr, scenarios_seed.join_isr):
            for name in _LAGGING:
                await cluster.clock.sleep(SHRINK_EVERY)
                if name in cluster.state.topics and cluster.state.brokers[SLOW].alive:
                    change(cluster.state, name, SLOW)


SCENARIO = scenarios_seed.Scenario(seed, live=live)
