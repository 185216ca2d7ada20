"""Tests of the embedded cluster's state: saved and restored across restarts, and filled by scenarios."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from console.admin.client import AdminClient
from console.admin.groups import describe_groups, list_groups
from console.admin.settings import ConnectionSettings
from console.embedded import java, partition_log, partitions, replica_dirs, replicas
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.scenarios.incident import BEHIND, LOADED, THROTTLED
from console.embedded.scenarios.quiet import GROUPS
from console.embedded.spec import ClusterSpec, clusters_of
from console.embedded.state_file import CODECS, StateFileError, encode_state, write_state
from console.model.config import topic_resource
from tests.embedded import raw_client, test_cluster
from tests.embedded.record_batches import batch, fetch, produce, values
from tests.support.children import async_child
from tests.support.kafka_messages import with_fields
from tests.support.lags import group_lag
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
        test_cluster.add_topic(cluster, "ünïcode")
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
    """After a restart, replicas are in the same log directories, and a running copy continues as if the time between
    had been spent copying.
    """
    dirs, clock = ("/data1", "/data2"), ManualClock()
    spec = ClusterSpec(brokers=1, static_configs={"log.dirs": ",".join(dirs)}, state_file=tmp_path / "state")
    async with EmbeddedCluster(spec, clock) as cluster:
        cluster.state.put_topic(replicas.new_topic("orders", ((1,), (1,)), (1,)))
        topic = cluster.state.topics["orders"]
        (there,) = {*dirs} - {replica_dirs.dir_of(cluster, topic, 0, 1)}
        for number in (0, 1):
            cluster.state.logs["orders", number] = partition_log.PartitionLog(
                older_bytes=(number + 1) * replica_dirs.BYTES_PER_SECOND
            )
            replica_dirs.start_copy(cluster, topic, number, 1, there)
        await a_copy_ends(cluster, clock)
    async with EmbeddedCluster(spec, clock) as again:
        topic = again.state.topics["orders"]
        assert (replica_dirs.dir_of(again, topic, 0, 1), replica_dirs.copy_of(again, topic, 0, 1)) == (there, None)
        assert replica_dirs.copy_of(again, topic, 1, 1) == (there, 0.5)
        await a_copy_ends(again, clock)
        assert (replica_dirs.dir_of(again, topic, 1, 1), replica_dirs.copy_of(again, topic, 1, 1)) == (there, None)


async def a_copy_ends(cluster: EmbeddedCluster, clock: ManualClock) -> None:
    """Advance the clock second by second until a copy ends. Raises TimeoutError after `PATIENCE` seconds."""
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


# -- Java's hashes and the order of its maps, compared with Java -------------------------------------------------------


def test_hashes_of_texts() -> None:
    assert java.java_hash("") == 0
    assert java.java_hash("hello") == 99162322
    assert java.java_hash("Aa") == java.java_hash("BB") == 2112


def test_the_order_of_a_map() -> None:
    """`hash_order` gives the order of Java's HashMap, in which keys with colliding hashes keep the order of their
    insertion.
    """
    assert java.hash_order(["BB", "Aa", "b", "a"]) == ["BB", "Aa", "a", "b"]
    keys = ["retention.ms", "message.timestamp.type", "cleanup.policy", "segment.ms", "no.such.key", "compression.type"]
    assert java.hash_order(keys) == [
        "compression.type",
        "cleanup.policy",
        "message.timestamp.type",
        "retention.ms",
        "segment.ms",
        "no.such.key",
    ]


def test_a_map_that_has_grown() -> None:
    order = (18, 17, 19, 14, 13, 16, 15, 1, 10, 0, 12, 11, 5, 4, 3, 2, 9, 8, 7, 6)
    assert java.hash_order(f"key-{number}" for number in range(20)) == [f"key-{number}" for number in order]


# -- records and groups of the scenarios -------------------------------------------------------------------------------


async def test_groups_of_a_scenario_have_members_and_lag() -> None:
    with run_in_thread(ClusterSpec(scenario="quiet")) as cluster:
        hosts = (text.rpartition(":") for text in cluster.bootstrap.split(","))
        with AdminClient(ConnectionSettings(tuple((host, int(port)) for host, _, port in hosts))) as client:
            listing = await client.run(list_groups)
            assert {name: group.state for name, group in listing.groups.items()} == {
                name: "Stable" if clients else "Empty" for name, _, clients, _ in GROUPS
            }
            described = await client.run(lambda link: describe_groups(link, ("billing",)))
            billing = described.groups["billing"]
            assert [member.client_id for member in billing.members or ()] == ["billing-1", "billing-2", "billing-3"]
            lag = await client.run(lambda link: group_lag(link, "billing"))
            assert {part.topic for part in lag.partitions} == {"checkout.orders", "checkout.payments"}
            assert all(0 < part.lag < 20 for part in lag.partitions)


async def test_the_last_records_of_a_scenario_can_be_read_and_its_logs_have_sizes() -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster:
        log = cluster.state.logs[LOADED, 0]
        leader = cluster.state.topics[LOADED].partitions[0].leader
        async with raw_client.RawClient(cluster, leader) as client:
            got = await fetch(client, log.start, topic=LOADED)
            assert (got.high_watermark, len(values(got.records))) == (log.end, 3)
            assert (
                await produce(client, batch(b"a", times=[int(cluster.clock.time() * 1000)]), LOADED)
            ).base_offset == (got.high_watermark)
        assert partitions.partition_size(cluster.state, LOADED, 0) > 10**6


async def test_a_client_is_held_back_while_a_group_falls_behind() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="incident", live=True), clock) as cluster:
        log, begun = cluster.state.logs[LOADED, 0], clock.time()
        group = cluster.state.groups[BEHIND]
        lag = log.end - group.offsets[LOADED, 0].offset
        async with raw_client.RawClient(cluster) as client:
            while clock.time() < begun + 60:
                clock.advance(0.25)
                await client.ask("api_versions", 0, with_fields())
        sent = cluster.counters.total("produce", client=THROTTLED).bytes_in
        assert 65_536 * 20 < sent < 65_536 * 75
        assert log.end - group.offsets[LOADED, 0].offset > lag


async def test_groups_and_the_newest_records_are_there_after_a_restart(tmp_path: Path) -> None:
    spec = ClusterSpec(scenario="incident", state_file=tmp_path / "state")
    async with EmbeddedCluster(spec) as cluster:
        leader = cluster.state.topics[LOADED].partitions[0].leader
        async with raw_client.RawClient(cluster, leader) as client:
            now = int(cluster.clock.time() * 1000)
            for place in range(100):
                await produce(client, batch(b"%d" % place * 1000, times=[now]), LOADED)
            cluster.state.put_topic(replicas.new_topic("small", [(leader,)], cluster.state.alive()))
            for place in range(100):
                await produce(client, batch(b"%d" % place * 1000, times=[now]), "small")
        groups, was = dict(cluster.state.groups), cluster.state.logs[LOADED, 0]
        end, size = was.end, partitions.partition_size(cluster.state, LOADED, 0)
    assert (tmp_path / "state").stat().st_size < 500_000
    async with EmbeddedCluster(spec) as again:
        log = again.state.logs[LOADED, 0]
        assert (log.start, log.end, partitions.partition_size(again.state, LOADED, 0)) == (was.start, end, size)
        assert end - 100 < log.batches[0].base_offset < end
        small = again.state.logs["small", 0]
        assert 0 < small.start == small.batches[0].base_offset < small.end == 100
        for name, group in groups.items():
            found = again.state.groups[name]
            assert (found.offsets, found.state, list(found.members)) == (
                group.offsets, group.state, list(group.members),
            )  # fmt: skip
        async with raw_client.RawClient(again, leader) as client:
            assert values((await fetch(client, log.end - 1, topic=LOADED)).records) == [b"99" * 1000]
            assert (await produce(client, batch(b"a", times=[now]), LOADED)).base_offset == end


async def test_what_was_produced_is_written_soon(tmp_path: Path) -> None:
    path = tmp_path / "state"
    async with EmbeddedCluster(ClusterSpec(scenario="quiet", state_file=path)) as cluster:
        before = path.stat().st_mtime_ns
        leader = cluster.state.topics[LOADED].partitions[0].leader
        async with raw_client.RawClient(cluster, leader) as client:
            await produce(client, batch(b"a", times=[int(cluster.clock.time() * 1000)]), LOADED)
            async with asyncio.timeout(PATIENCE):
                while path.stat().st_mtime_ns == before:
                    await client.ask("api_versions", 0, with_fields())


@pytest.mark.parametrize("scenario", ["quiet", "incident"])
async def test_most_topics_are_written_to_and_read(scenario: str) -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario=scenario, live=True), clock) as cluster:
        state = cluster.state

        def ends() -> dict[str, int]:
            return {name: sum(log.end for (topic, _), log in state.logs.items() if topic == name) for name in topics}

        topics = [name for name, topic in state.topics.items() if not topic.internal]
        before, begun = ends(), clock.time()
        lags = {name: lag_of(cluster, name) for name in ("billing", "warehouse", "fraud-check")}
        async with raw_client.RawClient(cluster) as client:
            while clock.time() < begun + 20:
                clock.advance(0.25)
                await client.ask("api_versions", 0, with_fields())
        after = ends()
        busy = [name for name in topics if after[name] > before[name]]
        assert len(busy) > len(topics) / 2
        assert {name: lag_of(cluster, name) for name in lags} == lags


def lag_of(cluster: EmbeddedCluster, group: str) -> int:
    return sum(cluster.state.logs[at].end - each.offset for at, each in cluster.state.groups[group].offsets.items())
