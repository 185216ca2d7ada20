"""A new release writes to a topic whose name lacks a letter, and brokers create it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

WRITER = "web-shop"


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the producer of topic orders is deployed again,
    and writes to topic order, which brokers create.
    """
    await field.topic("orders", partitions=6)
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=60, name=WRITER) as old,
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await old.stop()
            await later.enter_async_context(field.producer("order", rate=60, name=WRITER))

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a producer is deployed
    again, and also writes to an additional topic, which an operator created and a group reads.
    """
    await field.topic("orders", partitions=6)
    async with (
        AsyncExitStack() as later,
        field.producer("orders", rate=60, name=WRITER) as old,
        field.consumer("orders", "billing"),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            await old.stop()
            await field.topic("returns", partitions=6)
            await later.enter_async_context(field.consumer("returns", "refunds"))
            await old.start()
            await later.enter_async_context(field.producer("returns", rate=20, name=WRITER))

        yield begin


NIGHT = Night(
    name="a topic with a letter less",
    source="https://medium.com/project44-techblog/unintended-consequences-kafka-edition-44f132014d8a",
    story="The name of a topic was misspelt in a new release. Brokers create a topic that somebody writes to, so no "
    "write failed: the records went to a new topic with one partition and one replica that nobody reads, and the "
    "right one got no more. Its group had members and no lag, and all was green.",
    make=_make,
    twin_story="The release brings a topic more, which is made in order and has a reader; orders are written as ever.",
    twin=_twin,
    cause=Words(
        (
            r"(?<!in )\border\b",
            r"orders",
            r"creat|new topic|appear|similar|misspel|typo|almost|looks like|no (group|consumer|reader)|nobody reads"
            r"|not read|instead|same time|moved",
        )
    ),
    symptom=Words(
        (
            r"\borders?\b",
            r"stopp|ceas|silent|quiet|idle|fell|no (new )?(records|writes|traffic)|nothing|not written|creat|new topic"
            r"|(1|one|single) (partition|replica)|no (group|consumer|reader)|nobody reads|stands",
        )
    ),
    step=Words((r"\borders?\b", r"producer|client|writer|service|name|auto\.create|auto-?creat|copy|release|deploy")),
    # The records in the topic with the wrong name are in no other topic.
    wrong=(r"delete topic orders?\b", r"delete records", r"reset group billing", r"set topic order retention"),
    # The first two values are Kafka's defaults. So is a minimum of one in-sync replica.
    properties={"auto.create.topics.enable": "true", "num.partitions": "1", "min.insync.replicas": "1"},
)
