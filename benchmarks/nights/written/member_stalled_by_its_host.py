"""The host of a group's member stalls again and again for longer than its session timeout: each stall costs two
rebalances.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_STALLED, _RUNNING = 9.0, 15.0
"""Seconds of a stall, and seconds until the next one."""
_MEMBERS = ("billing-a", "billing-b", "billing-c")


async def _is_shared(field: Field) -> bool:
    """Return whether each member has two partitions."""
    seen = await field.tool("kafka-consumer-groups", "--describe", "--group", "billing", "--members", check=False)
    return all(re.search(rf"{each}\s+2\b", seen) for each in _MEMBERS)


async def _stall(member: Client) -> None:
    """Stall a member for some seconds, again and again, until cancelled."""
    while True:
        await member.pause()
        await asyncio.sleep(_STALLED)
        await member.resume()
        await asyncio.sleep(_RUNNING)


@asynccontextmanager
async def _stalling(field: Field, session_ms: int) -> AsyncIterator[Begin]:
    """Run three members that share a topic. The yielded function begins to stall one of them again and again.

    Args:
        session_ms: milliseconds of the members' session timeout.
    """
    await field.topic("orders", partitions=6)
    a, b, c = (field.consumer("orders", "billing", name=each, session_timeout_ms=session_ms) for each in _MEMBERS)
    async with field.producer("orders", rate=60), a, b, c as stalled:
        await field.until(lambda: _is_shared(field), "the members share the partitions", within=90)
        await field.reads("billing", "orders")

        try:
            async with field.rounds() as begin_round:

                async def begin() -> None:
                    begin_round(_stall(stalled))
                    await asyncio.sleep(0)

                yield begin
        finally:
            await stalled.resume()


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a member stalls for longer than its session
    timeout, so the group loses the member each time.
    """
    async with _stalling(field, 6_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a member stalls for a
    shorter time than its session timeout, so it keeps its partitions and catches up.
    """
    async with _stalling(field, 45_000) as begin:
        yield begin


NIGHT = Night(
    name="a member stalled by its host",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-735%3A+Increase+default+consumer+session+timeout",
    story="The host of one member stalled for some seconds now and then. The group's session timeout was shorter than "
    "that, so the coordinator removed the member, gave its partitions to the others, and rebalanced again when it came "
    "back: the whole group stopped twice for each stall of one member.",
    make=_make,
    twin_story="The same stalls of the same member under a session timeout that is longer than a stall.",
    twin=_twin,
    # No API shows the members' session timeout, and a member that stalls looks like one that was killed. Its client
    # id comes back with a new member id after each stall.
    cause=Words(
        (
            r"billing",
            r"billing-c|session[ ._-]?timeout|heartbeat",
            r"session[ ._-]?timeout|heartbeat|again and again|re-?join|comes? back|came back|returns?\b|repeated"
            r"|each time|keeps? (leaving|joining|losing)|new member ids?|flap|drops? out|restart",
        )
    ),
    symptom=Words((r"billing", r"rebalanc|lag|behind|members? (leave|left|join|change)|not stable|unstable")),
    step=Words((r"session[ ._-]?timeout|heartbeat|billing-c|host|\bcpu\b|pauses?\b|stall|client|static|instance",)),
    wrong=(r"reset group", r"delete (group|topic|records)", r"set topic orders retention"),
)
