"""Clients of the real clusters in tests/conftest.py, and a cluster that a test may break."""

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
    """Everything in this folder needs brokers; what leaves its traces on the shared ones runs when nobody else will.
    On each version in turn a commit runs the core alone: recorded contracts hold the embedded cluster to the older one.
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
    """The plain cluster of each version in turn."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    return cluster


link = worlds.link("kafka")
"""Connected to it."""


@pytest.fixture
def name() -> str:
    """A name that nothing else has."""
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def own_cluster(breakable_cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """Kafka 4.3, three plain brokers, all up, to stop, kill and restart."""
    yield from _lent(breakable_cluster)


@pytest.fixture
def racked_cluster(racked_brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """Four brokers in three racks, all up, of which any but the first can be stopped and killed."""
    yield from _lent(racked_brokers)


def _lent(cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """The body of such a fixture. A topic that the test makes goes with it: one that is in trouble would be the trouble
    of the next test."""
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
    """Kafka 4.3, one plain broker that no other test has seen."""
    yield from running(lambda: KafkaCluster(brokers=1))
