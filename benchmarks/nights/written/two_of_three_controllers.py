"""Two of three controllers are down at once: the remaining broker works, but no metadata can be changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _shop(field: Field) -> AsyncIterator[None]:
    """Run clients of two topics."""
    await field.topic("orders", partitions=6)
    await field.topic("clicks", partitions=6)
    async with (
        field.producer("orders", rate=50),
        field.producer("clicks", rate=50),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: two nodes, each a broker and a controller, are
    killed at the same time.
    """
    async with _shop(field):

        async def begin() -> None:
            """Kill both nodes, as if the power of a rack failed."""
            await field.kill(2)
            await field.kill(3)
            await asyncio.sleep(5)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: two nodes, each a broker
    and a controller, are killed one after the other, and each is back before the next is killed.
    """
    async with _shop(field):

        async def begin() -> None:
            """Kill each node, and start it again before the next."""
            for broker in (2, 3):
                await field.kill(broker)
                await asyncio.sleep(3)
                await field.start(broker)
                await field.settled()

        yield begin


NIGHT = Night(
    name="two of three controllers",
    source="https://www.netdata.cloud/guides/kafka/kafka-kraft-quorum-no-leader/",
    story="The quorum of controllers had no leader, as most of its voters were away. Brokers that ran still answered "
    "and told what they had known last, so lists looked complete; but no topic could be made, no replica left the "
    "in-sync ones, no partition of a dead broker got another leader, and writers waited for ever.",
    make=_make,
    twin_story="The same two nodes crash one after the other, and there are always two of three.",
    twin=_twin,
    cause=Words(
        (
            r"quorum|controllers?\b|voters?\b",
            r"majority|\bno (active |current )?(leader|controller)|without (a )?(leader|controller|majority|quorum)|"
            r"lost|not enough|(2|two) of (the |its )?(3|three)|(1|one|only) of (the |its )?(3|three)|most of|too few|"
            r"unavailable|can ?not elect",
        )
    ),
    symptom=Words(
        (
            r"brokers?:? [123]\b|controller|quorum|orders|clicks|cluster",
            r"down|away|gone|not answer|no answer|unreachable|unavailable|no leader|stopp|refus|not reach|timed? ?out|"
            r"no broker",
        )
    ),
    step=Words(
        (
            r"(start|restart|bring|restore|recover|repair)\w*\b.*\b(brokers?|controllers?|nodes?|voters?|majority)\b|"
            r"\b(brokers?|controllers?|nodes?|voters?|majority)\b.*\b(start|back|running|up)\b",
        )
    ),
    wrong=(
        r"unclean",
        r"unregister",
        r"remove (voter|controller)",
        r"delete (topic|group|records)",
        r"(restart|stop) broker 1\b",
    ),
    # A row about broker 2 or 3 is no false alarm in the twin: each of them is down for some seconds, and its replicas
    # catch up.
    fine=(r"brokers?:? [23]\b",),
    watch=75.0,
)
