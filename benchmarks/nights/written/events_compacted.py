"""A topic of events gets the cleanup policy of a table, and the brokers remove all but the last event of each key."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

KEYS = 8
RECORDS = 80
"""Old events of each account in each partition. Together they fill several segments."""


@asynccontextmanager
async def _ledger(field: Field, policy: str) -> AsyncIterator[Begin]:
    """Fill the topic payments with events of a few accounts, and run clients that write and read it. The yielded
    function sets the topic's cleanup policy.

    Args:
        policy: the new cleanup.policy.
    """
    await field.topic("payments", partitions=3, configs={"segment.bytes": "1048576"})
    await field.topic("clicks", partitions=3)
    for partition in range(3):
        for key in range(KEYS):
            await field.writes(
                "payments", RECORDS, partition=partition, key=f"account-{partition}-{key}", value=b"v" * 6_000
            )
    async with (
        field.producer("payments", rate=30, value_bytes=500),
        field.producer("clicks", rate=50),
        field.consumer("payments", "ledger", batch=200),
        field.consumer("clicks", "stats"),
    ):
        await field.reads("ledger", "payments")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            payments = ("--entity-type", "topics", "--entity-name", "payments")
            await field.tool("kafka-configs", "--alter", *payments, "--add-config", f"cleanup.policy={policy}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the policy of a table."""
    async with _ledger(field, "compact") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the policy that the topic
    has by default.
    """
    async with _ledger(field, "delete") as begin:
        yield begin


NIGHT = Night(
    name="events compacted like a table",
    source="https://github.com/strimzi/strimzi.github.io/pull/240",
    story="Somebody wanted to keep payments for ever, read that compacted topics are never deleted, and set "
    "cleanup.policy=compact. Payments have the account as their key: within a minute the brokers removed all but the "
    "last payment of each account. Readers at the end of the topic noticed nothing.",
    make=_make,
    twin_story="The same setting, with the policy that the topic already had by default.",
    twin=_twin,
    cause=Words(
        (
            r"payments",
            r"compact",
            r"delet|lost|remov|shr[aiu]nk|gone|only|latest|\blast\b|older|histor|earlier|chang|was set|kept|keeps|"
            r"smaller|fell",
        )
    ),
    symptom=Words((r"payments", r"delet|lost|gone|removed|shr[aiu]nk|smaller|fewer|less|fell")),
    step=Words((r"payments", r"cleanup\.policy")),
    wrong=(r"delete (topic|group|records)", r"reset group", r"cleanup\.policy=compact$"),
)
