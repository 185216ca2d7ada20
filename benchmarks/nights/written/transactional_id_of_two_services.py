"""Two services have the same transactional id, and each fences the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a second service is started with the
    transactional id of the first, because their library derives it from the number of the worker: "0-0".
    """
    await field.topic("orders.enriched", partitions=3)
    await field.topic("invoices.enriched", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("orders.enriched", rate=40, name="orders-app", transactional_id="0-0"),
        field.consumer("orders.enriched", "shipping", isolation_level="read_committed"),
    ):
        await field.reads("shipping", "orders.enriched")

        async def begin() -> None:
            await later.enter_async_context(
                field.producer("invoices.enriched", rate=40, name="invoices-app", transactional_id="0-0")
            )
            await asyncio.sleep(10)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a second service has a
    transactional id of its own, and both are deployed again once, which only fences their former producers.
    """
    await field.topic("orders.enriched", partitions=3)
    await field.topic("invoices.enriched", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("orders.enriched", rate=40, name="orders-app", transactional_id="orders-0") as orders,
        field.consumer("orders.enriched", "shipping", isolation_level="read_committed"),
    ):
        await field.reads("shipping", "orders.enriched")

        async def begin() -> None:
            invoices = await later.enter_async_context(
                field.producer("invoices.enriched", rate=40, name="invoices-app", transactional_id="invoices-0")
            )
            await asyncio.sleep(4)
            for each in (orders, invoices):
                await each.stop()
                await each.start()
            await asyncio.sleep(3)

        yield begin


NIGHT = Night(
    name="transactional id of two services",
    source="https://github.com/robinhood/faust/issues/367",
    story=(
        "A second service was deployed that uses the same stream library as the first one. The library derives the "
        "transactional id from the worker's number, so both have the id 0-0: each start of one fences the other, "
        "which crashes, restarts and fences back. Output of both comes in pieces, with many aborted transactions."
    ),
    make=_make,
    twin_story="The second service has a transactional id of its own; both are restarted once in an orderly way.",
    twin=_twin,
    cause=Words(
        must=(
            r"\b0-0\b",
            r"transaction",
            r"fenc|shared|two (producers|instances|clients|processes|services)|more than one|"
            r"(another|newer) (producer|instance)|same (transactional )?id|"
            r"epoch.{0,60}(ris|bump|jump|chang|grow|times|again)",
        )
    ),
    symptom=Words(must=(r"enriched|shipping|\b0-0\b", r"abort|transaction|lag|behind|epoch")),
    step=Words(
        must=(
            r"transactional[. ]id",
            r"\bown\b|unique|distinct|different|another id|only one|stop one|"
            r"one of (them|the two)|separate|per (service|instance)",
        )
    ),
    wrong=(r"reset group shipping", r"delete topic (orders|invoices)", r"delete group shipping"),
)
