"""Min ISR of the cluster is raised to 2 while the offsets topic has one replica: no group can commit."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITIONS = 3
"""Of the offsets topic."""


async def _raise_min_isr(field: Field) -> None:
    """Ask for two replicas in sync, of every topic without an override."""
    change = ("--entity-type", "brokers", "--entity-default", "--add-config", "min.insync.replicas=2")
    await field.tool("kafka-configs", "--alter", *change)


async def _replicate_offsets(field: Field) -> None:
    """Give the offsets topic three replicas, and wait until they are in sync."""
    moves = [
        {
            "topic": "__consumer_offsets",
            "partition": each,
            "replicas": [each % 3 + 1, (each + 1) % 3 + 1, (each + 2) % 3 + 1],
        }
        for each in range(PARTITIONS)
    ]
    file = field.cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    await field.tool("kafka-reassign-partitions", "--reassignment-json-file", str(file), "--execute")

    async def is_moved() -> bool:
        return "No partition reassignments" in await field.tool("kafka-reassign-partitions", "--list")

    await field.until(is_moved, "the offsets topic has three replicas")
    await field.settled()


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """A cluster that was a single broker once: its offsets topic kept the one replica of that day."""
    await field.topic("orders", partitions=3)
    async with field.producer("orders", rate=50), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await _raise_min_isr(field)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The same, but somebody gave the offsets topic its replicas first."""
    await field.topic("orders", partitions=3)
    async with field.producer("orders", rate=50), field.consumer("orders", "billing"):
        await field.reads("billing", "orders")
        await _replicate_offsets(field)

        async def begin() -> None:
            await _raise_min_isr(field)

        yield begin


NIGHT = Night(
    name="offsets topic of one replica",
    source="https://github.com/Yolean/kubernetes-kafka/issues/108",
    story="The min ISR of the whole cluster was raised from 1 to 2, as a precaution. The topics of the services "
    "have three replicas and are fine, but __consumer_offsets was made with one: every commit is refused, "
    "groups read and cannot say how far they are, and those that rebalance do not come back.",
    make=_make,
    twin_story="The same change on a cluster whose offsets topic got its three replicas before.",
    twin=_twin,
    cause=Words((r"__consumer_offsets", r"min\.?.?insync|min.?isr|in.?sync", r"\b1\b|\bone\b|single")),
    symptom=Words((r"billing|group", r"lag|commit|behind|stall|coordinator")),
    step=Words(
        (
            r"min\.insync\.replicas|__consumer_offsets.*(replica|move|reassign)|(replica|move|reassign).*__consumer_offsets",
        )
    ),
    wrong=(r"delete topic __consumer_offsets", r"reset group", r"delete group", r"unclean"),
    # True of the twin too: the property of the file is still 1, and would count if the topic were made anew.
    fine=(r"offsets\.topic\.replication\.factor",),
    properties={"offsets.topic.replication.factor": "1"},
)
