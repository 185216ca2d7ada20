"""A job with exactly-once output is killed and not restarted; it leaves an open transaction that blocks readers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

# The default maximum of brokers. Jobs with checkpoints often use an hour, if the brokers allow it.
_TIMEOUT_MS = 900_000


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a job is killed between two checkpoints;
    another job, with another transactional id, then writes to its topic.
    """
    await field.topic("payments", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer(
            "payments", rate=60, transactional_id="payments-sink-a", transaction_timeout_ms=_TIMEOUT_MS
        ) as job,
        field.consumer("payments", "ledger", isolation_level="read_committed"),
    ):
        await field.reads("ledger", "payments")

        async def begin() -> None:
            await job.tell(hold=True)
            await asyncio.sleep(3)
            await job.kill()
            await later.enter_async_context(
                field.producer(
                    "payments", rate=60, transactional_id="payments-sink-b", transaction_timeout_ms=_TIMEOUT_MS
                )
            )
            await asyncio.sleep(5)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a job is killed between
    two checkpoints and restarts with its own transactional id, which aborts its old transaction.
    """
    await field.topic("payments", partitions=3)
    async with (
        field.producer(
            "payments", rate=60, transactional_id="payments-sink-a", transaction_timeout_ms=_TIMEOUT_MS
        ) as job,
        field.consumer("payments", "ledger", isolation_level="read_committed"),
    ):
        await field.reads("ledger", "payments")

        async def begin() -> None:
            await job.tell(hold=True)
            await asyncio.sleep(3)
            await job.kill()
            await job.start()
            await job.tell(hold=False)
            await asyncio.sleep(5)

        yield begin


NIGHT = Night(
    name="transaction of a killed job",
    source="https://github.com/apache/flink-connector-kafka/pull/238",
    story=(
        "A streaming job with exactly-once output was killed between two checkpoints and was not started again under "
        "its old transactional ids: a new deployment with another prefix took over. The new job commits, but every "
        "reader with read_committed stands still, because the old transaction is open until its long timeout ends."
    ),
    make=_make,
    twin_story="The job is killed as well, and comes back with its own id: that aborts the old transaction at once.",
    twin=_twin,
    cause=Words(
        must=(
            r"payments",
            r"transaction",
            r"open|ongoing|hanging|unfinished|not (been )?(committed|ended|finished|completed)|never (committed|ended)",
            r"payments-sink-a|producer (id )?\d+",
        ),
        never=(r"payments-sink-b (is|has been) (open|hanging)",),
    ),
    symptom=Words(
        must=(
            r"ledger|payments",
            r"lag|behind|stand|stuck|stable offset|\bLSO\b|no progress|not (move|advance|progress)",
        )
    ),
    step=Words(must=(r"transaction", r"abort|terminat|fence|initTransactions|init_transactions")),
    wrong=(
        r"reset group ledger",
        r"delete group ledger",
        r"delete topic payments",
        r"delete.?records",
        r"payments-sink-b",
    ),
    stands=True,
)
