"""KIP-4's CreateTopics and DeleteTopics, over sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from console.model.codes import TOPIC
from console.model.config import ConfigResource
from console.wire.proposals.kip4 import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ReplicaAssignment,
    TopicConfig,
)
from tests.embedded.proposals_client import ON_CLUSTER, Rights, WatchedClock, ask, until


def topic(
    name: str,
    partitions: int = -1,
    replication: int = -1,
    assignments: dict[int, tuple[int, ...]] | None = None,
    configs: dict[str, str] | None = None,
) -> CreateTopicRequest:
    return CreateTopicRequest(
        topic=name,
        num_partitions=partitions,
        replication_factor=replication,
        replica_assignment=tuple(ReplicaAssignment(partition_id=p, replicas=r) for p, r in (assignments or {}).items()),
        configs=tuple(TopicConfig(config_key=k, config_value=v) for k, v in (configs or {}).items()),
    )


async def create(
    cluster: EmbeddedCluster, *topics: CreateTopicRequest, wait: int = 5000, broker: int | None = None
) -> dict[str, int]:
    return codes(await ask(cluster, CreateTopicsRequest(create_topic_requests=topics, timeout=wait), broker))


async def delete(cluster: EmbeddedCluster, *names: str, wait: int = 5000, broker: int | None = None) -> dict[str, int]:
    return codes(await ask(cluster, DeleteTopicsRequest(topics=names, timeout=wait), broker))


def codes(response: Any) -> dict[str, int]:
    results = {result.topic: result.error_code for result in response.topic_error_codes}
    assert len(results) == len(response.topic_error_codes)
    return results


async def test_partitions_and_replicas_are_placed(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 4, 2, configs={"retention.ms": "1000"})) == {"t": 0}
    made = cluster.state.topics["t"]
    assert [len(set(partition.replicas)) for partition in made.partitions] == [2] * 4
    assert cluster.state.configs[ConfigResource(TOPIC, "t")] == {"retention.ms": "1000"}


async def test_the_first_replica_of_an_assignment_is_the_preferred_leader(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", assignments={1: (2, 3), 0: (3, 1)})) == {"t": 0}
    partitions = cluster.state.topics["t"].partitions
    assert [(partition.replicas, partition.leader) for partition in partitions] == [((3, 1), 3), ((2, 3), 2)]


@pytest.mark.parametrize(
    ("refused", "code"),
    [
        (topic("t", 1, 1, {0: (1,)}), 42),
        (topic("t", 1, -1, {0: (1,)}), 42),
        (topic("t"), 42),
        (topic("t", 0, 1), 37),
        (topic("t", 1, 0), 38),
        (topic("t", 1, 4), 38),
        (topic("t", assignments={0: (1, 1)}), 39),
        (topic("t", assignments={1: (1,)}), 39),
        (topic("t", assignments={0: (1,), 1: (1, 2)}), 39),
        (topic("t", assignments={0: (9,)}), 39),
        (topic("t", assignments={0: ()}), 39),
        (topic("t", 2**31 - 1, 1), 37),
        (topic("no spaces", 1, 1), 17),
        (topic("", 1, 1), 17),
        (topic("the_re", 1, 1), 17),
        (topic("t", 1, 1, configs={"nope": "1"}), 40),
        (topic("t", 1, 1, configs={"retention.ms": "x"}), 40),
        (topic("there", 1, 1), 36),
    ],
)
async def test_a_refused_topic_leaves_the_others_alone(
    cluster: EmbeddedCluster, refused: CreateTopicRequest, code: int
) -> None:
    for name in ("there", "the.re"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1, 2, 3]))
    assert await create(cluster, refused, topic("good", 1, 1)) == {refused.topic: code, "good": 0}
    assert set(cluster.state.topics) == {"there", "the.re", "good"}


async def test_a_topic_twice_is_one_error_and_not_created(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 1, 1), topic("u", 1, 1), topic("t", 2, 1)) == {"t": 42, "u": 0}
    assert set(cluster.state.topics) == {"u"}


@pytest.mark.parametrize("wait", [0, -1])
async def test_without_a_timeout_it_is_started_and_not_waited_for(cluster: EmbeddedCluster, wait: int) -> None:
    assert await create(cluster, topic("t", 1, 1), topic("u", 0, 1), wait=wait) == {"t": 7, "u": 37}
    assert set(cluster.state.topics) == {"t"}
    assert await delete(cluster, "t", "none", wait=wait) == {"t": 7, "none": 17}
    assert not cluster.state.topics


async def slow(delay: float, **more: Any) -> tuple[EmbeddedCluster, WatchedClock]:
    clock = WatchedClock()
    cluster = EmbeddedCluster(ClusterSpec(propagation_delay=delay, **more), clock)
    clock.advance(60)
    await cluster.start()
    return cluster, clock


async def test_the_answer_comes_when_all_live_brokers_know() -> None:
    cluster, clock = await slow(2.0)
    try:
        clock.advance(10)
        answer = asyncio.create_task(create(cluster, topic("t", 1, 1)))
        await clock.slept.wait()
        assert "t" not in cluster.view_of(2).topics
        clock.advance(1.9)
        assert not answer.done()
        clock.advance(0.2)
        assert await answer == {"t": 0}
        assert "t" in cluster.view_of(2).topics
    finally:
        await cluster.stop()


async def test_at_the_timeout_only_the_unfinished_are_told_of() -> None:
    cluster, clock = await slow(2.0)
    try:
        clock.advance(10)
        for name in ("early", "late"):
            cluster.state.put_topic(new_topic(name, [(1,)], [1, 2, 3]))
        clock.advance(10)
        first = asyncio.create_task(delete(cluster, "early", wait=5000))
        await clock.slept.wait()
        clock.advance(1.5)
        clock.slept.clear()
        second = asyncio.create_task(delete(cluster, "early", "late", "none", wait=1000))
        await clock.slept.wait()
        clock.advance(0.6)
        assert await first == {"early": 0}
        clock.advance(0.6)
        assert await second == {"early": 0, "late": 7, "none": 17}
        clock.advance(5)
        assert not cluster.view_of(2).topics
    finally:
        await cluster.stop()


async def test_a_topic_that_gets_no_leader_is_not_complete() -> None:
    async with EmbeddedCluster(ClusterSpec()) as cluster:
        await cluster.broker_down(3)
        assert await create(cluster, topic("t", assignments={0: (3,)}), topic("u", 1, 1), wait=50) == {
            "t": 7,
            "u": 0,
        }
        waiting = asyncio.create_task(create(cluster, topic("v", assignments={0: (3,)})))
        await until(cluster, lambda: "v" in cluster.state.topics)
        await cluster.broker_up(3)
        assert await waiting == {"v": 0}


async def test_a_name_twice_is_deleted_once(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1, 2, 3]))
    assert await delete(cluster, "t", "t", "none") == {"t": 0, "none": 17}


async def test_other_brokers_forward(cluster: EmbeddedCluster) -> None:
    assert await create(cluster, topic("t", 1, 1), broker=2) == {"t": 0}
    assert await delete(cluster, "t", broker=3) == {"t": 0}


async def test_without_forwarding_only_the_controller_answers() -> None:
    async with EmbeddedCluster(ClusterSpec(forwarding=False)) as cluster:
        assert await create(cluster, topic("t", 1, 1), broker=2) == {"t": 41}
        assert await create(cluster, topic("t", 1, 1), broker=1) == {"t": 0}
        assert await delete(cluster, "t", broker=2) == {"t": 41}
        assert set(cluster.state.topics) == {"t"}


async def test_creating_needs_create_on_the_cluster(cluster: EmbeddedCluster) -> None:
    cluster.authorizer = Rights()
    assert await create(cluster, topic("t", 1, 1)) == {"t": 31}
    cluster.authorizer = Rights(("CREATE", *ON_CLUSTER))
    assert await create(cluster, topic("t", 1, 1)) == {"t": 0}


async def test_a_topic_that_may_not_be_described_is_as_if_not_there(cluster: EmbeddedCluster) -> None:
    for name in ("hidden", "seen", "mine"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1, 2, 3]))
    cluster.authorizer = Rights(("DESCRIBE", "TOPIC", "seen"), ("DELETE", "TOPIC", "mine"))
    assert await delete(cluster, "hidden", "seen", "mine", "none") == {"hidden": 17, "seen": 29, "mine": 0, "none": 17}
