"""Tests of configs over sockets: descriptions, changes, allowed values, and the configs of scenarios."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded import config_definitions, config_rules, java, own_resources
from console.embedded.brokers import EmbeddedCluster
from console.embedded.config_changes import PolicyViolation, config_messages
from console.embedded.config_definitions import NOTHING, BrokerLayers, ConfigDefinition, checked_value, release_configs
from console.embedded.config_describe import described_entries, layers_of
from console.embedded.replicas import new_topic
from console.embedded.spec import RELEASE_NAMES, ClusterSpec, release
from console.model import codes
from console.model.codes import BROKER, BROKER_LOGGER, CLIENT_METRICS, DEFAULT_CONFIG, GROUP, TOPIC
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.numbers import java_double
from console.wire.proposals import kip133_configs as kip133
from tests.embedded.raw_client import RawClient
from tests.embedded.test_proposals import Rights, WatchedClock, ask
from tests.support.kafka_messages import with_fields


def value_error(definition: ConfigDefinition, text: str) -> str | None:
    """Return the reason why a config can't have this value; None if it can."""
    try:
        checked_value(definition, text)
    except ValueError as error:
        return str(error)
    return None


# -- DescribeConfigs over the wire: fast encoding, and each broker's own view ------------------------------------------

T = topic_resource("t")
KEYS = ("retention.ms", "cleanup.policy", "segment.ms")

Brokers = EmbeddedCluster | Mapping[int, tuple[str, int]]
"""An embedded cluster, or broker id -> address of another cluster."""


def address(cluster: Brokers, broker: int) -> tuple[str, int]:
    return (cluster.addresses if isinstance(cluster, EmbeddedCluster) else cluster)[broker]


async def describe(
    cluster: Brokers,
    *resources: ConfigResource,
    keys: tuple[str, ...] | None = None,
    version: int = 4,
    broker: int = 1,
    synonyms: bool = True,
    documentation: bool = False,
) -> list[Any]:
    asked = [(each.type, each.name, keys) for each in resources]
    request = with_fields(resources=asked, include_synonyms=synonyms, include_documentation=documentation)
    async with RawClient(address(cluster, broker)) as client:
        return list((await client.ask("describe_configs", version, request)).results)


def told(result: Any) -> dict[str, tuple[str | None, int]]:
    return {entry.name: (entry.value, entry.config_source) for entry in result.configs}


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("asked", [(True, True), (True, False), (False, False)])
async def test_the_bytes_say_what_is_described(release: str, version: int, asked: tuple[bool, bool]) -> None:
    synonyms, documentation = asked
    async with EmbeddedCluster(ClusterSpec(brokers=1, versions=release)) as cluster:
        names = ["t", "u", "Tür", "w"]
        for name in names:
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        cluster.state.replace_config(T, {"retention.ms": " 5 ", "cleanup.policy": "compact"})
        cluster.state.replace_config(topic_resource("u"), {"cleanup.policy": "compact", "retention.ms": " 5 "})
        cluster.state.alter_config(CLUSTER_DEFAULT, {"log.retention.ms": "7", "nobody.knows": "a secret"})
        resources = [topic_resource(name) for name in names]
        resources += [CLUSTER_DEFAULT, broker_resource(1), ConfigResource(BROKER_LOGGER, "1")]
        results = await describe(cluster, *resources, version=version, synonyms=synonyms, documentation=documentation)
        assert [(result.resource_type, result.resource_name) for result in results] == resources
        assert all((result.error_code, result.error_message) == (0, "") for result in results)
        for resource, result in zip(resources, results, strict=True):
            entries = described_entries(cluster, 1, resource)
            assert [entry.name for entry in result.configs] == [entry.name for entry in entries]
            for entry, each in zip(entries, result.configs, strict=True):
                assert (each.value, each.read_only, each.config_source, each.is_sensitive) == (
                    entry.value,
                    entry.read_only,
                    entry.source,
                    entry.sensitive,
                )
                assert [(s.name, s.value, s.source) for s in each.synonyms] == (
                    list(entry.synonyms) if synonyms else []
                )
                if version >= 3:
                    assert each.config_type == entry.type
                    shown = documentation or resource.type == BROKER_LOGGER
                    assert each.documentation == (entry.documentation if shown else None)
        assert "a secret" not in repr(results)


