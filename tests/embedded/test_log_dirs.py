"""DescribeLogDirs and DeleteRecords, against what brokers of 4.3.0 and 3.9.1 answered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.config import topic_resource
from tests.embedded.proposals_client import Rights
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields

ALIVE = (1, 2, 3)


def directories(topics: Mapping[str, Sequence[int]] | None) -> Any:
    return with_fields(topics=None if topics is None else [*topics.items()])


def shown(result: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.name: [(part.partition_index, part.partition_size) for part in topic.partitions]
        for topic in result.topics
    }


@pytest.mark.parametrize(("release", "versions"), [("4.4", range(1, 6)), ("3.9", range(1, 5))])
async def test_replicas_that_a_broker_has(release: str, versions: range) -> None:
    async with EmbeddedCluster(ClusterSpec(versions=release)) as cluster, RawClient(cluster) as client:
        for name in ("t", "u"):
            cluster.state.put_topic(new_topic(name, [(1, 2), (2, 3), (3, 1)], ALIVE))
        cluster.state.logs["t", 0] = PartitionLog(older_bytes=77)
        for version in versions:
            for wanted, expected in (
                (None, {"t": [(0, 77), (2, 0)], "u": [(0, 0), (2, 0)]}),
                ({"t": [0, 1, 5], "nope": [0]}, {"t": [(0, 77)]}),
                ({}, {}),
            ):
                answer = await client.ask("describe_log_dirs", version, directories(wanted))
                (result,) = answer.results
                assert shown(result) == expected
                assert getattr(answer, "error_code", 0) == 0 == result.error_code
                assert (result.log_dir,) == cluster.state.brokers[1].log_dirs
                if version >= 4:
                    assert result.total_bytes >= result.usable_bytes > 0


@pytest.mark.parametrize("version", [2, 3, 5])
async def test_directories_need_describe_on_the_cluster(cluster: EmbeddedCluster, version: int) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], ALIVE))
    cluster.authorizer = Rights(("DESCRIBE", "TOPIC", "t"))
    async with RawClient(cluster) as client:
        answer = await client.ask("describe_log_dirs", version, directories(None))
        assert answer.results == ()
        assert getattr(answer, "error_code", 31) == 31


async def test_a_scenario_has_sizes_that_stay() -> None:
    sizes = []
    for _ in range(2):
        async with EmbeddedCluster(ClusterSpec(scenario="quiet")) as cluster, RawClient(cluster) as client:
            answer = await client.ask("describe_log_dirs", 4, directories(None))
            (result,) = answer.results
            sizes.append({name: parts for name, parts in shown(result).items() if not name.startswith("__")})
            assert sum(size for parts in shown(result).values() for _, size in parts) <= result.total_bytes
    assert sizes[0] == sizes[1]
    found = [size for parts in sizes[0].values() for _, size in parts]
    assert len(set(found)) > len(found) / 2
    assert sorted(found)[len(found) // 10] >= 2**18


async def test_others_are_served_while_300_000_replicas_are_told() -> None:
    async with (
        EmbeddedCluster(ClusterSpec(scenario="large")) as cluster,
        RawClient(cluster) as client,
        RawClient(cluster) as other,
    ):
        client.request("describe_log_dirs", 4, directories(None))
        large = asyncio.ensure_future(client.frame())
        for _ in range(3):
            assert await other.ask("metadata", 1, with_fields(topics=[]))
            assert not large.done()
        assert len(await large) > 300_000 * 22
        name = next(iter(cluster.state.topics))
        answer = await client.ask("describe_log_dirs", 4, directories({name: [0, 1, 2]}))
        assert [len(parts) for parts in shown(answer.results[0]).values()] == [3]


def deleting(*wanted: tuple[str, int, int]) -> Any:
    return lambda m: m.DeleteRecordsRequest(
        topics=tuple(
            m.DeleteRecordsTopic(name=name, partitions=(m.DeleteRecordsPartition(partition_index=part, offset=offset),))
            for name, part, offset in wanted
        ),
        timeout=timedelta(seconds=5),
    )


async def deleted(client: RawClient, *wanted: tuple[str, int, int]) -> list[tuple[int, int]]:
    answer = await client.ask("delete_records", 2, deleting(*wanted))
    return [(part.error_code, part.low_watermark) for topic in answer.topics for part in topic.partitions]


async def test_records_that_can_not_be_deleted(cluster: EmbeddedCluster) -> None:
    state = cluster.state
    for name, internal in (("t", False), ("compacted", False), ("internal", True)):
        state.put_topic(new_topic(name, [(1, 2), (2, 3)], ALIVE, internal=internal))
    state.alter_config(topic_resource("compacted"), {"cleanup.policy": "compact"})
    async with RawClient(cluster) as client:
        asked = [("t", 0, 5), ("t", 0, -5), ("t", 1, -1), ("nope", 0, -1), ("t", 9, -1), ("compacted", 0, -1)]
        assert await deleted(client, *asked) == [(1, -1), (1, -1), (6, -1), (3, -1), (3, -1), (44, -1)]
        assert await deleted(client, ("internal", 0, -1), ("t", 0, -1), ("t", 0, 0)) == [(17, -1), (0, 0), (0, 0)]
        cluster.authorizer = Rights(("READ", "TOPIC", "t"))
        assert await deleted(client, ("t", 0, -1), ("nope", 0, -1)) == [(29, -1), (29, -1)]
