"""Triage of Connect's workers: what it names while they run, and that a record of it names the same without secrets."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console.admin.connect import describe_offsets
from console.admin.errors import BrokerError
from console.admin.recorded import InstantLoop
from console.admin.settings import ConnectionSettings, ConnectSettings, HttpSettings
from console.cli import main as cli
from console.contexts.context import parse_bootstrap
from console.contexts.own_file import CONFIG
from console.embedded.brokers import EmbeddedCluster, ThreadedCluster
from console.embedded.spec import ClusterSpec, ConnectSpec
from console.flight.anonymous import Anonymous
from console.flight.answer import CONNECT, Header
from console.flight.connect_answer import read
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.flight.pseudonyms import Pseudonyms
from console.model.config import ConfigResource, ConfigSet, text_in
from console.model.connect import connector_resource
from console.model.parts import Part
from console.model.snapshot import ReadFailure, Snapshot
from console.session.replay import Replay
from console.triage.diagnosis import Verdict
from tests.support import worlds
from tests.support.connect_cluster import ask, until
from tests.support.paces import poll_often
from tests.support.recorded_polls import replayed, timeless, watched
from tests.support.running_connectors import write_contexts

_NOWHERE = "/no/such"
cluster = worlds.cluster(
    ClusterSpec(brokers=1, connect=ConnectSpec(workers=2, missing={1: (_NOWHERE,), 2: (_NOWHERE,)})),
    worlds.topic("orders", 2, 1, brokers=(1,)),
)
SECRET = "hunter2222"
SINK = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "topics": "orders",
    "tasks.max": "2",
    "file": f"{_NOWHERE}/out",
    "key.converter.basic.auth.user.info": f"me:{SECRET}",
}


def settings_of(cluster: ThreadedCluster) -> ConnectionSettings:
    workers = [urlsplit(each) for each in cluster.connect_urls]
    found = tuple(HttpSettings(each.hostname or "", each.port or 0) for each in workers)
    return ConnectionSettings(parse_bootstrap(cluster.bootstrap), connect=(ConnectSettings("main", found),))


def create(cluster: ThreadedCluster, name: str, **changed: str) -> None:
    config = {**SINK, **{key.replace("_", "."): value for key, value in changed.items()}}
    reply = ask(cluster.connect_urls[0], "POST", "/connectors", {"name": name, "config": config})
    assert reply.status == 201, reply


def is_failed(cluster: ThreadedCluster, name: str) -> bool:
    tasks = ask(cluster.connect_urls[0], "GET", f"/connectors/{name}/status").body["tasks"]
    return bool(tasks) and all(each["state"] == "FAILED" for each in tasks)


@pytest.fixture
def verdicts(cluster: ThreadedCluster, tmp_path: Path) -> Callable[..., list[Verdict]]:
    def watch(polls: int, step: Callable[[int], None] = lambda _: None) -> list[Verdict]:
        file = tmp_path / "record"
        return asyncio.run(watched(cluster.bootstrap, file, polls, step, settings_of(cluster)))

    return watch


def causes(verdict: Verdict) -> dict[str, str]:
    return {each.claim.cause: each.claim.title for each in verdict.causes}


def test_a_failing_sink_is_named_and_its_record_names_it_without_a_secret(
    cluster: ThreadedCluster, tmp_path: Path, verdicts: Callable[..., list[Verdict]]
) -> None:
    create(cluster, "good", file=str(tmp_path / "out"))
    create(cluster, "bad sink")
    until(lambda: is_failed(cluster, "bad%20sink"), "the sink fails")
    live = verdicts(3)
    failed = "connector main/bad sink: 2 of 2 tasks failed: "
    assert causes(live[-1])["task-failed"].startswith(f"{failed}java.nio.file.NoSuchFileException")
    assert not live[-1].unexplained
    file = tmp_path / "record"
    again = replayed(file, [math.ceil(each.at.timestamp() * 1000) for each in live])
    assert timeless(again[-1]) == timeless(live[-1])
    configs, failures = shown_by(file)
    assert text_in(configs[connector_resource("main", "bad sink")], "topics") == "orders"
    login = configs[connector_resource("main", "bad sink")].get("key.converter.basic.auth.user.info")
    assert login is not None
    assert login.hidden
    assert [each.failure.name for each in failures if each.entity == "connector main/none"] == ["NOT_RECORDED"]
    answers = [each for each in FlightReader(file).answers() if each.api_key == CONNECT]
    assert answers
    assert not any(SECRET.encode() in each.body for each in answers)
    assert SECRET.encode() not in file.read_bytes()
    hidden = tmp_path / "anonymous"
    writer = FlightWriter(hidden, Header("", "", 0, "0"))
    sink = Anonymous(writer, Pseudonyms())
    for each in FlightReader(file).answers():
        sink.add(each)
    sink.close()
    found = [read(each.body) for each in FlightReader(hidden).answers() if each.api_key == CONNECT]
    assert {each.state for each in next(iter(found[-1].clusters.values())).connectors.values()} == {"RUNNING"}
    text = str(found)
    assert not any(name in text for name in ("bad sink", "orders", "/no/such", "good", "127.0.0.1"))
    named = causes(replayed(hidden, [math.ceil(live[-1].at.timestamp() * 1000)])[-1])
    assert "2 of 2 tasks failed: NoSuchFileException" in named["task-failed"]


def shown_by(file: Path) -> tuple[Mapping[ConfigResource, ConfigSet], Sequence[ReadFailure]]:
    """The configs of connectors that a replay shows at the end of a record, and what it can't."""

    async def work() -> Snapshot:
        reader = FlightReader(file)
        replay = Replay.of(reader, str(file))
        await replay.poll_at(reader.times[-1])
        await replay.session.read_configs([connector_resource("main", each) for each in ("bad sink", "none")])
        with pytest.raises(BrokerError, match="not in the record"):
            await replay.session.client.run(describe_offsets, "main/good")
        await replay.close()
        return replay.session.snapshot

    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        snapshot = runner.run(work())
    return snapshot.configs, snapshot.failures


