"""Laws of config values, and of what a topic inherits."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.embedded import config_definitions
from console.embedded.config_changes import config_messages
from console.embedded.config_rules import inherited_configs, topic_config_error
from console.embedded.java import decimal_number, trimmed, whole_number
from console.embedded.spec import RELEASE_NAMES, release
from console.model.codes import CLIENT_METRICS, DEFAULT_CONFIG
from console.model.numbers import java_double
from tests.support.config_values import value_error

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
    read = decimal_number(java_double(value))
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
        assert whole_number(str(value), bits) == value
    else:
        with pytest.raises(ValueError, match=str(value)):
            whole_number(str(value), bits)


@pytest.mark.parametrize("text", ["", " 1", "1_0", "0x10", "1.0", "+", "--1"])
def test_what_java_does_not_read_as_a_number(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        whole_number(text, 64)


@pytest.mark.parametrize("text", ["", "1_0", "inf", "nan", "1e", "e1", "0x1", "infinity"])
def test_what_java_does_not_read_as_a_decimal(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        decimal_number(text)


def test_text_is_trimmed_as_in_java() -> None:
    assert trimmed("\x00 \t a b \n") == "a b"
    assert trimmed("\u00a0a") == "\u00a0a"


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
    assert inherited_configs(configs, layers) == {
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
        ({"retention.ms": None}, "Null value not supported for topic configs: retention.ms"),
        ({"nonsense": "1", "retention.ms": "x"}, "Unknown topic config name: nonsense"),
        (
            {"retention.ms": "x", "flush.ms": "y"},
            "Invalid value y for configuration flush.ms: Not a number of type LONG",
        ),
        (
            {"min.insync.replicas": "0"},
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"},
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)",
        ),
    ],
)
def test_a_new_topics_configs(name: str, configs: dict[str, str | None], message: str | None) -> None:
    assert topic_config_error(release(name), configs) == message


def test_what_a_topic_inherits_can_contradict_its_own() -> None:
    own: dict[str, str | None] = {"min.compaction.lag.ms": "5"}
    assert topic_config_error(release("4.4"), own) is None
    error = topic_config_error(release("4.4"), own, {"max.compaction.lag.ms": "4"})
    assert error is not None
    assert "(5) > max.compaction.lag.ms (4)" in error
