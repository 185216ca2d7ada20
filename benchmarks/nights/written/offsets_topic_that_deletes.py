"""The topic of the committed offsets deletes old records instead of compacting them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _tidied(field: Field, *configs: str) -> AsyncIterator[Begin]:
    """Run clients. The yielded function sets configs of the topic of the committed offsets.

    Args:
        configs: each as ``key=value``.
    """
    await field.topic("orders", partitions=6)
    async with (
        field.producer("orders", rate=40),
        field.consumer("orders", "billing"),
        field.consumer("orders", "stats"),
    ):
        await field.reads("billing", "orders")
        await field.reads("stats", "orders")
        await field.settled()

        async def begin() -> None:
            offsets = ("--entity-type", "topics", "--entity-name", "__consumer_offsets")
            await field.tool("kafka-configs", "--alter", *offsets, "--add-config", ",".join(configs))

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the topic deletes by age."""
    async with _tidied(field, "cleanup.policy=delete", "retention.ms=86400000") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the topic goes on to
    compact, with smaller segments.
    """
    async with _tidied(field, "cleanup.policy=compact", "segment.bytes=52428800") as begin:
        yield begin


NIGHT = Night(
    name="offsets topic that deletes",
    source="https://stackoverflow.com/questions/39131465",
    story="To win back space somebody gave __consumer_offsets cleanup.policy=delete, with a retention of a day. Little "
    "changed at first: brokers keep committed offsets in memory. The offsets of groups that commit seldom were deleted "
    "with their segments, and after the next restart of a broker such groups began again at the start.",
    make=_make,
    twin_story="The topic's segments are made smaller, and it is still compacted.",
    twin=_twin,
    cause=Words((r"__consumer_offsets", r"cleanup\.policy|compact")),
    symptom=Words((r"__consumer_offsets|committed offsets|commits",)),
    step=Words((r"__consumer_offsets|offsets topic", r"cleanup\.policy|compact")),
    wrong=(r"cleanup\.policy=delete", r"delete (topic|group|records)", r"reset group"),
    stands=True,
    watch=60.0,
)
