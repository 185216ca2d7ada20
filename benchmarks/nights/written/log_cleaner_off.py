"""The log cleaner is switched off on all brokers: compacted topics are never compacted, and grow for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

WRITTEN = 4_000
"""Number of records, of 2 kB each, in the compacted topic when the console is opened."""


@asynccontextmanager
async def _rolled(field: Field, properties: dict[str, str | None]) -> AsyncIterator[Begin]:
    """Restart all brokers with new properties, one after another, and run a service that writes the newest balance
    of each account to a compacted topic. Yield a function that waits until this topic has `WRITTEN` records.
    """
    for broker in field.cluster.broker_ids:
        await field.with_properties(broker, properties)
        await field.restart(broker)
    await field.settled()
    # As small as brokers allow: in use, the active segment of a gigabyte hides for a while what is behind it.
    compacted = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.1"}
    await field.topic("balances", partitions=1, configs=compacted)
    await field.topic("orders", partitions=3)

    async def is_written() -> bool:
        await asyncio.sleep(3)
        printed = await field.tool("kafka-get-offsets", "--topic", "balances")
        return any(int(line.rpartition(":")[2]) >= WRITTEN for line in printed.split() if line.startswith("balances:"))

    async with (
        field.producer("balances", rate=150, key="one", value_bytes=2_000, name="accounts"),
        field.producer("orders", rate=30),
        field.consumer("balances", "balance-view"),
        field.consumer("orders", "billing"),
    ):
        await field.reads("balance-view", "balances")
        await field.reads("billing", "orders")

        async def begin() -> None:
            await field.until(is_written, f"topic balances has {WRITTEN} records", within=150)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Make the trouble: restart the brokers with properties that disable the log cleaner. Yield a function that
    waits until the compacted topic has enough records.
    """
    async with _rolled(field, {"log.cleaner.enable": "false"}) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Make the harmless twin of the trouble: restart the brokers with properties that let the log cleaner look for
    work more often. Yield a function that waits until the compacted topic has enough records.
    """
    async with _rolled(field, {"log.cleaner.enable": "true", "log.cleaner.backoff.ms": "1000"}) as begin:
        yield begin


NIGHT = Night(
    name="the log cleaner off",
    source="https://github.com/apache/kafka/pull/686",
    story="The log cleaner was off on the brokers, as it had been by default in old releases and in files of "
    "properties that were copied from them. Compacted topics, the one with the offsets of all groups among them, kept "
    "every record ever written: disks filled, and each start of a service or of a coordinator took longer.",
    make=_make,
    twin_story="The same roll lets the cleaner look for work more often: the size of the topic goes up and down.",
    twin=_twin,
    cause=Words(
        (
            r"balances|__consumer_offsets|brokers?\b|cluster|compacted topics?",
            r"cleaner|compaction|compacted",
            r"log\.cleaner\.enable|\boff\b|disabled|not (running|enabled|run|compacted)|never (run|compacted)|"
            r"nothing (is )?compact|nobody compacts|switched",
        )
    ),
    symptom=Words((r"balances|__consumer_offsets", r"grow|grew|\bsize\b|larger|bytes|\b[kMG]i?B\b|disk|not compacted")),
    step=Words((r"log\.cleaner\.enable|cleaner",)),
    wrong=(
        r"cleanup\.policy\s*=\s*\W?delete",
        r"delete topic",
        r"delete.?records",
        r"retention\.(ms|bytes)\s*=",
        r"reset group",
    ),
    stands=True,
    properties={"log.cleaner.backoff.ms": "2000"},
)
