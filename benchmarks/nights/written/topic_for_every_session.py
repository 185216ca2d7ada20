"""A service creates a reply topic for every session and never deletes one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

OLD = 12
"""The number of reply topics from before the night."""
EVERY = 1.0
"""Seconds between two sessions."""


async def _reply(field: Field, number: int) -> None:
    """Create a reply topic, and write the only reply."""
    name = f"reply-{number * 7919 % 1_000_000:06d}"
    await field.topic(name, partitions=1)
    await field.writes(name, 1)


@asynccontextmanager
async def _replying(field: Field, *, session_after_session: bool) -> AsyncIterator[Begin]:
    """Run a service with some reply topics. The yielded function creates three more.

    Args:
        session_after_session: whether more topics follow, one for each session.
    """
    await field.topic("orders", partitions=3)
    numbers = count(11)
    for _ in range(OLD):
        await _reply(field, next(numbers))
    async with (
        field.producer("orders", rate=60),
        field.consumer("orders", "shop"),
        field.rounds() as rounds,
    ):
        await field.reads("shop", "orders")

        async def sessions() -> None:
            while True:
                await _reply(field, next(numbers))
                await asyncio.sleep(EVERY)

        async def begin() -> None:
            for _ in range(3):
                await _reply(field, next(numbers))
            if session_after_session:
                rounds(sessions())

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: each session creates its own reply topic."""
    async with _replying(field, session_after_session=True) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: three new instances of the
    service create one reply topic each.
    """
    async with _replying(field, session_after_session=False) as begin:
        yield begin


NIGHT = Night(
    name="a topic for every session",
    source="https://github.com/linkedin/kafka-monitor/issues/295",
    story="A service created topics with a number in the name, again and again, used each one for a moment and left it "
    "behind. The number of topics grew without end; each has partitions with replicas, files and metadata, until the "
    "cluster went down.",
    make=_make,
    twin_story="Three new instances of the service create a reply topic each, and no further topics follow.",
    twin=_twin,
    cause=Words(
        (
            r"reply",
            r"topics",
            r"creat|\bnew\b|grow|more and more|increas|appear|every (second|minute|few)|\badded|keep",
        )
    ),
    symptom=Words(
        (
            r"topics|partitions",
            r"number|count|creat|\bnew\b|grow|\bmore\b|increas|unused|no longer|not (used|written|read)",
        )
    ),
    step=Words(
        (
            r"(delete|remove|clean).{0,80}(topic|reply)|auto\.create|controller_mutation_rate"
            r"|(service|client|application|program|script|which|who).{0,80}creat"
            r"|creat.{0,80}(service|client|application|program|script|code)|(share|reuse|one) .{0,40}topic",
        )
    ),
    wrong=(r"delete topic orders", r"delete group", r"reset group", r"delete records"),
)
