"""A hot key: 95 % of the writes go into one of three partitions, and one of three members can't keep up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_WORK_MS = 25.0
"""Milliseconds of work for a record: a member can process about 38 records per second."""


@asynccontextmanager
async def _settling(field: Field) -> AsyncIterator[None]:
    """Run a group of three members with one partition each."""
    await field.topic("payments", partitions=3)
    async with AsyncExitStack() as members:
        for name in ("settling-a", "settling-b", "settling-c"):
            await members.enter_async_context(field.consumer("payments", "settling", name=name, work_ms=_WORK_MS))
        await field.writes("payments", 30)
        await field.reads("settling", "payments")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a producer, which has written sixty records per
    second with many keys, writes nearly all of them with one key.
    """
    async with (
        _settling(field),
        field.producer("payments", rate=60, name="payments-api") as many,
        field.producer("payments", rate=0, key="one", name="payments-import") as one,
    ):
        await asyncio.sleep(8)

        async def begin() -> None:
            """Begin a large customer's import; other customers write few records."""
            await many.tell(rate=5)
            await one.tell(rate=55)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a producer without keys
    writes to one partition for some seconds, then to another; each gets a third of the records.
    """
    # The sticky partitioner keeps a partition for a batch or for this time; seconds instead of milliseconds make that
    # visible.
    async with (
        _settling(field),
        field.producer(
            "payments",
            rate=30,
            key=None,
            name="payments-api",
            sticky_partitioning_linger_ms=5000,
        ),
    ):
        await asyncio.sleep(8)

        async def begin() -> None:
            """Nothing changes."""

        yield begin


NIGHT = Night(
    name="one hot partition of three",
    source="https://www.michal-drozd.com/en/blog/kafka-partition-skew-contracts/",
    story="Records were keyed by something of which one value makes nearly all the traffic. The topic took no more "
    "than before, but 95 % of it went into one of three partitions: one member fell behind for good while two had "
    "nothing to do, and more members changed nothing.",
    make=_make,
    twin_story="A producer without keys that fills one partition for some seconds and then another, as the sticky "
    "partitioner does: uneven in each moment, even over a minute, and every member keeps up.",
    twin=_twin,
    cause=Words(
        (
            r"payments|settling",
            r"partition",
            r"skew|uneven|unbalanced|hot\b|one partition|single partition|most of|9\d(\.\d+)? ?%|"
            r"share of (the )?(writes|records)",
        )
    ),
    symptom=Words((r"settling", r"lag|behind|slow")),
    step=Words((r"\bkeys?\b|partitioner|partitioning",)),
    wrong=(
        r"reset group settling\b.*latest",
        r"delete (group|topic|records)",
        # More partitions would move keys to other partitions, which breaks their order, and would leave the hot key in
        # one.
        r"(set|alter|add|grow|increase|create).*payments.*partitions",
        r"set topic payments retention",
    ),
)
