"""A replica that was down for a while is elected, because the topic allows that: the records that it missed are
lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

UNCLEAN = "unclean.leader.election.enable"
_MISSED = 3_000
"""Number of records that only broker 1 gets."""


@asynccontextmanager
async def _two_crashes(field: Field, unclean: str) -> AsyncIterator[Begin]:
    """Run clients of a topic with replicas on brokers 1 and 2. The yielded function kills broker 2, later kills broker
    1, and starts broker 2 first.

    Args:
        unclean: unclean.leader.election.enable of the topic.
    """
    configs = {"min.insync.replicas": "1", UNCLEAN: unclean}
    await field.topic("ledger", on=[[1, 2], [1, 2], [1, 2]], configs=configs)
    await field.topic("orders", partitions=3)
    await field.writes("ledger", 1_000)
    async with (
        field.producer("ledger", rate=30),
        field.consumer("ledger", "audit", batch=100),
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
    ):
        await field.reads("audit", "ledger")
        await field.reads("billing", "orders")

        async def leads(broker: int) -> bool:
            said = await field.tool("kafka-topics", "--describe", "--topic", "ledger")
            return said.count(f"Leader: {broker}\t") == 3

        async def records() -> int:
            """Return the number of records that were ever written to the topic, from the ends of its partitions."""
            said = await field.tool("kafka-get-offsets", "--topic", "ledger")
            return sum(int(line.rpartition(":")[2]) for line in said.split())

        async def begin() -> None:
            """Crash both brokers, and start them again."""
            await field.kill(2)
            await asyncio.sleep(9)  # broker 2 is fenced after six seconds, and broker 1 accepts records alone
            await field.writes("ledger", _MISSED)
            before = await records()
            await field.kill(1)
            await asyncio.sleep(3)
            await field.start(2)
            if unclean == "true":
                await field.until(lambda: leads(2), "broker 2 leads")
            await asyncio.sleep(5)
            await field.start(1)
            await field.settled()
            assert (await records() < before) == (unclean == "true"), "records are lost by an unclean election only"

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: after crashes of both brokers of a topic that
    allows unclean elections, broker 2, which lacks records, leads as soon as it is up.
    """
    async with _two_crashes(field, "true") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: after crashes of both
    brokers of a topic, the topic waits for broker 1, which has all records.
    """
    async with _two_crashes(field, "false") as begin:
        yield begin


NIGHT = Night(
    name="an unclean election",
    source="https://github.com/zalando-nakadi/bubuku/pull/151",
    story="A cluster allowed unclean elections so that the loss of two replicas did not stop anything for hours. A "
    "replica that had missed thousands of acknowledged records became the leader, the others cut their logs back to "
    "its end, and readers had committed offsets beyond it. Minutes later every replica was in sync again.",
    make=_make,
    twin_story="The same two crashes and repairs; without a replica in sync the topic waits for the one that has all.",
    twin=_twin,
    cause=Words(
        (
            r"ledger",
            r"unclean|\b(not|out of|outside|n't)\b.{0,30}(in.?sync|\bisr\b)|out.of.sync|(stale|old|behind)\w* replica",
            r"lost|loss|truncat|shorter|shrank|(went|goes|jumped|fell|moved|set|cut|gone) back|backward|rewound|rolled "
            r"back|lower than|dropped|decreas|smaller|missing|los(e|es|ing)\b",
        )
    ),
    symptom=Words(
        (
            r"ledger|audit",
            r"lost|loss|truncat|(went|goes|jumped|fell|moved|set|cut|gone) back|backward|beyond|past the end|out of "
            r"range|negative|ahead of|reread|read again|lower than|\blag\b|behind",
        )
    ),
    step=Words(
        (r"unclean\.leader\.election\.enable|unclean|reset|replay|(send|write|produce)\w* .{0,20}again|restor",)
    ),
    wrong=(r"unclean\.leader\.election\.enable=true", r"delete (topic|group|records)", r"unregister", r"to latest"),
    # In the twin, too, both brokers crash in turn, and meanwhile the topic that waits for broker 1 has no leader. One
    # in-sync replica is also enough for its writes.
    fine=(r"brokers?:? [12]\b", r"ledger.*(leader|offline|unavailable)", r"min\.insync"),
    # Before 4.0, no setting makes KRaft controllers elect uncleanly.
    versions=("4.3", "4.4"),
)
