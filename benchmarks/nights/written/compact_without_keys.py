"""cleanup.policy=compact on a topic whose producer writes without keys: brokers refuse all further records."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field, Key


@asynccontextmanager
async def _compacting(field: Field, key: Key) -> AsyncIterator[Begin]:
    """Run a producer and a reader of a topic. The yielded function sets its cleanup.policy to compact. key: of the
    producer's records.
    """
    await field.topic("sessions", partitions=3)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("sessions", rate=30, key=key),
        field.consumer("sessions", "profiles"),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("profiles", "sessions")
        await field.reads("billing", "orders")
        await asyncio.sleep(10)

        async def begin() -> None:
            """Compact the topic, to keep only the newest record of each session."""
            await field.tool(
                "kafka-configs",
                *("--alter", "--entity-type", "topics", "--entity-name", "sessions"),
                *("--add-config", "cleanup.policy=compact"),
            )

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: cleanup.policy=compact is set on a topic whose
    producer writes without keys.
    """
    async with _compacting(field, None) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: cleanup.policy=compact is
    set on a topic whose producer writes with keys.
    """
    async with _compacting(field, "spread") as begin:
        yield begin


NIGHT = Night(
    name="compact set, keyless producer refused",
    source="https://cwiki.apache.org/confluence/display/KAFKA/"
    "KIP-135+%3A+Send+of+null+key+to+a+compacted+topic+should+throw+non-retriable+error+back+to+user",
    story="A topic was set to cleanup.policy=compact. Its producer writes records without keys, which a compacted "
    "topic can't take: every one was refused from that second on, while the readers were up to date and the brokers "
    "well.",
    make=_make,
    twin_story="The same change of a topic whose records all have keys.",
    twin=_twin,
    cause=Words((r"sessions", r"compact", r"\bkeys?\b|keyless|refus|reject|invalid")),
    symptom=Words(
        (
            r"sessions",
            r"no (new |more )?(writes?|records?)|writes? .{0,20}stop|stopped|nothing (is |was )?(written|arrives)|"
            r"end (offsets? )?(stands|does not move)|silent|idle|quiet",
        )
    ),
    step=Words((r"cleanup\.policy|compact|with keys?|a key",)),
    wrong=(r"delete (group|topic|records)", r"reset group", r"set topic sessions (retention|max\.message|min\.insync)"),
)
