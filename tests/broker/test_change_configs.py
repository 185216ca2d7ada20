"""Changes of configs on real brokers, 4.3 and 3.9: incremental, and by the call that replaces everything."""

from __future__ import annotations

import pytest

from console.admin.configs import Replacing
from console.admin.delivery import sent
from console.admin.link import Link
from console.model import changes
from console.model.codes import (
    APPEND,
    BROKER_LOGGER,
    DELETE,
    SET,
    SUBTRACT,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigResource,
    broker_resource,
    topic_resource,
)
from console.model.secret import Secret
from tests.support import changing
from tests.support.kafka_cluster import KafkaCluster


@pytest.fixture
async def topic(link: Link, name: str) -> ConfigResource:
    """A topic of one partition, as a resource."""
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


# --- the call that replaces everything, for brokers that have nothing else; newer ones still take it


async def replaced(
    link: Link, change: changes.AlterConfigs, *, check: bool = False
) -> dict[changes.Target, changes.Outcome]:
    return {outcome.target: outcome for outcome in await sent(Replacing(link, change, check))}


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
