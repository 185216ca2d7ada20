"""Real clusters, each started by the first test that asks for it and kept for the session."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from tests.support.kafka_cluster import KafkaCluster, Security
from tests.support.kafka_jars import KAFKA_3_9, KAFKA_4_3, BrokersUnavailableError

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs brokers; what leaves its traces on the shared ones runs when nobody else will."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.broker)
    items.sort(key=lambda item: item.get_closest_marker("untidy") is not None)


def _running(version: str, brokers: int, security: Security = "plain") -> Iterator[KafkaCluster]:
    try:
        cluster = KafkaCluster(version, brokers=brokers, security=security, request_log=True)
    except BrokersUnavailableError as reason:
        if os.environ.get("KAC_REQUIRE_BROKERS") == "1":
            pytest.fail(f"KAC_REQUIRE_BROKERS=1, but {reason}", pytrace=False)
        pytest.skip(str(reason))
    with cluster:
        yield cluster


@pytest.fixture(scope="session")
def plain_cluster() -> Iterator[KafkaCluster]:
    """Kafka 4.3, three brokers, PLAINTEXT, everybody a super user, request log on."""
    yield from _running(KAFKA_4_3, brokers=3)


@pytest.fixture(scope="session")
def secure_cluster() -> Iterator[KafkaCluster]:
    """Kafka 4.3, three brokers, SASL_SSL and mTLS; admin may do all, alice nothing. Request log on."""
    yield from _running(KAFKA_4_3, brokers=3, security="secure")


@pytest.fixture(scope="session")
def kafka39() -> Iterator[KafkaCluster]:
    """Kafka 3.9, one broker, PLAINTEXT, everybody a super user, request log on."""
    yield from _running(KAFKA_3_9, brokers=1)


@pytest.fixture(params=["plain_cluster", "kafka39"])
def kafka(request: pytest.FixtureRequest) -> KafkaCluster:
    """The plain cluster of each version in turn."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    return cluster


@pytest.fixture
async def link(kafka: KafkaCluster) -> AsyncIterator[Link]:
    """Connected to it."""
    made = Link(ConnectionSettings(bootstrap=kafka.addresses))
    yield made
    await made.close()


@pytest.fixture
def name() -> str:
    """A name that nothing else has."""
    return f"test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def own_cluster() -> Iterator[KafkaCluster]:
    """Kafka 4.3, three plain brokers for one test alone: to stop, kill and restart."""
    yield from _running(KAFKA_4_3, brokers=3)
