"""Tests of an operation while real brokers are killed during a copy: the broker that copies, and one that it copies
from.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import partitions
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.model.changes import CreateTopics, NewTopic
from console.operations.goals import Drain
from console.operations.operation import Progress, State
from console.session.operating import Pace, begin, work_on
from console.session.session import Session
from tests.scenarios.test_operations import REAL_LAYOUT as LAYOUT
from tests.scenarios.test_operations import TOPIC, kac_on, nothing_is_left, replicas
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.core

RECORD = b"x" * 100_000
RECORDS = 100
"""The number of records in each partition, 10 MB together; to copy them takes some seconds at the throttle's rate."""
TARGET, SOURCE, GONE = 4, 2, 3
THROTTLE = 1_000_000
PACE = Pace(first=0.5, most=1.0, patience=8.0, leaves=False)
"""The pace of an operation that continues to poll, about every second, while it is stalled."""


async def fill(cluster: KafkaCluster, client: AdminClient) -> None:
    made = NewTopic(TOPIC, assignments=LAYOUT, configs={"min.insync.replicas": "2"})
    assert all(each.ok for each in await client.run(send, CreateTopics((made,)), validate_only=False))
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all")
    await producer.start()
    try:
        for _ in range(RECORDS):
            await asyncio.gather(
                *(producer.send_and_wait(TOPIC, RECORD, partition=each) for each in range(len(LAYOUT)))
            )
    finally:
        await producer.stop()


class Polls:
    """Receives the progress of an operation, and keeps it for each poll."""

    def __init__(self) -> None:
        self.all: list[Progress] = []
        self._came = asyncio.Event()

    def take(self, progress: Progress) -> None:
        self.all.append(progress)
        self._came.set()

    async def until(self, holds: Callable[[Progress], bool]) -> Progress:
        """Wait for a later poll for whose progress `holds` returns true, and return this progress. Raises TimeoutError
        after `PATIENCE` seconds.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                self._came.clear()
                await self._came.wait()
                if holds(self.all[-1]):
                    return self.all[-1]


def waits_for(text: str, state: State) -> Callable[[Progress], bool]:
    return lambda progress: progress.state is state and any(text in line for line in progress.waits)


@pytest.mark.takes(55)
async def test_what_is_killed_while_it_copies_is_waited_for(
    racked_cluster: KafkaCluster, own_home: Path, tmp_path: Path
) -> None:
    """If a broker of a running copy is killed, the operation says that it waits for this broker, and continues by
    itself after the broker is up again.
    """
    polls = Polls()
    with AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses)) as client:
        await fill(racked_cluster, client)
        session = Session(client, Context("test", "tests", client.settings), "moves")
        number = await begin(session, Drain((GONE,)), THROTTLE)
        work = asyncio.create_task(work_on(session, number, pace=PACE, on_progress=polls.take))
        try:
            copied = (await polls.until(lambda progress: progress.copied > 0)).copied
            await asyncio.to_thread(racked_cluster.kill, TARGET)
            await polls.until(waits_for(f"broker {TARGET}, to which it moves, is not alive", State.STALLED))
            await asyncio.to_thread(racked_cluster.restart, TARGET)
            await polls.until(lambda progress: progress.state is State.RUNNING and progress.copied > copied)
            assert await client.run(partitions.list_reassignments), "it copies still"
            await asyncio.to_thread(racked_cluster.kill, SOURCE)
            await polls.until(waits_for(f"broker {SOURCE} does not answer", State.STALLED))
            async with asyncio.timeout(PATIENCE):  # the other replicas are the sources
                while any(GONE in each for each in await replicas(client)):
                    await polls.until(waits_for(f"broker {SOURCE} does not answer", State.STALLED))
            await asyncio.to_thread(racked_cluster.restart, SOURCE)
            async with asyncio.timeout(PATIENCE):
                done = await work
        finally:
            work.cancel()
        assert done.state is State.DONE
        async with kac_on(racked_cluster, own_home, tmp_path) as kac:
            await nothing_is_left(kac, racked_cluster, client, tmp_path)
