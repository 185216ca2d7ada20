"""A broker works, but slowly: it sends heartbeats, its replicas follow and lead, and each request to it takes half a
second.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 2
WAITS, WORKS = 0.6, 0.1
"""Seconds for which the broker waits for its disk, and seconds for which it works, in turns."""
ONE_PAUSE = 3.0


@asynccontextmanager
async def _serving(field: Field) -> AsyncIterator[None]:
    """Run writers and readers of two topics on all brokers."""
    await field.topic("orders", partitions=6)
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("orders", rate=60),
        field.producer("clicks", rate=40),
        field.consumer("orders", "billing"),
        field.consumer("clicks", "sessions"),
    ):
        await field.reads("billing", "orders")
        await field.reads("sessions", "clicks")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: all threads of a broker are stopped for most of
    each second.
    """

    async def drag(pid: int) -> None:
        """Stop and continue the process in turns, until cancelled."""
        try:
            while True:
                os.kill(pid, signal.SIGSTOP)
                await asyncio.sleep(WAITS)
                os.kill(pid, signal.SIGCONT)
                await asyncio.sleep(WORKS)
        finally:
            os.kill(pid, signal.SIGCONT)

    async with _serving(field), field.rounds() as begin_round:

        async def begin() -> None:
            """Begin to slow the broker down."""
            begin_round(drag(field.cluster.pids[BROKER]))
            await asyncio.sleep(0)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: all threads of a broker
    are stopped once, for three seconds, as in a long garbage collection.
    """
    async with _serving(field):

        async def begin() -> None:
            async with field.hanging(BROKER):
                await asyncio.sleep(ONE_PAUSE)

        yield begin


NIGHT = Night(
    name="the slow disk of a broker",
    source="https://tools.yiteai.com/ko/books/kafka/ch32",
    story="A disk of the array under one broker had failed, and the array went on without it, many times slower. The "
    "broker stayed in every list of the living and, more often than not, in sync; but each request to it took half a "
    "second, and so did each write elsewhere that it had to follow. All teams saw time-outs, and no broker was down.",
    make=_make,
    twin_story="The same broker pauses once for three seconds, and goes on.",
    twin=_twin,
    # No API shows disks and processors. The console can measure that this broker is slow and the others are not; the
    # reason has to be found on its machine.
    cause=Words(
        (
            r"broker 2\b",
            r"slow|latency|takes? .{0,20}\d|\bms\b|times as long|late\b",
            r"disk|host|machine|\bcpu\b|processor|\bgc\b|garbage|volume|overload",
        )
    ),
    symptom=Words((r"broker 2\b|\b2\b", r"slow|late|answer|timed? ?out|in.?sync|behind|heartbeat")),
    step=Words((r"disk|host|machine|\bcpu\b|\bgc\b|garbage|volume|iostat|\blogs?\b|move.{0,40}leader",)),
    wrong=(r"unclean", r"unregister", r"delete topic", r"reset group"),
    unknowable=True,
)
