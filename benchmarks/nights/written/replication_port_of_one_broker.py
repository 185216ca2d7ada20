"""A broker advertises a wrong port for replication: clients use it, and it follows others, but nobody can follow it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.free_ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2


async def _listen(field: Field, broker: int, port: int, advertised: int) -> None:
    """Write a listener for replication into a broker's server.properties.

    Args:
        port: the listener's port.
        advertised: the port that the broker tells other brokers.
    """
    place = field.cluster.broker_ids.index(broker)
    clients = f"PLAINTEXT://{LOOPBACK}:{field.cluster.addresses[place][1]}"
    controller = f"CONTROLLER://{LOOPBACK}:{field.cluster.controller_addresses[place][1]}"
    await field.with_properties(
        broker,
        {
            "listeners": f"{clients},REPLICATION://{LOOPBACK}:{port},{controller}",
            "advertised.listeners": f"{clients},REPLICATION://{LOOPBACK}:{advertised}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REPLICATION:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "REPLICATION",
        },
    )


@asynccontextmanager
async def _moved(field: Field, *, is_told: bool) -> AsyncIterator[Begin]:
    """Run brokers that have a separate listener for replication, and clients. The yielded function moves this listener
    of one broker to another port.

    Args:
        is_told: whether the broker advertises the new port.
    """
    *ports, following = free_ports(len(field.cluster.broker_ids) + 1)
    for broker, port in zip(field.cluster.broker_ids, ports, strict=True):
        await _listen(field, broker, port, port)
        await field.kill(broker)
    await asyncio.to_thread(field.cluster.bring_up)
    await field.topic("orders", partitions=6, configs={"min.insync.replicas": "2"})
    async with field.producer("orders", rate=60), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Restart the broker with the other port, and let it lead its partitions again."""
            former = ports[field.cluster.broker_ids.index(BROKER)]
            await _listen(field, BROKER, following, following if is_told else former)
            await field.restart(BROKER)
            again = ("--election-type", "preferred", "--all-topic-partitions")
            await field.tool("kafka-leader-election", *again, check=False)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker moves its listener for replication
    to another port, and still advertises the former port.
    """
    async with _moved(field, is_told=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker moves its
    listener for replication to another port, and advertises this port.
    """
    async with _moved(field, is_told=True) as begin:
        yield begin


NIGHT = Night(
    name="the replication port of one broker",
    source="https://github.com/d2iq-archive/dcos-kafka-service/issues/276",
    story="A broker came back with another address for replication, and the other brokers went on connecting to the "
    "former one. Clients reached it, and it followed the others, so every list showed it as alive; but nobody could "
    "follow it: each partition that it led lost its other replicas, and refused writes that need two of them.",
    make=_make,
    twin_story="The broker moves its port in the same way, and advertises the new one.",
    twin=_twin,
    cause=Words(
        (
            r"brokers?:? 2\b",
            r"listener|advertis|address|\bports?\b|endpoint|reach|connect|can(no|'| no)t (be )?(fetch|follow)"
            r"|no(body| broker) (can )?(fetch|follow)|network|firewall",
            r"replica|follow|fetch|in.sync|other brokers|brokers 1",
        )
    ),
    symptom=Words(
        (r"orders|brokers?:? 2\b", r"under.?replicated|in.sync|\bisr\b|min\.insync|refus|not enough|follow"),
    ),
    step=Words((r"listener|advertis|address|\bports?\b|network|firewall|connect|reach",)),
    wrong=(r"unclean", r"unregister", r"delete (topic|group|records)", r"set topic orders .*min\.insync"),
    # In the twin, the restarted broker is down for some seconds.
    fine=(r"brokers?:? 2\b", r"under.?replicated|in.sync"),
    properties={"replica.lag.time.max.ms": "10000"},
)
