"""The topic __consumer_offsets has one replica for each partition: while a broker is down, half of the groups have no
coordinator.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OFFSETS = "__consumer_offsets"
PARTITION = 1
"""The partition (0 to 2) of __consumer_offsets for group billing, by the hash of the group's name; the partition of
group mailers is 0.
"""
_MAINTENANCE = 10.0
"""Seconds for which the twin's broker is down for maintenance."""


async def _leader(field: Field) -> int:
    """Return the id of the broker that is the coordinator of group billing."""
    printed = await field.tool("kafka-topics", "--describe", "--topic", OFFSETS)
    return int(re.findall(rf"Partition: {PARTITION}\s+Leader: (\d+)", printed)[0])


async def _copied(field: Field) -> None:
    """Give each partition of __consumer_offsets a replica on every broker; the leaders stay."""
    printed = await field.tool("kafka-topics", "--describe", "--topic", OFFSETS)
    leaders = re.findall(r"Partition: (\d+)\s+Leader: (\d+)", printed)
    partitions = [
        {
            "topic": OFFSETS,
            "partition": int(number),
            "replicas": [int(leader), *(each for each in field.cluster.broker_ids if each != int(leader))],
        }
        for number, leader in leaders
    ]
    plan = Path(field.cluster.directory, "plan.json")
    await asyncio.to_thread(plan.write_text, json.dumps({"version": 1, "partitions": partitions}))
    await field.tool("kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(plan))
    await field.settled()


@asynccontextmanager
async def _serving(field: Field) -> AsyncIterator[None]:
    """Run two groups, with coordinators on different brokers, that read topics of three replicas."""
    await field.topic("orders", partitions=3)
    await field.topic("mails", partitions=3)
    async with (
        field.producer("orders", rate=40),
        field.producer("mails", rate=20),
        field.consumer("orders", "billing", name="billing-1"),
        field.consumer("mails", "mailers", name="mailer-1"),
    ):
        await field.reads("billing", "orders")
        await field.reads("mailers", "mails")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: __consumer_offsets has one replica, and a
    broker is shut down to replace its host.
    """
    async with _serving(field):

        async def begin() -> None:
            await field.stop(await _leader(field))

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: __consumer_offsets has
    three replicas, and a broker is shut down for some seconds.
    """
    async with _serving(field):
        await _copied(field)

        async def begin() -> None:
            broker = await _leader(field)
            await field.stop(broker)
            await asyncio.sleep(_MAINTENANCE)
            await field.start(broker)

        yield begin


NIGHT = Night(
    name="commits of one replica",
    source="https://www.besthub.dev/articles/"
    "why-a-kafka-broker-crash-can-halt-all-consumers-the-hidden-offset-pitfall-93ea604e1d9a",
    story="All topics had three replicas, and when one broker of three was taken away, consumers stopped all the same. "
    "The topic __consumer_offsets was made when the cluster was a trial and has one replica of each partition: groups "
    "whose commits were on the lost broker have no coordinator, neither commit nor rebalance, and tools can't even "
    "describe them. Groups with their commits elsewhere read on, so it looked like the fault of one service.",
    make=_make,
    twin_story="The same broker is away for a moment, and the commits have three replicas: another one coordinates.",
    twin=_twin,
    cause=Words(
        (
            r"__consumer_offsets",
            r"(one|single|only|\b1\b|sole|last|no other).{0,30}replica|replication[ .]factor.{0,10}\b1\b"
            r"|replicas? .{0,30}(one|single|only|\b1\b)|unreplicated|not replicated",
        )
    ),
    symptom=Words(
        (
            r"__consumer_offsets|billing|coordinator",
            r"no leader|offline|leaderless|unavailable|not available|coordinator|\blag|no (answer|commit)|not commit",
        )
    ),
    step=Words(
        (
            r"(start|bring|restart|repair).{0,40}(broker|\b[123]\b)|broker.{0,40}(start|back|up again)"
            r"|(add|more|three|3|raise|increase|grow).{0,40}replica",
        )
    ),
    wrong=(
        r"unclean",
        r"delete topic",
        r"delete group",
        r"reset group",
        r"unregister",
        r"elect unclean",
    ),
    # The brokers' default factor is still 1. It would apply if they created `__consumer_offsets` again.
    fine=(r"offsets\.topic\.replication\.factor",),
    properties={"offsets.topic.replication.factor": "1"},
)
