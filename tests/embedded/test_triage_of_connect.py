"""Triage of Connect's workers: what it names while they run, and that a record of it names the same without secrets."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from console.admin.settings import ConnectionSettings, ConnectSettings, HttpSettings
from console.contexts.context import parse_bootstrap
from console.embedded.brokers import ThreadedCluster
from console.embedded.spec import ClusterSpec, ConnectSpec
from console.flight.anonymous import Anonymous, Pseudonyms
from console.flight.answer import CONNECT, Header
from console.flight.connect_answer import read
from console.flight.flight_reader import FlightReader
from console.flight.flight_writer import FlightWriter
from console.model.parts import Part
from console.triage.diagnosis import Verdict
from tests.support import worlds
from tests.support.connect_cluster import ask, until
from tests.support.paces import poll_often
from tests.support.recorded_polls import replayed, timeless, watched

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


def test_a_context_without_connect_says_nothing_of_it(cluster: ThreadedCluster, tmp_path: Path) -> None:
    create(cluster, "bad sink")
    settings = ConnectionSettings(parse_bootstrap(cluster.bootstrap))
    live = asyncio.run(watched(cluster.bootstrap, tmp_path / "record", 3, lambda _: None, settings))
    assert "connect" not in live[-1].unread
    assert not any("onnect" in each.what for each in live[-1].unknowable)
    assert "task-failed" not in causes(live[-1])
    assert not [each for each in FlightReader(tmp_path / "record").answers() if each.api_key == CONNECT]


def test_workers_that_do_not_answer_are_unknown(
    cluster: ThreadedCluster, verdicts: Callable[..., list[Verdict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll_often(monkeypatch, 0.5, Part.CONNECT)
    create(cluster, "bad sink")

    def stop(number: int) -> None:
        if number == 1:
            for worker in (1, 2):
                cluster.run(lambda each, worker=worker: each.connect.worker_down(worker))

    live = verdicts(6, stop)
    assert "connect" in live[-1].unread
    assert not live[-1].is_healthy
    assert "connect-unreachable" in causes(live[-1])
