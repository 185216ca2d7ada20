"""A broker's log level was raised for an investigation and never set back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LOGGERS = ("kafka.request.logger", "kafka.server.ReplicaManager")
BROKER = "2"


async def _log(field: Field, level: str) -> None:
    levels = ",".join(f"{logger}={level}" for logger in LOGGERS)
    where = ("--entity-type", "broker-loggers", "--entity-name", BROKER)
    await field.tool("kafka-configs", "--alter", *where, "--add-config", levels)


@asynccontextmanager
async def _investigated(field: Field, *, is_set_back: bool) -> AsyncIterator[Begin]:
    """Run a service. The yielded function raises the level of a broker's loggers for some seconds.

    Args:
        is_set_back: whether the level is set back afterwards.
    """
    await field.topic("orders", partitions=6)
    async with field.producer("orders", rate=100), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await _log(field, "TRACE")
            await asyncio.sleep(5)
            if is_set_back:
                await _log(field, "INFO")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the broker goes on to log each request."""
    async with _investigated(field, is_set_back=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the level is set back
    after the investigation.
    """
    async with _investigated(field, is_set_back=True) as begin:
        yield begin


NIGHT = Night(
    name="a trace log left on",
    source="https://cwiki.apache.org/confluence/display/KAFKA/"
    "KIP-817%3A+Fix+inconsistency+in+dynamic+application+log+levels",
    story="The loggers of a broker were switched to TRACE through the Admin API to look at one problem. At this level "
    "a broker writes lines for every request, fills the disk of its logs and spends its time on them. No file has the "
    "level, only the next restart ends it, and whoever had set it forgot it.",
    make=_make,
    twin_story="The level of the same loggers is raised for some seconds and then set back to INFO.",
    twin=_twin,
    cause=Words((r"\b2\b", r"\blogg(er|ing)|log levels?|\blogs\b.{0,40}(every|each|much|at)", r"trace|debug")),
    symptom=Words((r"broker 2|\b2\b", r"slow|latenc|respon[ds]|busy|\bcpu|\blogg(er|ing)|log level|disk")),
    step=Words((r"\blogg(er|ing)|log level|\binfo\b|kafka\.(server|request)",)),
    wrong=(r"delete (topic|group|records)", r"reset group", r"=(trace|debug)\b"),
)
