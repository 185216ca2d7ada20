"""Dead letters sent again on real brokers: kac and brokers are killed at random, and a second operator comes; a
consumer of librdkafka with read_committed gets each letter once."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from console.admin.changes import send
from console.model.changes import CreateTopics, NewTopic
from console.model.new_records import NewRecord
from tests.support import dead_letters, worlds
from tests.support.forked_runs import ForkedRuns
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.support.real_clusters import EACH, REAL

PLACES = 3
AT_ONCE = 100
"""Letters a second: a transaction a second."""


async def make(cluster: KafkaCluster, name: str, count: int, replicas: int) -> None:
    """A topic, and letters of it in its dead-letter topic."""
    async with worlds.linked(worlds.settings(cluster)) as link:
        for topic in (name, f"{name}.dlt"):
            made = NewTopic(topic, PLACES, replicas, configs={"min.insync.replicas": str(max(1, replicas - 1))})
            assert all(each.ok for each in await send(link, CreateTopics((made,)), validate_only=False))
        for place in range(PLACES):
            letters = [
                NewRecord(b"k%d" % number, b"%d" % number, dead_letters.spring(name, number % PLACES, number))
                for number in range(place, count, PLACES)
            ]
            await dead_letters.write(link, f"{name}.dlt", place, letters)


def received(cluster: KafkaCluster, topic: str) -> Counter[int]:
    """How often librdkafka's consumer gets each letter, of committed transactions alone."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "kac-test",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PLACES)])
    found: Counter[int] = Counter()
    ended: set[int] = set()
    while len(ended) < PLACES:
        message = consumer.poll(PATIENCE)
        assert message is not None
        error = message.error()
        if error is not None and error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        elif error is None:
            found[int(message.value())] += 1
    consumer.close()
    return found


async def begun(cluster: KafkaCluster, name: str) -> None:
    """Wait until the first letters are there."""
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(received, cluster, name):
            pass


@asynccontextmanager
async def operator(cluster: KafkaCluster, home: Path) -> AsyncIterator[ForkedRuns]:
    """An operator's runs of kac, on a host of their own."""
    await asyncio.to_thread(home.mkdir, exist_ok=True)
    async with ForkedRuns({"HOME": str(home)}, home / "out") as runs:
        await runs.warm("redrive", "-b", cluster.bootstrap, "--continue")
        yield runs


async def sent(runs: ForkedRuns, cluster: KafkaCluster, *words: str) -> int:
    """The exit code of a run that is left alone."""
    await runs.start("redrive", "-b", cluster.bootstrap, *words)
    async with asyncio.timeout(4 * PATIENCE):
        return await runs.ended()


class Killer:
    """Kills a broker, and brings it back in the background; one at a time."""

    def __init__(self, cluster: KafkaCluster, some: random.Random) -> None:
        self._cluster, self._some = cluster, some
        self._work: threading.Thread | None = None
        self.count = 0

    def kill(self) -> None:
        """Kill one, unless one is down."""
        if self._work is not None and self._work.is_alive():
            return
        broker = self._some.choice(self._cluster.broker_ids)
        self._cluster.kill(broker)
        self.count += 1
        self._work = threading.Thread(target=self._cluster.restart, args=(broker,))
        self._work.start()

    def end(self) -> None:
        """Wait until all are back."""
        if self._work is not None:
            self._work.join()


async def killed_at_random(
    cluster: KafkaCluster, home: Path, name: str, letters: int, kills: int, brokers_every: int
) -> tuple[int, int]:
    """Begin a redrive, and kill it and brokers at random until it has been killed so often. Return the numbers of kills
    of kac and of brokers."""
    some = random.Random(name)
    await make(cluster, name, letters, 3)
    killer, killed = Killer(cluster, some), 0
    async with operator(cluster, home) as runs:
        words = ("--run", "--yes", "--max", f"{AT_ONCE}/s", "--accept", f"writes-many={letters}")
        await runs.start("redrive", "-b", cluster.bootstrap, f"{name}.dlt", *words)
        async with asyncio.timeout(PATIENCE):
            while "operation 1:" not in runs.output:
                await asyncio.to_thread(time.sleep, 0.05)
        while killed < kills:
            await asyncio.sleep(some.uniform(0.3, 2.5))
            if killed % brokers_every == brokers_every - 1:
                await asyncio.to_thread(killer.kill)
                await asyncio.sleep(some.uniform(0.0, 1.0))
            runs.kill()
            code = await runs.ended()
            if code == 0:
                break
            killed += code == -9
            await runs.start("redrive", "-b", cluster.bootstrap, "--continue")
        runs.kill()
        await runs.ended()
        await asyncio.to_thread(killer.end)
        await runs.start("moves", "-b", cluster.bootstrap, "--operation", "1", "--throttle", "0")
        await runs.ended()
        assert await sent(runs, cluster, "--continue") == 0, runs.output
    return killed, killer.count


@pytest.mark.takes(45)
async def test_killed_and_killed_brokers_send_each_letter_once(
    own_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    letters = 1_200
    killed, brokers = await killed_at_random(own_cluster, tmp_path / "home", name, letters, 5, 3)
    assert killed == 5
    assert brokers
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.long
@pytest.mark.takes(500)
async def test_a_hundred_kills(own_cluster: KafkaCluster, name: str, tmp_path: Path) -> None:
    letters = 30_000
    killed, brokers = await killed_at_random(own_cluster, tmp_path / "home", name, letters, 100, 5)
    assert killed == 100
    assert brokers > 5
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.takes(15)
async def test_a_second_operator_takes_over_and_the_first_says_so(
    own_cluster: KafkaCluster, name: str, tmp_path: Path
) -> None:
    letters = 900
    await make(own_cluster, name, letters, 3)
    words = ("redrive", "-b", own_cluster.bootstrap, f"{name}.dlt", "--run", "--yes")
    async with operator(own_cluster, tmp_path / "one") as first, operator(own_cluster, tmp_path / "two") as second:
        await first.start(*words, "--max", f"{AT_ONCE}/s")
        await begun(own_cluster, name)
        await second.start(*words, "--max", f"{3 * AT_ONCE}/s")
        assert await first.ended() == 1
        assert "another kac sends these letters now" in first.output
        assert await second.ended() == 0, second.output
    assert received(own_cluster, name) == Counter(range(letters))


@pytest.mark.parametrize("release", EACH)
@pytest.mark.takes(6)
async def test_each_release(
    request: pytest.FixtureRequest, release: tuple[str, str], name: str, tmp_path: Path
) -> None:
    cluster: KafkaCluster = request.getfixturevalue(REAL[release[1]])
    await make(cluster, name, 300, 1)
    async with operator(cluster, tmp_path / "home") as runs:
        await runs.start("redrive", "-b", cluster.bootstrap, f"{name}.dlt", "--run", "--yes", "--max", f"{AT_ONCE}/s")
        await begun(cluster, name)
        runs.kill()
        assert await runs.ended() == -9
        assert await sent(runs, cluster, "--continue") == 0, runs.output
        # Those that were sent are not sent again, and new ones once.
        async with worlds.linked(worlds.settings(cluster)) as link:
            await dead_letters.write(link, f"{name}.dlt", 0, [NewRecord(b"k", b"300", dead_letters.spring(name))])
        shown = f"{name}.dlt", "--output", "json"
        assert await sent(runs, cluster, *shown) == 0, runs.output
        (pile,) = json.loads(runs.output)["letters"]
        assert pile["chosen"] == 1
        assert await sent(runs, cluster, f"{name}.dlt", "--run", "--yes") == 0, runs.output
    assert received(cluster, name) == Counter(range(301))
