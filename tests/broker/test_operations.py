"""Operations on real brokers under load: a drain and a replacement that finish, whatever is killed meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin import partitions, topics
from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.errors import AdminError
from console.admin.link import until_settled
from console.admin.settings import ConnectionSettings
from console.model.changes import CreateTopics, NewTopic
from tests.support.forked_runs import ForkedRuns
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.real_clusters import RACKS

pytestmark = pytest.mark.core

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TOPIC = "orders"
LAYOUT = ((1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 4), (4, 2, 1), (3, 2, 1))
MIN_ISR = 2
RECORD = b"x" * 20_000
KILLED = -9
DRAIN_POINTS = (
    "after:operation:1",
    "before:step:1",
    "after:step:1",
    "after:intent:1",
    "after:sending:1",
    "after:AlterConfigs:1",
    "before:AlterReassignments:1",
    "after:AlterReassignments:1",
    "before:AlterConfigs:2",
    "before:ended:1",
)
"""Where kac is killed, one life after another: in the first step, where the throttles are taken off, at the end."""


@pytest.fixture
async def client(racked_cluster: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=racked_cluster.addresses))
    made.start()
    try:
        yield made
    finally:
        made.close()


class Load:
    """What producers, a group and a sampler saw. below: polls at which a partition had too few replicas in sync."""

    def __init__(self) -> None:
        self.produced = self.read = self.polls = 0
        self.below: list[object] = []
        self.stop = asyncio.Event()
        self.all_written = asyncio.Event()


@asynccontextmanager
async def load_on(cluster: KafkaCluster, client: AdminClient) -> AsyncIterator[Load]:
    """acks=all producers and a group at work; an error of theirs ends the test."""
    load = Load()

    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", enable_idempotence=True)
        await producer.start()
        try:
            while not load.stop.is_set():
                await asyncio.gather(
                    *(producer.send_and_wait(TOPIC, RECORD, partition=number) for number in range(len(LAYOUT)))
                )
                load.produced += len(LAYOUT)
                await asyncio.sleep(0.1)  # a load below the throttle: what producers write counts as copied, too
        finally:
            load.all_written.set()
            await producer.stop()

    async def consume() -> None:
        servers = cluster.bootstrap
        consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest")
        await consumer.start()
        try:
            while not (load.all_written.is_set() and load.read >= load.produced):
                found = await consumer.getmany(timeout_ms=200)
                load.read += sum(map(len, found.values()))
        finally:
            await consumer.stop()

    async def sample() -> None:
        while not load.stop.is_set():
            try:
                listing = await client.run(topics.describe_topics, [TOPIC])
            except AdminError:
                continue
            for topic in listing.topics.values():
                load.polls += 1
                load.below += [each for each in topic.partitions if len(each.isr) < MIN_ISR]
            await asyncio.sleep(0.05)

    made = NewTopic(TOPIC, assignments=LAYOUT, configs={"min.insync.replicas": str(MIN_ISR)})
    assert all(each.ok for each in await client.run(send, CreateTopics((made,)), validate_only=False))
    work = asyncio.gather(produce(), consume(), sample())

    async def written() -> int:
        assert not work.done(), work.exception()
        return load.produced

    await until_settled(written, lambda count: count < 120, within=120, attempts=1200)
    try:
        yield load
    finally:
        load.stop.set()
        await work


class Kac(NamedTuple):
    """Runs of ``kac moves`` on a cluster."""

    runs: ForkedRuns
    bootstrap: str

    async def moves(self, *words: str, crash: str = "") -> int:
        await self.runs.start("moves", "-b", self.bootstrap, *words, crash=crash)
        return await self.runs.ended()

    async def reached(self) -> None:
        """Go on until the operation is over. What it waits for is in the output otherwise."""
        code = await self.moves("--continue")
        assert code == 0, self.runs.output


@asynccontextmanager
async def kac_on(cluster: KafkaCluster, home: Path, folder: Path) -> AsyncIterator[Kac]:
    async with ForkedRuns({"HOME": str(home)}, folder / "output") as runs:
        await runs.warm("moves", "-b", cluster.bootstrap)
        yield Kac(runs, cluster.bootstrap)


async def replicas(client: AdminClient) -> list[tuple[int, ...]]:
    found = await client.run(topics.describe_topics, [TOPIC])
    return [each.replicas for each in found.topics[TOPIC].partitions]


async def nothing_is_left(kac: Kac, cluster: KafkaCluster, client: AdminClient, folder: Path) -> None:
    """Neither by our own look nor by Kafka's tool: no move, no throttle, no operation."""
    assert await client.run(partitions.list_reassignments) == ()
    await kac.runs.start("leftovers", "-b", kac.bootstrap, "--output", "json")
    assert await kac.runs.ended() == 0, kac.runs.output
    assert json.loads(kac.runs.output.splitlines()[-1])["leftovers"] == []
    now = await replicas(client)
    wanted = [{"topic": TOPIC, "partition": number, "replicas": list(each)} for number, each in enumerate(now)]
    file = folder / "wanted.json"
    file.write_text(json.dumps({"version": 1, "partitions": wanted}))
    words = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(file))
    verified = await asyncio.to_thread(
        cluster.run_tool, REASSIGN, *words, "--verify", "--preserve-throttles", timeout=PATIENCE
    )
    assert verified.stdout.count("is completed") == len(now), verified.stdout + verified.stderr
    assert len({RACKS[broker] for each in now for broker in each}) == 3
    assert all(len({RACKS[broker] for broker in each}) == 3 for each in now), now


