"""The topic __transaction_state is configured with more replicas than there are brokers: no transaction ever begins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[AsyncExitStack]:
    """Run clients without transactions, and yield an exit stack for further clients."""
    await field.topic("orders", partitions=3)
    await field.topic("payouts", partitions=3)
    async with AsyncExitStack() as later, field.producer("orders", rate=50), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        yield later


async def _deploy(field: Field, later: AsyncExitStack) -> None:
    """Start the first service with transactions, and a reader with read_committed."""
    await later.enter_async_context(field.producer("payouts", rate=20, transactional_id="payouts-1"))
    await later.enter_async_context(field.consumer("payouts", "bank", isolation_level="read_committed"))


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a transactional producer starts while
    __transaction_state does not exist and would have to be created with five replicas on three brokers.
    """
    async with _services(field) as later:

        async def begin() -> None:
            await _deploy(field, later)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a transactional producer
    starts while __transaction_state already exists, with three replicas.
    """
    await field.topic("__transaction_state", partitions=3, configs={"cleanup.policy": "compact"})
    async with _services(field) as later:

        async def begin() -> None:
            await _deploy(field, later)

        yield begin


NIGHT = Night(
    name="no log for transactions",
    source="https://github.com/Apicurio/apicurio-registry/issues/1147",
    story="The properties ask for more replicas of the transactions' log than the cluster has brokers. Nobody "
    "noticed as long as nobody used transactions; the first service that does waits for its coordinator and "
    "times out, for ever, and the topic __transaction_state is never made.",
    make=_make,
    twin_story="The same service on a cluster with the same property, whose __transaction_state exists since long.",
    twin=_twin,
    cause=Words(
        (
            r"__transaction_state|transaction\.state\.log|transaction(al|s)? (state|log|coordinator)",
            r"replication\.factor|replica|\b5\b",
            r"\b3\b|three|brokers|cannot be (made|created)|does not exist|missing|never",
        )
    ),
    symptom=Words((r"transaction", r"coordinator|not available|cannot|no topic|missing|timeout|timed out")),
    step=Words((r"transaction\.state\.log\.replication\.factor|__transaction_state",)),
    wrong=(r"delete topic", r"\babort", r"reset group"),
    # This is also true for the twin: if its topic were deleted, it could not be created again.
    fine=(r"transaction\.state\.log\.replication\.factor",),
    properties={"transaction.state.log.replication.factor": "5"},
)
