"""The brokers' transaction.max.timeout.ms is back at its default: brokers refuse a job that needs an hour."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_HOUR_MS = 3_600_000
"""The usual transaction timeout of streaming jobs in ms; brokers allow a quarter of it by default."""


@asynccontextmanager
async def _rolled(field: Field, changed: Mapping[str, str | None]) -> AsyncIterator[Begin]:
    """Run a job with exactly-once output. The yielded function restarts the brokers with other properties, and deploys
    the job again.

    Args:
        changed: the new properties of every broker; None removes a property.
    """
    await field.topic("payments", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer(
            "payments", rate=60, transactional_id="payments-sink", transaction_timeout_ms=_HOUR_MS, name="payments-job"
        ) as job,
        field.consumer("payments", "ledger", isolation_level="read_committed"),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("ledger", "payments")
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Restart the brokers in turn. Then end the job at a checkpoint, without an open transaction, and start it
            again.
            """
            for broker in field.cluster.broker_ids:
                await field.with_properties(broker, changed)
                await field.restart(broker)
            await field.settled()
            await job.tell(rate=0)
            await asyncio.sleep(3)  # the job's last transaction is committed
            await job.stop()
            await job.start()
            await job.tell(rate=60)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the brokers are restarted with properties that
    lack transaction.max.timeout.ms, so the maximum is fifteen minutes again, less than a job needs.
    """
    async with _rolled(field, {"transaction.max.timeout.ms": None}) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the brokers are restarted
    with another transaction.max.timeout.ms, which is still more than a job needs.
    """
    async with _rolled(field, {"transaction.max.timeout.ms": str(2 * _HOUR_MS)}) as begin:
        yield begin


NIGHT = Night(
    name="a transaction timeout over the maximum",
    source="https://github.com/j3-signalroom/apache_flink-kickstarter/issues/787",
    story="A streaming job with exactly-once output asked for a transaction timeout that is longer than the brokers' "
    "transaction.max.timeout.ms. Each start of it ended at once: the request for its producer id was refused. Nothing "
    "was written any more, while brokers, topics and readers were well.",
    make=_make,
    twin_story="The same restarts of brokers and job; the new maximum is more than what the job asks for.",
    twin=_twin,
    properties={"transaction.max.timeout.ms": str(_HOUR_MS)},
    cause=Words(
        (
            r"payments",
            r"transaction",
            r"transaction\.max\.timeout|(max\w*|longest|allow\w*|limit|exceed\w*|above|over)\b.{0,60}timeout|"
            r"timeout.{0,60}\b(max\w*|longer|larger|higher|more|allow\w*|limit|exceed\w*|above|over)\b",
        )
    ),
    symptom=Words(
        (
            r"payments",
            r"\bno (new |more )?(writes?|records?|transactions?)|stopp|nothing|silent|idle|quiet|end (offsets? )?stand|"
            r"not (begin|start|writ)|no longer|refus",
        )
    ),
    step=Words((r"transaction\.max\.timeout|transaction\.timeout|transaction timeout|transactionTimeout",)),
    wrong=(r"reset group", r"delete (topic|group|records)", r"unclean", r"set topic payments"),
    # In the twin, too, each restarted broker is down for some seconds, and its replicas have to catch up.
    fine=(r"brokers? [123]\b",),
    watch=75.0,
)
