"""max.connections.per.ip on one broker: it closes every new connection, and existing connections continue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _limiting(field: Field, limit: int) -> AsyncIterator[Begin]:
    """Run clients. The yielded function sets a limit of connections on broker 2, and deploys the clients again.

    Args:
        limit: maximum number of connections from one address. All clients have the same address, as behind a proxy.
    """
    await field.topic("orders", partitions=6)
    async with (
        field.producer("orders", rate=40) as producer,
        field.consumer("orders", "billing") as member,
    ):
        await field.reads("billing", "orders")
        await field.settled()

        async def begin() -> None:
            """Set the limit, and restart the clients."""
            await field.tool(
                "kafka-configs",
                *("--alter", "--entity-type", "brokers", "--entity-name", "2"),
                *("--add-config", f"max.connections.per.ip={limit}"),
            )
            await asyncio.sleep(3)
            for each in (producer, member):
                await each.stop()
                await each.start()
            await asyncio.sleep(5)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a broker's limit of connections from one
    address is set below the number of connections from the other brokers.
    """
    async with _limiting(field, 2) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a broker's limit of
    connections from one address is set far above the number of connections.
    """
    async with _limiting(field, 1000) as begin:
        yield begin


NIGHT = Night(
    name="max.connections.per.ip on one broker",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-402%3A+Improve+fairness+in+SocketServer+processors",
    story="To stop one client's storm of connections somebody set max.connections.per.ip on one broker. All clients "
    "came through one address, so the broker closed each new connection at once: who was connected worked on, who was "
    "deployed anew could not reach that broker, and neither could the tool that should take the setting back, as a "
    "broker's configs are sent to that broker itself, unless it is told to ask the controllers.",
    make=_make,
    twin_story="The same setting with a number that nobody reaches, and the same deployment after it.",
    twin=_twin,
    cause=Words(
        (
            r"broker 2\b",
            r"max\.connections\.per\.ip|connection limit|limit (of|on) connections|"
            r"connections? (per|from one) (ip|address)|too many connections",
        )
    ),
    symptom=Words(
        (r"broker 2\b", r"connect|closes?|closed|does not answer|did not answer|unreach|cannot be reached|refus"),
        never=(r"garbage|broker 2 is down|drain",),
    ),
    step=Words((r"max\.connections\.per\.ip",)),
    wrong=(
        r"^\s*(move|drain|unregister|elect|reassign)\b",
        r"reset group",
        r"delete (group|topic|records)",
        r"set broker [13] .*max\.connections",
    ),
    # In the twin, too, one broker has a setting that the others lack, which deserves a hint.
    fine=(r"max\.connections\.per\.ip.*(differ|only|others)|(differ|only|others).*max\.connections\.per\.ip",),
    stands=True,
)
