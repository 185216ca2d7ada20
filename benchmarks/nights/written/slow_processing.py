"""Processing a batch takes longer than max.poll.interval.ms: members leave and join again and again, and never
commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field


@asynccontextmanager
async def _working(field: Field) -> AsyncIterator[tuple[Client, Client]]:
    """Run two members that process batches of fifty records in time; yield both."""
    # The maximum poll interval is six seconds instead of five minutes, and sessions are as short as brokers allow: the
    # problem is the same, but it repeats faster.
    patience: dict[str, Any] = {"max_poll_interval_ms": 6000, "session_timeout_ms": 6000, "heartbeat_interval_ms": 2000}
    await field.topic("orders", partitions=4)
    async with (
        field.producer("orders", rate=40),
        field.consumer("orders", "billing", name="billing-a", work_ms=5, batch=50, **patience) as first,
        field.consumer("orders", "billing", name="billing-b", work_ms=5, batch=50, **patience) as second,
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(5)  # wait until both have joined, and the rebalance is over
        yield first, second


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: both members of a group begin to need 200 ms
    for a record, so ten seconds for a batch, more than max.poll.interval.ms.
    """
    async with _working(field) as members:

        async def begin() -> None:
            """Make the members slow."""
            for each in members:
                await each.tell(work_ms=200)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the members of a group are
    deployed again, one after another; each leaves the group and joins with another member id.
    """
    async with _working(field) as members:

        async def begin() -> None:
            """Restart one member, then the other."""
            for each in members:
                await each.stop()
                await asyncio.sleep(2)
                await each.start()
                await asyncio.sleep(8)

        yield begin


NIGHT = Night(
    name="processing above max.poll.interval",
    source="https://www.netdata.cloud/guides/kafka/kafka-commit-failed-exception/",
    story="A service that consumers call for each record became slow. A batch took longer than max.poll.interval.ms, "
    "so the client left its group in the middle of it; its commit was refused, it joined again and got the same "
    "records. The group rebalanced without an end, and its lag grew although every process was up and busy.",
    make=_make,
    twin_story="A rolling deployment of the same group: two members leave and join again once each, then it is quiet.",
    twin=_twin,
    cause=Words(
        (
            r"billing",
            r"max\.poll\.interval|max\.poll|poll interval|between (two )?polls|too long|"
            r"slow(er)? work|processing",
            r"leav|left|re-?join|joins? again|rebalanc|member ids?|come and go|kicked|evict",
        )
    ),
    symptom=Words((r"billing", r"rebalanc|lag|behind|leav|left|re-?join|members?")),
    step=Words((r"max\.poll\.(interval|records)|poll interval|fewer records|smaller batch|processing",)),
    wrong=(
        r"reset group billing\b",
        r"delete (group|topic|records)",
        r"(set|alter|add) .*orders.*partitions",
        r"remove member",
    ),
)
