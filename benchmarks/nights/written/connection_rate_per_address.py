"""A quota of new connections per IP address is too small for the jobs that come from one address."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from benchmarks.nights.programs import job_after_job

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _limited(field: Field, rate: int) -> AsyncIterator[Begin]:
    """Run short jobs, each with connections of its own, and a service with lasting connections. The yielded function
    limits the rate of new connections, and deploys the service again.

    Args:
        rate: new connections per second that a broker accepts from an IP address.
    """
    await field.topic("imports", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.program(sys.executable, job_after_job.__file__, field.cluster.bootstrap, "imports"),
        field.consumer("imports", "loader"),
        field.producer("orders", rate=50),
        field.consumer("orders", "billing", name="billing-1") as first,
        field.consumer("orders", "billing", name="billing-2") as second,
    ):
        await field.reads("loader", "imports")
        await field.reads("billing", "orders")

        async def begin() -> None:
            change = ("--entity-type", "ips", "--entity-default", "--add-config", f"connection_creation_rate={rate}")
            await field.tool("kafka-configs", "--alter", *change)
            for each in (first, second):
                await each.stop()
                await each.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an address may open one connection a second,
    but all clients have the same address.
    """
    async with _limited(field, 1) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an address may open far
    more connections than its clients need.
    """
    async with _limited(field, 500) as begin:
        yield begin


NIGHT = Night(
    name="a connection rate per address",
    source="https://github.com/apache/kafka/pull/9386",
    story="To protect brokers from storms of connections, each IP address got a limit of new connections per second. "
    "Many services share the address of a gateway: brokers hold their new connections back and close them, clients "
    "connect again and again, and services that are deployed again come back late, while those with open "
    "connections notice nothing.",
    make=_make,
    twin_story="The same kind of limit, hundreds of times what the clients need, and the same deployment.",
    twin=_twin,
    cause=Words(
        (
            r"connection_creation_rate|connections? (creation )?rate|new connections|connections? (per|a|each) second",
            r"quota|limit|throttl|allow|\bmay\b",
        )
    ),
    symptom=Words(
        (
            r"imports|loader|orders|billing|connection",
            r"\blag|behind|no (new|member)|slow|fewer|drop|fell|empty|stopp|throttl|refus|clos|nothing|left|rate",
        )
    ),
    step=Words((r"connection_creation_rate|quota|connection.{0,30}(rate|limit)",)),
    wrong=(r"delete (topic|group|records)", r"reset group", r"connection_creation_rate=[01]\b"),
)
