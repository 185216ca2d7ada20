"""What a shorter retention deletes, as `kac run` tells it: in text, in JSON, and of no more partitions than need be."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.contexts.context import Context
from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.language.grammar import parse
from console.model.config import topic_resource
from console.model.secret import Secret
from console.session.script_runner import Runner
from console.session.session import Session

DAY = 86_400_000
RECORDS, RECORD, SEGMENT = 10, 400_000, 1_048_576
BROKERS = [1, 2]
Kac = Callable[..., str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ThreadedCluster]:
    """orders: two partitions on two brokers, a record of 400 kB for each of the last ten days in the first of them."""
    with run_in_thread(ClusterSpec(brokers=2)) as running:
        running.call(lambda c: c.state.put_topic(new_topic("orders", striped(BROKERS, 2, 2), BROKERS)))
        running.call(lambda c: c.state.put_topic(new_topic("wide", striped(BROKERS, 2_500, 1), BROKERS)))
        own = {"retention.ms": "-1", "segment.bytes": str(SEGMENT)}
        running.call(lambda c: c.state.replace_config(topic_resource("orders"), own))
        asyncio.run(write(running.bootstrap))
        yield running


async def write(bootstrap: str) -> None:
    now = int(time.time() * 1000)
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for age in range(RECORDS, 0, -1):
            await producer.send_and_wait("orders", b"x" * RECORD, partition=0, timestamp_ms=now - age * DAY + DAY // 2)


@pytest.fixture
def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Kac:
    def run(script: str, *options: str) -> str:
        cli.run(["run", "-b", cluster.bootstrap, "-e", script, *options])
        return capsys.readouterr().out

    return run


def deletes(kac: Kac, edit: str) -> object:
    staged, plan = (json.loads(line) for line in kac(f"{edit}; plan", "--output", "json").splitlines())
    (row,) = plan["plan"]
    assert staged["staged"][0]["deletes"] is None  # nothing has been read yet
    return row["deletes"]


def test_a_plan_tells_what_goes_by_time_by_size_and_altogether(kac: Kac) -> None:
    found = deletes(kac, "set topic orders retention.ms=4d")
    assert isinstance(found, dict)
    assert (found["partitions"], found["partitions_unknown"]) == (2, 0)
    # Six of ten records are older: 2.4 MB on either replica, and the segment that holds the next may begin before them.
    assert found["bytes_least"] <= 2 * (6 * RECORD - SEGMENT) < 2 * 2 * SEGMENT <= 2 * 6 * RECORD <= found["bytes_most"]
    # Ten records of any sizes tell little of what six of them weigh.
    assert found["bytes_most"] - found["bytes_least"] <= 2 * (SEGMENT + 8 * RECORD)
    assert "MiB are deleted within minutes" in kac("set topic orders retention.ms=4d; plan")
    by_size = deletes(kac, "set topic orders retention.bytes=2MiB")
    assert isinstance(by_size, dict)
    assert by_size["bytes_most"] - by_size["bytes_least"] == 2 * SEGMENT
    assert by_size["bytes_least"] <= 2 * SEGMENT <= by_size["bytes_most"]
    everything = deletes(kac, "set topic orders retention.ms=1h")
    assert isinstance(everything, dict)
    assert everything["bytes_least"] == everything["bytes_most"]
    assert 2 * RECORDS * RECORD <= everything["bytes_most"] <= 2 * RECORDS * (RECORD + 1_000)


def test_a_check_tells_it_too_and_what_keeps_more_is_not_looked_at(kac: Kac) -> None:
    assert "are deleted within minutes" in kac("set topic orders retention.ms=1d; check")
    assert "no whole segment is deleted at once" in kac("set topic orders retention.ms=30d; check")
    assert deletes(kac, "set topic wide retention.ms=30d") is None


def test_of_many_partitions_some_are_looked_at_and_that_is_said(kac: Kac) -> None:
    assert deletes(kac, "set topic wide retention.ms=1d") == {
        "bytes_least": 0,
        "bytes_most": 0,
        "partitions": 2_000,
        "partitions_unknown": 500,
    }
    assert "2,000 of 2,500 partitions looked at" in kac("set topic wide retention.ms=1d; plan")


class Operator:
    """Somebody who reads what is complained of before the question, and says no."""

    answers = True
    keeps_secrets = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def line(self, question: str) -> str:
        self.asked.append(question)
        return "no"

    async def secret(self, question: str) -> Secret:
        raise AssertionError(question)


async def test_who_is_asked_is_told_before(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = (text.rpartition(":") for text in cluster.bootstrap.split(","))
    with AdminClient(ConnectionSettings(tuple((host, int(port)) for host, _, port in hosts))) as client:
        text, operator = "set topic orders retention.ms=4d; apply", Operator()
        session = Session(client, Context("test", "tests", client.settings), "run")
        runner = Runner(session, text, operator=operator)
        await runner.run(parse(text))
    assert operator.asked == ["Apply 1 edit to test? Type yes: "]
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("kac: topic orders retention.ms: ")
    assert told[0].endswith("MiB are deleted within minutes")
    assert runner.failed
