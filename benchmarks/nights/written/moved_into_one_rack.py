"""A tool that takes no account of racks moves all replicas of a topic's partitions into the same rack."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

RACKS = {1: "zone-a", 2: "zone-a", 3: "zone-b"}


@asynccontextmanager
async def _balanced(field: Field, plan: list[list[int]]) -> AsyncIterator[Begin]:
    """Give the brokers their racks, and run clients of payments, each of whose partitions has a replica in each rack.
    The yielded function moves replicas.

    Args:
        plan: the new brokers of each partition.
    """
    for broker, rack in RACKS.items():
        await field.with_properties(broker, {"broker.rack": rack})
        await field.restart(broker)
    await field.topic("payments", on=[(1, 3), (3, 2), (2, 3), (3, 1)])
    await field.topic("clicks", on=[(1, 3), (2, 3), (3, 1), (3, 2)])
    async with (
        field.producer("payments", rate=40),
        field.producer("clicks", rate=40),
        field.consumer("payments", "ledger"),
        field.consumer("clicks", "stats"),
    ):
        await field.reads("ledger", "payments")
        await field.reads("stats", "clicks")
        await field.settled()

        async def begin() -> None:
            file = field.cluster.directory / "plan.json"
            each = [{"topic": "payments", "partition": n, "replicas": brokers} for n, brokers in enumerate(plan)]
            file.write_text(json.dumps({"version": 1, "partitions": each}))
            await field.tool("kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(file))
            await field.settled()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the partitions are moved into zone-a."""
    async with _balanced(field, [[1, 2], [2, 1], [1, 2], [2, 1]]) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the partitions are moved,
    and keep a replica in each rack.
    """
    async with _balanced(field, [[2, 3], [1, 3], [3, 1], [3, 2]]) as begin:
        yield begin


NIGHT = Night(
    name="moved into one rack",
    source="https://github.com/pinterest/DoctorK/issues/115",
    story="A tool that balances brokers did not look at broker.rack, and moved partitions so that all their replicas "
    "were in one availability zone. Everything worked; nobody noticed until somebody checked by chance that the outage "
    "of one zone would take the topic away.",
    make=_make,
    twin_story="The same tool moves the same partitions, and each keeps a replica in each zone.",
    twin=_twin,
    cause=Words((r"payments", r"\bracks?\b|zone", r"same|single|\bone\b|\ball\b|\bboth\b|\bonly\b|share|not spread")),
    symptom=Words((r"payments", r"replica|\brack|zone|spread|place")),
    step=Words((r"payments", r"move|reassign|spread|rack|replica")),
    wrong=(r"delete (topic|group|records)", r"reset group", r"unclean", r"move payments.*to brokers? [12]( [12])?$"),
    # Partitions with two replicas deserve a hint in both halves.
    fine=(r"(two|2) replicas|replication factor|default\.replication",),
    stands=True,
    watch=60.0,
)
