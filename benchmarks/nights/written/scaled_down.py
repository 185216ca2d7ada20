"""A broker is taken out of the cluster and unregistered while it has replicas."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

LAST = 3
OFFSETS_PARTITIONS = 3


async def _take_out(field: Field) -> None:
    """Shut the last broker down and unregister it."""
    await field.stop(LAST)
    await field.tool("kafka-cluster", "unregister", "--id", str(LAST))


async def _empty(field: Field) -> None:
    """Move every replica from the last broker to the other two."""
    places = [("orders", each) for each in range(6)]
    places += [("prices", each) for each in range(2)]
    places += [("__consumer_offsets", each) for each in range(OFFSETS_PARTITIONS)]
    moves = [{"topic": topic, "partition": each, "replicas": [1, 2] if each % 2 else [2, 1]} for topic, each in places]
    file = field.cluster.directory / "moves.json"
    file.write_text(json.dumps({"version": 1, "partitions": moves}))
    await field.tool("kafka-reassign-partitions", "--reassignment-json-file", str(file), "--execute")

    async def is_moved() -> bool:
        return "No partition reassignments" in await field.tool("kafka-reassign-partitions", "--list")

    await field.until(is_moved, "the last broker is empty")


@asynccontextmanager
async def _services(field: Field) -> AsyncIterator[None]:
    """Run clients of topics with replicas on all brokers."""
    await field.topic("orders", partitions=6)
    await field.topic("prices", on=[(1, 3), (3, 2)])
    async with (
        field.producer("orders", rate=50),
        field.producer("prices", rate=20),
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the number of brokers is set from 3 to 2; the
    last broker is removed although it has replicas.
    """
    async with _services(field):

        async def begin() -> None:
            await _take_out(field)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the last of three brokers
    is removed after its replicas were moved.
    """
    async with _services(field):

        async def begin() -> None:
            await _empty(field)
            await _take_out(field)

        yield begin


NIGHT = Night(
    name="scaled down with its replicas",
    source="https://github.com/strimzi/strimzi-kafka-operator/issues/6736",
    story="The number of brokers was reduced, and the highest one was shut down and unregistered though it had "
    "replicas of every topic. The cluster does not know the broker any more, so no alarm says that one is "
    "down; the replicas that it had will never be back by themselves.",
    make=_make,
    twin_story="The broker is emptied by a move of all its replicas, and only then shut down and unregistered.",
    twin=_twin,
    cause=Words(
        (
            r"\b3\b",
            r"unregister|not registered|no longer (registered|in|part|known)|not (a )?(known|member)|unknown"
            r"|not in the cluster|removed|decommission|does not know|doesn.t exist|does not exist|no such broker",
            r"replica",
        )
    ),
    symptom=Words((r"\b3\b", r"under.?replicat|in.?sync|\bisr\b|missing|offline")),
    step=Words((r"\bmove|reassign|(add|drop|replace|place).{0,40}replica",)),
    wrong=(r"unclean", r"delete topic", r"min\.insync\.replicas=1\b", r"reset group"),
    # The node that was shut down is also a controller here, so in the night and in the twin the quorum has one voter
    # fewer.
    fine=(r"quorum|voter|controller",),
)
