"""Tests of the warnings about topics that are deleted, and about records that a shorter retention deletes."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.cli import main as cli
from console.cli.main import run
from console.contexts.context import Context
from console.embedded import partition_log, record_batch, spec
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from console.embedded.scenarios.seed import add_topic
from console.language.grammar import parse
from console.model.config import topic_resource
from console.model.secret import Secret
from console.session.script_runner import Runner
from console.session.session import Session
from tests.embedded.record_batches import batch
from tests.support import worlds
from tests.tui.console_app import driven_on

TMP = [f"tmp-{number}" for number in range(5)]


def furnish(cluster: EmbeddedCluster) -> None:
    """Add a topic with records, an empty topic, five topics with records, and topics of other systems."""
    for name in ("orders", "empty", *TMP, "_schemas", "__remote_log_metadata"):
        add_topic(cluster.state, name, 1, 1)
        # The embedded cluster invents the bytes of a log that begins at offset 0.
        log = cluster.state.logs[name, 0] = partition_log.PartitionLog(start=7)
        if name != "empty":
            log.append(record_batch.produced_batch(batch(*[b"x"] * 10)), 0)


cluster = worlds.cluster(spec.ClusterSpec(brokers=1), furnish)


def topics(cluster: ThreadedCluster) -> set[str]:
    return cluster.call(lambda each: set(each.state.topics))


def kac(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], command: str, *words: str) -> tuple[int, str]:
    code = run([command, "-b", cluster.bootstrap, *words])
    out, err = capsys.readouterr()
    return code, " ".join((out + err).split())


WAYS = {
    "run": lambda name, accept: ("run", "-e", f"delete topic {name}; apply --yes {accept}"),
    "topics": lambda name, accept: ("topics", "--delete", "--topic", name, "--yes", *accept.split()),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_topic_with_records_is_deleted_by_its_name(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    for name in ("orders", "_schemas", "__remote_log_metadata"):
        code, said = kac(cluster, capsys, *WAYS[way](name, ""))
        assert code == 3
        assert f"write {'apply ' if way == 'run' else ''}--accept topic-deleted={name}" in said
        assert ("schema registry" in said) == (name == "_schemas")
        assert name in topics(cluster)
    code, said = kac(cluster, capsys, *WAYS[way]("orders", "--accept topic-deleted=orders"))
    assert (code, "takes it back" in said) == (0, False)
    assert "brings back a part: the records are gone" in said
    assert kac(cluster, capsys, *WAYS[way]("empty", ""))[0] == 0
    assert not {"orders", "empty"} & topics(cluster)


def test_a_pattern_is_one_plan_with_one_number(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--delete", "--topic", "tmp-*", "--yes")
    code, said = kac(cluster, capsys, "topics", *words, "--accept", "topic-deleted=4")
    assert code == 3
    assert "--accept topic-deleted=4,topic-deleted=5" in said
    assert kac(cluster, capsys, "topics", *words, "--accept", "topic-deleted=5")[0] == 0
    assert not set(TMP) & topics(cluster)
    _, said = kac(cluster, capsys, "run", "-e", "delete topic *")
    assert "__remote_log_metadata" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-e", "grow topic __remote_log_metadata partitions=60; apply --yes"),
        ("topics", "--alter", "--topic", "__remote_log_metadata", "--partitions", "60", "--yes"),
        ("apply", "-f", "FILE", "--yes"),
        ("run", "-e", "delete records topic __remote_log_metadata before latest; apply --yes"),
    ],
)
def test_kafkas_own_topics_are_not_grown_nor_emptied(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text("version: 1\ntopics:\n  __remote_log_metadata:\n    partitions: 60\n")
    _, said = kac(cluster, capsys, words[0], *(str(file) if word == "FILE" else word for word in words[1:]))
    assert "remote storage" in said or "delete none of them" in said
    assert cluster.call(lambda each: len(each.state.topics["__remote_log_metadata"].partitions)) == 1


def test_files_never_prune_them(cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "wanted.yaml"
    file.write_text("version: 1\ntopics:\n  orders: {}\n")
    code, said = kac(cluster, capsys, "apply", "-f", str(file), "--prune", "topics=_*", "--yes")
    assert code != 0
    assert "topic-deleted=_schemas" in said
    assert "topic __remote_log_metadata" not in said


def test_an_option_that_would_do_nothing_is_refused(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kac(cluster, capsys, "topics", "--delete", "--topic", "empty", "--partitions", "3", "--yes") == (
        2,
        "kac: --delete takes no --partitions",
    )
    assert kac(cluster, capsys, "acls", "--list", "--allow-host", "10.0.0.1")[0] == 2
    assert kac(cluster, capsys, "quotas", "--list", "--delete-config", "producer_byte_rate")[0] == 2
    assert "empty" in topics(cluster)
    for operation in ("READ", "WRITE"):
        words = ("--allow-principal", f"User:{operation}", "--operation", operation, "--topic", "orders", "--yes")
        assert kac(cluster, capsys, "acls", "--add", *words, "--accept", "first-acl")[0] == 0
    said = kac(cluster, capsys, "acls", "--list", "--operation", "WRITE")[1]
    assert "User:WRITE" in said
    assert "User:READ" not in said


def test_names_that_collide_are_refused_when_they_are_staged(
    cluster: ThreadedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = kac(cluster, capsys, "run", "-e", "create topic a.b partitions=1; create topic a_b partitions=1")
    assert "the plan creates topic a.b, and names may not differ in '.' and '_' alone" in said
    cluster.call(lambda each: add_topic(each.state, "x_y.z", 1, 1))
    said = kac(cluster, capsys, "run", "-e", "create topic x.y_z partitions=1")[1]
    assert "topic x_y.z exists, and names may not differ" in said


async def test_marked_topics_are_deleted_by_their_number(cluster: ThreadedCluster) -> None:
    async with driven_on(cluster) as it:
        await it.press("2", shows="tmp-4")
        await it.press("slash")
        await it.type("tmp-", "enter", "asterisk", "D", shows="staged: 5")
        await it.press("7", "A", shows="Type 5, the subject of topic-deleted")
        await it.type("5", "enter", shows="applied: 5 entities in 1 request")
    assert not set(TMP) & topics(cluster)


# -- `kac run` estimates the bytes that a shorter retention deletes ----------------------------------------------------

DAY = 86_400_000
RECORDS, RECORD, SEGMENT = 10, 400_000, 1_048_576
BROKERS = [1, 2]
Estimate = Callable[..., str]


@pytest.fixture(scope="module")
def ten_days() -> Iterator[ThreadedCluster]:
    """Provide a cluster with two brokers and two topics. The topic orders has two partitions, the first of which has
    a record of 400 kB for each of the last ten days. The topic wide has 2,500 partitions.
    """
    with run_in_thread(spec.ClusterSpec(brokers=2)) as running:
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
def estimate(ten_days: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> Estimate:
    def run(script: str, *options: str) -> str:
        cli.run(["run", "-b", ten_days.bootstrap, "-e", script, *options])
        return capsys.readouterr().out

    return run


def deletes(estimate: Estimate, edit: str) -> object:
    staged, plan = (json.loads(line) for line in estimate(f"{edit}; plan", "--output", "json").splitlines())
    (row,) = plan["plan"]
    assert staged["staged"][0]["deletes"] is None  # before the first read
    return row["deletes"]


def test_a_plan_tells_what_goes_by_time_by_size_and_altogether(estimate: Estimate) -> None:
    found = deletes(estimate, "set topic orders retention.ms=4d")
    assert isinstance(found, dict)
    assert (found["partitions"], found["partitions_unknown"]) == (2, 0)
    # Six of ten records are too old: 2.4 MB on each replica. The segment of the seventh may begin before them, so they
    # stay.
    assert found["bytes_least"] <= 2 * (6 * RECORD - SEGMENT) < 2 * 2 * SEGMENT <= 2 * 6 * RECORD <= found["bytes_most"]
    # The sizes of ten records tell little about the sizes of six of them.
    assert found["bytes_most"] - found["bytes_least"] <= 2 * (SEGMENT + 8 * RECORD)
    assert "MiB are deleted within minutes" in estimate("set topic orders retention.ms=4d; plan")
    by_size = deletes(estimate, "set topic orders retention.bytes=2MiB")
    assert isinstance(by_size, dict)
    assert by_size["bytes_most"] - by_size["bytes_least"] == 2 * SEGMENT
    assert by_size["bytes_least"] <= 2 * SEGMENT <= by_size["bytes_most"]
    everything = deletes(estimate, "set topic orders retention.ms=1h")
    assert isinstance(everything, dict)
    assert everything["bytes_least"] == everything["bytes_most"]
    assert 2 * RECORDS * RECORD <= everything["bytes_most"] <= 2 * RECORDS * (RECORD + 1_000)


def test_a_check_tells_it_too_and_what_keeps_more_is_not_looked_at(estimate: Estimate) -> None:
    assert "are deleted within minutes" in estimate("set topic orders retention.ms=1d; check")
    assert "no whole segment is deleted at once" in estimate("set topic orders retention.ms=30d; check")
    assert deletes(estimate, "set topic wide retention.ms=30d") is None


def test_of_many_partitions_some_are_looked_at_and_that_is_said(estimate: Estimate) -> None:
    assert deletes(estimate, "set topic wide retention.ms=1d") == {
        "bytes_least": 0,
        "bytes_most": 0,
        "partitions": 2_000,
        "partitions_unknown": 500,
    }
    assert "2,000 of 2,500 partitions looked at" in estimate("set topic wide retention.ms=1d; plan")


class Operator:
    """A terminal's input on which an operator answers no to all questions."""

    answers = True
    keeps_secrets = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def line(self, question: str) -> str:
        self.asked.append(question)
        return "no"

    async def secret(self, question: str) -> Secret:
        raise AssertionError(question)


async def test_who_is_asked_is_told_before(ten_days: ThreadedCluster, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = (text.rpartition(":") for text in ten_days.bootstrap.split(","))
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
