"""A setting of one broker causes trouble for half a minute, and is removed: the trouble is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_FOR = 25.0
"""Seconds until the setting is removed."""


@asynccontextmanager
async def _trying(field: Field, key: str, value: str) -> AsyncIterator[Begin]:
    """Run clients of a topic with a partition on each broker and records of 2 kB. The yielded function sets a config of
    broker 2 and removes it `_FOR` seconds later.

    Args:
        key: the config.
        value: its temporary value.
    """
    await field.topic("orders", partitions=3)
    async with field.producer("orders", rate=30, value_bytes=2000), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await field.settled()
        await asyncio.sleep(8)
        on_it = ("--alter", "--entity-type", "brokers", "--entity-name", "2")

        async def begin() -> None:
            """Set the value, wait, and remove it."""
            await field.tool("kafka-configs", *on_it, "--add-config", f"{key}={value}")
            await asyncio.sleep(_FOR)
            await field.tool("kafka-configs", *on_it, "--delete-config", key)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: broker 2 gets, for half a minute, a size limit
    below the size of each record, so it refuses all records for the partitions that it leads.
    """
    async with _trying(field, "message.max.bytes", "1000") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: broker 2's log cleaner
    gets, for half a minute, a second thread, which has no effect on clients.
    """
    async with _trying(field, "log.cleaner.threads", "2") as begin:
        yield begin


NIGHT = Night(
    name="a setting on one broker, taken back",
    source="https://docs.confluent.io/platform/current/kafka/dynamic-config.html",
    story="Somebody set message.max.bytes on one broker only, far too low, as a trial. The partitions which that "
    "broker led refused every record; half a minute later the setting was taken back, and all was well again. Who "
    "comes then has to hear what it was and that it is over, and nothing that sets it once more.",
    make=_make,
    twin_story="Another setting is tried on the same broker and taken back, and never changed anything for anyone.",
    twin=_twin,
    cause=Words((r"broker 2\b", r"message\.max\.bytes")),
    symptom=Words(
        (
            r"orders",
            r"no (new |more )?(writes?|records?)|writes? .{0,20}stop|stopped|nothing (is |was )?(written|arrives)|"
            r"end (offsets? )?(stands|does not move)|silent|idle|quiet",
        )
    ),
    # The trouble is over, so any proposed statement would be wrong.
    step=None,
    wrong=(
        r"(?<!un)set broker 2\b.*message\.max\.bytes",
        r"message\.max\.bytes\s*=\s*1000\b",
        r"^\s*(move|drain|unregister|elect|reassign|restart)\b",
        r"reset group",
        r"delete (group|topic|records)",
    ),
)
