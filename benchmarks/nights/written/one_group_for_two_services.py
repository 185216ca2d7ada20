"""Two services that read different topics use the same group: each crash of one stops the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_SESSION = 20.0
"""Seconds until brokers remove a crashed member; all other members wait that long for the next assignment."""
_DOWN, _UP = 2.0, 32.0
"""Seconds for which the crashing service is down, and seconds for which it runs."""


@asynccontextmanager
async def _services(field: Field, invoicing: str, mailing: str) -> AsyncIterator[tuple[Client, Client]]:
    """Run one service that reads orders, and another one that reads mails; yield both.

    Args:
        invoicing: the group of the service that reads orders.
        mailing: the group of the service that reads mails.
    """
    await field.topic("orders", partitions=3)
    await field.topic("mails", partitions=3)
    session: dict[str, Any] = {"session_timeout_ms": int(_SESSION * 1000)}
    async with (
        field.producer("orders", rate=60),
        field.producer("mails", rate=20),
        field.consumer("orders", invoicing, name="invoicing", **session) as first,
        field.consumer("mails", mailing, name="mailing", **session) as second,
    ):
        await field.reads(invoicing, "orders")
        await field.reads(mailing, "mails")
        yield first, second


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: two services were made from the same
    template and use its group name; the second one crashes again and again.
    """
    async with _services(field, "backend", "backend") as (_, mailing):
        ended = asyncio.Event()
        crashes: list[asyncio.Task[None]] = []

        async def crash() -> None:
            while not ended.is_set():
                await mailing.kill()
                await asyncio.sleep(_DOWN)
                await mailing.start()
                try:
                    await asyncio.wait_for(ended.wait(), _UP)
                except TimeoutError:
                    continue

        async def begin() -> None:
            crashes.append(asyncio.create_task(crash()))

        try:
            yield begin
        finally:
            ended.set()
            await asyncio.gather(*crashes)


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: each service has its own
    group, and both are deployed again.
    """
    async with _services(field, "invoicing", "mailing") as services:

        async def begin() -> None:
            for each in services:
                await each.stop()
                await asyncio.sleep(_DOWN)
                await each.start()
                await asyncio.sleep(5)

        yield begin


NIGHT = Night(
    name="one group for two services",
    source="https://github.com/spring-projects/spring-kafka/issues/3784",
    story="Two services were made from one template and kept its group id, though they read different topics. For the "
    "brokers they are one group: whenever the second crashed, the first had to stop too and wait for the session of "
    "the dead member. They seemed to work in turns, with a lag that grew in steps on a topic whose service was well.",
    make=_make,
    twin_story="The same services with a group each; both are restarted in order and catch up.",
    twin=_twin,
    cause=Words(
        (
            r"backend",
            r"two|different|both|several|another|shar|mixed|not the same|one group|more than one|\b2\b",
            r"subscri|topics?\b|services?|client.?ids?|applications?|invoicing.*mailing|mailing.*invoicing",
            r"orders.*mails|mails.*orders|invoicing.*mailing|mailing.*invoicing",
        )
    ),
    symptom=Words((r"backend", r"rebalanc|\blag|behind|member.{0,40}(come|go|join|leav|lost|chang|new)|unstable|flap")),
    step=Words((r"group", r"\bown\b|separate|split|another|different|each|distinct|group\.id|mailing")),
    wrong=(r"reset group", r"delete group", r"delete topic", r"partitions[ =]\d"),
)
