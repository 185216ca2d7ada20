"""The host of a broker freezes it again and again for longer than the controllers wait for its heartbeats."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 3
# By default, the controllers fence a broker after nine seconds without a heartbeat.
LONG, SHORT = 18.0, 2.0
BETWEEN = 22.0
"""Seconds from the end of a freeze to the next one."""


@asynccontextmanager
async def _hosted(field: Field, seconds: float) -> AsyncIterator[Begin]:
    """Run clients of topics on all brokers. The yielded function begins to stop all threads of one broker again and
    again.

    Args:
        seconds: how long each freeze lasts.
    """
    await field.topic("orders", on=[(1, 2, 3), (2, 3, 1), (3, 1, 2)])
    await field.topic("events", on=[(3, 1, 2), (3, 2, 1), (1, 3, 2)])

    async def freeze() -> None:
        async with field.hanging(BROKER):
            await asyncio.sleep(seconds)

    async def go_on() -> None:
        while True:
            await asyncio.sleep(BETWEEN)
            await freeze()

    async with (
        field.producer("orders", rate=40),
        field.producer("events", rate=40),
        field.consumer("orders", "billing"),
        field.consumer("events", "search"),
        field.rounds() as begin_round,
    ):
        await field.reads("billing", "orders")
        await field.reads("search", "events")

        async def begin() -> None:
            await freeze()
            begin_round(go_on())

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is frozen again and again, each time
    so long that it is fenced and its leaders move.
    """
    async with _hosted(field, LONG) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker is frozen for two
    seconds at a time, much less than its session timeout, so no leader moves.
    """
    async with _hosted(field, SHORT) as begin:
        yield begin


NIGHT = Night(
    name="a broker frozen by its host",
    source="https://blog.gojek.io/when-kafka-went-offshore/",
    story="A cloud moved the machines of brokers to other hosts while they ran. For seconds a machine stood still: its "
    "broker sent no heartbeat, was fenced and lost its leaders, and a moment later it was there again, with the same "
    "process and nothing wrong. Producers got errors and consumers lagged, at times that nobody could explain.",
    make=_make,
    twin_story="The machine stands still as often, each time for two seconds: the controllers miss nothing.",
    twin=_twin,
    # Brokers show that the broker goes and comes. Why it does, whether its host, its garbage collector or its network,
    # is only in its own log and on its host.
    cause=Words(
        (
            r"broker 3\b",
            r"again|repeat|flap|several|twice|\btimes\b|in and out|(come|came|go|goes|went) and|\bback\b|keeps|"
            r"unstable",
            r"paus|froze|freez|stall|\bhang|\bhung\b|\bGC\b|garbage|\bhost\b|machine|virtual|hypervisor|\blogs?\b"
            r"|no trace|cannot (tell|know|say)|can't (tell|know|say|be known)|do(es)? not (tell|know|say|show)",
        )
    ),
    symptom=Words(
        (
            r"broker 3\b|\b3\b",
            r"\bdown\b|gone|away|\bleft\b|fenced|unreachable|(not|no) answer|does not respond|in.?sync|\bisr\b|"
            r"under.?replicat|missing|offline",
        )
    ),
    step=Words(
        (
            r"\blogs?\b|\bhost\b|machine|\bGC\b|garbage|paus|\bJVM\b|hypervisor|virtual|process|memory|"
            r"broker\.session\.timeout\.ms",
        )
    ),
    wrong=(r"unregister", r"unclean", r"delete topic", r"reset group", r"min\.insync\.replicas\s*=\s*1\b"),
    # For two seconds the broker does not answer, which is true in the twin, too.
    fine=(r"broker 3.*(slow|late|(not|no|did not|does not) (answer|respond)|unreachable|time.?out|took)",),
    unknowable=True,
    watch=110.0,
)
