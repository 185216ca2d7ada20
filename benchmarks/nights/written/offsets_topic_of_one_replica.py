"""The topic __consumer_offsets was created while the cluster had one broker, so it has one replica; then that broker is
down for a while.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OFFSETS, PARTITIONS = "__consumer_offsets", 3
GROUP = "checkout"
AWAY = 8.0
"""Seconds for which the broker of the twin is down."""


@asynccontextmanager
async def _serving(field: Field) -> AsyncIterator[None]:
    """Run a topic with three replicas, its producer, and groups that read it."""
    await field.topic("carts", partitions=3)
    async with (
        field.producer("carts", rate=60),
        field.consumer("carts", GROUP),
        field.consumer("carts", "mails"),
        field.consumer("carts", "fraud"),
    ):
        for group in (GROUP, "mails", "fraud"):
            await field.reads(group, "carts")
        yield


async def _coordinator(field: Field) -> int:
    """Return the id of the broker that has the group's offsets."""
    told = await field.tool("kafka-consumer-groups", "--describe", "--group", GROUP, "--state")
    found = re.search(r"\((\d+)\)", told)
    if found is None:
        raise RuntimeError(f"group {GROUP} has no coordinator: {told}")
    return int(found[1])


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the broker with the group's offsets is shut
    down for work on its machine, and stays down.
    """
    async with _serving(field):

        async def begin() -> None:
            await field.stop(await _coordinator(field))
            await asyncio.sleep(6)
            told = await field.tool("kafka-topics", "--describe", "--unavailable-partitions")
            if OFFSETS not in told or "carts" in told:
                raise RuntimeError(f"unavailable: {told}")

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: __consumer_offsets got
    three replicas before, and a broker is shut down for some seconds.
    """
    async with _serving(field):
        places = [[1 + (number + k) % 3 for k in range(3)] for number in range(PARTITIONS)]
        moves = [{"topic": OFFSETS, "partition": number, "replicas": each} for number, each in enumerate(places)]
        file = field.cluster.directory / "moves.json"
        file.write_text(json.dumps({"version": 1, "partitions": moves}))
        await field.tool("kafka-reassign-partitions", "--reassignment-json-file", str(file), "--execute")

        async def is_moved() -> bool:
            return "No partition reassignments" in await field.tool("kafka-reassign-partitions", "--list")

        await field.until(is_moved, f"{OFFSETS} has three replicas")

        async def begin() -> None:
            broker = await _coordinator(field)
            await field.stop(broker)
            await asyncio.sleep(AWAY)
            await field.start(broker)

        yield begin


NIGHT = Night(
    name="an offsets topic with one replica",
    source="https://github.com/confluentinc/librdkafka/issues/2136",
    story="A cluster had begun with one broker and its settings, so that __consumer_offsets got one replica; two more "
    "brokers came later, and the topics got three replicas. When one broker was shut down for maintenance, the topics "
    "went on, but the groups whose offsets were there had no coordinator: their consumers read nothing any more.",
    make=_make,
    twin_story="Somebody has given __consumer_offsets three replicas before; the same broker is down for some seconds.",
    twin=_twin,
    cause=Words(
        (
            r"__consumer_offsets",
            r"broker \d|\breplicas?\b|coordinator",
            r"\bone replica|only replica|single replica|\b1 replica|replication factor|sole|no other replica|"
            r"only (one|on|copy)|no leader|offline|leaderless|unavailable|\bdown\b",
        )
    ),
    symptom=Words(
        (
            r"checkout|__consumer_offsets|broker \d",
            r"coordinator|\blag\b|behind|not (read|commit|answer|available)|\bdown\b|\bgone\b|offline|no leader|"
            r"left|missing|unavailable|stand|stopp",
        )
    ),
    step=Words(
        (
            r"(start|bring|boot|restart|return|get).{0,60}broker|broker.{0,60}(start|back|up again|return)|"
            r"(raise|add|more|increase|give|move|reassign|set).{0,60}replica",
        )
    ),
    wrong=(
        r"unclean",
        r"unregister",
        r"delete topic",
        r"delete group",
        r"reset group",
        r"delete.?records",
        r"remove broker",
    ),
    # True for the seconds in which the broker is down.
    fine=(
        r"broker \d.*(down|gone|away|missing|left|offline|restart|not (in|there)|unreachable|answer)",
        r"under.?replicat|in.?sync",
    ),
    properties={
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": str(PARTITIONS),
    },
)