@pytest.mark.takes(50)
async def test_a_drain_and_a_replacement_survive_kills(
    racked_cluster: KafkaCluster, client: AdminClient, own_home: Path, tmp_path: Path
) -> None:
    """kac is killed at ten points of a drain; then a broker is killed, and kac, while an empty one replaces another."""
    async with kac_on(racked_cluster, own_home, tmp_path) as kac, load_on(racked_cluster, client) as load:
        assert await kac.moves("drain", "3", "--throttle", "8MB/s", "--run", "--yes", crash=DRAIN_POINTS[0]) == KILLED
        for point in DRAIN_POINTS[1:]:
            assert await kac.moves("--continue", crash=point) == KILLED, (point, kac.runs.output)
        await kac.reached()
        assert all(3 not in each for each in await replicas(client))
        await nothing_is_left(kac, racked_cluster, client, tmp_path)
        assert load.below == []

        asked = ("replace", "4", "by", "3", "--throttle", "4MB/s", "--run", "--yes")
        assert await kac.moves(*asked, crash="after:AlterReassignments:1") == KILLED
        await asyncio.to_thread(racked_cluster.kill, 2)
        assert await kac.moves("--continue", crash="after:progress:1") == KILLED
        await asyncio.to_thread(racked_cluster.restart, 2)
        await kac.reached()
        assert all(4 not in each for each in await replicas(client))
        await nothing_is_left(kac, racked_cluster, client, tmp_path)
        assert load.below == []
        assert load.polls > 50
    assert load.read >= load.produced > 120


@pytest.mark.long
async def test_a_hundred_random_kills(
    racked_cluster: KafkaCluster, client: AdminClient, own_home: Path, tmp_path: Path
) -> None:
    """Goals one after another, each through some deaths of kac or of a broker, until a hundred have died."""
    rng = Random(16)
    goals: tuple[tuple[str, ...], ...] = (
        ("drain", "3"),
        ("replace", "4", "by", "3"),
        ("balance",),
        ("drain", "4"),
        ("replace", "3", "by", "4"),
    )
    deaths = turn = 0
    async with kac_on(racked_cluster, own_home, tmp_path) as kac, load_on(racked_cluster, client) as load:
        while deaths < 100:
            goal = goals[turn % len(goals)]
            turn += 1
            words: tuple[str, ...] = (*goal, "--throttle", "8MB/s", "--run", "--yes")
            for _ in range(rng.randint(2, 8)):
                point = f"{rng.choice(('before', 'after'))}:any:{rng.randint(1, 14)}"
                died = await kac.moves(*words, crash=point) == KILLED
                deaths += died
                words = ("--continue",)
                if died and rng.randrange(8) == 0:
                    broker = rng.choice((1, 2))
                    await asyncio.to_thread(racked_cluster.kill, broker)
                    deaths += 1
                    await kac.moves("--continue", crash="after:any:3")
                    await asyncio.to_thread(racked_cluster.restart, broker)
            await kac.reached()
            await nothing_is_left(kac, racked_cluster, client, tmp_path)
            if goal[0] != "balance":
                assert all(int(goal[1]) not in each for each in await replicas(client))
        assert load.below == []
