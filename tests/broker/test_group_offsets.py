"""Groups' offsets on real brokers, 4.3 and 3.9."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.link import Link
from console.admin.settings import ConnectionSettings
from tests.support.changing import make_topic
from tests.support.group_flow_cases import Case, parameters
from tests.support.kafka_cluster import KafkaCluster


@pytest.fixture
async def client(kafka: KafkaCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(bootstrap=kafka.addresses, visible_timeout=0.05))
    made.start()
    yield made
    made.close()


@parameters
async def test_cases(
    case: Case, kafka: KafkaCluster, client: AdminClient, link: Link, name: str, tmp_path: Path
) -> None:
    await make_topic(link, name, partitions=3)
    await case(client, kafka.bootstrap, name, tmp_path)
