"""What applies without an override, and which broker gives a topic what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.answers.plan_results import with_source
from console.model.broker_keys import TOPIC_SYNONYMS, broker_synonyms, chain, layers_of, listener_base, names_touched
from console.model.codes import BROKER_LOGGER, CLIENT_METRICS, GROUP, ConfigSource
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    Synonym,
    broker_resource,
    topic_resource,
)
from console.model.inheritance import (
    UNKNOWN,
    Inheritance,
    Inherited,
    by_broker,
    differing,
    from_broker,
    given_as,
    in_terms_of,
)
from console.model.snapshot import Snapshot
from console.plan.diff import diff
from console.plan.edits import UnsetConfig
from console.plan.plan import EMPTY, stage
from console.plan.values import LONG
from tests.support.model_cluster import ModelCluster

T1, T2, B1, B2 = topic_resource("t1"), topic_resource("t2"), broker_resource(1), broker_resource(2)
DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = (ConfigSource(number) for number in (2, 3, 4, 5))


def cluster(**configs: dict[ConfigResource, dict[str, str]]) -> ModelCluster:
    return ModelCluster(
        static={1: {"log.retention.hours": "24"}, 2: {}}, topics={"t1": 1, "t2": 1}, configs=configs.get("configs", {})
    )


def test_the_brokers_own_settings_give_topics_different_values() -> None:
    snapshot = cluster(configs={B2: {"log.retention.ms": "5000"}, T1: {"retention.ms": "1"}}).describe()
    assert by_broker(snapshot, "retention.ms") == {
        1: Inherited("86400000", STATIC, "log.retention.hours"),
        2: Inherited("5000", DYNAMIC_BROKER, "log.retention.ms"),
    }
    assert differing(snapshot, "retention.ms") == by_broker(snapshot, "retention.ms")
    assert differing(snapshot, "cleanup.policy") == {}
    assert by_broker(snapshot, "leader.replication.throttled.replicas") == {}


@pytest.mark.parametrize("seen_by", [1, 2])
def test_by_broker_is_what_each_broker_describes(seen_by: int) -> None:
    model = cluster(configs={B2: {"log.retention.ms": "5000"}, CLUSTER_DEFAULT: {"log.preallocate": "true"}})
    snapshot = model.describe(seen_by)
    for key in TOPIC_SYNONYMS:
        entry = snapshot.configs[T2].get(key)
        if entry is not None:
            assert by_broker(snapshot, key)[seen_by].value == entry.value


def test_an_overridden_key_whose_broker_value_is_in_hours_is_found_on_the_broker() -> None:
    """Kafka describes no synonym for it: the entry alone does not tell what applies without the override."""
    snapshot = cluster(configs={T1: {"retention.ms": "1"}, T2: {"retention.ms": "2"}}).describe()
    entry = snapshot.configs[T1].get("retention.ms")
    assert entry is not None
    assert [synonym.source.name for synonym in entry.synonyms] == ["DYNAMIC_TOPIC_CONFIG"]
    found = Inheritance(snapshot).without_override(T1, "retention.ms")
    assert found == Inherited("86400000", STATIC, "log.retention.hours")


def test_without_the_brokers_configs_another_topic_tells() -> None:
    snapshot = cluster(configs={T1: {"retention.ms": "1"}}).describe()
    topics_only = replace(snapshot, configs={r: c for r, c in snapshot.configs.items() if r in (T1, T2)})
    assert Inheritance(topics_only).without_override(T1, "retention.ms").value == "86400000"
    alone = replace(snapshot, configs={T1: snapshot.configs[T1]})
    assert Inheritance(alone).without_override(T1, "retention.ms") == UNKNOWN
    assert Inheritance(alone).without_override(T1, "cleanup.policy").value == "delete"


def test_a_broker_falls_back_to_the_cluster_default_then_to_its_file() -> None:
    snapshot = cluster(configs={B1: {"max.connections": "5"}, CLUSTER_DEFAULT: {"max.connections": "7"}}).describe()
    inheritance = Inheritance(snapshot)
    assert inheritance.without_override(B1, "max.connections") == Inherited("7", DYNAMIC_DEFAULT, "max.connections")
    assert inheritance.without_override(B2, "max.connections").value == "7"
    assert inheritance.without_override(B2, "no.such.key") == Inherited(None)


def test_a_broker_key_in_hours_is_told_in_the_keys_own_unit() -> None:
    snapshot = cluster(configs={B1: {"log.retention.ms": "5"}}).describe()
    found = Inheritance(snapshot).without_override(B1, "log.retention.ms")
    assert found == Inherited("86400000", STATIC, "log.retention.hours")


def test_below_the_cluster_default_the_brokers_have_to_agree() -> None:
    default = {CLUSTER_DEFAULT: {"max.connections": "7", "compression.type": "lz4"}}
    model = ModelCluster(static={1: {"compression.type": "gzip"}, 2: {}}, configs=default)
    inheritance = Inheritance(model.describe())
    assert inheritance.without_override(CLUSTER_DEFAULT, "max.connections").value == "2147483647"
    assert inheritance.without_override(CLUSTER_DEFAULT, "compression.type") == UNKNOWN


def test_groups_client_metrics_and_loggers() -> None:
    group, metrics = ConfigResource(GROUP, "g1"), ConfigResource(CLIENT_METRICS, "m1")
    model = cluster(configs={group: {"consumer.session.timeout.ms": "5"}, metrics: {"interval.ms": "5"}})
    inheritance = Inheritance(model.describe())
    assert inheritance.without_override(group, "consumer.session.timeout.ms") == Inherited(
        "45000", DEFAULT, "group.consumer.session.timeout.ms"
    )
    assert inheritance.without_override(metrics, "interval.ms") == Inherited("300000", DEFAULT, "interval.ms")
    assert inheritance.without_override(ConfigResource(BROKER_LOGGER, "1"), "root") == UNKNOWN


def test_a_hidden_value_stays_hidden() -> None:
    key = "listener.name.x.ssl.keystore.password"
    snapshot = cluster(configs={B1: {key: "hush"}, CLUSTER_DEFAULT: {key: "hush"}}).describe()
    found = Inheritance(snapshot).without_override(B1, key)
    assert found == Inherited(None, DYNAMIC_DEFAULT, key, hidden=True)


def test_kafkas_default_is_not_what_is_inherited() -> None:
    snapshot = cluster(
        configs={CLUSTER_DEFAULT: {"log.cleanup.policy": "compact"}, T1: {"cleanup.policy": "x"}}
    ).describe()
    inheritance = Inheritance(snapshot)
    for resource, key in ((T1, "cleanup.policy"), (T2, "cleanup.policy"), (B1, "log.cleanup.policy")):
        assert inheritance.default(resource, key) == "delete"
    assert inheritance.default(CLUSTER_DEFAULT, "log.cleanup.policy") == "delete"
    assert inheritance.default(T1, "leader.replication.throttled.replicas") == ""
    assert Inheritance(Snapshot()).default(T1, "cleanup.policy") is None


def test_units_of_synonyms() -> None:
    assert in_terms_of("retention.ms", "log.retention.hours", "168") == "604800000"
    assert in_terms_of("log.retention.ms", "log.retention.minutes", "2") == "120000"
    assert in_terms_of("retention.ms", "log.retention.hours", "-1") == "-1"
    assert in_terms_of("retention.ms", "log.retention.ms", "5") == "5"
    assert in_terms_of("cleanup.policy", "log.cleanup.policy", "compact") == "compact"
    assert in_terms_of("x", "y", None) is None


def test_names_under_which_a_broker_looks() -> None:
    retention = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
    assert broker_synonyms("log.retention.minutes") == retention
    assert broker_synonyms("max.connections") == ("max.connections",)
    assert broker_synonyms("listener.name.x.max.connections") == ("listener.name.x.max.connections", "max.connections")
    assert listener_base("listener.name.x.scram-sha-256.sasl.jaas.config") == "sasl.jaas.config"
    assert listener_base("listeners") is None
    assert names_touched(["log.retention.ms", "a"]) == {*retention, "a"}


SOURCES = st.sampled_from([DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT])
NAMES = st.sampled_from(["log.retention.ms", "log.retention.minutes", "log.retention.hours"])


@given(st.dictionaries(st.tuples(NAMES, SOURCES), st.integers(1, 99).map(str)))
def test_a_chain_is_by_source_then_by_name_from_the_keys_own_on(values: dict[tuple[str, ConfigSource], str]) -> None:
    def layers(name: str) -> list[Synonym]:
        return [Synonym(name, value, source) for (of, source), value in values.items() if of == name]

    ranks = {"log.retention.ms": 0, "log.retention.minutes": 1, "log.retention.hours": 2}
    for key in ranks:
        found = chain(layers, key)
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
    entry = ConfigEntry(
        "log.retention.ms",
        "5",
        DYNAMIC_BROKER,
        synonyms=(Synonym("log.retention.ms", "5", DYNAMIC_BROKER), Synonym("log.retention.hours", "168", DEFAULT)),
    )
    layers = layers_of(ConfigSet((entry,)))
    assert list(layers("log.retention.ms")) == [Synonym("log.retention.ms", "5", DYNAMIC_BROKER)]
    assert list(layers("log.retention.hours")) == []
    assert from_broker("retention.ms", ConfigSet((entry,))).value == "5"
    assert from_broker("retention.ms", ConfigSet(())) == UNKNOWN


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
@pytest.mark.parametrize("resource", [B1, CLUSTER_DEFAULT])
def test_what_is_given_in_another_unit_is_converted_and_named(
    resource: ConfigResource, key: str, weaker: str, given: str, inherited: str
) -> None:
    """As brokers describe it: the weaker name stands after the override, in its own unit."""
    source = DYNAMIC_DEFAULT if resource.is_cluster_default else DYNAMIC_BROKER
    told = ConfigEntry(
        key, "5", source, type=LONG, synonyms=(Synonym(key, "5", source), Synonym(weaker, given, STATIC))
    )
    own = ConfigEntry(key, "5", source, type=LONG, synonyms=(Synonym(key, "5", source),))
    configs = {B1: ConfigSet((told,)), B2: ConfigSet((told,)), CLUSTER_DEFAULT: ConfigSet((own,))}
    snapshot = replace(ModelCluster(topics={"t": 1}).describe(), configs=configs)
    found = Inheritance(snapshot).without_override(resource, key)
    assert (found.value, found.source, found.name) == (inherited, STATIC, weaker)
    assert given_as(key, found.name, found.value) == f"{weaker}={given}"
    (group,) = diff(stage(EMPTY, [UnsetConfig(resource, key)], snapshot).plan, snapshot)
    assert with_source(resource, key, group.lines[0].new) == f"{inherited} ({weaker}={given}, static broker)"
