"""A broker dies while partitions are reassigned to it: the reassignment never ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _clicks(field: Field) -> AsyncIterator[None]:
    """Create `clicks` with 8 MB on brokers 1 and 2, and `orders`. Run a producer for each, and the group `billing` for
    `orders`."""
    await field.topic("clicks", on=[[1, 2], [2, 1]])
    await field.topic("orders", partitions=3)
    await field.writes("clicks", 8000, value=b"v" * 1000)
    async with (
        field.producer("clicks", rate=20),
        field.producer("orders", rate=50),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


async def _move(field: Field, bytes_a_second: int) -> None:
    """Begin to move the follower replica of each partition to broker 3, with a throttle of `bytes_a_second`."""
    moves = [
        {"topic": "clicks", "partition": 0, "replicas": [1, 3]},
        {"topic": "clicks", "partition": 1, "replicas": [2, 3]},
    ]
    plan = field.cluster.directory / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    await field.tool(
        "kafka-reassign-partitions",
        "--execute",
        "--reassignment-json-file",
        str(plan),
        "--throttle",
        str(bytes_a_second),
    )


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: broker 3 dies in the first seconds of a
    reassignment to it that would take minutes.
    """
    async with _clicks(field):

        async def begin() -> None:
            """Start the move, and kill the receiving broker."""
            await _move(field, 40_000)
            await field.kill(3)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a reassignment to broker 3
    is fast enough to end, and the tool removes its throttle.
    """
    async with _clicks(field):

        async def begin() -> None:
            """Start the move, and verify it until it is complete."""
            await _move(field, 4_000_000)

            async def is_over() -> bool:
                plan = str(field.cluster.directory / "plan.json")
                said = await field.tool(
                    "kafka-reassign-partitions", "--verify", "--reassignment-json-file", plan, check=False
                )
                return "still in progress" not in said

            await field.until(is_over, "the move is over")

        yield begin


NIGHT = Night(
    name="a move to a broker that died",
    source="https://github.com/cruise-control-for-kafka/cruise-control/issues/664",
    story="A broker failed while a reassignment with new replicas on it was under way. The reassignment stood still "
    "without an end, held up everything that waits for it, and had to be cancelled by hand.",
    make=_make,
    twin_story="The same reassignment with a broker that lives: it ends after some seconds.",
    twin=_twin,
    cause=Words(
        (
            r"reassign|\bmov(e|es|ed|ing)\b|\badding\b|new replica",
            r"clicks|partitions?",
            r"broker 3\b|brokers?:? 3\b",
            r"down|dead|died|away|gone|not (alive|running|there|registered|answer)|stopped|unavailable|fenced",
        )
    ),
    symptom=Words((r"broker 3\b|reassign|\bmov(e|ing)\b", r"down|dead|away|gone|stuck|stall|progress|replicated")),
    step=Words(
        (
            r"cancel|(start|bring|restart|restore|recover)\w*\b.*\bbroker 3\b|\bbroker 3\b.*(start|back)|"
            r"(reassign|move).*(brokers? )?[12]\b",
        )
    ),
    wrong=(r"unclean", r"delete (topic|group|records)", r"unregister broker [12]\b"),
    # In the twin, a move runs for some seconds with its throttle set.
    fine=(r"reassign|\bmov(e|ing)\b|throttle",),
    watch=70.0,
)
