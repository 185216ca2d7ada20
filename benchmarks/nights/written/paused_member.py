"""A member of a group polls and sends heartbeats, but has paused its partitions: it fetches no records, and no request
fails.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_MEMBER = """
import signal, sys
from confluent_kafka import Consumer

bootstrap, topic, group, name = sys.argv[1:]
wanted = {"pause": False, "end": False}
signal.signal(signal.SIGUSR1, lambda *_: wanted.update(pause=True))
signal.signal(signal.SIGUSR2, lambda *_: wanted.update(pause=False))
signal.signal(signal.SIGTERM, lambda *_: wanted.update(end=True))
consumer = Consumer({
    "bootstrap.servers": bootstrap, "group.id": group, "client.id": name, "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 1000,
})
consumer.subscribe([topic])
is_paused = False
while not wanted["end"]:
    if wanted["pause"] != is_paused:
        is_paused = wanted["pause"]
        (consumer.pause if is_paused else consumer.resume)(consumer.assignment())
    consumer.poll(0.2)
consumer.close()
"""
"""Source code of a member that polls all the time; SIGUSR1 pauses its partitions, SIGUSR2 resumes them."""


@asynccontextmanager
async def _sharing(field: Field) -> AsyncIterator[Client]:
    """Run a group of two members with two partitions each, and yield the member that can pause."""
    await field.topic("orders", partitions=4)
    member = field.program(sys.executable, "-c", _MEMBER, field.cluster.bootstrap, "orders", "billing", "billing-b")
    async with (
        field.producer("orders", rate=60),
        member as pausing,
        field.consumer("orders", "billing", name="billing-a"),
    ):

        async def is_shared() -> bool:
            """Whether each member has two partitions."""
            seen = await field.tool(
                "kafka-consumer-groups", "--describe", "--group", "billing", "--members", check=False
            )
            return all(re.search(rf"{name}\s+2\b", seen) for name in ("billing-a", "billing-b"))

        await field.until(is_shared, "both members have partitions", within=90)
        await field.reads("billing", "orders")
        yield pausing


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a member pauses its partitions and never
    resumes them.
    """
    async with _sharing(field) as member:

        async def begin() -> None:
            """Pause the member's partitions."""
            os.kill(member.pid, signal.SIGUSR1)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a member that writes in
    bulk pauses for some seconds, again and again, and always catches up.
    """
    async with _sharing(field) as member, field.rounds() as begin_round:

        async def bulk() -> None:
            """Pause for six of every twenty seconds."""
            while True:
                os.kill(member.pid, signal.SIGUSR1)
                await asyncio.sleep(6)
                os.kill(member.pid, signal.SIGUSR2)
                await asyncio.sleep(14)

        async def begin() -> None:
            """Let the member write in bulk from now on."""
            begin_round(bulk())
            await asyncio.sleep(0)

        yield begin


NIGHT = Night(
    name="a paused member",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-1304:+Add+consumer+metric+about+paused+partitions",
    story="One of two members paused its partitions when its downstream was slow, and the code that resumes them never "
    "ran. It goes on polling and sending heartbeats, so it keeps its partitions: half of the topic isn't read, "
    "without an error, a rebalance or a member that is missing.",
    make=_make,
    twin_story="A member that pauses for six seconds in twenty, while it writes in bulk, and catches up each time.",
    twin=_twin,
    # No API shows whether a member has paused its partitions, or works endlessly on one record. The console can say
    # which member has the unread partitions, that it is alive, and that its log or metrics show the reason.
    cause=Words(
        (
            r"billing",
            r"billing-b|member|client",
            r"paus(e|ed|ing)|stuck|stands? still|no(t| longer)? (commit|read|progress)|"
            r"does(n't| not) (commit|read|move)",
            r"paus(e|ed|ing)|its (own )?(log|metrics|application)|application|poison|"
            r"cannot (tell|know|say)|can't (tell|know|say)",
        )
    ),
    symptom=Words((r"billing", r"stands? still|stuck|no progress|not (moved|read|commit)|lag|behind")),
    step=Words((r"member|client|application|billing-b|restart|resume",)),
    wrong=(
        r"reset group billing\b.*(latest|\bend\b|\+|forward|by )",
        r"delete (group|topic)",
        r"delete records",
        r"set topic orders retention",
    ),
    unknowable=True,
)
