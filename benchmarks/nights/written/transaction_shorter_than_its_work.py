"""The transactions of a service take longer than its transaction timeout: the brokers abort each of them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from benchmarks.nights.programs import batch_writer

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

WORK = 9.0
"""Seconds that a transaction takes after the release; before, it took one."""
RATE = 30


@asynccontextmanager
async def _pricing(field: Field, timeout_ms: int) -> AsyncIterator[Begin]:
    """Run a service that writes prices in transactions of a second. The yielded function makes its transactions longer.

    Args:
        timeout_ms: the service's transaction.timeout.ms.
    """
    await field.topic("prices", partitions=3)
    writer = (sys.executable, "-m", batch_writer.__name__, field.cluster.bootstrap, "prices", "pricing-0_1")
    async with (
        AsyncExitStack() as later,
        field.program(*writer, str(timeout_ms), "1", str(RATE)) as before,
        field.consumer("prices", "quotes", isolation_level="read_committed"),
    ):
        await field.reads("quotes", "prices")
        await asyncio.sleep(5)

        async def begin() -> None:
            await before.stop()
            await later.enter_async_context(field.program(*writer, str(timeout_ms), str(WORK), str(RATE)))
            await asyncio.sleep(WORK)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: transactions take nine seconds, and time out
    after four.
    """
    async with _pricing(field, 4_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: transactions take nine
    seconds, and may take a minute.
    """
    async with _pricing(field, 60_000) as begin:
        yield begin


NIGHT = Night(
    name="a transaction shorter than its work",
    source="https://github.com/rh-marketingops/fluvii/issues/26",
    story="The work between the begin and the end of a transaction grew until it took longer than the producer's "
    "transaction.timeout.ms. The coordinator aborts such a transaction and fences its producer, which starts over and "
    "is aborted again. The topic grows, and readers of committed records get nothing.",
    make=_make,
    twin_story="The same long transactions with a timeout of a minute: all are committed, in larger portions.",
    twin=_twin,
    cause=Words(
        (
            r"pricing-0_1|prices",
            r"transaction",
            r"time[sd]?[- ]?out|transaction\.timeout\.ms|(longer|more) than .{0,40}(seconds|\bs\b|allowed|timeout)",
            r"abort|fenc|expire|\bends?\b|cut|epoch",
        )
    ),
    symptom=Words((r"pricing-0_1|prices|quotes", r"abort|transaction|epoch|\blag|behind|fenc|not (read|move|commit)")),
    step=Words((r"transaction\.timeout\.ms|timeout|shorter transaction|smaller|commit (more|earlier)|shorten",)),
    wrong=(r"reset group quotes.*(latest|\bend\b)", r"delete (topic|records|group)"),
    # Coordinators look for timed-out transactions every ten seconds by default; the timeouts here are shorter, too.
    properties={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
)
