"""Clients connect, and see brokers and topics: our own, and aiokafka's."""

from __future__ import annotations

import pytest
from aiokafka.admin import AIOKafkaAdminClient  # type: ignore[import-untyped]

from console.admin.client import AdminClient
from console.admin.cluster import describe_cluster
from console.admin.settings import ConnectionSettings
from console.admin.topics import describe_topics
from console.embedded.brokers import EmbeddedCluster, run_in_thread
from console.embedded.replicas import new_topic, striped
from tests.support.older_brokers import like


def add_topic(cluster: EmbeddedCluster, name: str, partitions: int = 3, replication: int = 2) -> None:
    alive = cluster.state.alive()
    cluster.state.put_topic(new_topic(name, striped(alive, partitions, replication), alive))


async def test_aiokafka_lists_topics(cluster: EmbeddedCluster) -> None:
    add_topic(cluster, "orders")
    admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    await admin.start()
    try:
        assert await admin.list_topics() == ["orders"]
        (described,) = await admin.describe_topics(["orders"])
        assert [sorted(partition["replicas"]) for partition in described["partitions"]] == [[1, 2], [2, 3], [1, 3]]
    finally:
        await admin.close()


@pytest.mark.parametrize("versions", ["2.8", "3.9", "4.4"])
async def test_our_own_client_reads_the_cluster(versions: str) -> None:
    with run_in_thread(like(versions, racks={1: "a", 2: "b", 3: "c"})) as cluster:
        cluster.call(lambda running: add_topic(running, "orders"))
        hosts = cluster.bootstrap.split(",")
        bootstrap = tuple((host, int(port)) for host, _, port in (text.partition(":") for text in hosts))
        with AdminClient(ConnectionSettings(bootstrap)) as client:
            info = await client.run(describe_cluster)
            assert [(broker.id, broker.rack) for broker in info.brokers] == [(1, "a"), (2, "b"), (3, "c")]
            assert info.cluster_id == cluster.call(lambda running: running.state.cluster_id)
            listing = await client.run(describe_topics)
            assert [len(topic.partitions) for topic in listing.topics.values()] == [3]
            assert listing.topics["orders"].partitions[0].isr == (1, 2)
            assert listing.failures == {}
