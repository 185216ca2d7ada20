"""The state over restarts: whole or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.replica_dirs import BYTES_PER_SECOND, copy_of, dir_of, start_copy
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec, clusters_of
from console.embedded.state_file import CODECS, StateFileError, encode_state, write_state
from console.model.config import topic_resource
from tests.embedded.test_cluster_clients import add_topic
from tests.support.children import async_child
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE


def content(cluster: EmbeddedCluster) -> dict[str, Mapping[Any, Any]]:
    return {name: dict(cluster.state.tables.named(name)) for name in CODECS}


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("scenario", ["quiet", "incident", "groups"])
async def test_everything_is_there_after_a_restart(tmp_path: Path, scenario: str) -> None:
    spec = ClusterSpec(scenario=scenario, state_file=tmp_path / "state")
    async with EmbeddedCluster(spec) as cluster:
        add_topic(cluster, "ünïcode")
        cluster.state.remove_topic("checkout.orders")
        cluster.state.alter_config(topic_resource("checkout.payments"), {"retention.ms": "1"})
        before, cluster_id, end = content(cluster), cluster.state.cluster_id, cluster.state.log.end
        topic_id = cluster.state.topics["checkout.carts"].id
    async with EmbeddedCluster(spec) as again:
        assert content(again) == before
        assert again.state.cluster_id == cluster_id
        assert again.state.log.end >= end
        assert again.state.topics.name_of(topic_id) == "checkout.carts"
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
    assert names_in(tmp_path) == ["state"]


async def test_replicas_are_in_their_directories_after_a_restart(tmp_path: Path) -> None:
    """Also one that was being copied: the broker goes on, by the time that has passed."""
    dirs, clock = ("/data1", "/data2"), ManualClock()
    spec = ClusterSpec(brokers=1, static_configs={"log.dirs": ",".join(dirs)}, state_file=tmp_path / "state")
    async with EmbeddedCluster(spec, clock) as cluster:
        cluster.state.put_topic(new_topic("orders", ((1,), (1,)), (1,)))
        topic = cluster.state.topics["orders"]
        (there,) = {*dirs} - {dir_of(cluster, topic, 0, 1)}
        for number in (0, 1):
            cluster.state.logs["orders", number] = PartitionLog(older_bytes=(number + 1) * BYTES_PER_SECOND)
            start_copy(cluster, topic, number, 1, there)
        await a_copy_ends(cluster, clock)
    async with EmbeddedCluster(spec, clock) as again:
        topic = again.state.topics["orders"]
        assert (dir_of(again, topic, 0, 1), copy_of(again, topic, 0, 1)) == (there, None)
        assert copy_of(again, topic, 1, 1) == (there, 0.5)
        await a_copy_ends(again, clock)
        assert (dir_of(again, topic, 1, 1), copy_of(again, topic, 1, 1)) == (there, None)


async def a_copy_ends(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    """Turn the clock on by a second, and wait for it."""
    touched = asyncio.Event()
    await clock.asleep()
    cluster.state.touched.add(touched.set)
    clock.advance(1)
    async with asyncio.timeout(PATIENCE):
        await touched.wait()


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    cluster = EmbeddedCluster(ClusterSpec(scenario="quiet"))
    whole = encode_state(cluster.state, "quiet")
    write_state(path, whole)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateFileError, match="No space left"):
        write_state(path, b"other")
    assert path.read_bytes() == whole


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"format": "another"}'])
def test_a_file_that_is_no_state_is_refused_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state"
    path.write_text(text)
    with pytest.raises(StateFileError, match="move it away"):
        EmbeddedCluster(ClusterSpec(state_file=path))
    assert path.read_text() == text


def test_a_file_cut_short_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    whole = encode_state(EmbeddedCluster(ClusterSpec(scenario="quiet")).state, "quiet")
    path.write_bytes(whole.replace(b'"quotas"', b'"quota"'))
    with pytest.raises(StateFileError, match="is damaged"):
        EmbeddedCluster(ClusterSpec(scenario="quiet", state_file=path))


def test_a_file_of_another_scenario_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_state(path, encode_state(EmbeddedCluster(ClusterSpec(scenario="quiet")).state, "quiet"))
    with pytest.raises(StateFileError, match="belongs to scenario quiet"):
        EmbeddedCluster(ClusterSpec(scenario="incident", state_file=path))


def test_a_fleet_has_files_and_ports_apart(tmp_path: Path) -> None:
    fleet = clusters_of("fleet", ClusterSpec(port=20000, state_file=tmp_path / "state.json"))
    assert {name: spec.state_file for name, spec in fleet.items()} == {
        name: tmp_path / f"state-{name}.json" for name in ("production", "staging", "old")
    }
    assert [spec.port for spec in fleet.values()] == [20000, 20100, 20200]


RUN = """
import argparse
from console.embedded.cluster_command import add_options, run_cluster
parser = argparse.ArgumentParser()
add_options(parser)
raise SystemExit(run_cluster(parser.parse_args()))
"""


async def started(*argv: str) -> tuple[asyncio.subprocess.Process, str]:
    process = await async_child(
        sys.executable, "-c", RUN, *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        line = await process.stdout.readline()
    return process, line.decode()


async def test_the_command_tells_its_addresses_and_stops_on_sigterm() -> None:
    process, line = await started("--brokers", "2")
    addresses = [address.partition(":") for address in line.strip().split(",")]
    assert [host for host, _, _ in addresses] == ["127.0.0.1"] * 2
    for host, _, port in addresses:
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(PATIENCE):
        _, errors = await process.communicate()
    assert (process.returncode, errors) == (0, b"")


async def test_a_crash_loses_no_more_than_the_last_moment(tmp_path: Path) -> None:
    path = tmp_path / "state"
    process, _ = await started("--state", str(path))
    process.kill()
    await process.communicate()
    cluster = EmbeddedCluster(ClusterSpec(scenario="quiet", state_file=path))
    assert "checkout.orders" in cluster.state.topics


async def test_what_the_command_can_not_do_it_says_in_one_line(tmp_path: Path) -> None:
    for argv, code, words in (
        (("--brokers", "0"), 2, "1 to 100 brokers"),
        (("--fault", "nonsense"), 2, "unknown part of a fault"),
        (("--state", str(tmp_path)), 1, "can't read the state"),
    ):
        process, line = await started(*argv)
        _, errors = await process.communicate()
        assert (line, process.returncode) == ("", code)
        assert errors.decode().startswith("kac: ")
        assert words in errors.decode()
        assert "Traceback" not in errors.decode()
    process, line = await started()
    port = line.split(",")[0].rpartition(":")[2]
    second, nothing = await started("--port", port, "--brokers", "1")
    _, errors = await second.communicate()
    assert (nothing, second.returncode) == ("", 1)
    assert "can't listen" in errors.decode()
    process.terminate()
    await process.communicate()
