"""Fixtures of clients for the real clusters in tests/conftest.py, and of clusters that a test may break."""

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.admin.topics import describe_topics
from console.model.changes import DeleteTopics
from tests.support import worlds
from tests.support.changing import applied
from tests.support.kafka_cluster import KafkaCluster
from tests.support.real_clusters import running

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests in this folder as broker tests. Move tests that leave changes on shared clusters to the end.
    Mark tests on the older version as long, because the recorded contracts already compare the embedded cluster
    with that version; the core tests on it are not marked.
    """
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.broker)
            if _is_on_older(item) and item.get_closest_marker("core") is None:
                item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: item.get_closest_marker("untidy") is not None)


def _is_on_older(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("kafka") == "kafka39"


@pytest.fixture(params=["plain_cluster", "kafka39"])
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """Provide the plain cluster, once for each version under test."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    return cluster


link = worlds.link("kafka")
"""Provide a link to the cluster of `kafka`."""


@pytest.fixture
def name() -> str:
    """Provide a name that no other test uses, for topics, groups and the like."""
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def own_cluster(breakable_cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """Provide a cluster of Kafka 4.3 with three plain brokers, all up, which the test may stop, kill and restart."""
    yield from _lent(breakable_cluster)


@pytest.fixture
def racked_cluster(racked_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """Provide a cluster of four brokers in three racks, all up. The test may stop or kill all but the first broker."""
    yield from _lent(racked_brokers)


def _lent(cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """Yield a cluster to one test with all brokers up. At the end delete the test's topics, because a topic in trouble
    would disturb the next test.
    """
    cluster.bring_up()
    there = asyncio.run(_topics(cluster))
    yield cluster
    cluster.bring_up()
    asyncio.run(_delete_others(cluster, there))


async def _topics(cluster: KafkaCluster) -> frozenset[str]:
    async with worlds.linked(worlds.settings(cluster)) as link:
        return frozenset(name for name, topic in (await describe_topics(link)).topics.items() if not topic.internal)


async def _delete_others(cluster: KafkaCluster, kept: frozenset[str]) -> None:
    if others := await _topics(cluster) - kept:
        async with worlds.linked(worlds.settings(cluster)) as link:
            await applied(link, DeleteTopics(tuple(sorted(others))))


@pytest.fixture
def empty_cluster() -> Iterator[KafkaCluster]:
    """Provide a cluster of Kafka 4.3 with one plain broker that no other test uses."""
    yield from running(lambda: KafkaCluster(brokers=1))
