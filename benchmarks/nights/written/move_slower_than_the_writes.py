"""A reassignment is throttled below the rate of writes to its partitions: it runs, and never ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

NEW = 3
BEFORE = 3_000
"""Number of records in the topic before the reassignment."""


@asynccontextmanager
async def _moved(field: Field, throttle: int, *, ends: bool) -> AsyncIterator[Begin]:
    """Run a producer of 200 kB per second. The yielded function begins to move a replica of each partition to broker 3.

    Args:
        throttle: bytes per second.
        ends: whether to wait for the end of the reassignment and remove the throttle.
    """
    await field.topic("metrics", on=[(1, 2), (2, 1), (1, 2)])
    await field.writes("metrics", BEFORE, value=b"m" * 1000)
    places = [[1, NEW], [2, NEW], [1, NEW]]
    moves = [{"topic": "metrics", "partition": number, "replicas": each} for number, each in enumerate(places)]
    file = field.cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    plan = ("--reassignment-json-file", str(file))

    async def is_moved() -> bool:
        return "No partition reassignments" in await field.tool("kafka-reassign-partitions", "--list")

    async with field.producer("metrics", rate=200, value_bytes=1000), field.consumer("metrics", "dashboards"):
        await field.reads("dashboards", "metrics")

        async def begin() -> None:
            await field.tool("kafka-reassign-partitions", *plan, "--execute", "--throttle", str(throttle))
            if ends:
                await field.until(is_moved, "the replicas are moved", within=90)
                await field.tool("kafka-reassign-partitions", *plan, "--verify")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a reassignment is throttled to a tenth of the
    rate of writes.
    """
    async with _moved(field, 20_000, ends=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a reassignment is
    throttled far above the rate of writes.
    """
    async with _moved(field, 20_000_000, ends=True) as begin:
        yield begin


NIGHT = Night(
    name="a move slower than the writes",
    source="https://github.com/apache/kafka/pull/2033",
    story="Replicas were moved to another broker with a throttle that was chosen to be gentle. It was below the rate "
    "of the writes, so the new replicas fell further behind for as long as the move ran: in the list of moves it was "
    "in progress, day after day, with more replicas on the disks than anybody had asked for.",
    make=_make,
    twin_story="The same move with a throttle far above the writes: it ends, and the throttle is taken away.",
    twin=_twin,
    cause=Words(
        (
            r"metrics|broker 3\b",
            r"throttl",
            r"mov(e|es|ing)|reassign|new replica|adding",
            r"slow|below|less than|lower|never|too (low|small|little)|more than|not (end|finish|catch)|further behind|"
            r"grow",
        )
    ),
    symptom=Words((r"metrics|broker 3\b", r"mov(e|es|ing)|reassign|behind|in.?sync|under.?replicat|catch")),
    step=Words((r"throttl",)),
    wrong=(r"unclean", r"delete topic", r"unregister", r"reset group"),
)
