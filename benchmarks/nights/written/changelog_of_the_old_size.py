"""The input topic of a Streams application gets more partitions, and the changelog of its store gets none."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

_APPLICATION = """
import signal, sys, time
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

bootstrap, output = sys.argv[1:]
settings = {"bootstrap.servers": bootstrap, "client.id": "totals-StreamThread-1"}

def end(*_):
    raise SystemExit(0)

def partitions(topic):
    return len(AdminClient(settings).list_topics(topic, timeout=10).topics[topic].partitions)

def run():
    wrong = []
    def assigned(consumer, places):
        if output.endswith("-changelog") and partitions(output) != partitions("orders"):
            wrong.append(f"topic {output} has invalid partitions: {partitions(output)}, not {partitions('orders')}")
    producer = Producer(settings)
    consumer = Consumer(settings | {
        "group.id": "totals", "auto.offset.reset": "earliest", "session.timeout.ms": 10_000,
        "auto.commit.interval.ms": 1_000, "topic.metadata.refresh.interval.ms": 2_000,
    })
    consumer.subscribe(["orders"], on_assign=assigned)
    try:
        while not wrong:
            for message in consumer.consume(100, 0.2):
                if message.error() is None:
                    producer.produce(output, b"total", message.key(), message.partition() % partitions_of_output)
            producer.poll(0)
        print(wrong[0], flush=True)
    finally:
        consumer.close()
        producer.flush(3)

signal.signal(signal.SIGTERM, end)
partitions_of_output = partitions(output)
while True:
    try:
        run()
    except KafkaException as error:
        print(error, flush=True)
    time.sleep(4)
"""
"""Source code of an application like those of Kafka Streams. If its output is the changelog of a store, it fails at
an assignment while the changelog and the input topic have different numbers of partitions, and begins again after
some seconds, as a restarted container would. It looks for new partitions every two seconds instead of every five
minutes.
"""


@asynccontextmanager
async def _grown(field: Field, output: str) -> AsyncIterator[Begin]:
    """Run an application that reads a topic. The yielded function adds partitions to this topic.

    Args:
        output: the topic to which the application writes: a changelog, or a usual one.
    """
    policy = "compact" if output.endswith("-changelog") else "delete"
    await field.topic("orders", partitions=3)
    await field.topic(output, partitions=3, configs={"cleanup.policy": policy})
    async with (
        field.producer("orders", rate=30, topic_metadata_refresh_interval_ms=2_000),
        field.program(sys.executable, "-c", _APPLICATION, field.cluster.bootstrap, output),
    ):
        await field.reads("totals", "orders")

        async def begin() -> None:
            await field.tool("kafka-topics", "--alter", "--topic", "orders", "--partitions", "6")

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: the input topic of an application gets more
    partitions, and the changelog of the application's store keeps the former number.
    """
    async with _grown(field, "totals-per-customer-changelog") as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: the input topic of an
    application without a store gets more partitions, and the application reads them.
    """
    async with _grown(field, "customer-totals") as begin:
        yield begin


NIGHT = Night(
    name="a changelog of the old size",
    source="https://github.com/gojek/ziggurat/issues/11",
    story="The source topic of a stateful Streams application got more partitions. The application's changelog still "
    "had the former number, so its threads died at the next assignment, with a complaint about the partitions of an "
    "internal topic, and died again after each restart: nobody read the topic.",
    make=_make,
    twin_story="The same growth under an application without a store, which reads the new partitions.",
    twin=_twin,
    cause=Words(
        (
            r"totals",
            r"changelog|internal topic",
            r"partition",
            r"fewer|differ|\bnot as many|not the same|mismatch|does(n't| not) match|more partitions|invalid"
            r"|\b3\b.*\b6\b|\b6\b.*\b3\b|grew|grown",
        )
    ),
    symptom=Words(
        (
            r"totals",
            r"no (active )?members?|empty|nobody|not (being )?read|lag|behind|rebalanc|leave|left|join|stopped"
            r"|stands? still",
        )
    ),
    # The tool that resets an application deletes its internal topics, and the next start makes them with the right
    # number of partitions. A changelog with more partitions lets the application start too, with misplaced entries.
    step=Words((r"changelog|internal topics?", r"reset|rebuil|re-?creat|delete|partitions|again")),
    wrong=(
        r"delete topic orders\b",
        r"delete (records|group)",
        r"reset group totals\b.*latest",
        r"set topic orders retention",
    ),
    # The topic did grow, and records of a key may be in another partition from now on.
    fine=(r"orders[\s\S]*(grew|grown|more partitions|new partitions|from 3|6 partitions|added)",),
)
