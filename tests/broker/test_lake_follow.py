"""`kac lake follow` on a real cluster: what controllers write is in the lake, every record once, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from console.admin.changes import send
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.contexts import Context
from console.contexts.console_settings import ConsoleSettings
from console.history.schema import KRAFT_RECORD
from console.history.store import Lake
from console.lake.follow import MetadataLogFollowed, Taken, follow
from console.model.changes import AlterConfigs, ConfigOp, CreateTopics, DeleteTopics, NewTopic
from console.model.codes import SET
from console.model.config import topic_resource
from console.model.failure import Failure
from console.session.session import Session
from console.tui.app import Console
from tests.history.lake_rows import rows_of
from tests.support.kafka_cluster import KafkaCluster
from tests.support.patience import PATIENCE
from tests.tui.console_app import Driven

KILLS = 2
_COLUMNS = ("log_offset", "record_index", "in_snapshot", "record_type", "payload")


async def test_what_the_controllers_write_is_taken_in_once_whoever_is_killed(
    plain_cluster: KafkaCluster, tmp_path: Path
) -> None:
    lake, topic = Lake.create(str(tmp_path / "lake")), "followed"
    client = AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses))
    client.start()
    try:
        await client.run(send, CreateTopics((NewTopic(topic, 1, 1),)), validate_only=False)
        for number in range(1, KILLS + 1):
            process = await _started(plain_cluster, lake)
            await _set(client, topic, number)
            await until(partial(_has, lake, topic, number))
            # While it follows on; the next process goes on where the lake says.
            await _set(client, topic, 100 + number)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        process = await _started(plain_cluster, lake)
        await _set(client, topic, 1000)
        await until(partial(_has, lake, topic, 1000))
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
    finally:
        await client.run(send, DeleteTopics((topic,)), validate_only=False)
        await asyncio.to_thread(client.close)
    found = _rows(lake)
    offsets = [row["log_offset"] for row in found if not row["in_snapshot"]]
    assert len(offsets) > KILLS
    assert len({(row["log_offset"], row["record_index"], row["in_snapshot"]) for row in found}) == len(found)
    for number in (*range(1, KILLS + 1), *range(101, 101 + KILLS), 1000):
        assert len([row for row in found if _is_of(row, topic, number)]) == 1


async def test_the_pane_shows_a_change_by_itself_before_any_build(
    plain_cluster: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """From the controllers to the screen: another client's change, and one of this host with its author."""
    lake = Lake.create(str(tmp_path / "lake"))
    monkeypatch.setenv("KAC_LAKE", lake.where)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = ConnectionSettings(bootstrap=plain_cluster.addresses)
    with AdminClient(settings) as client:
        process = await _started(plain_cluster, lake)
        try:
            await client.run(send, CreateTopics((NewTopic(name, 2, 1),)), validate_only=False)
            await until(lambda: any(f'"{name}"' in row["payload"] for row in _rows(lake)))
            app = Console(Session(client, Context("followed", "test", settings)), ConsoleSettings())
            async with app.run_test(size=(120, 40)) as pilot:
                it = Driven(app, pilot, client)
                await it.press("8")
                await it.shows(f"topic {name} partitions")
                assert it.line(f"topic {name} partitions").split()[0] in ("+", "▸+")
                await _set(client, name, 1)
                await it.shows(f"topic {name} retention.ms")
                assert it.line(f"topic {name} retention.ms").split()[-1] == "–"
                await it.command(f"set topic {name} retention.ms=3d")
                await it.press("7", "A", "y")
                await it.shows("applied: ")
                await it.press("8")
                await it.shows("→ 3 d")
                assert it.line("→ 3 d").split()[-1] == "ANONYMOUS"
        finally:
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
            await client.run(send, DeleteTopics((name,)), validate_only=False)
    assert {release.job for release in lake.releases()} == {"follow"}


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_rounds_build_what_the_controllers_write(plain_cluster: KafkaCluster, tmp_path: Path, name: str) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    with AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses)) as client:
        process = await _started(plain_cluster, lake, "run", "--every", "5s", "--master", "local[1]")
        try:
            await client.run(send, CreateTopics((NewTopic(name, 2, 1),)), validate_only=False)
            await until(lambda: _built(lake, name, ":partitions"))
            await _set(client, name, 1)
            await until(lambda: _built(lake, name, "retention.ms"))
        finally:
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
            await client.run(send, DeleteTopics((name,)), validate_only=False)


async def test_it_goes_on_after_what_fails_and_says_it_once(plain_cluster: KafkaCluster, tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    told: list[Taken | Failure] = []
    stop = threading.Event()
    client = AdminClient(ConnectionSettings(bootstrap=plain_cluster.addresses))
    client.start()
    brokers = plain_cluster.addresses
    following = asyncio.create_task(
        asyncio.to_thread(
            follow,
            [MetadataLogFollowed(lake, client, brokers, plain_cluster.cluster_id)],
            told.append,
            stop=stop,
        )
    )
    try:
        await until(lambda: bool(told))
    finally:
        stop.set()
        await following
        await asyncio.to_thread(client.close)
    assert [each.name for each in told if isinstance(each, Failure)] == ["NOT_A_CONTROLLER"]
    assert not _rows(lake)


async def _started(cluster: KafkaCluster, lake: Lake, job: str = "follow", *more: str) -> asyncio.subprocess.Process:
    controllers = ",".join(f"{host}:{port}" for host, port in cluster.controller_addresses)
    words = ("lake", job, "-b", cluster.bootstrap, "--controller", controllers, "--lake", lake.where, *more)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "console", *words, stdout=asyncio.subprocess.DEVNULL, env=dict(os.environ)
    )


async def _set(client: AdminClient, topic: str, number: int) -> None:
    op = ConfigOp("retention.ms", SET, str(700_000_000 + number))
    await client.run(send, AlterConfigs({topic_resource(topic): (op,)}), validate_only=False)


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not await asyncio.to_thread(is_so):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


def _has(lake: Lake, topic: str, number: int) -> bool:
    return any(_is_of(row, topic, number) for row in _rows(lake))


def _built(lake: Lake, topic: str, attribute: str) -> bool:
    return any(topic in row and attribute in row for row in rows_of(lake, "history"))


def _is_of(row: dict[str, Any], topic: str, number: int) -> bool:
    is_its = row["record_type"] == "ConfigRecord" and f'"{topic}"' in row["payload"] and not row["in_snapshot"]
    return is_its and str(700_000_000 + number) in row["payload"]


def _rows(lake: Lake) -> list[dict[str, Any]]:
    without = {each.name for each in KRAFT_RECORD.columns} - set(_COLUMNS)
    names = [each.name for each in KRAFT_RECORD.columns if each.name in _COLUMNS]
    return [dict(zip(names, row, strict=True)) for row in rows_of(lake, KRAFT_RECORD.name, without=without)]
