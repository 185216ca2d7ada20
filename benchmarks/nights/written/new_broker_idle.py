"""A broker is added to share the load, and gets none: Kafka moves no partition to it, and only places some of the
partitions of later topics on it.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_BEFORE = ((1, 2), (2, 1)) * 3
_AFTER = ((1, 2), (2, 3), (3, 1), (1, 3), (2, 1), (3, 2))


@asynccontextmanager
async def _two_brokers(field: Field) -> AsyncIterator[None]:
    """Stop and unregister broker 3, and run clients of topics on brokers 1 and 2."""
    await field.stop(3)
    await field.tool("kafka-cluster", "unregister", "--id", "3")
    await field.topic("orders", on=_BEFORE)
    await field.topic("payments", on=_BEFORE)
    async with (
        field.producer("orders", rate=60),
        field.producer("payments", rate=60),
        field.consumer("orders", "billing"),
        field.consumer("payments", "settling"),
    ):
        await field.reads("billing", "orders")
        await field.reads("settling", "payments")
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: broker 3 is started, and no partitions are
    moved to it.
    """
    async with _two_brokers(field):

        async def begin() -> None:
            """Start broker 3."""
            await field.start(3)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: broker 3 is started, and
    partitions are moved to it.
    """
    async with _two_brokers(field):

        async def begin() -> None:
            """Start broker 3, and move a third of each topic to it."""
            await field.start(3)
            places = {"orders": _AFTER, "payments": _AFTER, "__consumer_offsets": _AFTER[:3]}
            wanted = [
                {"topic": topic, "partition": number, "replicas": list(on)}
                for topic, partitions in places.items()
                for number, on in enumerate(partitions)
            ]
            file = field.cluster.directory / "reassignment.json"
            file.write_text(json.dumps({"version": 1, "partitions": wanted}))
            plan = ("--reassignment-json-file", str(file))
            await field.tool("kafka-reassign-partitions", *plan, "--execute")

            async def is_done() -> bool:
                """Return whether all replicas have been moved."""
                seen = await field.tool("kafka-reassign-partitions", *plan, "--verify", check=False)
                return "complete" in seen and "in progress" not in seen

            await field.until(is_done, "the partitions have moved", within=120)
            await field.settled()

        yield begin


NIGHT = Night(
    name="a new broker that gets nothing",
    source="https://kafka.apache.org/documentation/#basic_ops_cluster_expansion",
    story="Two brokers were short of capacity, so a third one was added. It registered and was healthy, and after a "
    "week it still had no partition at all: Kafka moves nothing by itself, and only topics that are created later use "
    "it. The two carried everything as before, and everybody believed that the cluster had grown.",
    make=_make,
    twin_story="The new broker with its third of every topic, moved by kafka-reassign-partitions.",
    twin=_twin,
    cause=Words(
        (
            r"broker 3\b",
            r"no (replicas?|partitions?|leaders?|data)|nothing|empty|\b0 (replicas?|partitions?|leaders?|of)|"
            r"without (a |any )?(replicas?|partitions?)|idle|holds none",
        )
    ),
    symptom=Words((r"uneven|imbalance|unbalanced|skew|brokers? [123]\b.*(replicas|partitions|leaders)",)),
    step=Words((r"\bmove|reassign|rebalance|spread|balance",)),
    wrong=(
        r"unregister|drain|remove broker",
        r"off (of )?(broker )?3\b",
        r"delete (group|topic|records)",
        r"reset group",
    ),
    stands=True,
    # Before the third broker is added, topics can only have two replicas.
    properties={"offsets.topic.replication.factor": "2"},
)
