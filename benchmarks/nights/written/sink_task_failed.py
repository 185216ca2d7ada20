"""A task of a sink connector fails at a record that its converter can't read, while its worker and the connector keep
running.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words
from tests.support.connect_cluster import ConnectCluster, ask

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

SINK, GROUP = "orders-sink", "connect-orders-sink"
NUMBERS = "org.apache.kafka.connect.converters.LongConverter"
"""The converter of the sink; it expects numbers of eight bytes."""
THREE = {f"{each}.storage.replication.factor": "3" for each in ("config", "offset", "status")}


@asynccontextmanager
async def _sinking(field: Field, tolerance: str) -> AsyncIterator[Begin]:
    """Run a Kafka Connect worker with a sink of one task. The yielded function writes a record that its converter can't
    read.

    Args:
        tolerance: errors.tolerance: ``none``, or ``all`` to skip records that can't be converted.
    """
    await field.topic("orders", partitions=3)
    workers = ConnectCluster(field.version, field.cluster.bootstrap, properties=THREE)
    await asyncio.to_thread(workers.__enter__)
    try:
        config = {
            "connector.class": "FileStreamSink",
            "topics": "orders",
            "tasks.max": "1",
            "file": str(workers.folder / "orders.txt"),
            "value.converter": NUMBERS,
            "errors.tolerance": tolerance,
        }
        async with field.producer("orders", rate=40, value_bytes=8):
            body = {"name": SINK, "config": config}
            reply = await asyncio.to_thread(ask, workers.urls[0], "POST", "/connectors", body)
            if reply.status != 201:
                raise RuntimeError(f"the connector is not created: {reply}")
            await field.reads(GROUP, "orders")

            async def begin() -> None:
                """Write a text instead of a number."""
                await field.writes("orders", 1, partition=1, value=b"no number at all")

            yield begin
    finally:
        await asyncio.to_thread(workers.__exit__, None, None, None)


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a task of a sink connector fails at a record,
    and no operator restarts it.
    """
    async with _sinking(field, "none") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a sink connector skips a
    record that its converter can't read.
    """
    async with _sinking(field, "all") as begin:
        yield begin


NIGHT = Night(
    name="a failed sink task",
    source="https://github.com/confluentinc/kafka-connect-hdfs/issues/324",
    story="A task of a sink connector met a record that it could not convert and failed. Connect does not start failed "
    "tasks again: the connector was listed as running, the workers were healthy, and the consumer group of the sink "
    "stood without a member while its lag grew.",
    make=_make,
    twin_story="The same record, and a sink that is told to pass over what it can't convert.",
    twin=_twin,
    # The brokers know that a group has lost its member, and its name shows that it belongs to a sink. Only Connect
    # knows why the task failed.
    cause=Words(
        (
            r"connect-orders-sink",
            r"(?<!-)\bconnector|\btasks?\b|kafka connect|connect('s)? (worker|cluster|rest)",
            r"fail|stopp|ended|no member|empty|lost|left",
        )
    ),
    symptom=Words((r"connect-orders-sink", r"empty|no (active )?member|lag|behind|nobody reads|lost|left")),
    step=Words((r"\btasks?\b|(?<!-)\bconnector|kafka connect|rest\b|worker|restart|\blogs?\b|start",)),
    wrong=(r"reset group \S+.*(latest|\bend\b)", r"delete (group|topic|records)"),
    unknowable=True,
)
