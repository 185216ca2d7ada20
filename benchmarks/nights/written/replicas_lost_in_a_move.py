"""A reassignment names one broker for each partition: a topic of three replicas has one from then on."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field


@asynccontextmanager
async def _moved(field: Field, replicas: Sequence[Sequence[int]]) -> AsyncIterator[Begin]:
    """The yielded function reassigns the partitions of a topic with three replicas, and waits until that has ended.

    Args:
        replicas: the new replicas of each partition, the preferred leader first.
    """
    await field.topic("ledger", on=((1, 2, 3), (2, 3, 1), (3, 1, 2)))
    await field.topic("orders", partitions=3)
    async with (
        field.producer("ledger", rate=60),
        field.producer("orders", rate=40),
        field.consumer("ledger", "balances"),
        field.consumer("orders", "billing"),
    ):
        await field.reads("balances", "ledger")
        await field.reads("billing", "orders")
        places = [{"topic": "ledger", "partition": at, "replicas": list(each)} for at, each in enumerate(replicas)]
        plan = field.cluster.directory / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": places}))

        async def has_ended() -> bool:
            verified = ("--reassignment-json-file", str(plan), "--verify")
            printed = await field.tool("kafka-reassign-partitions", *verified, check=False)
            return printed.count("is completed") + printed.count("is complete.") >= len(replicas)

        async def begin() -> None:
            executed = ("--reassignment-json-file", str(plan), "--execute")
            await field.tool("kafka-reassign-partitions", *executed)
            await field.until(has_ended, "the reassignment has ended")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """The plan names the leader of each partition, and no further broker."""
    async with _moved(field, ((1,), (2,), (3,))) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """The plan names three brokers, with the followers in another order."""
    async with _moved(field, ((1, 3, 2), (2, 1, 3), (3, 2, 1))) as begin:
        yield begin


NIGHT = Night(
    name="replicas lost in a move",
    source="https://github.com/apache/kafka/pull/10686",
    story="The tool for reassignments does not compare the number of replicas in its plan with the present one. A plan "
    "that was made by hand listed one broker for each partition: the others deleted their copies, every check of "
    "replicas in sync was green, and the next restart of any broker would take a part of the topic away.",
    make=_make,
    twin_story="The plan lists as many brokers as before, in another order.",
    twin=_twin,
    cause=Words(
        (
            r"ledger",
            r"replica|replication",
            r"\b(one|1|single|only|sole|fewer|less)\b|reassign|redundan|no (other|second|further)|three|\b3\b",
        )
    ),
    symptom=Words((r"ledger", r"replica|replication|redundan|single broker|fault|fail")),
    step=Words((r"replicas|replication|reassign|\bmove\b",)),
    wrong=(
        r"delete (topic|group|records)",
        r"reset group",
        r"set topic (ledger|orders) .*(replicas|replication\S*)\s*=\s*1\b",
        r"min\.insync\.replicas\s*=\s*[23]",
    ),
    watch=75.0,
)
