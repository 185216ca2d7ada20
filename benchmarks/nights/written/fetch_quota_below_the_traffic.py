"""A user's fetch quota is lower than the traffic of the topic that its service reads: brokers delay each fetch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _limited(field: Field, quota: int) -> AsyncIterator[Begin]:
    """Run the services of two users, each of which reads 20 kB/s from each broker. The yielded function sets a fetch
    quota for the first user.

    Args:
        quota: bytes per second that this user may fetch from each broker.
    """
    await field.topic("events", partitions=3)
    async with (
        field.producer("events", rate=60, value_bytes=1000),
        field.consumer("events", "reports", user="alice"),
        field.consumer("events", "search", user="bob"),
    ):
        await field.reads("reports", "events")
        await field.reads("search", "events")

        async def begin() -> None:
            on_her = ("--entity-type", "users", "--entity-name", "alice")
            await field.tool("kafka-configs", "--alter", *on_her, "--add-config", f"consumer_byte_rate={quota}")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a user gets a fetch quota of a fifth of the
    traffic that its service reads.
    """
    async with _limited(field, 4_000) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a user gets a fetch
    quota of two hundred times the traffic that its service reads.
    """
    async with _limited(field, 4_000_000) as begin:
        yield begin


NIGHT = Night(
    name="a fetch quota below the traffic",
    source="https://github.com/apache/kafka/pull/8290",
    story="An operator gave a user a small quota for fetching. The brokers answered its fetches without records and "
    "with a delay until its rate was low enough: its consumer fell behind further and further, without an error and "
    "with healthy members, while another user's consumer of the same topic kept up.",
    make=_make,
    twin_story="The same user gets a quota far above its traffic.",
    twin=_twin,
    cause=Words((r"quota|consumer_byte_rate|throttl|byte.?rate", r"alice|reports")),
    symptom=Words((r"reports", r"\blag|behind|slow|falls? back|not keep")),
    step=Words((r"consumer_byte_rate|quota",)),
    wrong=(
        r"reset group",
        r"delete (group|topic|records)",
        r"set topic events retention",
        r"consumer_byte_rate\s*=\s*([0-3]?\d{1,3})\s*$",
    ),
    security="logins",
)
