"""A group reads all topics of a pattern, and a new topic with much traffic matches it: the real work waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

NEW = "orders-trace"


@asynccontextmanager
async def _matched(field: Field, rate: float) -> AsyncIterator[Begin]:
    """A group reads the topics of a pattern, up to about 100 records per second. The yielded function creates another
    topic that matches, and starts a producer for it.

    Args:
        rate: records per second of the new topic.
    """
    for name in ("orders-eu", "orders-us", "invoices"):
        await field.topic(name, partitions=3)
    async with (
        field.producer("orders-eu", rate=20),
        field.producer("orders-us", rate=20),
        field.producer("invoices", rate=20),
        field.consumer("invoices", "archive"),
        field.consumer("^orders-.*", "export", work_ms=9, batch=50, topic_metadata_refresh_interval_ms=4_000),
        AsyncExitStack() as more,
    ):
        for name in ("orders-eu", "orders-us"):
            await field.reads("export", name)
        await field.reads("archive", "invoices")

        async def begin() -> None:
            await field.topic(NEW, partitions=3)
            await more.enter_async_context(field.producer(NEW, rate=rate))
            await field.reads("export", NEW)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare `_matched` with 300 records per second in the new topic: far more than the group can process."""
    async with _matched(field, 300) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The new topic has few records, so the group keeps up."""
    async with _matched(field, 4) as begin:
        yield begin


NIGHT = Night(
    name="a pattern takes a new topic",
    source="https://github.com/confluentinc/librdkafka/issues/3458",
    story="A service subscribed to a pattern of topic names and was given records of topics that nobody had meant for "
    "it. Another team created a topic whose name matched, with far more traffic than the others: the group took it up "
    "by itself, and fell behind on the topics that it was made for.",
    make=_make,
    twin_story="A topic that matches is created and taken up in the same way, and it has little traffic.",
    twin=_twin,
    cause=Words(
        (
            r"orders-trace",
            r"export",
            r"pattern|subscri|regex|expression|\bnew\b|began|started|\balso\b|created|added|took|traffic|most|writes|"
            r"records/s|per second|\brate\b|share",
        )
    ),
    symptom=Words((r"export", r"\blag\b|behind|slower|keep up|too slow|grow|waits?|capacity")),
    step=Words((r"pattern|subscri|regex|exclud|members?|instances|consumers?|quota|own group|separate|scale",)),
    wrong=(r"reset group", r"delete (topic|group|records)", r"retention\.(ms|bytes)\s*=\s*\d"),
    # It is true that the group took up the topic, and that this was a rebalance.
    fine=(r"export.*(rebalanc|orders-trace|new topic)", r"orders-trace.*(new|created)"),
)
