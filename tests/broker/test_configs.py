"""Tests of configs on real brokers, 4.3 and 3.9, and of the tables of configs by release."""

import asyncio
import re
from collections.abc import Iterator

import pytest

from console.admin import configs, delivery
from console.admin.configs import Replacing, describe_configs, list_config_resources
from console.admin.link import Link
from console.model import changes, codes
from console.model.changes import (
    AlterConfigs,
    ConfigOp,
    CreateTopics,
    NewTopic,
)
from console.model.codes import (
    APPEND,
    BROKER_LOGGER,
    DELETE,
    SET,
    SUBTRACT,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigListing,
    ConfigResource,
    broker_resource,
    topic_resource,
)
from console.model.secret import Secret
from tests.support import changing, kafka_jars, real_clusters, record_dynamic_keys, record_harmless_configs, worlds
from tests.support.changing import applied, make_topic
from tests.support.kafka_cluster import KafkaCluster


def is_4(kafka: KafkaCluster) -> bool:
    """Return whether the brokers are those of the newer version, 4.3."""
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
    """kac returns the values of a topic's config in the order of their precedence: the value of the topic itself,
    the value of the broker, the value for all brokers, and Kafka's default.
    """
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
    """The value of a config that brokers hide is None. The test uses a key that the broker does not know and therefore
    treats as a secret.
    """
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


# -- changes of configs on real brokers, 4.3 and 3.9: incremental, and by the request that replaces all configs --------


@pytest.fixture
async def topic(link: Link, name: str) -> ConfigResource:
    """Create a topic with one partition, and provide it as a config resource."""
    assert await changing.applied(link, changes.CreateTopics((changes.NewTopic(name, 1, 1),)))
    return topic_resource(name)


# --- incremental


async def test_topics_the_default_and_a_broker_in_one_request(
    kafka: KafkaCluster, link: Link, topic: ConfigResource
) -> None:
    node = kafka.broker_ids[-1]
    own = broker_resource(node)
    ops = {
        topic: (
            changes.ConfigOp("retention.ms", SET, "86400000"),
            changes.ConfigOp("cleanup.policy", APPEND, "compact"),
        ),
        CLUSTER_DEFAULT: (changes.ConfigOp("log.cleaner.threads", SET, "2"),),
        own: (changes.ConfigOp("log.cleaner.io.buffer.load.factor", SET, "0.8"),),
    }
    mark = kafka.request_log.mark()
    change = changes.AlterConfigs(ops, broker=node)
    assert await changing.statuses(link, change, check=True) == dict.fromkeys(ops, changes.Status.VALID)
    assert await changing.overrides(link, topic) == {}
    assert await changing.statuses(link, change) == dict.fromkeys(ops, changes.Status.APPLIED)
    assert await changing.overrides(link, topic) == {"retention.ms": "86400000", "cleanup.policy": "delete,compact"}
    assert (await changing.overrides(link, CLUSTER_DEFAULT))["log.cleaner.threads"] == "2"
    assert await changing.overrides(link, own) == {"log.cleaner.io.buffer.load.factor": "0.8"}
    logged = kafka.request_log.wait_for(2, "INCREMENTAL_ALTER_CONFIGS", since=mark)
    assert [(entry.broker, entry.request["validateOnly"]) for entry in logged] == [(node, True), (node, False)]
    undo = {
        topic: (changes.ConfigOp("retention.ms", DELETE), changes.ConfigOp("cleanup.policy", SUBTRACT, "compact")),
        CLUSTER_DEFAULT: (changes.ConfigOp("log.cleaner.threads", DELETE),),
        own: (changes.ConfigOp("log.cleaner.io.buffer.load.factor", DELETE),),
    }
    assert await changing.statuses(link, changes.AlterConfigs(undo, broker=node)) == dict.fromkeys(
        ops, changes.Status.APPLIED
    )
    assert await changing.overrides(link, topic) == {"cleanup.policy": "delete"}
    assert await changing.overrides(link, own) == {}


