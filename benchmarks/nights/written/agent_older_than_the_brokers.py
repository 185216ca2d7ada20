"""An appliance's agent uses a protocol version that brokers of Kafka 4 no longer support: its topic gets no more
records.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an agent that the brokers accept is replaced by
    an older one that they refuse. In the report the brokers were upgraded under an old agent; for the brokers both
    look the same.
    """
    await field.topic("adc.metrics", partitions=2)
    async with (
        AsyncExitStack() as later,
        field.producer("adc.metrics", rate=50, name="adc-agent") as agent,
        field.consumer("adc.metrics", "dashboards"),
    ):
        await field.reads("dashboards", "adc.metrics")
        await asyncio.sleep(10)

        async def begin() -> None:
            await agent.stop()
            await later.enter_async_context(
                field.program(
                    sys.executable,
                    "-m",
                    "benchmarks.nights.programs.old_agent",
                    field.cluster.bootstrap,
                    "adc.metrics",
                )
            )
            await asyncio.sleep(5)

        yield begin


async def _in_bursts(writer: Client) -> None:
    """Write for four seconds of every sixteen."""
    while True:
        await writer.tell(rate=50)
        await asyncio.sleep(4)
        await writer.tell(rate=0)
        await asyncio.sleep(12)


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an agent collects for a
    while and then writes, so most of the time it sends nothing.
    """
    await field.topic("adc.metrics", partitions=2)
    async with (
        field.producer("adc.metrics", rate=50, name="adc-agent") as agent,
        field.consumer("adc.metrics", "dashboards"),
        field.rounds() as begin_round,
    ):
        await field.reads("dashboards", "adc.metrics")
        begin_round(_in_bursts(agent))
        await asyncio.sleep(20)

        async def begin() -> None:
            await asyncio.sleep(20)

        yield begin


NIGHT = Night(
    name="agent older than the brokers",
    source="https://github.com/netscaler/netscaler-observability-exporter/issues/78",
    story=(
        "After the brokers went to Kafka 4, nothing arrived from the appliances any more. Their agent writes with the "
        "first version of Produce, which brokers no longer have: they close its connection and log that the version "
        "is unsupported, and the agent connects again for ever. Nothing else is wrong with cluster, topic or group."
    ),
    make=_make,
    twin_story="An agent writes in bursts and is silent in between.",
    twin=_twin,
    # No API lists clients whose requests were refused. A correct answer names the silence, and where to find the
    # reason.
    unknowable=True,
    cause=Words(
        must=(
            r"adc\.metrics",
            r"no (new )?(record|write|message|data)|silent|silence|quiet|idle|stopped|"
            r"nothing (is|was) written|nobody writes|not written|ceased|no producer",
            r"\blogs?\b|producer's|writer's|client('s|s that write)|cannot (be )?(known|tell|see|say)|"
            r"(does|do) not (know|tell|say)|unknown why|not visible|protocol|version|metric of",
        )
    ),
    symptom=Words(
        must=(
            r"adc\.metrics",
            r"no (new )?(record|write|message|data)|silent|silence|quiet|idle|stopped|"
            r"nothing (is|was) written|nobody writes|not written|ceased|no producer",
        )
    ),
    step=Words(must=(r"client|producer|writer|agent", r"\blogs?\b|version|check|look|upgrade|restart")),
    wrong=(r"delete topic adc", r"reset group dashboards", r"delete group dashboards", r"set topic adc\.metrics"),
    versions=("4.3", "4.4"),
)
