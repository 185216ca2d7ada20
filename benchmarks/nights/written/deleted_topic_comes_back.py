"""A topic is deleted, and an exporter that asks for it by name makes the brokers create it again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_TOPIC = "legacy.audit"


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: an operator deletes a topic twice. Within
    seconds brokers create it again, with one partition on one broker.
    """
    await field.topic(_TOPIC, partitions=6)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.program(sys.executable, "-m", "benchmarks.nights.programs.exporter", field.cluster.bootstrap, _TOPIC),
    ):
        await field.writes(_TOPIC, 200)
        await field.reads("billing", "orders")
        await asyncio.sleep(5)

        async def begin() -> None:
            for _ in range(2):
                await field.tool("kafka-topics", "--delete", "--topic", _TOPIC)
                await asyncio.sleep(8)

        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: an operator deletes an
    unused topic, which is not created again.
    """
    await field.topic(_TOPIC, partitions=6)
    await field.topic("orders", partitions=3)
    async with (
        field.producer("orders", rate=30),
        field.consumer("orders", "billing"),
        field.program(sys.executable, "-m", "benchmarks.nights.programs.exporter", field.cluster.bootstrap, "orders"),
    ):
        await field.writes(_TOPIC, 200)
        await field.reads("billing", "orders")
        await asyncio.sleep(5)

        async def begin() -> None:
            await field.tool("kafka-topics", "--delete", "--topic", _TOPIC)
            await asyncio.sleep(8)

        yield begin


NIGHT = Night(
    name="deleted topic comes back",
    source="https://github.com/danielqsj/kafka_exporter/issues/253",
    story=(
        "A retired topic was deleted and was back seconds later, empty and with one partition; deleting it again "
        "helped for as long. Nothing writes to it: an exporter of metrics asks for the topics that it once saw by "
        "name, and where topics are created automatically, to ask for one is enough to create it."
    ),
    make=_make,
    twin_story="A topic without use is deleted as planned and stays away; the exporter asks for others.",
    twin=_twin,
    cause=Words(
        must=(
            r"legacy\.audit",
            r"re-?creat|created again|c(o|a)mes? back|made again|reappear|auto.?(matic|creat)|new (topic )?id|"
            r"another (topic )?id|different (topic )?id",
            r"auto\.create|automatic|auto-?creat|by a client|client (that )?asks|some client",
        )
    ),
    symptom=Words(
        must=(
            r"legacy\.audit",
            r"delet|\bgone\b|re-?creat|created|new (topic )?id|(1|one|single) (partition|replica)|replication factor",
        )
    ),
    step=Words(
        must=(r"auto\.create\.topics\.enable|allow\.auto\.create|auto.?creat|exporter|(stop|find) .{0,40}client",)
    ),
    wrong=(r"delete topic orders", r"delete\.topic\.enable=false", r"reset group billing"),
    # It is true that a topic was deleted, and an operator may want to know that.
    fine=(r"legacy\.audit.*(delet|\bgone\b|remov)",),
    # Both are Kafka's defaults; default.replication.factor is also 1 by default.
    properties={"auto.create.topics.enable": "true", "num.partitions": "1"},
)
