"""Two readers choose their partitions themselves and commit for the same group: the group's offsets move back and
forth.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Client, Field

ALL = "0,1,2,3"


def _reader(field: Field, partitions: str, rate: int, *more: str) -> tuple[str, ...]:
    """Return the command line of a reader of visits. partitions: numbers separated by commas. rate: greatest number of
    records per second.
    """
    arguments = (field.cluster.bootstrap, "visits", "scoring", partitions, str(rate), *more)
    return (sys.executable, "-m", "benchmarks.nights.programs.hand_reader", *arguments)


async def _has_committed(field: Field, reader: Client) -> None:
    """Wait until a reader has printed that it committed."""

    async def has() -> bool:
        return "committed {" in reader.output.read_text()

    await field.until(has, "a reader commits")


@asynccontextmanager
async def _visits(field: Field) -> AsyncIterator[None]:
    """Run clients of two topics; the topic visits already has records."""
    await field.topic("visits", partitions=4)
    await field.topic("orders", partitions=3)
    await field.writes("visits", 2_000)
    async with (
        field.producer("visits", rate=25),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a second reader, which chooses the same
    partitions, is started with the same group name, to process all records again.
    """
    async with _visits(field), AsyncExitStack() as later, field.program(*_reader(field, ALL, 400)):
        await field.reads("scoring", "visits")

        async def begin() -> None:
            again = _reader(field, ALL, 40, "--from-first")
            await _has_committed(field, await later.enter_async_context(field.program(*again)))

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: two readers with the same
    group name share the work, each with its own partitions.
    """
    async with _visits(field), AsyncExitStack() as later, field.program(*_reader(field, ALL, 400)) as first:
        await field.reads("scoring", "visits")

        async def begin() -> None:
            await first.stop()
            for partitions in ("0,1", "2,3"):
                one = await later.enter_async_context(field.program(*_reader(field, partitions, 400)))
                await _has_committed(field, one)

        yield begin


NIGHT = Night(
    name="two readers by hand",
    source="https://github.com/segmentio/kafka-go/issues/1308",
    story="A client committed offsets of partitions that another client of the same group was working on, and nothing "
    "refused it. The committed offset jumped back behind what was done and forward again, lag was shown where there "
    "was none, and the next start would have done work twice or left some out.",
    make=_make,
    twin_story="The same readers without membership share the partitions, so that each offset has one who commits it.",
    twin=_twin,
    cause=Words(
        (
            r"scoring",
            r"commit|offset",
            r"\b(two|both|several|second|multiple|another)\b|more than one|each other|conflict|compet|overwrit|"
            r"alternat|back and forth|(to|back) and fro|again and again|repeated|forward again|up and down|jump",
        )
    ),
    symptom=Words((r"scoring", r"\bback|rewound|rewind|backward|lower|earlier|\blag\b|behind|no members?|again")),
    step=Words(
        (
            r"group\.id|\b(another|different|separate|unique|own|new)\b.{0,20}\b(group|name|id)|subscribe|"
            r"stop\w*\b.{0,60}\b(one|other|second|client|reader|process|tool|who)|\b(one|other|second|which|what|who)\b"
            r".{0,60}\b(stop|commit|client|reader|process|tool|set|reset)",
        )
    ),
    wrong=(r"reset group scoring", r"delete (topic|group|records)", r"(alter|set) .*visits.*partitions"),
)