async def test_what_was_kept_does_not_outlive_a_change(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1]))
    (before,) = await describe(cluster, T, keys=KEYS)
    assert told(before) == {
        "retention.ms": ("604800000", 5),
        "cleanup.policy": ("delete", 5),
        "segment.ms": ("604800000", 5),
    }
    cluster.state.alter_config(T, {"retention.ms": "1"})
    cluster.state.alter_config(CLUSTER_DEFAULT, {"log.roll.ms": "2"})
    cluster.state.alter_config(broker_resource(1), {"log.cleanup.policy": "compact"})
    (after,) = await describe(cluster, T, keys=KEYS)
    assert told(after) == {"retention.ms": ("1", 1), "cleanup.policy": ("compact", 2), "segment.ms": ("2", 3)}
    (elsewhere,) = await describe(cluster, T, keys=KEYS, broker=2)
    assert told(elsewhere)["cleanup.policy"] == ("delete", 5)
    cluster.state.replace_config(T, {})
    assert told((await describe(cluster, T, keys=("retention.ms",)))[0]) == {"retention.ms": ("604800000", 5)}


async def test_a_broker_that_lags_behind_tells_what_it_knows() -> None:
    clock = WatchedClock()
    async with EmbeddedCluster(ClusterSpec(propagation_delay=5.0), clock) as cluster:
        cluster.state.put_topic(new_topic("t", [(1,)], [1]))
        clock.advance(10)
        cluster.state.alter_config(T, {"retention.ms": "1"})
        assert told((await describe(cluster, T, keys=("retention.ms",), broker=1))[0]) == {"retention.ms": ("1", 1)}
        (behind,) = await describe(cluster, T, keys=("retention.ms",), broker=2)
        assert told(behind) == {"retention.ms": ("604800000", 5)}
        clock.advance(10)
        assert told((await describe(cluster, T, keys=("retention.ms",), broker=2))[0]) == {"retention.ms": ("1", 1)}


async def test_a_brokers_file_tells_which_broker_it_is() -> None:
    spec = ClusterSpec(racks={2: "zone-b"}, static_configs={"num.partitions": "6"})
    async with EmbeddedCluster(spec) as cluster:
        (result,) = await describe(cluster, broker_resource(2), broker=2)
        configs = told(result)
        assert configs["node.id"] == ("2", 4)
        assert configs["broker.rack"] == ("zone-b", 4)
        assert configs["num.partitions"] == ("6", 4)
        host, port = cluster.addresses[2]
        assert configs["advertised.listeners"] == (f"PLAINTEXT://{host}:{port}", 4)
        assert configs["super.users"] == (None, 4)


