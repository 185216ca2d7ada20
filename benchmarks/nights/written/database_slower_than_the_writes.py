"""The database that a service writes to becomes slow: its consumer group reads fewer records than are written, while
the producers write as before.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_FAST, _ENOUGH, _SLOW = 4.0, 8.0, 60.0
"""Milliseconds of work for each record: before, after the twin's change, and after the night's."""


@asynccontextmanager
async def _indexing(field: Field, work_ms: float) -> AsyncIterator[Begin]:
    """Run a producer and a group of two members. The yielded function changes the members' work.

    Args:
        work_ms: milliseconds of work for each record, after the change.
    """
    await field.topic("items", partitions=6)
    async with (
        field.producer("items", rate=80),
        field.consumer("items", "indexer", name="indexer-a", work_ms=_FAST) as first,
        field.consumer("items", "indexer", name="indexer-b", work_ms=_FAST) as second,
    ):
        await field.reads("indexer", "items")

        async def begin() -> None:
            for each in (first, second):
                await each.tell(work_ms=work_ms)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: each record takes fifteen times as long."""
    async with _indexing(field, _SLOW) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: each record takes twice as
    long, which is still fast enough.
    """
    async with _indexing(field, _ENOUGH) as begin:
        yield begin


NIGHT = Night(
    name="a database slower than the writes",
    source="https://www.samarthjindal.com/blog/kafka-consumer-lag-incident",
    story="A query plan changed, and each record of a service took many times as long. Its pods were up, nothing was "
    "rebalanced and the producers wrote as before, but the lag grew in all partitions.",
    make=_make,
    twin_story="Each record takes twice as long as before, and the members still keep up.",
    twin=_twin,
    cause=Words(
        (
            r"indexer",
            r"\blag|behind|keep up|written|writes|produc",
            r"(read|process|commit|consum|members?|work)\w*.{0,80}(slow|fell|fall|drop|less|fewer|longer|than before)|"
            r"(slow|fell|drop|fewer|less|longer).{0,80}(read|process|commit|consum|members?|work)",
        ),
        # The producers write as before.
        never=(r"(writes?|written|producers?) .{0,40}(\brose\b|more than before|\bburst)",),
    ),
    symptom=Words((r"indexer", r"\blag|behind|keep up")),
    step=Words(
        (
            r"(add|more|start|scale|further).{0,60}(member|consumer|instance|reader|pod)|"
            r"(look|check|see|find|ask|what).{0,100}(process|slow|work|service|depend|database|calls?\b)|"
            r"(speed|faster).{0,40}process|profile",
        )
    ),
    wrong=(r"reset group", r"delete group", r"delete topic", r"delete.?records", r"remove member"),
)
