"""The throttle of a former reassignment slows a replica that has to catch up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

NEW = 3
THROTTLE = 40_000
"""The throttle in bytes per second, far below the rate of writes to the topic in its busy hours."""
AWAY = 15.0
"""Seconds between the stop of the new broker and its start."""


@asynccontextmanager
async def _moved(field: Field, *, verified: bool) -> AsyncIterator[Begin]:
    """Move replicas to broker 3 with a throttle. The yielded function restarts this broker under load.

    Args:
        verified: whether the tool is run again with --verify after the reassignment, which removes the throttle.
    """
    # One replica in sync is enough, so that the producer continues while the other replica is down.
    one = {"min.insync.replicas": "1"}
    await field.topic("metrics", on=[(1, 2), (2, 1), (1, 2)], configs=one)
    await field.topic("orders", partitions=3)
    places = [[1, NEW], [2, NEW], [1, NEW]]
    moves = [{"topic": "metrics", "partition": number, "replicas": each} for number, each in enumerate(places)]
    file = field.cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    plan = ("--reassignment-json-file", str(file))
    await field.writes("metrics", 300)
    await field.tool("kafka-reassign-partitions", *plan, "--execute", "--throttle", str(THROTTLE))

    async def is_moved() -> bool:
        return "No partition reassignments" in await field.tool("kafka-reassign-partitions", "--list")

    await field.until(is_moved, "the replicas are moved", within=90)
    if verified:
        await field.tool("kafka-reassign-partitions", *plan, "--verify")
    async with (
        field.producer("metrics", rate=200, value_bytes=1000),
        field.producer("orders", rate=30),
        field.consumer("metrics", "dashboards"),
    ):
        await field.reads("dashboards", "metrics")

        async def begin() -> None:
            await field.stop(NEW)
            await asyncio.sleep(AWAY)
            await field.start(NEW)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a replica has to catch up under the throttle of
    a former reassignment, whose tool was never run with --verify.
    """
    async with _moved(field, verified=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a replica has to catch up
    after a reassignment whose throttle was removed by running the tool with --verify.
    """
    async with _moved(field, verified=True) as begin:
        yield begin


NIGHT = Night(
    name="a throttle left behind",
    source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-542%3A+Partition+Reassignment+Throttling",
    story="Replicas were moved with --throttle, and nobody ran the tool with --verify afterwards, which takes the "
    "throttle away. Weeks later the broker was restarted under load: its replicas were out of sync, so the throttle "
    "held them again, below the rate of the writes. They never caught up, while the same broker's other topics did.",
    make=_make,
    twin_story="The same move, verified; the same restart: the replicas are back in sync after seconds.",
    twin=_twin,
    cause=Words((r"throttl", r"replica|catch|in.?sync|under.?replicat|follow", r"metrics|broker 3|\b3\b")),
    symptom=Words((r"metrics|\b3\b", r"under.?replicat|in.?sync|\bisr\b|behind|catch")),
    step=Words((r"throttl", r"remove|unset|raise|delete|clear|verify|higher|take.{0,30}(away|off)|without")),
    wrong=(r"unclean", r"delete topic", r"unregister", r"reset group"),
)
