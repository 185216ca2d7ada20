"""A broker is killed again and again soon after each start; each poll of the cluster only shows whether it is up or
down at that moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BROKER = 3
UP, DOWN = 8.0, 3.0
"""Seconds for which the broker is up, and seconds for which it is down."""


@asynccontextmanager
async def _serving(field: Field) -> AsyncIterator[None]:
    """Run a writer and a reader of a topic on all brokers."""
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=60), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker is killed and started in turns until
    the night ends.
    """
    ended = asyncio.Event()
    rounds: set[asyncio.Task[None]] = set()

    async def pause(seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), seconds)

    async def go_on() -> None:
        """Start and kill the broker in turns, until `ended` is set."""
        while True:
            await pause(DOWN)
            if ended.is_set():
                return
            await field.start(BROKER)
            await pause(UP)
            if ended.is_set():
                return
            await field.kill(BROKER)

    async with _serving(field):

        async def begin() -> None:
            """Kill the broker for the first time."""
            await field.kill(BROKER)
            rounds.add(asyncio.create_task(go_on()))

        try:
            yield begin
        finally:
            ended.set()
            await asyncio.gather(*rounds)


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator restarts a
    broker with a controlled shutdown for a new setting, and once more to correct the setting.
    """
    async with _serving(field):

        async def begin() -> None:
            for minimum in ("2", "1"):
                await field.set(BROKER, num_replica_fetchers=minimum)
                await field.restart(BROKER)
                await field.settled()

        yield begin


NIGHT = Night(
    name="a broker killed again and again",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/7802",
    story="One of three brokers was killed soon after each start, by its memory limit and an impatient probe. The "
    "orchestrator started it again each time, so every look at the cluster found it either down or just back: its "
    "partitions changed their leader and fell out of sync every half minute, and whoever looked saw one restart.",
    make=_make,
    twin_story="The same broker is restarted in order, twice within two minutes, and is in sync each time.",
    twin=_twin,
    # Only the log of the broker and of its machine shows why it ends; a console that keeps watching can see that it
    # ends repeatedly.
    cause=Words(
        (
            r"broker 3\b",
            r"again and again|repeated|keeps (going|crashing|restarting|coming|ending)|flap|crash.?loop|"
            r"\b(two|three|four|five|six|several|[2-9]) times|\b(second|third|fourth|fifth|[2-9](nd|rd|th)) time|"
            r"\b(two|three|four|five|several|[2-9]) (starts|restarts|crashes|losses)",
        )
    ),
    symptom=Words((r"broker 3\b|\b3\b", r"down|gone|lost|fenced|restart|start|under.?replicat|in.?sync")),
    step=Words(
        (r"\blogs?\b|memory|oom|kill|probe|host|machine|journal|supervis|orchestrat|kubelet|start(s|ed)? (it|broker)",)
    ),
    wrong=(r"unclean", r"unregister", r"delete topic", r"reset group", r"reassign|move "),
    watch=130.0,
)
