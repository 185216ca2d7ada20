"""Groups' offsets on embedded clusters of each release: the cases that real brokers pass too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from tests.support.group_flow_cases import Case, parameters

STATIC = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(params=["4.3", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=request.param, static_configs=STATIC)) as running:
        running.state.put_topic(new_topic("orders", striped([1], 3, 1), [1]))
        yield running


@pytest.fixture
async def client(cluster: EmbeddedCluster) -> AsyncIterator[AdminClient]:
    made = AdminClient(ConnectionSettings(tuple(cluster.addresses.values()), visible_timeout=0.05))
    made.start()
    yield made
    made.close()


@parameters
async def test_cases(case: Case, cluster: EmbeddedCluster, client: AdminClient, tmp_path: Path) -> None:
    (address,) = cluster.addresses.values()
    await case(client, f"{address[0]}:{address[1]}", "orders", tmp_path)