async def test_rights_are_told_for_each_resource_behind_the_others(cluster: EmbeddedCluster) -> None:
    for name in ("t", "u"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
    cluster.authorizer = Rights(("DESCRIBE_CONFIGS", "TOPIC", "u"))
    results = await describe(cluster, T, broker_resource(1), topic_resource("u"), ConfigResource(GROUP, "g"))
    assert [(each.resource_name, each.error_code, each.error_message) for each in results] == [
        ("u", 0, ""),
        ("t", 29, "Topic authorization failed."),
        ("1", 31, "Cluster authorization failed."),
        ("g", 30, "Group authorization failed."),
    ]


async def test_many_topics_share_what_is_kept(cluster: EmbeddedCluster) -> None:
    names = [f"topic-{number:04d}" for number in range(1000)]
    for number, name in enumerate(names):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        if number % 50 == 0:
            cluster.state.replace_config(topic_resource(name), {"retention.ms": str(1 + number % 7)})
    results = await describe(cluster, *(ConfigResource(TOPIC, name) for name in names))
    assert [result.resource_name for result in results] == names
    values = [next(e.value for e in result.configs if e.name == "retention.ms") for result in results]
    assert values == [str(1 + n % 7) if n % 50 == 0 else "604800000" for n in range(1000)]


# -- Changes of configs over the wire: policies, rights, loggers, and requests that are too large ----------------------

Ops = Sequence[tuple[str, codes.AlterOp, str | None]]
Told = list[tuple[int, str | None]]


async def alter(
    cluster: Brokers, *wanted: tuple[ConfigResource, Ops], broker: int = 1, validate_only: bool = False
) -> Told:
    async with RawClient(address(cluster, broker)) as client:
        return await altered(client, *wanted, validate_only=validate_only)


async def altered(client: RawClient, *wanted: tuple[ConfigResource, Ops], validate_only: bool = False) -> Told:
    resources = [(resource.type, resource.name, ops) for resource, ops in wanted]
    asked = with_fields(resources=resources, validate_only=validate_only)
    response = await client.ask("incremental_alter_configs", 1, asked)
    told = {
        (each.resource_type, each.resource_name): (each.error_code, each.error_message) for each in response.responses
    }
    assert len(told) == len(wanted)
    return [told[resource] for resource, _ in wanted]


async def replace(
    cluster: EmbeddedCluster, *wanted: tuple[ConfigResource, dict[str, str | None]], broker: int = 1
) -> Told:
    resources = [(resource.type, resource.name, [*configs.items()]) for resource, configs in wanted]
    async with RawClient(address(cluster, broker)) as client:
        response = await client.ask("alter_configs", 2, with_fields(resources=resources, validate_only=False))
    return [(each.error_code, each.error_message) for each in response.responses]


class FrozenTopics:
    """A policy for alter requests that refuses changes of some topics, and records all changes."""

    def __init__(self, *frozen: str) -> None:
        self.frozen = frozen
        self.asked: list[tuple[ConfigResource, dict[str, str | None]]] = []
        self.configured: list[dict[str, str]] = []
        self.closed = 0

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configured.append(dict(configs))

    def validate(self, resource: ConfigResource, configs: Mapping[str, str | None]) -> None:
        self.asked.append((resource, dict(configs)))
        if resource.name in self.frozen:
            raise PolicyViolation(f"{resource.name} is not to be touched")

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("release", RELEASE_NAMES)
async def test_a_policy_refuses_in_its_own_words_and_the_others_proceed(release: str) -> None:
    policy = FrozenTopics("t")
    spec = ClusterSpec(brokers=1, versions=release, alter_config_policy=policy, static_configs={"num.partitions": "3"})
    async with EmbeddedCluster(spec) as cluster:
        assert policy.configured == [{"num.partitions": "3"}]
        for name in ("t", "u"):
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        u = topic_resource("u")
        cluster.state.replace_config(u, {"flush.ms": "5", "retention.ms": "1"})
        ops: Ops = [("retention.ms", codes.SET, "7"), ("flush.ms", codes.DELETE, None)]
        answer = await alter(cluster, (T, ops), (u, ops))
        assert answer == [(44, "t is not to be touched"), (0, None)]
        assert policy.asked[-1] == (u, {"retention.ms": "7", "flush.ms": None})
        assert (dict(cluster.state.configs.get(T, {})), cluster.state.configs[u]) == ({}, {"retention.ms": "7"})
        assert await alter(cluster, (T, ops), validate_only=True) == [(44, "t is not to be touched")]
        assert await replace(cluster, (T, {}), (u, {})) == [(44, "t is not to be touched"), (0, None)]
        assert await alter(cluster, (T, [("retention.ms", codes.SET, "x")])) != [(44, "t is not to be touched")]
    assert policy.closed == 1


async def test_a_policy_has_its_say_in_the_proposals_request_too() -> None:
    policy = FrozenTopics("t")
    async with EmbeddedCluster(ClusterSpec(alter_config_policy=policy)) as cluster:
        for name in ("t", "u"):
            cluster.state.put_topic(new_topic(name, [(1,)], [1]))
        wanted = [(2, name, [("retention.ms", "7")]) for name in ("t", "u")]
        answer = await ask(cluster, kip133.AlterConfigsRequest, 2, resources=wanted, validate_only=False)
        responses = answer.responses
        assert [(each.resource_name, each.error_code, each.error_message) for each in responses] == [
            ("t", 44, "t is not to be touched"),
            ("u", 0, ""),
        ]
        assert policy.asked == [(each, {"retention.ms": "7"}) for each in (T, topic_resource("u"))]


async def test_loggers_change_on_their_broker_until_it_ends(cluster: EmbeddedCluster) -> None:
    logger, key = ConfigResource(codes.BROKER_LOGGER, "2"), "kafka.request.logger"
    end = cluster.state.log.end
    assert await alter(cluster, (logger, [(key, codes.SET, "DEBUG"), ("root", codes.SET, "ERROR")]), broker=2) == [
        (0, None)
    ]
    assert told((await describe(cluster, logger, keys=(key, "root", "kafka.authorizer.logger"), broker=2))[0]) == {
        key: ("DEBUG", 6),
        "root": ("ERROR", 6),
        "kafka.authorizer.logger": ("ERROR", 6),
    }
    other = ConfigResource(codes.BROKER_LOGGER, "1")
    assert told((await describe(cluster, other, keys=(key, "root")))[0]) == {key: ("WARN", 6), "root": ("INFO", 6)}
    assert await alter(cluster, (logger, [(key, codes.DELETE, None)]), broker=2) == [(0, None)]
    assert told((await describe(cluster, logger, keys=(key,), broker=2))[0]) == {key: ("ERROR", 6)}
    (refused,) = await alter(cluster, (logger, [(key, codes.SET, "TRACE"), ("nobody", codes.SET, "INFO")]), broker=2)
    assert refused == (40, "Logger nobody does not exist!")
    assert told((await describe(cluster, logger, keys=(key,), broker=2))[0]) == {key: ("ERROR", 6)}
    assert cluster.state.log.end == end
    await cluster.broker_down(2)
    await cluster.broker_up(2)
    assert told((await describe(cluster, logger, keys=(key, "root"), broker=2))[0]) == {
        key: ("WARN", 6),
        "root": ("INFO", 6),
    }


async def test_a_brokers_record_is_written_again_and_a_topics_is_not(cluster: EmbeddedCluster) -> None:
    cluster.state.put_topic(new_topic("t", [(1,)], [1]))
    for resource, key, again in ((T, "retention.ms", 0), (broker_resource(1), "log.retention.ms", 1)):
        assert await alter(cluster, (resource, [(key, codes.SET, "5")])) == [(0, None)]
        end = cluster.state.log.end
        assert await alter(cluster, (resource, [(key, codes.SET, "5")])) == [(0, None)]
        assert cluster.state.log.end == end + again


@pytest.mark.parametrize("topics", [3333, 3334])
async def test_ten_thousand_records_are_too_many_for_one_change(cluster: EmbeddedCluster, topics: int) -> None:
    resources = [topic_resource(f"t{number}") for number in range(topics)]
    for resource in resources:
        cluster.state.put_topic(new_topic(resource.name, [(1,)], [1]))
    ops: Ops = [("retention.ms", codes.SET, "1"), ("flush.ms", codes.SET, "2"), ("segment.ms", codes.SET, "3")]
    end = cluster.state.log.end
    answer = await alter(cluster, *((resource, ops) for resource in resources))
    if topics * 3 <= 10_000:
        assert set(answer) == {(0, None)}
        assert all(len(cluster.state.configs[resource]) == 3 for resource in resources)
    else:
        assert set(answer) == {(44, "Unable to perform excessively large batch operation.")}
        assert cluster.state.log.end == end


async def test_rights_are_looked_at_for_each_resource(cluster: EmbeddedCluster) -> None:
    for name in ("t", "u"):
        cluster.state.put_topic(new_topic(name, [(1,)], [1]))
    cluster.authorizer = Rights(("ALTER_CONFIGS", "TOPIC", "u"))
    retention: Ops = [("retention.ms", codes.SET, "7")]
    answer = await alter(
        cluster,
        (T, retention),
        (topic_resource("u"), retention),
        (CLUSTER_DEFAULT, [("log.retention.ms", codes.SET, "7")]),
        (ConfigResource(codes.BROKER_LOGGER, "1"), [("root", codes.SET, "INFO")]),
    )
    assert [code for code, _ in answer] == [29, 0, 31, 31]
    assert set(cluster.state.configs) & {T, topic_resource("u")} == {topic_resource("u")}


async def test_in_sync_replicas_of_a_cluster_with_elr_stand_in_the_metadata() -> None:
    async with EmbeddedCluster(ClusterSpec(brokers=1, static_configs={"min.insync.replicas": "2"})) as cluster:
        assert cluster.state.configs[CLUSTER_DEFAULT] == {"min.insync.replicas": "2"}
        key = "min.insync.replicas"
        assert await alter(cluster, (CLUSTER_DEFAULT, [(key, codes.SET, "1")])) == [(0, None)]
        ((code, message),) = await alter(cluster, (CLUSTER_DEFAULT, [(key, codes.DELETE, None)]))
        assert (code, message) == (40, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
        ((code, message),) = await alter(cluster, (broker_resource(1), [(key, codes.SET, "1")]))
        assert (code, message) == (40, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")


async def test_a_broker_that_lags_decides_by_what_it_knows_and_the_controller_by_what_is() -> None:
    async with EmbeddedCluster(ClusterSpec(propagation_delay=3600.0)) as cluster:
        cluster.state.put_topic(new_topic("t", [(1,)], [1]))
        cluster.state.alter_config(T, {"cleanup.policy": "compact"})
        assert await alter(cluster, (T, [("cleanup.policy", codes.APPEND, "delete")]), broker=3) == [(0, None)]
        assert cluster.state.configs[T] == {"cleanup.policy": "compact,delete"}


# -- Laws of config values and of inherited topic configs --------------------------------------------------------------

ALL = [
    definition
    for name in RELEASE_NAMES
    for configs in [config_definitions.release_configs(name)]
    for section in (
        configs.topic,
        configs.broker,
        configs.broker_dynamic_only,
        configs.group,
        configs.others[CLIENT_METRICS],
    )
    for definition in section.values()
]
TEXTS = st.one_of(
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(repr),
    st.sampled_from(
        ["true", " FALSE ", "a, b", "compact", "delete,delete", "0:1,1:2", "*", "gzip", "by_duration:PT1H", "3.9"]
    ),
)


def test_kafkas_own_defaults_are_valid() -> None:
    assert len(ALL) > 1000
    for definition in ALL:
        if definition.default is not None:
            config_definitions.checked_value(definition, definition.default)
            assert config_definitions.canonical_value(definition, definition.default) == definition.default


@given(st.sampled_from(ALL), TEXTS)
def test_a_value_as_it_is_told_is_valid_and_told_the_same(
    definition: config_definitions.ConfigDefinition, text: str
) -> None:
    error = value_error(definition, text)
    if error is None:
        told = config_definitions.canonical_value(definition, text)
        assert value_error(definition, told) is None
        assert config_definitions.canonical_value(definition, told) == told
    else:
        assert definition.name in error


@given(st.floats())
def test_a_decimal_number_is_read_back(value: float) -> None:
    read = java.decimal_number(java_double(value))
    assert read == value or (math.isnan(read) and math.isnan(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1e-5, "1.0E-5"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1.25e10, "1.25E10"),
        (1e300, "1.0E300"),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_decimal_numbers_look_as_in_java(value: float, text: str) -> None:
    assert java_double(value) == text


@given(st.integers(), st.sampled_from([16, 32, 64]))
def test_whole_numbers_have_their_bounds(value: int, bits: int) -> None:
    if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        assert java.whole_number(str(value), bits) == value
    else:
        with pytest.raises(ValueError, match=str(value)):
            java.whole_number(str(value), bits)


@pytest.mark.parametrize("text", ["", " 1", "1_0", "0x10", "1.0", "+", "--1"])
def test_what_java_does_not_read_as_a_number(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        java.whole_number(text, 64)


@pytest.mark.parametrize("text", ["", "1_0", "inf", "nan", "1e", "e1", "0x1", "infinity"])
def test_what_java_does_not_read_as_a_decimal(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        java.decimal_number(text)


def test_text_is_trimmed_as_in_java() -> None:
    assert java.trimmed("\x00 \t a b \n") == "a b"
    assert java.trimmed("\u00a0a") == "\u00a0a"


def test_sets_of_keys_are_shown_as_by_the_release() -> None:
    names = ["listeners", "sasl.jaas.config"], ["listener.name.plaintext.ssl.truststore.type"]
    assert (
        config_messages("4.4").keys(*names)
        == "[listeners, listener.name.plaintext.ssl.truststore.type, sasl.jaas.config]"
    )
    assert (
        config_messages("3.9").keys(*names)
        == "Set(listeners, sasl.jaas.config, listener.name.plaintext.ssl.truststore.type)"
    )
    assert config_messages("3.9").keys(["log.dirs", "node.id"]) == "Set(node.id, log.dirs)"
    security = ["ssl.keystore.location", "ssl.keystore.type"]
    assert config_messages("3.9").security_keys(security) == "HashSet(ssl.keystore.type, ssl.keystore.location)"


@pytest.mark.parametrize("name", RELEASE_NAMES)
def test_a_cluster_of_defaults_gives_topics_kafkas_defaults(name: str) -> None:
    configs = config_definitions.release_configs(name)
    layers = config_definitions.BrokerLayers(configs, {}, {}, {})
    assert config_rules.inherited_configs(configs, layers) == {
        key: definition.default for key, definition in configs.topic.items() if definition.default is not None
    }


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({"log.retention.hours": "1"}, "3600000"),
        ({"log.retention.minutes": "2", "log.retention.hours": "1"}, "120000"),
        ({"log.retention.ms": "3", "log.retention.minutes": "2", "log.retention.hours": "1"}, "3"),
        ({"log.retention.hours": "-1"}, "-1"),
        ({"log.retention.ms": "-2"}, "-1"),
    ],
)
def test_retention_has_three_units(layer: dict[str, str], expected: str) -> None:
    configs = config_definitions.release_configs("4.4")
    assert config_definitions.BrokerLayers(configs, {}, {}, layer).inherited(configs.topic["retention.ms"]) == expected


VALUES = st.sampled_from(["1", "2", "3"])
LAYER = st.dictionaries(st.sampled_from(["log.retention.ms", "log.retention.minutes", "log.retention.hours"]), VALUES)


@given(LAYER, LAYER, LAYER)
def test_the_first_synonym_is_what_applies(
    own: dict[str, str], default: dict[str, str], static: dict[str, str]
) -> None:
    layers = config_definitions.BrokerLayers(config_definitions.release_configs("4.4"), own, default, static)
    synonyms = layers.synonyms("log.retention.ms")
    strongest = next(
        (layer["log.retention.ms"] for layer in (own, default, static) if "log.retention.ms" in layer), None
    )
    assert layers.value("log.retention.ms") == strongest
    if strongest is None:
        assert synonyms == ()
    else:
        assert (synonyms[0].name, synonyms[0].value) == ("log.retention.ms", strongest)
        assert synonyms[-1] == ("log.retention.hours", "168", DEFAULT_CONFIG)
        assert list(synonyms) == sorted(synonyms, key=lambda synonym: synonym.source)


@pytest.mark.parametrize("name", RELEASE_NAMES)
@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({}, None),
        ({"retention.ms": " 5 "}, None),
        ({"nonsense": "1", "retention.ms": "x"}, "Unknown topic config name: nonsense"),
        (
            {"retention.ms": "x", "flush.ms": "y"},
            "Invalid value y for configuration flush.ms: Not a number of type LONG",
        ),
    ],
)
def test_a_new_topics_configs(name: str, configs: dict[str, str | None], message: str | None) -> None:
    assert config_rules.topic_config_error(release(name), configs) == message


def test_what_a_topic_inherits_can_contradict_its_own() -> None:
    own: dict[str, str | None] = {"min.compaction.lag.ms": "5"}
    assert config_rules.topic_config_error(release("4.4"), own) is None
    error = config_rules.topic_config_error(release("4.4"), own, {"max.compaction.lag.ms": "4"})
    assert error is not None
    assert "(5) > max.compaction.lag.ms (4)" in error


# -- The configs of scenarios are valid in the release -----------------------------------------------------------------


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("scenario", ["quiet", "incident", "large"])
def test_all_configs_are_valid(scenario: str, release: str) -> None:
    cluster = EmbeddedCluster(ClusterSpec(scenario=scenario, versions=release))
    configs = release_configs(release)
    modern = cluster.release.number >= (4, 0)
    seen = 0
    for resource, own in islice(cluster.state.configs.items(), 1000):
        if resource.type == TOPIC:
            config_rules.check_topic(configs, own, NOTHING)
        elif resource.type == BROKER:
            nothing_set = BrokerLayers(configs, NOTHING, NOTHING, NOTHING)
            config_rules.check_broker_values(nothing_set, own, config_messages(release), own=bool(resource.name))
        elif resource.type == CLIENT_METRICS:
            own_resources.check_client_metrics(layers_of(cluster, 1, cluster.state.view), own, modern=modern)
        else:
            config_rules.check_group(layers_of(cluster, 1, cluster.state.view), own)
        seen += 1
    assert seen > 8


def test_a_broker_does_not_start_with_a_value_that_can_not_be() -> None:
    with pytest.raises(
        ValueError, match=r"^Invalid value x for configuration num\.partitions: Not a number of type INT$"
    ):
        EmbeddedCluster(ClusterSpec(static_configs={"num.partitions": "x"}))
