"""Tests of `kac lake run` on real clusters: the records of controllers, and the log lines that were shipped into a
topic, are in the lake exactly once, whichever process is killed.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped]
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]
from aiokafka.admin import NewTopic as AIOKafkaNewTopic
from aiokafka.helpers import create_ssl_context  # type: ignore[import-untyped]

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.collecting.doctor import checks
from console.collecting.results import status
from console.lake.lake import Lake
from console.lake.reader import Gone
from console.lake.schema import HISTORY, KRAFT_RECORD, REQUEST
from console.model import changes
from console.model.codes import SET
from console.model.config import topic_resource
from tests.lake.request_lines import alter_configs, produce
from tests.lake.small_site import KEY
from tests.support import children, patience, seen_processes
from tests.support.kafka_cluster import KafkaCluster
from tests.support.lake_reading import rows_in

WAVE = 40
"""The number of log lines in a `wave`, which are shipped together."""
READABLE = WAVE - 3
"""The number of readable requests in a wave."""
LEFT = READABLE - 10
"""The number of readable requests in a wave whose first ten lines were deleted from the topic."""
AT = datetime(2026, 11, 21, 10, 59, 30, 123000)
Line = tuple[bytes | None, bytes]
"""The key and the value of a record that carries a log line."""


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.timeout(3600)
@pytest.mark.takes(95)
async def test_everything_is_in_the_lake_once_and_what_was_deleted_before_is_said(
    plain_cluster: KafkaCluster, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kills: int
) -> None:
    """Although the run is killed again and again, each line is in the lake once. If records are deleted, by
    retention or a request, before a run has read them, the report and the lake name the partition and the number
    of lost offsets.
    """
    configure(monkeypatch, tmp_path, f'[contexts.here]\n"bootstrap.servers" = "{plain_cluster.bootstrap}"\n')
    mine, lines, short = plain_cluster.cluster_id, f"{name}-lines", f"{name}-short"
    controllers = [f"{host}:{port}" for host, port in plain_cluster.controller_addresses]
    whole = {"id": mine, "context": "here", "controllers": controllers, "request-topic": lines}
    name_sources(lake, whole, {"id": "x", "context": "here", "request-topic": short})
    with AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses)) as client:
        topics = (changes.NewTopic(name, 1, 1), changes.NewTopic(lines, 2, 1), changes.NewTopic(short, 2, 1))
        await client.run(send, changes.CreateTopics(topics), validate_only=False)
        try:
            for number in range(kills + 1):
                if number < 2:
                    for partition in range(2):
                        await ship(to(plain_cluster), short, wave(number), partition)
                if number == 1:
                    deleted = {changes.LogTarget(short, 0): WAVE + 10, changes.LogTarget(short, 1): 2 * WAVE}
                    await client.run(send, changes.DeleteRecords(deleted), validate_only=False)
                process = await started(lake, "run")
                await ship(to(plain_cluster), lines, wave(number))
                await retain(client, name, number)
                await until(lambda number=number: taken(lake, mine) >= (number + 1) * READABLE)  # type: ignore[misc]
                await until(lambda number=number: is_shown(lake, name, number))  # type: ignore[misc]
                await until(lambda number=number: taken(lake, "x") >= 2 * READABLE + bool(number) * LEFT)  # type: ignore[misc]
                process.send_signal(signal.SIGTERM if number == kills else signal.SIGKILL)
                assert await process.wait() == (0 if number == kills else -signal.SIGKILL)
        finally:
            await client.run(send, changes.DeleteTopics((name, lines, short)), validate_only=False)
    waves = kills + 1
    assert taken(lake, mine) == waves * READABLE
    of_mine = f"cluster_id = '{mine}'"
    changed = [key for (key,) in rows_in(lake, REQUEST, "alter.entity_key", f"alter IS NOT NULL AND {of_mine}")]
    assert sorted(changed) == sorted(f"t-{number}" for number in range(waves))
    assert len(rows_in(lake, REQUEST, "1", f"quarantined IS NOT NULL AND {of_mine}")) == 2 * waves
    records = rows_in(lake, KRAFT_RECORD, "log_offset, record_index, in_snapshot", "quarantined IS NULL")
    assert len(records) > waves
    assert len(set(records)) == len(records)
    values = rows_in(lake, HISTORY, "new_value", f"entity_key = '{name}' AND attr = 'retention.ms'")
    assert sorted(values) == sorted((str(700_000_000 + number),) for number in range(waves))

    assert taken(lake, "x") == 2 * READABLE + LEFT
    lost = {f"x {short}-0": 10, f"x {short}-1": WAVE}
    assert [each["lost"] for each in lake.runs() if each["lost"]] == [lost]
    assert kills > 1 or [each.lost for each in status(lake).runs] == [lost, {}]
    assert status(lake).gone == (
        Gone("x", f"{short}-0", WAVE, "10 offsets are lost: they were deleted before they were read"),
        Gone("x", f"{short}-1", WAVE, f"{WAVE} offsets are lost: they were deleted before they were read"),
    )
    (check,) = (each for each in checks(os.environ, lake.where) if each.name == "request logs")
    gone = f"{short}-0 of x (1 time), {short}-1 of x (1 time)"
    assert check.found == f"lines were deleted before they were read: {gone}"


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_a_topic_of_the_same_name_is_another_topic(
    plain_cluster: KafkaCluster, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """If a topic is deleted and created again, and has more lines than were read of the old one, kac reads it from its
    first record, and reports that offsets may be lost. A topic with the same name on another cluster is refused
    until the operator confirms it.
    """
    configure(monkeypatch, tmp_path, f'[contexts.here]\n"bootstrap.servers" = "{plain_cluster.bootstrap}"\n')
    name_sources(lake, {"id": "x", "context": "here", "request-topic": name})
    with AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses)) as client:
        for waves in (1, 2):
            await client.run(send, changes.CreateTopics((changes.NewTopic(name, 1, 1),)), validate_only=False)
            for number in range(waves):
                await ship(to(plain_cluster), name, wave(number), 0)
            assert await (await started(lake, "update")).wait() == 0
            if waves == 1:
                await client.run(send, changes.DeleteTopics((name,)), validate_only=False)
        assert taken(lake, "x") == 3 * READABLE
        why = "0 or more offsets are lost: the topic was deleted and created again"
        assert status(lake).gone == (Gone("x", f"{name}-0", WAVE, why),)
        assert next(lake.runs())["notes"] == [f"x {name}-0 from offset {WAVE} on: {why}"]

        kept = kept_topic(lake)
        assert json.loads(kept.read_text())[0] == plain_cluster.cluster_id
        await ship(to(plain_cluster), name, wave(2), 0)
        kept.write_text(json.dumps(["of-another-cluster", "AAAAAAAAAAAAAAAAAAAAAg"]))
        refused = await started(lake, "update")
        _, said = await refused.communicate()
        assert refused.returncode == 1
        assert (
            f"until now, and at {plain_cluster.bootstrap} the cluster {plain_cluster.cluster_id} answers"
            in said.decode()
        )
        assert taken(lake, "x") == 3 * READABLE
        await client.run(send, changes.DeleteTopics((name,)), validate_only=False)


@pytest.mark.takes(35)
async def test_a_topic_is_read_as_its_context_says(
    secure_cluster: KafkaCluster, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """kac reads a topic with the login of its context, here SASL over TLS with a trust store, and no process and no
    file shows the password. If Spark's source does not support the login, kac refuses it and names the context.
    """
    password = secure_cluster.users["admin"]
    login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="{password}";'
    text = (
        f'[contexts.logs]\n"bootstrap.servers" = "{secure_cluster.bootstrap}"\n"security.protocol" = "SASL_SSL"\n'
        f'"sasl.mechanism" = "SCRAM-SHA-256"\n"sasl.jaas.config" = {json.dumps(login)}\n'
        f'"ssl.truststore.type" = "PEM"\n"ssl.truststore.location" = "{secure_cluster.authority.pem}"\n'
    )
    configure(monkeypatch, tmp_path, text)
    name_sources(lake, {"id": "x", "context": "logs", "request-topic": name})
    lake.files.replace(lake.path("hmac.key"), KEY)
    monkeypatch.setenv(seen_processes.MARK, str(os.getpid()))
    client = AIOKafkaAdminClient(**as_admin(secure_cluster))
    await client.start()
    try:
        await client.create_topics([AIOKafkaNewTopic(name, 1, 1)])
        await ship(AIOKafkaProducer(**as_admin(secure_cluster)), name, wave(0))
        with seen_processes.seen(str(os.getpid())) as processes:
            process = await started(lake, "update")
            await until(lambda: taken(lake, "x") == READABLE)
            process.send_signal(signal.SIGINT)  # what follows takes as long again, and does not read the topic
            assert await process.wait() == 130
    finally:
        await client.delete_topics([name])
        await client.close()
    assert taken(lake, "x") == READABLE
    assert files_with(password, tmp_path) == [tmp_path / "config/kac/config.toml"]
    assert processes.of_programs("SparkSubmit")
    assert [processes.has(each) for each in (password.encode(), KEY)] == [False, False]
    configure(monkeypatch, tmp_path, text.replace("SCRAM-SHA-256", "OAUTHBEARER"))
    refused = await started(lake, "update")
    _, said = await refused.communicate()
    assert refused.returncode != 0
    assert b"logs" in said


def kept_topic(lake: Lake) -> Path:
    (kept,) = Path(lake.where, "checkpoints").glob("request_topic-*.topic")
    return kept


def name_sources(lake: Lake, *clusters: dict[str, Any]) -> None:
    Path(lake.where, "sources.yaml").write_text(json.dumps({"version": "1", "clusters": clusters}))


def files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def configure(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str) -> None:
    file = folder / "config/kac/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))


async def started(lake: Lake, job: str) -> asyncio.subprocess.Process:
    words = ("-m", "console", "lake", job, "--lake", lake.where, "--master", "local[2]")
    pipes = {"stdout": asyncio.subprocess.DEVNULL, "stderr": asyncio.subprocess.PIPE}
    return await children.async_child(sys.executable, *words, env=dict(os.environ), **pipes)  # type: ignore[arg-type]


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + patience.LONG_PATIENCE
    while not await asyncio.to_thread(is_so):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.3)


def is_shown(lake: Lake, topic: str, number: int) -> bool:
    where = f"entity_key = '{topic}' AND new_value = '{700_000_000 + number}'"
    return bool(rows_in(lake, HISTORY, "1", where))


def taken(lake: Lake, cluster_id: str) -> int:
    """Return the number of requests that the lake has for a cluster."""
    where = f"second IS NOT NULL AND cluster_id = '{cluster_id}'"
    return sum(count for (count,) in rows_in(lake, REQUEST, "second.requests", where))


async def retain(client: AdminClient, topic: str, number: int) -> None:
    op = changes.ConfigOp("retention.ms", SET, str(700_000_000 + number))
    await client.run(send, changes.AlterConfigs({topic_resource(topic): (op,)}), validate_only=False)


def as_admin(cluster: KafkaCluster) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "admin",
        "sasl_plain_password": cluster.users["admin"],
        "ssl_context": create_ssl_context(cafile=str(cluster.authority.pem)),
    }


def to(cluster: KafkaCluster) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=cluster.bootstrap)


async def ship(producer: AIOKafkaProducer, topic: str, lines: Sequence[Line], partition: int | None = None) -> None:
    await producer.start()
    try:
        for key, value in lines:
            await producer.send(topic, value, key=key, partition=partition)
        await producer.flush()
    finally:
        await producer.stop()


def wave(number: int) -> list[Line]:
    """Return `WAVE` log lines of two brokers: requests, some of them in the same second, a change, and lines that
    kac can't read. number: the number of the wave; it determines the second of the requests and the name of the
    changed topic.
    """
    at = AT + timedelta(seconds=number % 60)
    made = [produce(100, at=at + timedelta(milliseconds=place), principal="User:p") for place in range(WAVE - 4)]
    lines = [(str(1 + place % 2).encode(), each.line.encode()) for place, each in enumerate(made)]
    change = alter_configs([("retention.ms", 0, "1")], resource=(2, f"t-{number}"), at=at, correlation_id=number)
    wrapped = json.dumps({"@timestamp": "x", "message": change.line.rstrip("\n")}).encode()
    return [
        *lines,
        (b"1", wrapped),
        (b"1", b"[2026-11-21 10:00:00,000] DEBUG Completed request:{torn (kafka.request.logger) %d\n" % number),
        (None, b"no key %d" % number),
        (b"2", b"another logger's line"),
    ]
