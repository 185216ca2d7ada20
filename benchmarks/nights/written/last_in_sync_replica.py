"""A broker died, then the other one, which had the last in-sync replicas: the first broker came back and may not
lead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _ledger(field: Field) -> AsyncIterator[None]:
    """Run clients of a topic with two replicas, and of a topic with three."""
    await field.topic("ledger", on=[[1, 2], [2, 1], [1, 2]])
    await field.topic("orders", partitions=3)
    async with (
        field.producer("ledger", rate=40),
        field.producer("orders", rate=40),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: broker 2 dies, broker 1 alone accepts records,
    broker 1 dies, broker 2 comes back.
    """
    async with _ledger(field):

        async def begin() -> None:
            """Crash both brokers, and start only broker 2 again."""
            await field.kill(2)
            await asyncio.sleep(15)  # broker 2 leaves the ISR after six seconds, and broker 1 alone accepts records
            await field.kill(1)
            await asyncio.sleep(3)
            await field.start(2)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: broker 2 dies, comes back
    and catches up; then broker 1 dies and comes back.
    """
    async with _ledger(field):

        async def begin() -> None:
            """Crash each broker, and start it again before the next crash."""
            await field.kill(2)
            await asyncio.sleep(15)
            await field.start(2)
            await asyncio.sleep(8)  # broker 2 catches up
            await field.kill(1)
            await asyncio.sleep(3)
            await field.start(1)

        yield begin


NIGHT = Night(
    name="the last replica in sync is gone",
    source="https://github.com/confluentinc/librdkafka/issues/1812",
    story="A topic had two replicas. One broker had fallen out of the in-sync replicas when the other, the leader, "
    "went down too. With unclean elections off the replica that was up again could not lead, the partition was "
    "offline, and producers failed although a broker with a copy of it ran.",
    make=_make,
    twin_story="The same two crashes, but the first broker was back and in sync before the second went.",
    twin=_twin,
    cause=Words(
        (
            r"ledger",
            r"broker 1\b|brokers?:? 1\b",
            r"in.sync|\bisr\b|eligible|\belr\b|last (leader|replica)|up.to.date|complete|newest|has (all|every)",
            r"leader|offline|unavailable|lead\b",
        )
    ),
    symptom=Words((r"ledger|broker 1\b", r"leader|offline|unavailable|down|away|gone")),
    step=Words((r"(start|bring|restore|recover|repair)\w*\b.*\bbroker 1\b|\bbroker 1\b.*(start|back|running|\bup\b)",)),
    wrong=(r"unclean", r"unregister", r"delete (topic|records)", r"reassign|move partition"),
    # In the twin, too, each crashed broker is down for some seconds, and its replicas have to catch up.
    fine=(r"brokers? [12]\b",),
    watch=70.0,
)
