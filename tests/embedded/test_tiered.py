"""Offsets of tiered logs, as far as a broker's version has them; topics that are not tiered are not asked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from console.admin.client import AdminClient
from console.admin.partitions import tiered_offsets
from console.admin.settings import ConnectionSettings
from console.contexts.context import Context
from console.embedded.brokers import EmbeddedCluster
from console.embedded.partition_log import PartitionLog
from console.embedded.replicas import new_topic, striped
from console.embedded.spec import ClusterSpec
from console.model.cluster import TieredOffsets
from console.model.config import topic_resource
from console.session.session import Session

COLD, WARM = ("cold", 0), ("cold", 1)


def seed(cluster: EmbeddedCluster) -> None:
    """Two topics; of partition 0 of `cold` 1,000 records are in remote storage, and 200 of them on disk, too."""
    for name in ("cold", "plain"):
        cluster.state.put_topic(new_topic(name, striped([1], 2, 1), [1]))
    cluster.state.alter_config(topic_resource("cold"), {"remote.storage.enable": "true"})
    log = cluster.state.logs[COLD] = PartitionLog()
    log.end, log.tiered_to, log.local_start = 1_500, 999, 800


@pytest.fixture(params=["4.4", "4.0", "3.9"])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=request.param)) as made:
        seed(made)
        yield made


async def test_offsets_by_what_the_broker_knows(cluster: EmbeddedCluster) -> None:
    with AdminClient(ConnectionSettings(tuple(cluster.addresses.values()))) as client:
        session = Session(client, Context("test", "tests", client.settings), "run")
        found, failures = await client.run(tiered_offsets, [COLD, WARM])
        pending = (1_000, -1) if cluster.release.name == "4.4" else (None, None)
        assert found == {COLD: TieredOffsets(800, 999, pending[0]), WARM: TieredOffsets(0, -1, pending[1])}
        assert failures == []
        await session.read_topics()
        await session.read_tiered("plain")
        await session.read_tiered("nosuch")
        assert session.snapshot.tiered == {}
        await session.read_tiered("cold")
        before = session.snapshot
        await session.read_tiered("cold")
        assert before.tiered == found
        assert session.snapshot is before, "nothing new is no new snapshot"
        cluster.state.alter_config(topic_resource("cold"), {"remote.storage.enable": "false"})
        await session.read_configs([topic_resource("cold")])
        await session.read_tiered("cold")
        assert session.snapshot.tiered == {}
