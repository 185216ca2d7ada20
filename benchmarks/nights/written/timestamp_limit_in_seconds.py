"""The operator sets message.timestamp.before.max.ms=3600 and means an hour: brokers refuse records whose timestamps are
ten seconds old.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _limited(field: Field, limit: str) -> AsyncIterator[Begin]:
    """Run gateways that write measurements ten seconds later, with the timestamp of the measurement. The yielded
    function sets the topic's limit.

    Args:
        limit: the value of message.timestamp.before.max.ms.
    """
    await field.topic("meters", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("meters", rate=100, ahead_ms=-10_000.0),
        field.producer("orders", rate=50),
        field.consumer("meters", "readings"),
    ):
        await field.reads("readings", "meters")

        async def begin() -> None:
            """Set the limit, to refuse records older than an hour."""
            await field.tool(
                "kafka-configs",
                "--alter",
                "--entity-type",
                "topics",
                "--entity-name",
                "meters",
                "--add-config",
                f"message.timestamp.before.max.ms={limit}",
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: message.timestamp.before.max.ms, meant as an
    hour, is set in seconds.
    """
    async with _limited(field, "3600") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble:
    message.timestamp.before.max.ms, meant as an hour, is set in milliseconds.
    """
    async with _limited(field, "3600000") as begin:
        yield begin


NIGHT = Night(
    name="a limit of timestamps in seconds",
    source="https://github.com/confluentinc/ksql/issues/10165",
    story="Records were written with the time of their event. The topic took only timestamps up to some age, the "
    "events were older, and brokers answered each produce request with INVALID_TIMESTAMP: nothing was written any "
    "more, while the producers ran and every partition was healthy.",
    make=_make,
    twin_story="The same setting with a limit that is an hour: everything goes on.",
    twin=_twin,
    cause=Words(
        (
            r"meters",
            r"message\.timestamp|timestamps?",
            r"before\.max|refus|reject|too old|out of range|older than|limit|invalid",
        )
    ),
    symptom=Words((r"meters", r"writ|produc|records|rate|bytes|quiet|silent", r"\bno\b|stop|nothing|still|\b0\b|fell")),
    step=Words((r"message\.timestamp\.(before\.max\.ms|type)",)),
    wrong=(r"delete (topic|group|records)", r"reset group", r"retention"),
    watch=60.0,
)
