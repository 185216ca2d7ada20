"""Configs of every kind of resource, read from real brokers, 4.3 and 3.9."""

from __future__ import annotations

import asyncio
import re

from console.admin import configs
from console.admin.configs import list_config_resources
from console.admin.link import Link
from console.model import codes
from console.model.changes import (
    AlterConfigs,
    ConfigOp,
    CreateTopics,
    NewTopic,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigListing,
    ConfigResource,
    broker_resource,
    topic_resource,
)
from tests.support import worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster


def is_4(kafka: KafkaCluster) -> bool:
    """Of the newer of the two versions."""
    return kafka.version.startswith("4.")


async def test_topic_configs_are_what_kafka_configs_says(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name, retention_ms="1000", cleanup_policy="compact,delete")
    listing = await configs.describe_configs(link, [topic_resource(name)])
    (entries,) = listing.sets.values()
    output = await asyncio.to_thread(
        kafka.run_admin_tool, "kafka.admin.ConfigCommand", "--describe", "--all", "--topic", name
    )
    line = re.compile(r"^  ([\w.]+)=(.*) sensitive=(\w+) synonyms=\{(.*)\}$", re.MULTILINE)
    told = {key: (value, sensitive, synonyms) for key, value, sensitive, synonyms in line.findall(output)}
    assert told == {
        entry.name: (
            entry.value,
            str(entry.sensitive).lower(),
            ", ".join(f"{s.source.name}:{s.name}={s.value}" for s in entry.synonyms),
        )
        for entry in entries
    }
    assert {entry.name for entry in entries.overrides(topic_resource(name))} == {"retention.ms", "cleanup.policy"}
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)


async def test_types_and_documentation(link: Link, name: str) -> None:
    await make_topic(link, name)
    resource = topic_resource(name)
    plain = (await configs.describe_configs(link, [resource])).sets[resource]
    full = (await configs.describe_configs(link, [resource], documentation=True)).sets[resource]
    assert {entry.documentation for entry in plain} == {None}
    retention = full.get("retention.ms")
    assert retention is not None
    assert retention.type.name == "LONG"
    assert retention.documentation is not None
    assert "retain" in retention.documentation
    bare = (await configs.describe_configs(link, [resource], synonyms=False)).sets[resource]
    assert {entry.synonyms for entry in bare} == {()}
    some = await configs.describe_configs(link, [resource], keys=["retention.ms", "no.such.key"])
    assert [entry.name for entry in some.sets[resource]] == ["retention.ms"]


async def test_many_topics_come_in_chunks_and_equal_sets_are_one(link: Link, name: str) -> None:
    names = [f"{name}-{number}" for number in range(250)]
    assert await applied(link, CreateTopics(tuple(NewTopic(one, 1, 1) for one in names), timeout_ms=60_000))
    resources = list(map(topic_resource, names))
    parts: list[ConfigListing] = []
    listing = await configs.describe_configs(link, resources, on_chunk=parts.append)
    assert [len(part.sets) for part in parts] == [100, 100, 50]
    assert {resource: s for part in parts for resource, s in part.sets.items()} == listing.sets
    assert {part.described_by for part in parts} == {listing.described_by}
    assert len({id(entries) for entries in listing.sets.values()}) == 1
    again = await configs.describe_configs(link, resources)
    assert again.described_by == listing.described_by
    assert all(again.sets[resource] is listing.sets[resource] for resource in resources)


async def test_each_failure_is_its_resources_own(kafka: KafkaCluster, link: Link, name: str) -> None:
    await make_topic(link, name)
    fine, gone = topic_resource(name), topic_resource("no-such-topic")
    nobody, unknown = broker_resource(99), ConfigResource(codes.ResourceType(99), "x")
    word = ConfigResource(codes.BROKER, "one")
    listing = await configs.describe_configs(link, [gone, nobody, unknown, word, fine, broker_resource(1)])
    assert listing.sets.keys() == {fine, broker_resource(1)}
    assert listing.failures[gone].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert "99" in listing.failures[nobody].message
    assert listing.failures[word].name == "INVALID_REQUEST"
    assert listing.failures[unknown].name == "INVALID_REQUEST"
    assert all(failure.remedy for failure in listing.failures.values())


async def test_brokers_describe_themselves(kafka: KafkaCluster, link: Link) -> None:
    resources = [broker_resource(id_) for id_ in kafka.broker_ids]
    loggers = [ConfigResource(codes.BROKER_LOGGER, str(id_)) for id_ in kafka.broker_ids]
    listing = await configs.describe_configs(link, [*resources, *loggers, CLUSTER_DEFAULT])
    assert not listing.failures
    for id_, resource in zip(kafka.broker_ids, resources, strict=True):
        node = listing.sets[resource].get("node.id")
        assert node is not None
        assert node.value == str(id_)
        assert node.read_only
    for logger in loggers:
        root = listing.sets[logger].get("root")
        assert root is not None
        assert (root.value, root.synonyms) == ("INFO", ())
    assert listing.described_by in kafka.broker_ids


