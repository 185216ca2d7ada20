"""Metadata of everything is the same as Metadata of each topic, in every version, and quick for 100,000."""

from __future__ import annotations

from typing import Any

import pytest

from console.embedded.brokers import EmbeddedCluster
from console.embedded.scenarios import large
from console.embedded.spec import ClusterSpec
from tests.embedded.raw_client import RawClient
from tests.support.kafka_messages import with_fields


@pytest.mark.parametrize("version", range(14))
async def test_all_topics_are_the_topics_named(version: int) -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="incident")) as cluster, RawClient(cluster) as client:
        await cluster.broker_down(3)
        names = list(cluster.state.topics)

        def build(module: Any, topics: Any) -> Any:
            fields: dict[str, Any] = {"topics": topics}
            for flag in ("include_cluster_authorized_operations", "include_topic_authorized_operations"):
                if flag in module.MetadataRequest.__dataclass_fields__:
                    fields[flag] = flag.startswith("include_cluster")
            return module.MetadataRequest(**fields)

        def named(module: Any) -> Any:
            more = {"topic_id": None} if version >= 10 else {}
            return build(module, tuple(module.MetadataRequestTopic(name=name, **more) for name in names))

        everything = await client.ask("metadata", version, lambda m: build(m, None if version else ()))
        each = await client.ask("metadata", version, named)
        assert [topic.name for topic in everything.topics] == names
        assert everything.topics == each.topics
        assert everything.brokers == each.brokers
        operations = "cluster_authorized_operations"
        assert getattr(everything, operations, 0) == getattr(each, operations, 0)


async def test_the_large_cluster_has_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    async with EmbeddedCluster(ClusterSpec(scenario="large")) as cluster, RawClient(cluster) as client:
        state = cluster.state
        assert len(state.topics) == large.TOPICS + 1  # and __consumer_offsets
        assert len(state.quotas) == large.QUOTA_ENTITIES + 2
        assert len(state.acls) == large.ACLS
        everything = await client.ask(
            "metadata", 12, with_fields(topics=None, include_topic_authorized_operations=False)
        )
        assert len(everything.topics) == len({topic.name for topic in everything.topics}) == large.TOPICS + 1
        assert all(len(topic.partitions) == 3 for topic in everything.topics if not topic.is_internal)
        last = everything.topics[large.TOPICS - 1]
        assert state.topics[last.name].id == last.topic_id
        assert state.topics.name_of(last.topic_id) == last.name
        await cluster.broker_down(2)
        after = state.topics[last.name]
        assert {partition.leader for partition in after.partitions} == {1, 3}


def test_each_source_finds_what_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("TOPICS", 1234), ("QUOTA_ENTITIES", 1000), ("ACLS", 777)):
        monkeypatch.setattr(large, name, size)
    state = EmbeddedCluster(ClusterSpec(scenario="large")).state
    for name in ("topics", "configs", "quotas", "acls"):
        table = state.tables.named(name)
        pairs = list(table.items())
        assert len(pairs) == len(table) == len(dict(pairs))
        assert [key for key, _ in pairs] == list(table)
        assert all(table[key] == value for key, value in pairs)
        assert list(table.values()) == [value for _, value in pairs]
