"""A producer keeps running but stops writing, without an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

RATE = 60.0
BREAK = 6.0
"""Seconds for which the twin's producer does not write."""


@asynccontextmanager
async def _writing(field: Field, *, goes_on: bool) -> AsyncIterator[Begin]:
    """Run two topics with a producer and a group each. In the yielded function a producer stops writing, but keeps its
    connections.

    Args:
        goes_on: whether the producer writes again after `BREAK` seconds.
    """
    await field.topic("payments", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("payments", rate=RATE, name="payments-gateway") as gateway,
        field.consumer("payments", "ledger"),
        field.producer("orders", rate=RATE, name="shop"),
        field.consumer("orders", "billing"),
    ):
        await field.reads("ledger", "payments")
        await field.reads("billing", "orders")
        await asyncio.sleep(15)

        async def begin() -> None:
            await gateway.tell(rate=0.0)
            await asyncio.sleep(BREAK)
            if goes_on:
                await gateway.tell(rate=RATE)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a producer never writes again."""
    async with _writing(field, goes_on=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a producer does not write
    for some seconds.
    """
    async with _writing(field, goes_on=True) as begin:
        yield begin


NIGHT = Night(
    name="a writer gone silent",
    source="https://github.com/confluentinc/librdkafka/issues/3009",
    story="The producer of a service wrote nothing any more until somebody restarted the service. Brokers, topic and "
    "consumers were healthy and the lag was zero, so no alarm went off, while business records were missing.",
    make=_make,
    twin_story="The same producer has nothing to write for some seconds, and then goes on at its former rate.",
    twin=_twin,
    # The brokers see that nothing comes any more; only the producer knows why.
    cause=Words(
        (
            r"payments",
            r"\bno (new )?(records?|messages?|writes?|data|traffic)|nothing|stopp|silent|quiet|ceas|no longer|idle"
            r"|not (been )?writ|since",
            r"producer|writer|\bclient|service|application|sender|\bwrites\b",
        )
    ),
    symptom=Words(
        (
            r"payments",
            r"\bno (new )?(records?|messages?|writes?|data|traffic)|nothing|stopp|silent|quiet|ceas|no longer|idle"
            r"|not (been )?writ|since|\brate\b|drop|fell|fewer",
        )
    ),
    step=Words(
        (
            r"producer|writer|\bclient|service|application|sender",
            r"check|\blook|restart|\blogs?\b|\bsee\b|\bask\b|alive|\bruns?\b|running|find",
        )
    ),
    wrong=(r"delete (topic|group|records)", r"reset group", r"partitions[ =]\d", r"unclean"),
    unknowable=True,
)
