"""KIP-4's Metadata v0 and v1, over sockets."""

from __future__ import annotations

from typing import Any

from kio.schema.metadata.v0.request import MetadataRequest as MetadataRequestV0
from kio.schema.metadata.v0.request import MetadataRequestTopic as TopicV0
from kio.schema.metadata.v1.request import MetadataRequest as MetadataRequestV1

from console.embedded.brokers import EmbeddedCluster
from console.embedded.replicas import new_topic
from console.embedded.spec import ClusterSpec
from tests.embedded.proposals_client import ask


def with_topics(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(3, 1)], [1, 2, 3]))
    cluster.state.put_topic(new_topic("inside", [(1,)], [1, 2, 3], internal=True))


def names(response: Any) -> set[str]:
    return {topic.name for topic in response.topics}


async def test_an_empty_list_is_all_topics_in_v0_and_none_in_v1(cluster: EmbeddedCluster) -> None:
    with_topics(cluster)
    assert names(await ask(cluster, MetadataRequestV0(topics=()))) == {"t", "inside"}
    assert names(await ask(cluster, MetadataRequestV0(topics=(TopicV0(name="t"),)))) == {"t"}
    assert names(await ask(cluster, MetadataRequestV1(topics=()))) == set()
    assert names(await ask(cluster, MetadataRequestV1(topics=None))) == {"t", "inside"}


async def test_v1_tells_of_the_controller_of_racks_and_of_internal_topics() -> None:
    async with EmbeddedCluster(ClusterSpec(racks={2: "r"}, forwarding=False)) as cluster:
        with_topics(cluster)
        cluster.state.move_controller(2)
        response = await ask(cluster, MetadataRequestV1(topics=None), 3)
        assert response.controller_id == 2
        assert {broker.node_id: broker.rack for broker in response.brokers} == {1: None, 2: "r", 3: None}
        assert {topic.name: topic.is_internal for topic in response.topics} == {"t": False, "inside": True}


async def test_dead_replicas_are_left_out_in_v0_and_stay_in_v1(cluster: EmbeddedCluster) -> None:
    with_topics(cluster)
    await cluster.broker_down(3)
    old = await ask(cluster, MetadataRequestV0(topics=(TopicV0(name="t"),)))
    (partition,) = old.topics[0].partitions
    assert (partition.error_code, partition.replica_nodes, partition.leader_id) == (9, (1,), 1)
    new = await ask(cluster, MetadataRequestV1(topics=None))
    (partition,) = next(topic for topic in new.topics if topic.name == "t").partitions
    assert (partition.error_code, partition.replica_nodes) == (0, (3, 1))
    assert 3 not in {broker.node_id for broker in new.brokers}
