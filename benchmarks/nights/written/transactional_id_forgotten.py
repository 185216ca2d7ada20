"""There were no records for so long that brokers have removed a transactional id; its service uses the old producer,
and fails.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

IDENTITY = "settlements-0"
# By default, brokers forget a transactional id after seven days without a transaction.
_FORGET_MS, _LOOK_MS = "20000", "5000"
_RATE = 30


@asynccontextmanager
async def _settling(field: Field, *more: str) -> AsyncIterator[Begin]:
    """Run a service that reads orders and writes settlements, in transactions. The yielded function stops the orders
    for a while.

    Args:
        more: further arguments of the service.
    """
    await field.topic("orders", partitions=3)
    await field.topic("settlements", partitions=3)
    await field.topic("visits", partitions=3)
    arguments = (field.cluster.bootstrap, "orders", "settlements", "settler", IDENTITY, *more)

    async def is_forgotten() -> bool:
        await asyncio.sleep(3)
        return IDENTITY not in await field.tool("kafka-transactions", "list")

    async with (
        field.producer("orders", rate=_RATE, name="shop") as shop,
        field.program(sys.executable, "-m", "benchmarks.nights.programs.settler", *arguments) as service,
        field.consumer("settlements", "ledger", isolation_level="read_committed"),
        field.producer("visits", rate=30),
        field.consumer("visits", "statistics"),
    ):
        await field.reads("settler", "orders")
        await field.reads("ledger", "settlements")
        await field.reads("statistics", "visits")

        async def has_failed() -> bool:
            return "not settled" in service.output.read_text()

        async def begin() -> None:
            await shop.tell(rate=0.0)
            await field.until(is_forgotten, f"brokers forget {IDENTITY}", within=120)
            await shop.tell(rate=_RATE)
            await field.until(has_failed, "a transaction fails", within=90)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service whose transactional id the brokers
    have removed repeats each failed transaction with the same producer.
    """
    async with _settling(field) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service whose
    transactional id the brokers have removed makes a new producer after a failure, and settles all orders.
    """
    async with _settling(field, "--starts-again") as begin:
        yield begin


NIGHT = Night(
    name="a transactional id forgotten",
    source="https://github.com/confluentinc/parallel-consumer/issues/830",
    story="A service that writes in transactions had no work for days. Brokers forget a transactional id that was not "
    "used for transactional.id.expiration.ms, and refuse the producer that still has the old producer id. The service "
    "tried the same records again with the same producer, for ever: it was up, it was a member of its group, and "
    "nothing was done any more.",
    make=_make,
    twin_story="Nothing comes for as long, and the id is forgotten; the service then makes a new producer, and goes on "
    "after a moment.",
    twin=_twin,
    cause=Words(
        (
            r"settle",
            r"transactional.?ids?|producer.?ids?|transactional\.id",
            r"expir|forg[eo]t|dropped|\bgone\b|no longer (known|there|listed)|not (known|listed|there) (any ?more|now)|"
            r"removed|unknown|vanish|disappear|missing",
        )
    ),
    symptom=Words(
        (
            r"settle|orders",
            r"\blag\b|behind|no progress|not (move|advance|progress|commit)|stand|stopp|stuck|idle|silent|"
            r"no (new )?(records?|writes?|commits?)|nothing (is |was )?written",
        )
    ),
    step=Words(
        (
            r"restart|start.{0,40}again|init_?transactions|new producer|"
            r"transactional\.id\.expiration\.ms|client.{0,40}log",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records", r"skip"),
    properties={
        "transactional.id.expiration.ms": _FORGET_MS,
        "transaction.remove.expired.transaction.cleanup.interval.ms": _LOOK_MS,
    },
)