async def test_each_resource_fails_for_itself(link: Link, topic: ConfigResource) -> None:
    wrong = topic_resource("no-such-topic")
    ops = {
        wrong: (changes.ConfigOp("retention.ms", SET, "1"),),
        topic: (changes.ConfigOp("retention.ms", SET, "5000"),),
    }
    for check in (True, False):
        found = await changing.outcomes(link, changes.AlterConfigs(ops), check=check)
        assert found[topic].status is (changes.Status.VALID if check else changes.Status.APPLIED)
        assert changing.error(found[wrong]) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert await changing.overrides(link, topic) == {"retention.ms": "5000"}


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (changes.ConfigOp("retention.ms", SET, "soon"), "INVALID_CONFIG: Invalid value soon"),
        (changes.ConfigOp("no.such.key", SET, "1"), "INVALID_CONFIG: Unknown topic config name: no.such.key"),
        (changes.ConfigOp("retention.ms", APPEND, "1"), "INVALID_CONFIG: Can't APPEND to key retention.ms"),
    ],
)
async def test_what_the_broker_refuses(link: Link, topic: ConfigResource, op: changes.ConfigOp, expected: str) -> None:
    for check in (True, False):
        assert (await changing.refusal(link, changing.alter(topic, op), check=check)).startswith(expected)


async def test_a_key_that_needs_a_restart(link: Link) -> None:
    op = changes.ConfigOp("log.dirs", SET, "/tmp/x")
    told = await changing.refusal(link, changing.alter(broker_resource(1), op, broker=1), check=True)
    assert told.startswith("INVALID_REQUEST: Cannot update these configs dynamically")


async def test_a_logger(kafka: KafkaCluster, link: Link) -> None:
    node = kafka.broker_ids[-1]
    resource = ConfigResource(BROKER_LOGGER, str(node))
    logger = "kafka.server.KafkaApis"
    assert await changing.applied(link, changing.alter(resource, changes.ConfigOp(logger, SET, "DEBUG"), broker=node))
    assert (await changing.overrides(link, resource))[logger] == "DEBUG"
    assert await changing.applied(link, changing.alter(resource, changes.ConfigOp(logger, DELETE), broker=node))


