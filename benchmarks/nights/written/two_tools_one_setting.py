"""Two tools have different values for a config of a topic, and each sets its value again after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

TOPIC, KEY = "documents", "max.message.bytes"
OLD, NEW = "20000", "1048588"
EVERY = 8.0
"""Seconds between two changes by a tool; minutes in real clusters."""


def _set(bootstrap: str, value: str) -> None:
    """Set the topic's limit, without comparing it with the present value first."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "reconciler"})
    entry = ConfigEntry(KEY, value, incremental_operation=AlterConfigOpType.SET)
    for done in admin.incremental_alter_configs(
        [ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])]
    ).values():
        done.result(20)


@asynccontextmanager
async def _reconciled(field: Field, values: Sequence[str]) -> AsyncIterator[Begin]:
    """Run clients of a topic with records of 50 kB. The yielded function begins to set the topic's limit again and
    again.

    Args:
        values: the values that the tools set in turns.
    """
    await field.topic(TOPIC, partitions=3, configs={KEY: NEW})
    await field.topic("orders", partitions=3)

    async def reconcile() -> None:
        while True:
            for value in values:
                await asyncio.to_thread(_set, field.cluster.bootstrap, value)
                await asyncio.sleep(EVERY)

    async with (
        field.producer(TOPIC, rate=10, value_bytes=50_000) as writer,
        field.consumer(TOPIC, "search-index"),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.rounds() as begin_round,
    ):
        await field.reads("search-index", TOPIC)
        await field.reads("billing", "orders")

        async def begin() -> None:
            tools = begin_round(reconcile())
            await asyncio.sleep(2 * EVERY + 2)
            refused = sum(each.get("error") == "MSG_SIZE_TOO_LARGE" for each in writer.errors())
            if bool(refused) != (OLD in values):
                raise RuntimeError(f"{refused} records were refused")
            if tools.done():
                raise RuntimeError("the tools have stopped")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: two tools set a config of a topic again and
    again, one to the old limit and the other to the new one.
    """
    async with _reconciled(field, (OLD, NEW)) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: two tools set a config of
    a topic again and again, both to the same limit.
    """
    async with _reconciled(field, (NEW, NEW)) as begin:
        yield begin


NIGHT = Night(
    name="two tools set one setting",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/4998",
    story="The limit of a topic's records was raised in the repository of one tool, but another tool, which had "
    "managed the topic before, still had the old limit and was still running. Each found the other's value at its next "
    "round and set its own. The producer's large records were refused for minutes, taken for minutes, and refused.",
    make=_make,
    twin_story="Both tools have the same value, and set it again at each round.",
    twin=_twin,
    cause=Words(
        (
            r"documents",
            r"max\.message\.bytes",
            r"again and again|changed? again|and back|back and forth|to and fro|\btimes\b|twice|\bturns?\b|alternat|"
            r"flip|toggl|keeps|revert|fight|changes? (every|between|each)|(two|both) (tools|values|people|programs)|"
            r"repeated|overwrit",
        )
    ),
    symptom=Words(
        (
            r"documents|search-index",
            r"max\.message\.bytes|too large|refus|no (new |more )?(writes?|records?)|stopp|stands|silent|idle|fewer|"
            r"dropp|fell|drop in",
        )
    ),
    # To set it once more helps until the other tool's next round.
    step=Words(
        (
            r"\btools?\b|operator|gitops|terraform|ansible|automation|\bwho\b|\bboth\b|one (place|source|of them)|"
            r"agree|declar|pipeline|controller|somebody|someone|script",
        )
    ),
    wrong=(
        r"max\.message\.bytes\s*=\s*20000",
        r"reset group",
        r"delete group",
        r"delete topic",
        r"delete.?records",
    ),
)
