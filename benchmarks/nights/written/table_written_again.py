"""A connector has lost its position and writes the whole table again: the topic gets many times the usual records, and
readers lag.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

TOPIC, GROUP = "db.customers", "crm-sync"
USUAL, SNAPSHOT = 30.0, 900.0
"""Records per second: usually, and while the connector writes the whole table."""
WORK_MS = 8.0
"""Milliseconds of work for a record: the reader processes about 120 records per second."""
BATCH = 1500


@asynccontextmanager
async def _capturing(field: Field) -> AsyncIterator[Client]:
    """Run a connector that writes the changes of a table, and a group that keeps up with it. Yield the connector."""
    await field.topic(TOPIC, partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer(TOPIC, rate=USUAL, name="connector-producer-customers-0") as connector,
        field.consumer(TOPIC, GROUP, work_ms=WORK_MS, batch=50),
        field.producer("orders", rate=40),
        field.consumer("orders", "billing"),
    ):
        await field.reads(GROUP, TOPIC)
        await field.reads("billing", "orders")
        yield connector


async def _end(field: Field) -> int:
    """Return the sum of the topic's end offsets."""
    ends = await field.tool("kafka-get-offsets", "--topic", TOPIC)
    return sum(int(line.rsplit(":", 1)[1]) for line in ends.splitlines() if line.startswith(TOPIC))


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a connector has lost its position and begins
    with a snapshot of its table, which is large.
    """
    async with _capturing(field) as connector:

        async def begin() -> None:
            before = await _end(field)
            await connector.tell(rate=SNAPSHOT)
            await asyncio.sleep(10)
            if (written := await _end(field) - before) < 10 * USUAL * 5:
                raise RuntimeError(f"the connector wrote {written} records in 10 s")

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a job changes many rows of
    a table at once, and the connector writes them in a second or two.
    """
    async with _capturing(field) as connector:

        async def begin() -> None:
            await connector.tell(rate=SNAPSHOT)
            await asyncio.sleep(BATCH / SNAPSHOT)
            await connector.tell(rate=USUAL)

        yield begin


NIGHT = Night(
    name="a table written again",
    source="https://github.com/MaterializeInc/materialize/issues/14211",
    story="After a restart of its database a connector did not find its saved position, and began with a snapshot: it "
    "wrote every row of a large table into the topic again, many times faster than changes usually come. The group "
    "behind it worked as fast as ever, and its lag grew by the minute; nothing was wrong with it or with the brokers.",
    make=_make,
    twin_story="A nightly job changes some thousand rows at once: the group has read them within half a minute.",
    twin=_twin,
    cause=Words(
        (
            r"db\.customers|crm-sync",
            r"(writes?|written|produc|input|traffic|inflow|incoming|arriv).{0,80}"
            r"(rose|risen|grew|grown|jump|increas|\btimes (as|the|more|its|what)|×|surge|burst|flood|spike|usual|"
            r"(more|faster|higher) than (before|it was|normal|earlier)|from \d.{0,30} to \d)|"
            r"(rose|rise|jump|surge|burst|flood|spike|increase|\btimes (as|the|more|its)).{0,60}"
            r"(writes?|written|produc|input|traffic|inflow)|snapshot",
        ),
        # The group is as fast as before.
        never=(r"(crm-sync|group|reader|consumer|members?) (is|are|has become|have become|got|became) slow(er)?\b",),
    ),
    symptom=Words((r"crm-sync", r"\blag\b|behind|slower than|can.?t keep|keep up|backlog")),
    step=Words(
        (
            r"(producer|writer|connector|source|who writes|writes).{0,80}"
            r"(check|stop|limit|quota|slow|throttl|look|ask|why|find|pause)|"
            r"(check|stop|limit|quota|slow|throttl|look|ask|find|pause).{0,80}"
            r"(producer|writer|connector|source|who writes|writes)|"
            r"(add|more|start|scale).{0,40}(members?|consumers?|instances?|partitions?|readers?)|wait",
        )
    ),
    wrong=(
        r"reset group",
        r"delete group",
        r"delete topic",
        r"delete.?records",
        r"retention\.ms\s*=\s*\d{1,6}\b",
    ),
)
