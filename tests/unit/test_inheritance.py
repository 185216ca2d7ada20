"""Tests of the values that apply to a resource without an override, and of the values that each broker gives a
topic.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.plan_results import with_source
from console.model import broker_keys, config
from console.model import inheritance as model_inheritance
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, GROUP, ConfigSource
from console.model.snapshot import Snapshot
from console.plan.diff import diff
from console.plan.edits import UnsetConfig
from console.plan.plan import EMPTY, stage
from console.plan.values import LONG
from tests.support.model_cluster import ModelCluster

T1, T2, B1, B2 = (
    config.topic_resource("t1"),
    config.topic_resource("t2"),
    config.broker_resource(1),
    config.broker_resource(2),
)
DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = (ConfigSource(number) for number in (2, 3, 4, 5))


def cluster(**configs: dict[config.ConfigResource, dict[str, str]]) -> ModelCluster:
    return ModelCluster(
        static={1: {"log.retention.hours": "24"}, 2: {}}, topics={"t1": 1, "t2": 1}, configs=configs.get("configs", {})
    )


def test_the_brokers_own_settings_give_topics_different_values() -> None:
    snapshot = cluster(configs={B2: {"log.retention.ms": "5000"}, T1: {"retention.ms": "1"}}).describe()
    assert model_inheritance.by_broker(snapshot, "retention.ms") == {
        1: model_inheritance.Inherited("86400000", STATIC, "log.retention.hours"),
        2: model_inheritance.Inherited("5000", DYNAMIC_BROKER, "log.retention.ms"),
    }
    assert model_inheritance.differing(snapshot, "retention.ms") == model_inheritance.by_broker(
        snapshot, "retention.ms"
    )
    assert model_inheritance.differing(snapshot, "cleanup.policy") == {}
    assert model_inheritance.by_broker(snapshot, "leader.replication.throttled.replicas") == {}


@pytest.mark.parametrize("seen_by", [1, 2])
def test_by_broker_is_what_each_broker_describes(seen_by: int) -> None:
    model = cluster(configs={B2: {"log.retention.ms": "5000"}, config.CLUSTER_DEFAULT: {"log.preallocate": "true"}})
    snapshot = model.describe(seen_by)
    for key in broker_keys.TOPIC_SYNONYMS:
        entry = snapshot.configs[T2].get(key)
        if entry is not None:
            assert model_inheritance.by_broker(snapshot, key)[seen_by].value == entry.value


def test_what_applies_without_an_override() -> None:
    """If Kafka lists only the override as a synonym, kac computes the inherited value from other entries."""
    snapshot = cluster(configs={T1: {"retention.ms": "1"}, T2: {"retention.ms": "2"}}).describe()
    entry = snapshot.configs[T1].get("retention.ms")
    assert entry is not None
    assert [synonym.source.name for synonym in entry.synonyms] == ["DYNAMIC_TOPIC_CONFIG"]
    found = model_inheritance.Inheritance(snapshot).without_override(T1, "retention.ms")
    assert found == model_inheritance.Inherited("86400000", STATIC, "log.retention.hours")
    snapshot = cluster(configs={T1: {"retention.ms": "1"}}).describe()
    topics_only = replace(snapshot, configs={r: c for r, c in snapshot.configs.items() if r in (T1, T2)})
    assert model_inheritance.Inheritance(topics_only).without_override(T1, "retention.ms").value == "86400000"
    alone = replace(snapshot, configs={T1: snapshot.configs[T1]})
    assert model_inheritance.Inheritance(alone).without_override(T1, "retention.ms") == model_inheritance.UNKNOWN
    assert model_inheritance.Inheritance(alone).without_override(T1, "cleanup.policy").value == "delete"
    snapshot = cluster(
        configs={B1: {"max.connections": "5"}, config.CLUSTER_DEFAULT: {"max.connections": "7"}}
    ).describe()
    inheritance = model_inheritance.Inheritance(snapshot)
    assert inheritance.without_override(B1, "max.connections") == model_inheritance.Inherited(
        "7", DYNAMIC_DEFAULT, "max.connections"
    )
    assert inheritance.without_override(B2, "max.connections").value == "7"
    assert inheritance.without_override(B2, "no.such.key") == model_inheritance.Inherited(None)
    default = {config.CLUSTER_DEFAULT: {"max.connections": "7", "compression.type": "lz4"}}
    model = ModelCluster(static={1: {"compression.type": "gzip"}, 2: {}}, configs=default)
    inheritance = model_inheritance.Inheritance(model.describe())
    assert inheritance.without_override(config.CLUSTER_DEFAULT, "max.connections").value == "2147483647"
    assert inheritance.without_override(config.CLUSTER_DEFAULT, "compression.type") == model_inheritance.UNKNOWN
    group, metrics = config.ConfigResource(GROUP, "g1"), config.ConfigResource(CLIENT_METRICS, "m1")
    model = cluster(configs={group: {"consumer.session.timeout.ms": "5"}, metrics: {"interval.ms": "5"}})
    inheritance = model_inheritance.Inheritance(model.describe())
    assert inheritance.without_override(group, "consumer.session.timeout.ms") == model_inheritance.Inherited(
        "45000", DEFAULT, "group.consumer.session.timeout.ms"
    )
    assert inheritance.without_override(metrics, "interval.ms") == model_inheritance.Inherited(
        "300000", DEFAULT, "interval.ms"
    )
    assert inheritance.without_override(config.ConfigResource(BROKER_LOGGER, "1"), "root") == model_inheritance.UNKNOWN


def test_without_an_override_hours_are_told_in_the_keys_own_unit_and_secrets_stay_hidden() -> None:
    snapshot = cluster(configs={B1: {"log.retention.ms": "5"}}).describe()
    found = model_inheritance.Inheritance(snapshot).without_override(B1, "log.retention.ms")
    assert found == model_inheritance.Inherited("86400000", STATIC, "log.retention.hours")
    key = "listener.name.x.ssl.keystore.password"
    snapshot = cluster(configs={B1: {key: "hush"}, config.CLUSTER_DEFAULT: {key: "hush"}}).describe()
    found = model_inheritance.Inheritance(snapshot).without_override(B1, key)
    assert found == model_inheritance.Inherited(None, DYNAMIC_DEFAULT, key, hidden=True)


def test_kafkas_default_is_not_what_is_inherited() -> None:
    snapshot = cluster(
        configs={config.CLUSTER_DEFAULT: {"log.cleanup.policy": "compact"}, T1: {"cleanup.policy": "x"}}
    ).describe()
    inheritance = model_inheritance.Inheritance(snapshot)
    for resource, key in ((T1, "cleanup.policy"), (T2, "cleanup.policy"), (B1, "log.cleanup.policy")):
        assert inheritance.default(resource, key) == "delete"
    assert inheritance.default(config.CLUSTER_DEFAULT, "log.cleanup.policy") == "delete"
    assert inheritance.default(T1, "leader.replication.throttled.replicas") == ""
    assert model_inheritance.Inheritance(Snapshot()).default(T1, "cleanup.policy") is None


def test_names_and_units_of_synonyms() -> None:
    assert model_inheritance.in_terms_of("retention.ms", "log.retention.hours", "168") == "604800000"
    assert model_inheritance.in_terms_of("log.retention.ms", "log.retention.minutes", "2") == "120000"
    assert model_inheritance.in_terms_of("retention.ms", "log.retention.hours", "-1") == "-1"
    assert model_inheritance.in_terms_of("retention.ms", "log.retention.ms", "5") == "5"
    assert model_inheritance.in_terms_of("cleanup.policy", "log.cleanup.policy", "compact") == "compact"
    assert model_inheritance.in_terms_of("x", "y", None) is None
    retention = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert broker_keys.broker_synonyms("log.retention.minutes") == retention
    assert broker_keys.broker_synonyms("max.connections") == ("max.connections",)
    assert broker_keys.broker_synonyms("listener.name.x.max.connections") == (
        "listener.name.x.max.connections",
        "max.connections",
    )
    assert broker_keys.listener_base("listener.name.x.scram-sha-256.sasl.jaas.config") == "sasl.jaas.config"
    assert broker_keys.listener_base("listeners") is None
    assert broker_keys.names_touched(["log.retention.ms", "a"]) == {*retention, "a"}


SOURCES = st.sampled_from([DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT])
NAMES = st.sampled_from(["log.retention.ms", "log.retention.minutes", "log.retention.hours"])


@given(st.dictionaries(st.tuples(NAMES, SOURCES), st.integers(1, 99).map(str)))
def test_a_chain_is_by_source_then_by_name_from_the_keys_own_on(values: dict[tuple[str, ConfigSource], str]) -> None:
    def layers(name: str) -> list[config.Synonym]:
        return [config.Synonym(name, value, source) for (of, source), value in values.items() if of == name]

    ranks = {"log.retention.ms": 0, "log.retention.minutes": 1, "log.retention.hours": 2}
    for key in ranks:
        found = broker_keys.chain(layers, key)
        assert [(s.source, ranks[s.name]) for s in found] == sorted((s.source, ranks[s.name]) for s in found)
        if any(name == key for name, _ in values):
            assert found[0].name == key
            strongest = min(source for name, source in values if name == key)
            assert found[0].source == strongest
            after = [
                (source, ranks[name]) for name, source in values if (source, ranks[name]) >= (strongest, ranks[key])
            ]
            assert len(found) == len(after)
        else:
            assert found == ()


def test_what_a_broker_tells_of_each_name_is_taken_from_its_entries() -> None:
    entry = config.ConfigEntry(
        "log.retention.ms",
        "5",
        DYNAMIC_BROKER,
        synonyms=(
            config.Synonym("log.retention.ms", "5", DYNAMIC_BROKER),
            config.Synonym("log.retention.hours", "168", DEFAULT),
        ),
    )
    layers = broker_keys.layers_of(config.ConfigSet((entry,)))
    assert list(layers("log.retention.ms")) == [config.Synonym("log.retention.ms", "5", DYNAMIC_BROKER)]
    assert list(layers("log.retention.hours")) == []
    assert model_inheritance.from_broker("retention.ms", config.ConfigSet((entry,))).value == "5"
    assert model_inheritance.from_broker("retention.ms", config.ConfigSet(())) == model_inheritance.UNKNOWN


@pytest.mark.parametrize(
    ("key", "weaker", "given", "inherited"),
    [
        ("log.retention.ms", "log.retention.hours", "168", "604800000"),
        ("log.retention.ms", "log.retention.minutes", "90", "5400000"),
        ("log.retention.minutes", "log.retention.hours", "168", "10080"),
        ("log.roll.ms", "log.roll.hours", "168", "604800000"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours", "2", "7200000"),
        ("log.retention.ms", "log.retention.hours", "-1", "-1"),
    ],
)
@pytest.mark.parametrize("resource", [B1, config.CLUSTER_DEFAULT])
def test_what_is_given_in_another_unit_is_converted_and_named(
    resource: config.ConfigResource, key: str, weaker: str, given: str, inherited: str
) -> None:
    """If a value is inherited from a weaker key with another unit, kac converts the value to the unit of the
    overridden key, and names the weaker key.
    """
    source = DYNAMIC_DEFAULT if resource.is_cluster_default else DYNAMIC_BROKER
    told = config.ConfigEntry(
        key, "5", source, type=LONG, synonyms=(config.Synonym(key, "5", source), config.Synonym(weaker, given, STATIC))
    )
    own = config.ConfigEntry(key, "5", source, type=LONG, synonyms=(config.Synonym(key, "5", source),))
    configs = {
        B1: config.ConfigSet((told,)),
        B2: config.ConfigSet((told,)),
        config.CLUSTER_DEFAULT: config.ConfigSet((own,)),
    }
    snapshot = replace(ModelCluster(topics={"t": 1}).describe(), configs=configs)
    found = model_inheritance.Inheritance(snapshot).without_override(resource, key)
    assert (found.value, found.source, found.name) == (inherited, STATIC, weaker)
    assert model_inheritance.given_as(key, found.name, found.value) == f"{weaker}={given}"
    (group,) = diff(stage(EMPTY, [UnsetConfig(resource, key)], snapshot).plan, snapshot)
    assert with_source(resource, key, group.lines[0].new) == f"{inherited} ({weaker}={given}, static broker)"