async def test_where_a_topic_gets_a_value_from(kafka: KafkaCluster, link: Link, name: str) -> None:
    """The topic's own value, one broker's, the cluster's and the default, as a chain."""
    await make_topic(link, name, segment_ms="111000")
    resource, describer = topic_resource(name), (await configs.describe_configs(link, [CLUSTER_DEFAULT])).described_by
    assert describer is not None
    changes = {
        CLUSTER_DEFAULT: (ConfigOp("log.roll.ms", codes.SET, "333000"),),
        broker_resource(describer): (ConfigOp("log.roll.ms", codes.SET, "222000"),),
    }
    assert await applied(link, AlterConfigs(changes, broker=describer))
    try:
        listing = await configs.describe_configs(link, [resource, CLUSTER_DEFAULT, broker_resource(describer)])
        entry = listing.sets[resource].get("segment.ms")
        assert entry is not None
        assert [(s.name, s.value, s.source) for s in entry.synonyms][:3] == [
            ("segment.ms", "111000", codes.DYNAMIC_TOPIC_CONFIG),
            ("log.roll.ms", "222000", codes.DYNAMIC_BROKER_CONFIG),
            ("log.roll.ms", "333000", codes.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ]
        assert entry.synonyms[-1].source == codes.DEFAULT_CONFIG
        default = listing.sets[CLUSTER_DEFAULT].get("log.roll.ms")
        assert default is not None
        assert (default.value, default.source) == ("333000", codes.DYNAMIC_DEFAULT_BROKER_CONFIG)
    finally:
        undo = {resource: (ConfigOp("log.roll.ms", codes.DELETE),) for resource in changes}
        assert await applied(link, AlterConfigs(undo, broker=describer))


async def test_a_hidden_value_is_none(link: Link) -> None:
    """A key that the broker does not know is taken for a secret."""
    resource = broker_resource(1)
    assert await applied(link, AlterConfigs({resource: (ConfigOp("reads.own.key", codes.SET, "x"),)}, broker=1))
    try:
        (entries,) = (await configs.describe_configs(link, [resource])).sets.values()
        entry = entries.get("reads.own.key")
        assert entry is not None
        assert entry.hidden
        assert entry.synonyms[0].value is None
        assert entries.get("reads.absent") is None
    finally:
        assert await applied(link, AlterConfigs({resource: (ConfigOp("reads.own.key", codes.DELETE),)}, broker=1))


async def test_client_metrics_and_groups_with_configs(kafka: KafkaCluster, link: Link, name: str) -> None:
    metrics, group = ConfigResource(codes.CLIENT_METRICS, name), ConfigResource(codes.GROUP, name)
    ops: dict[ConfigResource, tuple[ConfigOp, ...]] = {metrics: (ConfigOp("interval.ms", codes.SET, "60000"),)}
    if is_4(kafka):
        ops[group] = (ConfigOp("consumer.session.timeout.ms", codes.SET, "50000"),)
    assert await applied(link, AlterConfigs(ops))
    listed = await list_config_resources(link, [codes.CLIENT_METRICS, codes.GROUP])
    assert [resource for resource in listed if resource.name == name] == sorted(ops)
    listing = await configs.describe_configs(link, ops)
    entry = listing.sets[metrics].get("interval.ms")
    assert entry is not None
    assert (entry.value, entry.source.name) == ("60000", "DYNAMIC_CLIENT_METRICS_CONFIG")
    if is_4(kafka):
        entry = listing.sets[group].get("consumer.session.timeout.ms")
        assert entry is not None
        assert (entry.value, entry.source.name) == ("50000", "DYNAMIC_GROUP_CONFIG")
        assert topic_resource("x") not in await list_config_resources(link, [codes.BROKER])
    else:
        assert await list_config_resources(link, [codes.GROUP]) == ()


async def test_a_describer_that_hangs_is_replaced(plain_cluster: KafkaCluster, name: str) -> None:
    async with worlds.linked(worlds.settings(plain_cluster, request_timeout=2)) as link:
        await make_topic(link, name)
        before = await configs.describe_configs(link, [topic_resource(name)])
        assert before.described_by is not None
        with plain_cluster.hanging(before.described_by):
            after = await configs.describe_configs(link, [topic_resource(name)])
        assert after.described_by not in (None, before.described_by)
        assert after.sets.keys() == before.sets.keys()
