"""A service with three members reads topics of one partition with the range assignor: one member gets every topic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

GROUP = "tracking"
TOPICS = ("fleet.positions", "fleet.alarms", "fleet.fuel")
EVERY_TOPIC = r"^fleet\..*"
QUIET, BUSY = 20.0, 60.0
"""Records per second of each topic: before the load grows, and afterwards."""
WORK_MS = 10.0
"""Milliseconds of work for a record: one member processes less than 100 records per second, and the busy topics get
180.
"""


@asynccontextmanager
async def _scaled(field: Field, assignor: str) -> AsyncIterator[Begin]:
    """Run one member that reads three topics. The yielded function raises their rates, and starts two more members.

    Args:
        assignor: the ``partition.assignment.strategy`` of every member.
    """
    for topic in TOPICS:
        await field.topic(topic, partitions=1)
    async with AsyncExitStack() as stack:
        writers: list[Client] = [await stack.enter_async_context(field.producer(each, rate=QUIET)) for each in TOPICS]

        async def member(number: int) -> None:
            await stack.enter_async_context(
                field.consumer(
                    EVERY_TOPIC,
                    GROUP,
                    name=f"{GROUP}-{number}",
                    work_ms=WORK_MS,
                    batch=20,
                    partition_assignment_strategy=assignor,
                )
            )

        await member(0)
        for topic in TOPICS:
            await field.reads(GROUP, topic)

        async def begin() -> None:
            for writer in writers:
                await writer.tell(rate=BUSY)
            for number in (1, 2):
                await member(number)

            async def has_three() -> bool:
                described = await field.tool("kafka-consumer-groups", "--describe", "--group", GROUP, "--members")
                lines = [line.split() for line in described.splitlines() if f"{GROUP}-" in line]
                shares = sorted(int(line[4]) for line in lines if line[4].isdigit())
                return shares == ([0, 0, 3] if assignor == "range" else [1, 1, 1])

            await field.until(has_three, f"group {GROUP} shares its partitions as {assignor} does", within=60)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a service's members divide each topic among
    themselves, as the range assignor does, so the first member gets partition 0 of every topic.
    """
    async with _scaled(field, "range") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a service's members divide
    the partitions of all topics together.
    """
    async with _scaled(field, "roundrobin") as begin:
        yield begin


NIGHT = Night(
    name="range over topics of one partition",
    source="https://github.com/CAIDA/libbgpstream/pull/209",
    story="A service read several topics, each with one partition to keep its order. When traffic grew, its instances "
    "went from one to three, but the lag did not stop growing: the range assignor divides each topic by itself, so "
    "that the first member got the only partition of every topic, and the two others got nothing.",
    make=_make,
    twin_story="The same service with the roundrobin assignor: each of the three members gets one of the topics.",
    twin=_twin,
    cause=Words(
        (
            r"tracking",
            r"\brange\b|assignor|assignment.strateg|partition\.assignment",
            r"\bidle\b|no partition|without (any )?partition|nothing|one (member|consumer|instance)|all (3|three|of)|"
            r"every (topic|partition)|uneven|unequal|single member|first member|two (members|of)|2 (members|of)",
        )
    ),
    symptom=Words(
        (
            r"tracking",
            r"\blag\b|behind|\bidle\b|no partition|without (any )?partition|uneven|slower than|can.?t keep|keep up",
        )
    ),
    # Partitions added to each topic help as well, because range divides them.
    step=Words((r"round.?robin|sticky|cooperative|assignor|assignment.strateg|(add|more|raise).{0,40}partitions",)),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records"),
)
