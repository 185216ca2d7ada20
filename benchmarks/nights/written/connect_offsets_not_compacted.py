"""A bulk change of topics takes compaction from the topic of Connect's offsets, and the worker refuses to start."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_WORKER = """
import signal, sys, time
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

bootstrap, = sys.argv[1:]
settings = {"bootstrap.servers": bootstrap, "client.id": "connect-worker"}

def end(*_):
    raise SystemExit(0)

def may_start():
    admin, topic = AdminClient(settings), ConfigResource(ResourceType.TOPIC, "connect-offsets")
    policy = admin.describe_configs([topic])[topic].result(10)["cleanup.policy"].value
    if policy != "compact":
        print("topic connect-offsets has to have cleanup.policy=compact, and has", policy, flush=True)
    return policy == "compact"

def work():
    producer = Producer(settings)
    for connector in ("customers-source", "orders-sink"):
        producer.produce("connect-configs", b'{"properties": {}}', "connector-" + connector)
        producer.produce("connect-status", b'{"state": "RUNNING"}', "status-connector-" + connector)
    sink = Consumer(settings | {"group.id": "connect-orders-sink", "auto.offset.reset": "earliest"})
    sink.subscribe(["orders"])
    try:
        number = 0
        while True:
            sink.consume(100, 0.1)
            number += 1
            producer.produce("customers", b"c" * 100, f"customer-{number % 1000}")
            if number % 20 == 0:
                producer.produce("connect-offsets", b'{"row": %d}' % number, '["customers-source",{"table":"c"}]')
            producer.poll(0)
    finally:
        sink.close()
        producer.flush(3)

signal.signal(signal.SIGTERM, end)
while not may_start():
    time.sleep(4)
work()
"""
"""Source code of a worker like Connect's, with a sink and a source. It begins to work only if the topic of its
offsets is compacted; until then it checks the topic again every few seconds, as a restarted container would.
"""


@asynccontextmanager
async def _connected(field: Field, change: str) -> AsyncIterator[Begin]:
    """Run a worker with a sink and a source. The yielded function changes a config of the topic with the worker's
    offsets, and restarts the worker.

    Args:
        change: the config, as ``key=value``.
    """
    compact = {"cleanup.policy": "compact"}
    await field.topic("orders", partitions=3)
    await field.topic("customers", partitions=3)
    await field.topic("connect-configs", partitions=1, configs=compact)
    await field.topic("connect-offsets", partitions=3, configs=compact)
    await field.topic("connect-status", partitions=2, configs=compact)
    async with (
        field.producer("orders", rate=30),
        field.program(sys.executable, "-c", _WORKER, field.cluster.bootstrap) as worker,
    ):
        await field.reads("connect-orders-sink", "orders")

        async def begin() -> None:
            """Change the setting, and restart the worker."""
            on_it = ("--entity-type", "topics", "--entity-name", "connect-offsets")
            await field.tool("kafka-configs", "--alter", *on_it, "--add-config", change)
            await worker.stop()
            await worker.start()

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the topic with the offsets of a worker gets
    cleanup.policy=delete.
    """
    async with _connected(field, "cleanup.policy=delete") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the segments of the
    topic with the offsets of a worker are from now on rolled every day; the topic remains compacted.
    """
    async with _connected(field, "segment.ms=86400000") as begin:
        yield begin


NIGHT = Night(
    name="Connect's offsets, not compacted",
    source="https://github.com/apache/doris-kafka-connector/pull/46",
    story="The topic in which Connect keeps the offsets of its sources had cleanup.policy=delete instead of compact. "
    "The worker refuses to start with such a topic, because the offsets would expire: after its next restart no "
    "connector ran, sinks did not read and sources did not write.",
    make=_make,
    twin_story="The same topic gets another setting, and the worker is restarted in the same way.",
    twin=_twin,
    cause=Words((r"connect-offsets", r"cleanup\.policy|compact")),
    symptom=Words(
        (
            r"connect-orders-sink|customers",
            r"no (active )?members?|empty|nobody|not (being )?read|lag|behind|stopped|no (new )?(records|writes)|silent"
            r"|quiet|idle|stands? still|nothing",
        )
    ),
    step=Words(
        (r"connect-offsets", r"compact"),
        # Connect takes no other policy, and the brokers' default is another one.
        never=(r"set topic connect-offsets cleanup\.policy\s*=\s*\W?(compact,|delete)", r"unset topic connect-offsets"),
    ),
    wrong=(
        r"delete (topic|group|records)",
        r"reset group",
        r"set topic connect-offsets (retention|cleanup\.policy\s*=\s*\W?delete)",
        r"unset topic connect-offsets cleanup",
    ),
)
