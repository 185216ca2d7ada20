"""A consumer can't deserialize one record, and its framework reads that record again and again: the partition stands
still while the others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

_RETRIES = 6.0
"""Seconds for which the twin's record is retried."""


@asynccontextmanager
async def _shipping(field: Field) -> AsyncIterator[Client]:
    """Run a producer and a group of two members; yield one of the members."""
    await field.topic("orders", partitions=4)
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "shipping", name="shipping-a") as first,
        field.consumer("orders", "shipping", name="shipping-b"),
    ):
        await field.reads("shipping", "orders")
        await asyncio.sleep(5)  # wait until both have joined, and the rebalance is over
        yield first


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a member can't read a record, and seeks back to
    it each time.
    """
    async with _shipping(field) as member:

        async def begin() -> None:
            await member.tell(stuck_at="next")

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a record succeeds after a
    few retries.
    """
    async with _shipping(field) as member:

        async def begin() -> None:
            await member.tell(stuck_at="next")
            await asyncio.sleep(_RETRIES)
            await member.tell(stuck_at=None)

        yield begin


NIGHT = Night(
    name="a record retried for ever",
    source="https://github.com/spring-projects/spring-kafka/issues/316",
    story="After a change of the schema, a service with an older one could not deserialize a record. Its listener "
    "logged the error, sought back and polled the same record again, without an end. The partition stood still; the "
    "others were read on, and the group was stable.",
    make=_make,
    twin_story="A record fails a few times because the service that it calls restarts, and then succeeds.",
    twin=_twin,
    cause=Words(
        (
            r"shipping",
            r"orders",
            r"\brecord|message|offset",
            r"poison|\bbad\b|broken|corrupt|unreadable|can.?(not|.?t) (be )?(read|process|deseriali|pars|handl)|"
            r"fails? (at|on|to)|deseriali|(tri|retri|read)(es|s|ed|ing)?.{0,40}(same|again)|"
            r"(stuck|stands?|stops?|hangs?|waits?) (still )?"
            r"(at|on|before) (a|the|one|this|its|an?) (record|message|offset)|"
            r"(look|check|skip|see).{0,40}(the|that|this|one|at) (record|message)",
        )
    ),
    symptom=Words((r"shipping", r"\blag|behind|stand|stuck|still|no progress|does not move|not advance|stop")),
    step=Words(
        (
            r"(look|see|check|read|show).{0,60}(record|message|offset)|\bskip|dead.?letter|deseriali|"
            r"records orders|reset group shipping.{0,60}\d",
        )
    ),
    # The records after the bad one are good, and none of them may be lost.
    wrong=(
        r"reset group shipping.*(latest|\bend\b)",
        r"delete group",
        r"delete topic",
        r"delete.?records",
        r"remove member",
    ),
)