async def test_a_secret_value_reaches_the_broker_and_nothing_else(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    key, value = "listener.name.plaintext.ssl.keystore.password", "hunter2-hunter2"
    change = changing.alter(broker_resource(1), changes.ConfigOp(key, SET, Secret(value)), broker=1)
    assert await changing.applied(link, change)
    assert (await changing.overrides(link, broker_resource(1)))[key] is None
    assert await changing.applied(link, changing.alter(broker_resource(1), changes.ConfigOp(key, DELETE), broker=1))
    assert value not in repr(change)
    assert value not in caplog.text


async def test_a_secret_that_is_refused_is_not_repeated(link: Link, topic: ConfigResource, name: str) -> None:
    value = Secret("hunter2-hunter2")
    told = await changing.refusal(link, changing.alter(topic, changes.ConfigOp("retention.ms", SET, value)), check=True)
    assert told.startswith("INVALID_CONFIG: Invalid value ······ for configuration retention.ms")
    create = changes.CreateTopics((changes.NewTopic(f"{name}-2", 1, 1, configs={"retention.ms": value}),))
    told = await changing.refusal(link, create)
    assert "······" in told
    assert value.reveal() not in told


# --- the request that replaces all configs: older brokers have no other, newer ones still accept it


async def replaced(
    link: Link, change: changes.AlterConfigs, *, check: bool = False
) -> dict[changes.Target, changes.Outcome]:
    return {outcome.target: outcome for outcome in await delivery.sent(Replacing(link, change, check))}


async def test_replacing_carries_every_override_over(link: Link, topic: ConfigResource) -> None:
    first = (
        changes.ConfigOp("retention.ms", SET, "5000"),
        changes.ConfigOp("segment.ms", SET, "60000"),
        changes.ConfigOp("cleanup.policy", SET, "delete"),
    )
    assert await changing.applied(link, changes.AlterConfigs({topic: first}))
    ops = (
        changes.ConfigOp("retention.ms", SET, "6000"),
        changes.ConfigOp("segment.ms", DELETE),
        changes.ConfigOp("cleanup.policy", APPEND, "compact"),
        changes.ConfigOp("max.message.bytes", SET, "2000"),
    )
    prior = {"retention.ms": "5000", "segment.ms": "60000", "cleanup.policy": "delete"}
    change = changes.AlterConfigs({topic: ops}, prior={topic: prior})
    assert (await replaced(link, change, check=True))[topic].status is changes.Status.VALID
    assert await changing.overrides(link, topic) == prior
    assert (await replaced(link, change))[topic].status is changes.Status.APPLIED
    after = {"retention.ms": "6000", "cleanup.policy": "delete,compact", "max.message.bytes": "2000"}
    assert await changing.overrides(link, topic) == after
    outcome = (await replaced(link, change))[topic]
    assert outcome.failure is not None
    assert outcome.failure.name == "CHANGED_MEANWHILE"
    assert "segment.ms" in outcome.failure.message
    assert await changing.overrides(link, topic) == after
    subtract = changing.alter(topic, changes.ConfigOp("cleanup.policy", SUBTRACT, "delete"))
    assert (await replaced(link, subtract))[topic].status is changes.Status.APPLIED
    assert await changing.overrides(link, topic) == {**after, "cleanup.policy": "compact"}


async def test_replacing_is_refused_where_it_would_do_harm(link: Link, topic: ConfigResource) -> None:
    node, key = broker_resource(1), "listener.name.plaintext.ssl.keystore.password"
    assert await changing.applied(link, changing.alter(node, changes.ConfigOp(key, SET, Secret("s3cret")), broker=1))
    try:
        loggers = ConfigResource(BROKER_LOGGER, "1")
        twice = changes.ConfigOp("retention.ms", SET, "1000"), changes.ConfigOp("retention.ms", DELETE)
        ops = {
            node: (changes.ConfigOp("log.cleaner.threads", SET, "2"),),
            loggers: (changes.ConfigOp("root", SET, "DEBUG"),),
            topic: twice,
            topic_resource("no-such-topic"): (changes.ConfigOp("retention.ms", SET, "1000"),),
        }
        found = await replaced(link, changes.AlterConfigs(ops, broker=1))
        assert set(map(changing.error, found.values())) == {
            "SENSITIVE_OVERRIDE",
            "UNSUPPORTED",
            "DUPLICATE",
            "UNKNOWN_TOPIC_OR_PARTITION",
        }
        assert "s3cret" not in repr(found)
        assert await changing.overrides(link, node) == {key: None}
        given = changing.alter(
            node,
            changes.ConfigOp(key, SET, Secret("other")),
            changes.ConfigOp("log.cleaner.threads", SET, "2"),
            broker=1,
        )
        assert (await replaced(link, given))[node].status is changes.Status.APPLIED
        assert await changing.overrides(link, node) == {key: None, "log.cleaner.threads": "2"}
    finally:
        undo = changes.ConfigOp(key, DELETE), changes.ConfigOp("log.cleaner.threads", DELETE)
        assert await changing.applied(link, changing.alter(node, *undo, broker=1))


# -- names and types of configs by release -----------------------------------------------------------------------------


@pytest.mark.parametrize("release", real_clusters.by_release(kafka_jars.RELEASES, "4.4"))
def test_what_a_release_defines_is_kept_with_its_type(release: str) -> None:
    with real_clusters.or_skip():
        kafka_jars.compiler()
        kafka_jars.jars(kafka_jars.RELEASES[release])
    kept, found = record_harmless_configs.definitions(), record_harmless_configs.defined_by(release)
    assert len(found["broker"]) > 150
    lacks = {
        (section, name, type_)
        for section, names in found.items()
        for name, types in names.items()
        for type_ in types
        if type_ not in kept[section].get(name, ())
    }
    assert lacks == set()


# -- the tables' update modes of broker configs are those of brokers of each release -----------------------------------

KEY = "advertised.listeners"


@pytest.fixture(params=real_clusters.by_release(record_dynamic_keys.TRIED, "4.3"))
def of_release(request: pytest.FixtureRequest) -> Iterator[tuple[str, KafkaCluster]]:
    """Provide the name of a release, and a cluster of one broker of this release."""
    for cluster in real_clusters.running(lambda: record_dynamic_keys.cluster_of(request.param)):
        yield request.param, cluster


@pytest.mark.takes(25)
async def test_every_key_is_altered_as_it_is_said_to_be(of_release: tuple[str, KafkaCluster]) -> None:
    release, cluster = of_release
    found = await record_dynamic_keys.tried(cluster.addresses)
    assert len(found) > 200
    assert list(record_dynamic_keys.contradictions(found)) == []
    async with worlds.linked(worlds.settings(cluster)) as link:
        resource = broker_resource(min(cluster.broker_ids))
        entry = (await describe_configs(link, [resource])).sets[resource].get(KEY)
    assert entry is not None
    assert entry.read_only is (release not in ("2.8", "3.9")), "from 4.0 on it is refused"
