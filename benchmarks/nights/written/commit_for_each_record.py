"""A new release of a reader commits after each record and waits for it: the commits take longer than the work."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

GROUP = "invoicing"
RATE = 1200.0
PROGRAM = "benchmarks.nights.programs.careful_reader"
OFFSETS = "__consumer_offsets"


@asynccontextmanager
async def _released(field: Field, seconds: float) -> AsyncIterator[Begin]:
    """Run a busy topic and its reader. The yielded function replaces the reader by its next release.

    Args:
        seconds: between two commits of the next release; 0 for a commit for each record.
    """
    await field.topic("usage", partitions=3)
    async with (
        AsyncExitStack() as later,
        field.producer("usage", rate=RATE, value_bytes=50, name="meters"),
        field.consumer("usage", GROUP, name=f"{GROUP}-1-0", batch=500) as old,
    ):
        await field.reads(GROUP, "usage")

        async def begin() -> None:
            await old.stop()
            new = field.program(sys.executable, "-m", PROGRAM, field.cluster.bootstrap, "usage", GROUP, str(seconds))
            await later.enter_async_context(new)
            await asyncio.sleep(5)
            before = await _end_of_commits(field)
            await asyncio.sleep(10)
            grown = await _end_of_commits(field) - before
            if (grown > 300) != (seconds == 0):
                raise RuntimeError(f"{OFFSETS} got {grown} records in 10 s")

        yield begin


async def _end_of_commits(field: Field) -> int:
    """Return the sum of the end offsets of __consumer_offsets."""
    ends = await field.tool("kafka-get-offsets", "--topic", OFFSETS)
    return sum(int(line.rsplit(":", 1)[1]) for line in ends.splitlines() if line.startswith(OFFSETS))


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the next release of a reader commits after each
    record, and waits for each commit.
    """
    async with _released(field, 0) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the next release of a
    reader commits every two seconds, and waits for each commit.
    """
    async with _released(field, 2) as begin:
        yield begin


NIGHT = Night(
    name="a commit for each record",
    source="https://github.com/confluentinc/confluent-kafka-go/issues/457",
    story="To lose nothing, the developers of a service let it commit synchronously after each record. Each commit is "
    "a round trip to the coordinator and a write to __consumer_offsets with all its replicas, so that the service "
    "read a fraction of what it had read before, and its lag grew while its processors idled.",
    make=_make,
    twin_story="The next release commits synchronously as well, but every two seconds: it keeps up.",
    twin=_twin,
    cause=Words(
        (
            r"invoicing|__consumer_offsets",
            r"\bcommit",
            r"(each|every|per|single) (record|message)|per.record|too often|so often|frequen|many commits|"
            r"\d commits|commits (itself )?\d+ times|(times|commits) (a|per) (second|minute)|"
            r"__consumer_offsets .{0,60}(grow|writes|records|rate|a second)",
        )
    ),
    symptom=Words((r"invoicing", r"\blag\b|behind|slower|can.?t keep|keep up|does not catch")),
    step=Words(
        (
            r"\bcommit",
            r"less often|seldom|rare|batch|fewer|interval|auto.?commit|async|once (a|per|every|in)|"
            r"every \d|every (few )?seconds|many records|several records|not (after )?each",
        )
    ),
    wrong=(
        r"reset group",
        r"delete group",
        r"delete topic",
        r"delete.?records",
        r"set topic __consumer_offsets",
    ),
)
