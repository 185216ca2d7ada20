"""A pod of a consumer group is killed for its memory again and again: it never leaves its group, and its partitions
wait for its session to expire each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_DOWN, _UP = 5.0, 14.0
"""Seconds until a killed pod is started again, and until its memory is full."""


@asynccontextmanager
async def _enriching(field: Field) -> AsyncIterator[Client]:
    """Run a group of three pods; yield one of them."""
    # Sessions of ten seconds instead of 45: the problem is the same, but it repeats faster.
    session: dict[str, Any] = {"session_timeout_ms": 10_000, "heartbeat_interval_ms": 3000}
    await field.topic("events", partitions=6)
    async with (
        field.producer("events", rate=60),
        field.consumer("events", "enrich", name="enrich-a", **session),
        field.consumer("events", "enrich", name="enrich-b", **session),
        field.consumer("events", "enrich", name="enrich-c", **session) as pod,
    ):
        await field.reads("enrich", "events")
        await asyncio.sleep(5)  # wait until all have joined, and the rebalance is over
        yield pod


async def _dies(pod: Client) -> None:
    """Kill a pod, and start it again."""
    await pod.kill()
    await asyncio.sleep(_DOWN)
    await pod.start()


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a pod is killed again and again."""

    async def dies_again(pod: Client) -> None:
        while True:
            await asyncio.sleep(_UP)
            await _dies(pod)

    async with _enriching(field) as pod, field.rounds() as begin_round:

        async def begin() -> None:
            await _dies(pod)
            begin_round(dies_again(pod))

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a pod is killed once,
    because its host is drained, and stays up on another one.
    """
    async with _enriching(field) as pod:

        async def begin() -> None:
            await _dies(pod)

        yield begin


NIGHT = Night(
    name="a pod killed for its memory",
    source="https://github.com/confluentinc/confluent-kafka-dotnet/issues/1658",
    story="A pod of a service went over its memory limit, was killed and restarted, and was killed again as soon as "
    "its memory was full. It had no chance to leave its group, so each time its partitions stood until its session was "
    "over, and the whole group was rebalanced twice.",
    make=_make,
    twin_story="The pod is killed once, because its host is drained, and runs well afterwards.",
    twin=_twin,
    cause=Words(
        (
            r"enrich-c",
            r"kill|\bdie[sd]?\b|crash|restart|out of memory|\boom|without leaving|disappear|vanish|"
            r"comes? back|came back|process.{0,30}(end|stop)|starts? again|new member id",
            r"again and again|repeat|\btimes\b|keeps|\d ?×|loop|every|each time",
        )
    ),
    symptom=Words((r"enrich", r"rebalanc|members?|\blag|behind")),
    step=Words(
        (
            r"(look|check|see|ask|find|why|does|what).{0,120}(process|\bpod|\bhost|memory|\blogs?\b|restart|crash|kill)|"
            r"memory|group\.instance\.id",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
)
