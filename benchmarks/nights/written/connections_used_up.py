"""A program leaks connections until the listener's limit is reached: a restarted service can't connect."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LIMIT = 12
"""Maximum number of connections of a broker's listener; real clusters allow thousands."""
LEAK = """
import socket, sys, time
held = []
for port in sys.argv[2:]:
    for _ in range(int(sys.argv[1])):
        held.append(socket.create_connection(("127.0.0.1", int(port))))
time.sleep(3600)
"""
TAKES = 4.0
"""Seconds within which the program has opened its connections."""


@asynccontextmanager
async def _deployed(field: Field, leaked: int) -> AsyncIterator[Begin]:
    """Run a service that writes and one that reads. The yielded function starts a program that opens connections and
    never closes them, then restarts the reader.

    Args:
        leaked: number of connections that the program opens to each broker.
    """
    await field.topic("orders", partitions=3)
    async with AsyncExitStack() as later, field.producer("orders", rate=50, user="alice"):
        member = await later.enter_async_context(field.consumer("orders", "billing", user="alice"))
        await field.reads("billing", "orders")

        async def begin() -> None:
            ports = [str(port) for _, port in field.cluster.login_addresses]
            probe = field.cluster.directory / "probe.py"
            await asyncio.to_thread(probe.write_text, LEAK)
            await later.enter_async_context(field.program(sys.executable, str(probe), str(leaked), *ports))
            await asyncio.sleep(TAKES)
            await member.stop()
            await member.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a program opens as many connections as the
    listener allows, and a reader is restarted.
    """
    async with _deployed(field, 2 * LIMIT) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a program opens two
    connections to each broker, and a reader is restarted.
    """
    async with _deployed(field, 2) as begin:
        yield begin


NIGHT = Night(
    name="connections used up",
    source="https://github.com/apache/kafka/pull/12559",
    story="A probe of the monitoring opens connections and never closes them, until the listener has as many as "
    "max.connections allows. Who is connected goes on; a service that is restarted waits for its connection and "
    "times out, its group stays without a member, and no broker logs a word of it.",
    make=_make,
    twin_story="The same restart while the probe has a few connections: the service is back in seconds.",
    twin=_twin,
    # Brokers report the number of connections only through JMX; the limit is a config that can be read. A correct
    # answer says that the group lost its members and none came back, and refers to the errors in its clients' logs.
    cause=Words(
        (
            r"billing|group",
            r"max\.connections|connection|connect to|log ?in|authenticat|client.{0,20}\blogs?\b|\blogs?\b.{0,30}client"
            r"|whether .{0,40}(runs|running|up|started)",
        )
    ),
    symptom=Words((r"billing", r"empty|no (active )?member|\blag|behind|nobody reads")),
    step=Words((r"max\.connections|client|service|\blogs?\b|start|connect",)),
    wrong=(r"reset group", r"delete group", r"delete topic"),
    unknowable=True,
    security="logins",
    properties={"listener.name.sasl_plaintext.max.connections": str(LIMIT)},
)
