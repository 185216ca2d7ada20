"""The name of a retention property is misspelt in server.properties; the brokers ignore it, and topics grow without
limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

MEGABYTE = 1_048_576
LIMIT = 3 * MEGABYTE
"""Bytes of each partition that the operator wants to keep: what is written to it in 30 seconds."""


@asynccontextmanager
async def _limited(field: Field, key: str) -> AsyncIterator[Begin]:
    """Run a topic without overrides. The yielded function writes a limit into each server.properties, and restarts the
    brokers one after the other.

    Args:
        key: the property for the limit.
    """
    await field.topic("events", partitions=3)
    async with (
        field.producer("events", rate=300, value_bytes=1000),
        field.consumer("events", "reporting"),
    ):
        await field.reads("reporting", "events")

        async def begin() -> None:
            for broker in field.cluster.broker_ids:
                await field.set(broker, {key: str(LIMIT)})
                await field.restart(broker)
            await field.settled()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the property's name lacks its last letter."""
    async with _limited(field, "log.retention.byte") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the property's name is
    right.
    """
    async with _limited(field, "log.retention.bytes") as begin:
        yield begin


NIGHT = Night(
    name="a misspelt property",
    source="https://github.com/getsentry/self-hosted/issues/3691",
    story="Operators had limited the size of topics, restarted Kafka, and the disks filled up anyway: the limit never "
    "came to the brokers, which ran with an unlimited log.retention.bytes and told nobody. Here the reason is a name "
    "without its last letter in server.properties; brokers start with properties that they don't know.",
    make=_make,
    twin_story="The same limit with the right name: topics grow up to the limit and no further.",
    twin=_twin,
    # The brokers list the unknown property in the answer to DescribeConfigs, without its value.
    cause=Words(
        (
            r"log\.retention\.byte\b",
            r"unknown|not know|no such|misspel|typo|ignor|mean|instead of|not (a |an )?(known|valid|kafka|effect)"
            r"|no effect|does(n't| not) (exist|know)|similar|close to",
        )
    ),
    symptom=Words((r"events|retention", r"grow|unlimited|no limit|without (a )?limit|\bsize\b|disk|fill|never delet")),
    step=Words((r"retention\.bytes",)),
    wrong=(r"delete (topic|group|records)", r"retention\.ms=\d{1,6}\b", r"reset group"),
    stands=True,
    properties={"log.segment.bytes": str(MEGABYTE), "log.retention.check.interval.ms": "4000"},
)
