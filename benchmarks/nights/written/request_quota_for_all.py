"""The default quota of all users is request_percentage=0.05: each request of each client is delayed, also those of the
console.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _limiting(field: Field, percentage: str) -> AsyncIterator[Begin]:
    """Run clients. The yielded function sets a default request quota for all users.

    Args:
        percentage: of one thread's time, for all connections of a user to a broker.
    """
    await field.topic("orders", partitions=6)
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "billing", name="billing-a"),
        field.consumer("orders", "billing", name="billing-b"),
    ):
        await field.reads("billing", "orders")
        await asyncio.sleep(8)

        async def begin() -> None:
            """Set the quota."""
            await field.tool(
                "kafka-configs",
                *("--alter", "--entity-type", "users", "--entity-default"),
                *("--add-config", f"request_percentage={percentage}"),
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator sets a default request quota of
    0.05 %, but means 5 %.
    """
    async with _limiting(field, "0.05") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator sets a default
    request quota of 200 %, which no client here needs.
    """
    async with _limiting(field, "200") as begin:
        yield begin


NIGHT = Night(
    name="request_percentage=0.05 for all",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-124+-+Request+rate+quotas",
    story="A default quota for all users was meant to be five percent of a thread and was written as 0.05, which Kafka "
    "reads as percent. Every client was throttled after every request: produce, fetch and heartbeat took a second and "
    "more, tools ran into their timeouts, and the brokers had nothing to do.",
    make=_make,
    twin_story="A default quota that nobody reaches.",
    twin=_twin,
    cause=Words(
        (
            r"request_percentage|request (rate |time )?quota|quota",
            r"0\.05|default|(all|every|each) (users?|clients?|others?)|everybody|everyone|throttl",
        )
    ),
    symptom=Words((r"throttl|slow|late|delay|does not answer|did not answer|not answered|lag|wait",)),
    step=Words((r"request_percentage|quota",)),
    wrong=(
        r"^\s*(move|elect|reassign|drain|unregister)\b",
        r"reset group",
        r"restart",
        r"delete (group|topic|records)",
    ),
)
