"""A record crashes every pod that reads it: each pod that gets the record's partition ends, and the next one gets the
partition.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from benchmarks.nights.night import Begin, Night, Words

if TYPE_CHECKING:
    from benchmarks.nights.field import Field

PARTITION = 1
BROKEN = b"\xde\xad\xbe\xef"
_POD = """
import os, pathlib, sys, time
from confluent_kafka import Consumer, KafkaException

bootstrap, topic, group, name, ends, seen = sys.argv[1:]
seen = pathlib.Path(seen)


def serve():
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": group, "client.id": name, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "session.timeout.ms": 6000,
    })
    consumer.subscribe([topic])
    committed = time.monotonic()
    while True:
        message = consumer.poll(0.5)
        if message is None or message.error() is not None:
            continue
        if message.value() == bytes.fromhex("deadbeef") and (ends == "always" or not seen.exists()):
            seen.touch()
            os._exit(1)
        if time.monotonic() - committed > 0.5:
            committed = time.monotonic()
            try:
                consumer.commit()
            except KafkaException as error:
                print(error, flush=True)


while True:
    child = os.fork()
    if not child:
        serve()
    os.waitpid(child, 0)
    time.sleep(2)
"""
"""Source code of a pod that processes records, ends at the broken record without leaving its group, and starts again
two seconds later.
"""


@asynccontextmanager
async def _pods(field: Field, *, once: bool) -> AsyncIterator[Begin]:
    """Run two pods of a service that commits twice per second. The yielded function writes the broken record.

    Args:
        once: whether only the first pod ends at the broken record, and later pods can read it.
    """
    await field.topic("orders", partitions=3)
    seen, ends = str(field.cluster.directory / "seen"), "once" if once else "always"
    told = (sys.executable, "-c", _POD, field.cluster.bootstrap, "orders", "billing")
    async with (
        field.producer("orders", rate=45),
        field.program(*told, "billing-a", ends, seen),
        field.program(*told, "billing-b", ends, seen),
    ):
        await field.reads("billing", "orders")

        async def begin() -> None:
            """Write a record that the service's decoder can't read."""
            await field.writes("orders", 1, partition=PARTITION, value=BROKEN)

        yield begin


@asynccontextmanager
async def _make(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the trouble: a record is written at which every pod that
    reads it crashes.
    """
    async with _pods(field, once=False) as begin:
        yield begin


@asynccontextmanager
async def _twin(field: Field) -> AsyncIterator[Begin]:
    """Prepare the cluster, and yield a function that makes the harmless twin of the trouble: a record is written at
    which one pod crashes, once; the next pod that gets its partition continues.
    """
    async with _pods(field, once=True) as begin:
        yield begin


NIGHT = Night(
    name="a record that ends its readers",
    source="https://github.com/IBMStreams/streamsx.kafka/issues/65",
    story="One record could not be decoded, and the exception ended the process. Its orchestrator started it again, "
    "and the partition went to the other pod, which ended at the same record. The committed offset never moved past "
    "it; each end began a rebalance, so the other partitions were read in fits and starts, and the team saw restarts "
    "and rebalances everywhere.",
    make=_make,
    twin_story="A pod ends once, is missed after its session, and the group goes on with that record and the next.",
    twin=_twin,
    # From outside, one can see a partition whose commit stays at an offset while the others move, and members that end
    # and come back. Only the client can know the record's content.
    cause=Words(
        (
            r"billing",
            r"orders.{0,3}1\b|orders\[1\]|partition 1\b",
            r"record|poison|offset \d",
            r"stands? still|stuck|stopped|stops|not (move|pass|got past|get past|advance|commit)|no progress|"
            r"same (offset|record)|fails? (at|on)|cannot (be )?(read|process|pass|decode|work)",
        )
    ),
    symptom=Words((r"billing", r"rebalanc|stands? still|stuck|no progress|lag|behind|empty|member")),
    step=Words((r"record|offset \d|dead.?letter|skip|peek|\blogs?\b|crash",)),
    wrong=(r"reset group billing\b.*(latest|\bend\b)", r"delete (topic|group|records)"),
    watch=120.0,
)
