"""A log shipper makes an idempotent producer for each chunk: brokers keep the state of all of them for a day."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a program makes two hundred idempotent
    producers per second. In the report there were tens of millions after a week.
    """
    await field.topic("logs", partitions=6)
    async with (
        AsyncExitStack() as later,
        field.producer("logs", rate=50, name="audit-app", enable_idempotence=True),
        field.consumer("logs", "indexer"),
    ):
        await field.reads("indexer", "logs")

        async def begin() -> None:
            await later.enter_async_context(
                field.program(
                    sys.executable, "-m", "benchmarks.nights.programs.leak", field.cluster.bootstrap, "logs", "200"
                )
            )
            await asyncio.sleep(40)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: four services write to the
    same topic, each with an idempotent producer that it keeps; two of them restart.
    """
    await field.topic("logs", partitions=6)
    async with (
        AsyncExitStack() as later,
        field.producer("logs", rate=50, name="audit-app", enable_idempotence=True),
        field.consumer("logs", "indexer"),
    ):
        await field.reads("indexer", "logs")

        async def begin() -> None:
            shippers = [
                await later.enter_async_context(
                    field.producer("logs", rate=50, name=f"log-shipper-{number}", enable_idempotence=True)
                )
                for number in range(3)
            ]
            await asyncio.sleep(10)
            for each in shippers[:2]:
                await each.stop()
                await each.start()
            await asyncio.sleep(10)

        yield begin


NIGHT = Night(
    name="producer for every chunk",
    source="https://github.com/fluent/fluent-plugin-kafka/issues/406",
    story=(
        "Brokers' heaps grew until they ran out of memory, about once a week, whatever their size. Idempotence had "
        "been turned on in a log shipper that makes a new producer for each chunk that it flushes: brokers keep what "
        "they know of each producer id for a day, in every partition that it wrote to, for millions of ids."
    ),
    make=_make,
    twin_story="Several services write to the topic with idempotent producers that they keep; some are restarted.",
    twin=_twin,
    cause=Words(
        must=(
            r"logs",
            r"producer",
            r"producer ids?|producers|idempot|producer state",
            r"\bmany\b|\d{3,}|grow|leak|\bnew\b.{0,40}(each|every|second|minute)|short-?lived|"
            r"each (chunk|request|record)|one record",
        )
    ),
    symptom=Words(must=(r"logs|broker", r"producer (id|state)|producers|memory|heap")),
    step=Words(
        must=(
            r"producer\.id\.expiration|re-?us(e|ing)|keep (one|its|the) producer|one producer|long-?lived|idempoten|"
            r"not make a (new )?producer",
        )
    ),
    wrong=(r"delete topic logs", r"delete.?records.*logs", r"reset group indexer"),
    stands=True,
    versions=("4.3", "4.4", "3.9"),
)
