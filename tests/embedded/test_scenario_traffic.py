"""Records and groups of the scenarios: readers that keep up, one that lags, and a client that its quota holds back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.groups import describe_groups, list_groups
from console.admin.settings import ConnectionSettings
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.partitions import partition_size
from console.embedded.replicas import new_topic
from console.embedded.scenarios.incident import BEHIND, LOADED, THROTTLED
from console.embedded.scenarios.quiet import GROUPS
from console.embedded.spec import ClusterSpec
from tests.embedded.raw_client import RawClient
from tests.embedded.record_batches import batch, fetch, produce, values
from tests.support.kafka_messages import with_fields
from tests.support.lags import group_lag
from tests.support.manual_clock import ManualClock
from tests.support.patience import PATIENCE


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
        async with RawClient(cluster, leader) as client:
            got = await fetch(client, log.start, topic=LOADED)
            assert (got.high_watermark, len(values(got.records))) == (log.end, 3)
            assert (
                await produce(client, batch(b"a", times=[int(cluster.clock.time() * 1000)]), LOADED)
            ).base_offset == (got.high_watermark)
        assert partition_size(cluster.state, LOADED, 0) > 10**6


async def test_a_client_is_held_back_while_a_group_falls_behind() -> None:
    clock = ManualClock()
    async with EmbeddedCluster(ClusterSpec(scenario="incident", live=True), clock) as cluster:
        log, begun = cluster.state.logs[LOADED, 0], clock.time()
        group = cluster.state.groups[BEHIND]
        lag = log.end - group.offsets[LOADED, 0].offset
        async with RawClient(cluster) as client:
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
        async with RawClient(cluster, leader) as client:
            now = int(cluster.clock.time() * 1000)
            for place in range(100):
                await produce(client, batch(b"%d" % place * 1000, times=[now]), LOADED)
            cluster.state.put_topic(new_topic("small", [(leader,)], cluster.state.alive()))
            for place in range(100):
                await produce(client, batch(b"%d" % place * 1000, times=[now]), "small")
        groups, was = dict(cluster.state.groups), cluster.state.logs[LOADED, 0]
        end, size = was.end, partition_size(cluster.state, LOADED, 0)
    assert (tmp_path / "state").stat().st_size < 500_000
    async with EmbeddedCluster(spec) as again:
        log = again.state.logs[LOADED, 0]
        assert (log.start, log.end, partition_size(again.state, LOADED, 0)) == (was.start, end, size)
        assert end - 100 < log.batches[0].base_offset < end
        small = again.state.logs["small", 0]
        assert 0 < small.start == small.batches[0].base_offset < small.end == 100
        for name, group in groups.items():
            found = again.state.groups[name]
            assert (found.offsets, found.state, list(found.members)) == (
                group.offsets, group.state, list(group.members),
            )  # fmt: skip
        async with RawClient(again, leader) as client:
            assert values((await fetch(client, log.end - 1, topic=LOADED)).records) == [b"99" * 1000]
            assert (await produce(client, batch(b"a", times=[now]), LOADED)).base_offset == end


async def test_what_was_produced_is_written_soon(tmp_path: Path) -> None:
    path = tmp_path / "state"
    async with EmbeddedCluster(ClusterSpec(scenario="quiet", state_file=path)) as cluster:
        before = path.stat().st_mtime_ns
        leader = cluster.state.topics[LOADED].partitions[0].leader
        async with RawClient(cluster, leader) as client:
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
        async with RawClient(cluster) as client:
            while clock.time() < begun + 20:
                clock.advance(0.25)
                await client.ask("api_versions", 0, with_fields())
        after = ends()
        busy = [name for name in topics if after[name] > before[name]]
        assert len(busy) > len(topics) / 2
        assert {name: lag_of(cluster, name) for name in lags} == lags


def lag_of(cluster: EmbeddedCluster, group: str) -> int:
    return sum(cluster.state.logs[at].end - each.offset for at, each in cluster.state.groups[group].offsets.items())