def test_a_context_without_connect_says_nothing_of_it(cluster: ThreadedCluster, tmp_path: Path) -> None:
    create(cluster, "bad sink")
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    live = asyncio.run(watched(cluster.bootstrap, tmp_path / "record", 3, lambda _: None, settings))
    assert "connect" not in live[-1].unread
    assert not any("onnect" in each.what for each in live[-1].unknowable)
    assert "task-failed" not in causes(live[-1])
    assert not [each for each in FlightReader(tmp_path / "record").answers() if each.api_key == CONNECT]


async def _stop_workers(cluster: EmbeddedCluster) -> None:
    assert cluster.connect is not None
    for worker in (1, 2):
        await cluster.connect.worker_down(worker)


def test_workers_that_do_not_answer_are_unknown(
    cluster: ThreadedCluster, verdicts: Callable[..., list[Verdict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll_often(monkeypatch, 0.5, Part.CONNECT)
    create(cluster, "bad sink")

    def stop(number: int) -> None:
        if number == 1:
            cluster.run(_stop_workers)

    live = verdicts(6, stop)
    assert "connect" in live[-1].unread
    assert not live[-1].is_healthy
    assert "connect-unreachable" in causes(live[-1])


def test_what_was_restarted_and_failed_again_is_not_offered_another_restart(
    cluster: ThreadedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create(cluster, "bad sink")
    until(lambda: is_failed(cluster, "bad%20sink"), "the sink fails")
    file = tmp_path / "config.toml"
    write_contexts(cluster, file)
    monkeypatch.setenv(CONFIG, str(file))

    def steps() -> list[dict[str, str]]:
        for _ in range(10):  # on a busy machine not every part is read within a few seconds
            cli.run(["triage", "-c", "dev", "--for", "4s", "--output", "json"])
            found = json.loads(capsys.readouterr().out)
            if "connect" not in found["unread"]:
                return next(each["next"] for each in found["causes"] if each["cause"] == "task-failed")
        raise AssertionError(found)

    restart = "restart connector 'main/bad sink' failed"
    assert restart in str(steps())
    assert cli.run(["run", "-c", "dev", "-e", f"{restart}; apply --yes"]) == 0
    until(lambda: is_failed(cluster, "bad%20sink"), "it fails again")
    capsys.readouterr()
    after = steps()
    assert restart not in str(after)
    assert any("main/bad sink failed again within 10 min of the restart by " in each["text"] for each in after)
