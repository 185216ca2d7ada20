"""A release reads under another group id: it begins at the first record and processes everything again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OLD, NEW = "inbound-225179", "inbound-order-process"
RECORDS = 4_000
"""Records in each partition that the service has processed before."""


@asynccontextmanager
async def _upgraded(field: Field, *, carried: bool) -> AsyncIterator[Begin]:
    """Run a service that has processed all records of a topic. The yielded function stops it and starts its next
    release, which reads under another group id.

    Args:
        carried: whether the offsets of the old group are given to the new one before, and the old group is deleted.
    """
    await field.topic("requests", partitions=3)
    await field.topic("orders", partitions=3)
    for partition in range(3):
        await field.writes("requests", RECORDS, partition=partition)
    async with (
        field.producer("requests", rate=40),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.consumer("requests", OLD, batch=500) as service,
        AsyncExitStack() as more,
    ):
        await field.reads("billing", "orders")
        await field.reads(OLD, "requests")

        async def has_caught_up() -> bool:
            described = await field.tool("kafka-consumer-groups", "--describe", "--group", OLD)
            lags = [line.split()[5] for line in described.splitlines() if line.startswith(OLD)]
            return len(lags) == 3 and all(lag.isdigit() and int(lag) < 300 for lag in lags)

        await field.until(has_caught_up, f"group {OLD} has read topic requests", within=120)

        async def carry() -> None:
            over = ("--reset-offsets", "--topic", "requests", "--to-current", "--export", "--dry-run")
            file = field.cluster.directory / "offsets.csv"
            file.write_text(await field.tool("kafka-consumer-groups", "--group", OLD, *over))
            told = ("--reset-offsets", "--from-file", str(file), "--execute")
            await field.tool("kafka-consumer-groups", "--group", NEW, *told)
            await field.tool("kafka-consumer-groups", "--group", OLD, "--delete")

        async def begin() -> None:
            await service.stop()
            if carried:
                await carry()
            await more.enter_async_context(field.consumer("requests", NEW, work_ms=8, batch=50))
            await field.reads(NEW, "requests")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The new group has no committed offsets, so it begins at the first record."""
    async with _upgraded(field, carried=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The new group gets the offsets of the old one, which is deleted."""
    async with _upgraded(field, carried=True) as begin:
        yield begin


NIGHT = Night(
    name="a group renamed by a release",
    source="https://github.com/camunda/connectors/issues/6767",
    story="An upgrade of a service changed how it makes the id of its consumer group. To Kafka this was another group "
    "without any committed offset: it began at the first record, processed again everything that its predecessor had "
    "done, and new records waited behind it. The old group stayed, without members, with the right offsets.",
    make=_make,
    twin_story="The operator gives the offsets of the old group to the new one before it starts.",
    twin=_twin,
    cause=Words(
        (
            NEW,
            rf"{OLD}|renam|new name|another name|other name|group\.id|group id|new group|another group|other group|"
            r"different group|predecessor|replac",
            r"earliest|\b(start|beginning|first)\b|again|replay|re-?(read|process)|old(est)? (record|offset)|"
            r"no (committed )?offset|without (committed )?offset|offset 0|from 0",
        )
    ),
    symptom=Words(
        (
            rf"{NEW}|{OLD}",
            r"\blag\b|behind|no members?|empty|\bleft\b|without (a )?members?|lost its|slow|nobody",
        )
    ),
    step=Words((rf"reset group {NEW}|{OLD}|group\.id|group id|old group|former group|name of the group",)),
    # The offsets of the old group are what the new one needs; to skip to the end loses requests.
    wrong=(
        rf"reset group {NEW}.*(earliest|latest)",
        rf"reset group {OLD}",
        r"delete (group|topic|records)",
    ),
    # It is true that a group is gone and that another one has come.
    fine=(rf"{OLD}.*(gone|deleted|vanish|no longer)", rf"{NEW}.*\bnew\b"),
)
