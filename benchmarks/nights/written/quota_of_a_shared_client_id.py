"""Two services have the client id that their library sets, so they share its quota, which one of them uses up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LIBRARY = "kafka_ex"
QUOTA = 40_000
"""The quota of the client id on each broker, in bytes per second. The only service that has it so far reads about 25
kB/s from each broker.
"""
MEMBERS = 3


@asynccontextmanager
async def _reindexed_as(field: Field, client: str) -> AsyncIterator[Begin]:
    """Run a service that stays below its quota. The yielded function starts a job that reads an archive from its first
    record.

    Args:
        client: the client id of the job.
    """
    await field.topic("events", partitions=3)
    await field.topic("archive", partitions=12)
    await field.writes("archive", 24_000, value=b"a" * 1000)
    change = ("--entity-type", "clients", "--entity-name", LIBRARY, "--add-config", f"consumer_byte_rate={QUOTA}")
    await field.tool("kafka-configs", "--alter", *change)
    async with (
        AsyncExitStack() as later,
        field.producer("events", rate=120, value_bytes=500, name="web-shop"),
        field.consumer("events", "billing", name=LIBRARY),
    ):
        await field.reads("billing", "events")

        async def begin() -> None:
            for _ in range(MEMBERS):
                await later.enter_async_context(field.consumer("archive", "reindex", name=client))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a job is started with a service's library.
    The library sets the service's client id, so the job uses the service's quota.
    """
    async with _reindexed_as(field, LIBRARY) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a job is started that has
    a client id of its own, without a quota.
    """
    async with _reindexed_as(field, "reindex-job") as begin:
        yield begin


NIGHT = Night(
    name="one quota for two services",
    source="https://github.com/kafkaex/kafka_ex/pull/388",
    story="A client library gives the same client id to everyone who uses it, and a quota for that id was set when "
    "one service used it. A second one that reads an archive takes all that the id may read: the first, whose load "
    "is as before, is throttled with it and falls behind, though nobody changed anything about it.",
    make=_make,
    twin_story="The same archive is read by a job with a client id of its own: it has a large lag that falls fast, "
    "and the other service reads on below its quota.",
    twin=_twin,
    cause=Words(
        (
            r"quota|throttl",
            rf"{LIBRARY}|client.?ids?",
            r"shar|both|\btwo\b|same client|together|reindex.*billing|billing.*reindex|all (its )?(clients|members)",
        )
    ),
    symptom=Words((r"billing|reindex", r"\blag|behind|slow|throttl")),
    step=Words((r"quota|consumer_byte_rate|client[. ]?id",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"partitions[ =]\d"),
)
