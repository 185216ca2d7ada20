"""A reassignment plan lists one replica for partitions whose topic requires two in sync."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


async def _executes(field: Field, plan: dict[int, list[int]]) -> None:
    """Execute a plan for the topic payments. plan: partition -> brokers."""
    file = field.cluster.directory / "plan.json"
    each = [{"topic": "payments", "partition": number, "replicas": brokers} for number, brokers in plan.items()]
    file.write_text(json.dumps({"version": 1, "partitions": each}))
    await field.tool("kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(file))


@asynccontextmanager
async def _planned(field: Field, plan: dict[int, list[int]]) -> AsyncIterator[Begin]:
    """Run clients of payments, whose six partitions have three replicas. The yielded function executes a plan.

    Args:
        plan: partition -> brokers.
    """
    await field.topic("payments", partitions=6, configs={"min.insync.replicas": "2"})
    await field.topic("clicks", partitions=3)
    async with (
        field.producer("payments", rate=60),
        field.producer("clicks", rate=40),
        field.consumer("payments", "ledger"),
    ):
        await field.reads("ledger", "payments")
        await field.settled()

        async def begin() -> None:
            await _executes(field, plan)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the plan gives three partitions one replica."""
    async with _planned(field, {0: [3], 1: [1], 2: [2]}) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the plan gives the same
    partitions the same preferred leaders, and leaves them three replicas.
    """
    async with _planned(field, {0: [3, 1, 2], 1: [1, 2, 3], 2: [2, 3, 1]}) as begin:
        yield begin


NIGHT = Night(
    name="plan with one replica",
    source="https://github.com/cruise-control-for-kafka/cruise-control/issues/1878",
    story="A tool that repaired the distribution of replicas counted wrong, and left some partitions one replica "
    "instead of three. The topic required two replicas in sync. Brokers before 3.7 refused every write to those "
    "partitions, and newer ones kept one copy of each record; every broker was up and all replicas were in sync.",
    make=_make,
    twin_story="A plan for the same partitions, with the same preferred leaders and three replicas each.",
    twin=_twin,
    cause=Words(
        (
            r"payments",
            r"(only|just|a single|\bone\b|\b1\b) (assigned )?replica|replication factor|(fewer|less|too few) "
            r"replicas|replicas? (was|were) (removed|taken|dropped)|"
            r"replicas?.{0,60}(below|less than|fewer than|under) (its |their |the )?min\.insync",
        )
    ),
    symptom=Words(
        (
            r"payments",
            r"in.?sync|\bisr\b|not enough|min\.insync|refus|no (new )?(record|write)|silent|idle|stopp|reassign|less",
        )
    ),
    step=Words((r"payments", r"replica|move|reassign|assign")),
    wrong=(r"unclean", r"delete (topic|group|records)", r"reset group", r"unregister"),
    watch=80.0,
)
