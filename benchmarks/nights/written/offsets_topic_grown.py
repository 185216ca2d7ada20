"""__consumer_offsets gets more partitions: after the next restart, brokers look for groups in the wrong
partitions.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_BATCHES = ("invoices", "search", "fraud", "ledger", "reports")
"""Groups of jobs that run rarely: they have committed offsets and no members. Together with billing and shipping there
are seven groups. All of them except ledger belong to another partition of __consumer_offsets if it has twelve
partitions instead of three.
"""
_PARTITIONS = 3


def _commits(bootstrap: str, group: str) -> None:
    """Commit an offset of every partition of topic orders for a group, as an earlier run of its job did."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    places = [TopicPartition("orders", number, 100 + number) for number in range(_PARTITIONS)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@asynccontextmanager
async def _reading(field: Field) -> AsyncIterator[None]:
    """Run two groups with members, and commit offsets of five groups without members."""
    await field.topic("orders", partitions=_PARTITIONS)
    await field.writes("orders", 600)
    # By default, a group of Java clients without a commit starts at the end, and never reads the records that were
    # written in between.
    reader: dict[str, Any] = {"auto_offset_reset": "latest", "auto_commit_interval_ms": 1000}
    async with (
        field.producer("orders", rate=30),
        field.consumer("orders", "billing", **reader),
        field.consumer("orders", "shipping", **reader),
    ):
        for group in ("billing", "shipping"):
            await field.reads(group, "orders")
        for group in _BATCHES:
            await asyncio.to_thread(_commits, field.cluster.bootstrap, group)
        await field.settled()
        yield


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: __consumer_offsets grows from three to twelve
    partitions; some time later the brokers are restarted one after another.
    """
    async with _reading(field):

        async def begin() -> None:
            """Add the partitions, and after a while restart each broker."""
            await field.tool("kafka-topics", "--alter", "--topic", "__consumer_offsets", "--partitions", "12")
            await asyncio.sleep(15)  # days in reality: brokers use the new number of partitions only after a restart
            for broker in field.cluster.broker_ids:
                await field.restart(broker)
                await field.settled()

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a topic whose records have
    no keys grows from three to six partitions, and its readers read the new ones.
    """
    await field.topic("clicks", partitions=3)
    async with _reading(field), field.producer("clicks", rate=30, key=None), field.consumer("clicks", "counting"):
        await field.reads("counting", "clicks")

        async def begin() -> None:
            """Add the partitions."""
            await field.tool("kafka-topics", "--alter", "--topic", "clicks", "--partitions", "6")

        yield begin


NIGHT = Night(
    name="__consumer_offsets grown",
    source="https://github.com/apache/kafka/pull/12911",
    story="Somebody gave __consumer_offsets more partitions to spread its load. A group belongs to the partition that "
    "the hash of its name gives, modulo their number, and brokers read that number when they start: nothing happened "
    "until the next rolling restart. Then six of seven groups had their commits in a partition where nobody looks, "
    "and began at the end, or at the first record.",
    make=_make,
    twin_story="An ordinary topic without keys gets more partitions, and its readers take them.",
    twin=_twin,
    cause=Words(
        (
            r"__consumer_offsets",
            r"partitions",
            r"grown|grew|grow|more partitions|from 3|3 .{0,6}12|increas|added|alter|count|number of|changed|got",
        )
    ),
    symptom=Words(
        (
            r"groups?|billing|shipping|invoices|search|fraud|reports",
            r"commit|offset|lost|unknown|gone|missing|coordinator",
        )
    ),
    # The number of partitions never shrinks. It helps to save the offsets of all groups before the restart, and to set
    # them again afterwards.
    step=Words((r"offsets?|commit|reset|restart|coordinator",)),
    wrong=(
        r"delete (group|topic|records)",
        r"reset group .*latest",
        r"(set|alter) topic __consumer_offsets (cleanup|retention)",
    ),
    # It is true that clicks has more partitions, and its producer has no keys whose order could break.
    fine=(r"clicks.*(grown|grew|more partitions|from 3|partitions)",),
)
