"""A release of a Kafka Streams application has one more operator, so its state store has another number and another
changelog, and begins empty.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

APP = "order-totals"
COMPACTED = {"cleanup.policy": "compact"}


def _changelog(number: int) -> str:
    return f"{APP}-KSTREAM-AGGREGATE-STATE-STORE-{number:010d}-changelog"


@asynccontextmanager
async def _released(field: Field, number: int) -> AsyncIterator[Begin]:
    """Run clients with the names of a Streams application, whose store has the number 3. The yielded function stops
    them and starts the next release.

    Args:
        number: the store's number in the next release.
    """
    await field.topic("orders", partitions=3)
    await field.topic("totals", partitions=3)
    await field.topic(_changelog(3), partitions=3, configs=COMPACTED)
    await field.writes(_changelog(3), 300, key="customer-1")
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=60),
        field.consumer("totals", "dashboard"),
        field.consumer("orders", APP, name=f"{APP}-StreamThread-1-consumer") as reader,
        field.producer("totals", rate=60, name=f"{APP}-StreamThread-1-producer") as writer,
        field.producer(_changelog(3), rate=60, name=f"{APP}-StreamThread-1-producer") as old,
    ):
        await field.reads(APP, "orders")
        await field.reads("dashboard", "totals")

        async def begin() -> None:
            for each in (reader, writer, old):
                await each.stop()
            if number == 3:
                await old.start()
            else:
                await field.topic(_changelog(number), partitions=3, configs=COMPACTED)
                new = field.producer(_changelog(number), rate=60, name=f"{APP}-StreamThread-1-producer")
                await later.enter_async_context(new)
            for each in (writer, reader):
                await each.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the next release has another number in the
    names of its internal topics.
    """
    async with _released(field, 4) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the next release uses the
    internal topics of the last one.
    """
    async with _released(field, 3) as begin:
        yield begin


NIGHT = Night(
    name="a renumbered topology",
    source="https://www.conduktor.io/kafka-streams/topology-evolution",
    story="A filter was added to a Kafka Streams application. Its state stores had no names of their own, so their "
    "numbers moved on by one: the release created a new, empty changelog, left the old one with all the totals behind, "
    "and began to count at zero. Nothing failed, and the group had no lag.",
    make=_make,
    twin_story="A release without a change of the topology: the application stops, starts, and writes to the same "
    "changelog.",
    twin=_twin,
    cause=Words(
        (
            r"order-totals|KSTREAM",
            r"changelog|internal topic|state store|topolog",
            r"renumber|renam|topolog|another (number|name|store|changelog)"
            r"|(old|former|previous|other) (changelog|store|one|topic)"
            r"|orphan|abandon|left behind|instead of|replac|new (store|changelog)",
        )
    ),
    symptom=Words(
        (
            r"0000000003|0000000004|changelog|order-totals",
            r"no new|no longer|not (been )?writ|stopp|silent|quiet|\bnew topic|creat|nobody|unused|empty|nothing"
            r"|appear",
        )
    ),
    step=Words(
        (
            r"nam(e|es|ed|ing)\b.{0,80}(store|operator|topolog|changelog)|(store|operator|topolog).{0,80}nam(e|ed|es|ing)\b"
            r"|roll.{0,20}back|(previous|old|former|last) (version|release|topolog)|\breset|reprocess|rebuil",
        )
    ),
    wrong=(r"delete (topic|records) \S*changelog", r"delete group", r"reset group \S+.*(latest|\bend\b)"),
)
