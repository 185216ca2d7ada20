"""A service's pattern matches its topic of dead letters: it reads them, fails, and writes them there again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

BAD = 12
"""Number of records that the service can't process."""


@asynccontextmanager
async def _serving(field: Field, pattern: str) -> AsyncIterator[Begin]:
    """Run a service that processes orders without failures. The yielded function writes a few records that it can't
    parse.

    Args:
        pattern: of the topics that the service reads.
    """
    await field.topic("orders", partitions=3)
    await field.topic("orders.DLT", partitions=1)
    arguments = (field.cluster.bootstrap, pattern, "fulfilment", "orders.DLT")
    async with (
        field.producer("orders", rate=40, name="shop"),
        field.program(sys.executable, "-m", "benchmarks.nights.programs.dead_letters", *arguments),
    ):
        await field.reads("fulfilment", "orders")
        await asyncio.sleep(5)

        async def begin() -> None:
            """Write a few records that can't be parsed."""
            await field.writes("orders", BAD, key="broken", value=b"bad: {")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service reads the topics that match a
    pattern, which is meant for the orders of all countries, but also matches the topic of dead letters.
    """
    async with _serving(field, "^orders.*") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service reads the topics
    that match a pattern, which only matches orders. Dead letters stay in their topic until an operator looks at
    them.
    """
    async with _serving(field, "^orders$") as begin:
        yield begin


NIGHT = Night(
    name="dead letters of dead letters",
    source="https://github.com/spring-projects/spring-kafka/pull/1923",
    story="A service puts records that it can't work on into a topic of dead letters, and it subscribes to a pattern "
    "that fits this topic too. The first records that could not be parsed went round and round: read from the dead "
    "letters, failed, written to their end. A dozen records became hundreds a second, the topic grew without an end, "
    "and the service had no time for the orders; it was up, it had no error, and it committed all the time.",
    make=_make,
    twin_story="The same records fail in a service that does not read its dead letters: a dozen lie there.",
    twin=_twin,
    cause=Words(
        (
            r"orders\.DLT",
            r"fulfilment",
            r"loop|itself|round|again|cycl|feeds? back|own (output|records|topic|dead)|pattern|regex"
            r"|writes? (back|what)|reads? (from )?what it writes|both (reads?|writes?)|same (service|client)|subscri",
        )
    ),
    symptom=Words((r"orders\.DLT|fulfilment", r"grow|grew|rate|more|records|writes|lag|behind|jump|rose|burst|size")),
    step=Words((r"pattern|regex|subscri|stop|exclud|service|client|application|dead.?letter",)),
    wrong=(r"delete topic orders\b(?!\.DLT)", r"reset group fulfilment", r"delete group", r"partitions[ =]\d"),
    # Dead letters without a reader are normal, and their first records are an event worth reporting.
    fine=(r"orders\.DLT.{0,200}(new|first|no (reader|group)|nobody)",),
    versions=("4.3", "4.4"),
)
