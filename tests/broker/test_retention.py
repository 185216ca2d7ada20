"""What a shorter retention is said to delete, against what a real broker then deletes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from random import Random

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import changes, list_offsets, log_dirs
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.commands.look import read_again
from console.commands.retention_estimate import deletions, read_retention
from console.commands.session import Session
from console.contexts.context import Context
from console.model.changes import CreateTopics, NewTopic
from console.model.config import ConfigResource, topic_resource
from console.plan.edits import SetConfig
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import running

SEGMENT = 2**20
RECORDS, RECORD = 160, 50_000
HOUR = 3_600_000
PARTITIONS = {"by-time": 2, "by-size": 1, "everything": 1}
EDITS = {
    "by-time": ("retention.ms", str(70 * HOUR)),
    "by-size": ("retention.bytes", str(3 * SEGMENT)),
    "everything": ("retention.ms", str(HOUR // 4)),
}
CONFIGS = {"retention.ms": "-1", "segment.bytes": str(SEGMENT)}


@pytest.fixture
def quick_cluster() -> Iterator[KafkaCluster]:
    """One broker of 4.3 that looks for what is too old twice a second."""
    properties = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"}
    yield from running(lambda: KafkaCluster(brokers=1, properties=properties))


@pytest.fixture
async def client(quick_cluster: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=quick_cluster.addresses))
    made.start()
    yield made
    made.close()


async def write(bootstrap: str, now: int) -> None:
    """A record an hour, the last one an hour ago, in every partition."""
    random = Random(1)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, max_batch_size=4 * RECORD, linger_ms=5)
    await producer.start()
    try:
        sent = [
            await producer.send(topic, random.randbytes(RECORD), partition=number, timestamp_ms=now - age * HOUR)
            for topic, count in PARTITIONS.items()
            for number in range(count)
            for age in range(RECORDS, 0, -1)
        ]
        for each in sent:
            await each
    finally:
        await producer.stop()


async def sizes(client: AdminClient) -> dict[str, int]:
    """Bytes of each topic."""
    (dirs,) = (await client.run(log_dirs.describe_log_dirs)).dirs.values()
    return {topic: size for each in dirs for topic, size in each.sizes.items() if topic in PARTITIONS}


async def starts(client: AdminClient) -> list[int]:
    """The first offset of each partition."""
    places = {(topic, number): list_offsets.EARLIEST for topic, count in PARTITIONS.items() for number in range(count)}
    found, problems = await client.run(list_offsets.list_offsets, places)
    assert not problems
    return list(found.values())


async def test_the_estimate_is_what_is_then_deleted(quick_cluster: KafkaCluster, client: AdminClient) -> None:
    topics = tuple(NewTopic(name, count, 1, configs=CONFIGS) for name, count in PARTITIONS.items())
    outcomes = await client.run(changes.send, CreateTopics(topics), validate_only=False)
    assert all(outcome.ok for outcome in outcomes)
    await write(quick_cluster.bootstrap, int(time.time() * 1000))

    session = Session(client, Context("test", "tests", client.settings), "test")
    edits = [SetConfig(topic_resource(name), *edit) for name, edit in EDITS.items()]
    await read_again(session, edits)
    report = session.stage(edits)
    assert len(report.added) == len(edits), report
    await read_retention(session)
    expected = {
        slot.target.name: f for slot, f in deletions(session).items() if isinstance(slot.target, ConfigResource)
    }
    assert {name: (each.partitions, each.unknown) for name, each in expected.items()} == {
        name: (count, 0) for name, count in PARTITIONS.items()
    }
    before = await sizes(client)
    assert (await session.apply()).ok
    deadline = time.monotonic() + 60
    while not all(await starts(client)):
        assert time.monotonic() < deadline
    after = await sizes(client)
    deleted = {name: before[name] - after[name] for name in PARTITIONS}
    for name, count in PARTITIONS.items():
        assert abs(deleted[name] - expected[name].size) <= count * SEGMENT, (name, deleted, expected)
        assert deleted[name] > 3 * SEGMENT
    assert deleted["everything"] == expected["everything"].size == before["everything"]
