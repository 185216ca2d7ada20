"""The definitions of configs in each release, the checks of their values, and the layers of a broker's configs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct, field

from console.embedded.java import decimal_number, trimmed, whole_number
from console.embedded.state import View
from console.model import codes
from console.model.config import CLUSTER_DEFAULT, Synonym, broker_resource
from console.model.entity_types import listed_alone
from console.model.numbers import java_double

NO_RULE: Mapping[str, Any] = {}


class ConfigDefinition(Struct, frozen=True):
    """The definition of a config key (ConfigDef.ConfigKey)."""

    name: str
    type: codes.ConfigType
    default: str | None = None
    """The default as Kafka writes it; None if it is null, or if the key is required."""
    rule: Mapping[str, Any] = field(default_factory=dict)
    """The name and the parameters of a check beyond that of the type; empty without such a check."""
    internal: bool = False
    """Whether DescribeConfigs returns the key only if it is set."""
    documentation: str | None = None

    @property
    def is_list(self) -> bool:
        """Whether the type is LIST, whose values the operations APPEND and SUBTRACT accept."""
        return self.type == LIST

    @property
    def sensitive(self) -> bool:
        """Whether DescribeConfigs does not return the value because it is a password."""
        return self.type == PASSWORD


BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = map(codes.ConfigType, range(1, 10))
UNKNOWN_TYPE = codes.ConfigType(0)

Definitions = Mapping[str, ConfigDefinition]


class ReleaseConfigs(Struct, frozen=True):
    """The config definitions of a release, by key, in the order in which Kafka checks values."""

    topic: Definitions
    broker: Definitions
    """The definitions of the keys that a broker's configuration file may have."""
    broker_dynamic_only: Definitions
    """The definitions of broker keys that can only be set at run time: the replication throttles of KIP-73."""
    group: Definitions
    others: Mapping[codes.ResourceType, Definitions]
    """Resource type -> the definitions of its keys, for all types other than broker; empty for a type that the release
    lacks.
    """
    topic_synonyms: Mapping[str, str]
    """Topic key -> the broker key from which it inherits."""
    group_synonyms: Mapping[str, str | None]
    """Group key -> the broker key from which it inherits; None if it inherits from none."""
    broker_synonyms: Mapping[str, tuple[str, ...]]
    """Broker key -> all keys that set the same value, the one with the highest priority first."""
    checked: tuple[str, ...]
    """The broker keys in the order in which Kafka checks a change. Kafka 3.9 has an order of its own."""
    dynamic: frozenset[str]
    """The broker keys that DescribeConfigs does not mark as read-only."""
    not_dynamic: frozenset[str]
    """The broker keys that can't be changed at run time."""
    per_broker: frozenset[str]
    """The broker keys that can be set for single brokers only, not as cluster defaults."""
    per_listener: frozenset[str]
    """The broker keys that can be set only with a listener's prefix (``listener.name.x.``)."""
    listener_mechanism: frozenset[str]
    """The broker keys whose prefix may also name a SASL mechanism."""
    cluster_level_listener: frozenset[str]
    """The keys with a listener's prefix that can be set as cluster defaults."""
    loggers: tuple[str, ...]
    """The names of all loggers, including the root logger."""


@cache
def release_configs(release: str) -> ReleaseConfigs:
    """Return the config definitions of a release, by its name such as ``4.3``."""
    data = release_data(release)

    def definitions(section: str) -> Definitions:
        return _definitions(data.get(section, {}))

    def keys(name: str) -> frozenset[str]:
        return frozenset(data[name])

    return ReleaseConfigs(
        topic=definitions("topic"),
        broker=definitions("broker"),
        broker_dynamic_only=definitions("broker_dynamic_only"),
        group=definitions("group"),
        others={
            codes.ResourceType(each.number): definitions(each.name.lower()) for each in listed_alone() if each.number
        },
        topic_synonyms=data["topic_synonyms"],
        group_synonyms=data.get("group_synonyms", {}),
        broker_synonyms={key: tuple(names) for key, names in data["broker_synonyms"].items()},
        checked=tuple(data["checked"]),
        dynamic=keys("dynamic"),
        not_dynamic=keys("not_dynamic"),
        per_broker=keys("per_broker"),
        per_listener=keys("per_listener"),
        listener_mechanism=keys("listener_mechanism"),
        cluster_level_listener=keys("cluster_level_listener"),
        loggers=tuple(data["loggers"]),
    )


LIKE = "like"
"""A key in a release's data file, whose value is the name of another release. Each value ``true`` in the file stands
for the value in that other release's file.
"""


def release_data(release: str, program: str = "kafka") -> dict[str, Any]:
    """Return the content of a release's data file in data/, with each ``true`` replaced by the value in the file of the
    release that LIKE names.

    Args:
        program: ``kafka`` or ``connect``: files of tests/support/record_config_definitions.py or record_connect.py.
    """
    file = files("console.embedded") / "data" / f"{program}_{release.replace('.', '_')}.json"
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if LIKE not in data:
        return data
    base = release_data(data.pop(LIKE), program)
    return {name: _whole(part, base.get(name)) for name, part in data.items()}


def _whole(part: Any, base: Any) -> Any:
    if isinstance(part, dict):
        return {key: base[key] if value is True else value for key, value in part.items()}
    return base if part is True else part


def _definitions(section: Mapping[str, Mapping[str, Any]]) -> Definitions:
    return {
        name: ConfigDefinition(
            name,
            codes.ConfigType.parse(fields["type"]),
            fields.get("default"),
            fields.get("valid", NO_RULE),
            fields.get("internal", False),
            fields["documentation"],
        )
        for name, fields in section.items()
    }


ConfigValue = str | int | float | bool | tuple[str, ...]
_BITS = {INT: 32, SHORT: 16, LONG: 64}
_BLANKS = " \t\n\r\f\v"
_DURATION = re.compile(r"P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{0,9})?S)?)?", re.IGNORECASE | re.ASCII)
_THROTTLED = re.compile(r"(\d+:\d+)?", re.ASCII)


class InvalidValue(ValueError):
    """A config value is invalid for its key. The exception's text is Kafka's message (ConfigException)."""

    def __init__(self, name: str, value: str, reason: str = "") -> None:
        super().__init__(f"Invalid value {value} for configuration {name}" + (f": {reason}" if reason else ""))


class InvalidConfig(ValueError):
    """A config is invalid, and Kafka's message does not have the form of `InvalidValue`. The exception's text is
    that message.
    """


def checked_value(definition: ConfigDefinition, text: str) -> ConfigValue:
    """Parse a value by its key's type and check it by the key's rule (ConfigDef.parseType and its validators). Return
    the parsed value. Raises InvalidValue or InvalidConfig.
    """
    value = parsed_value(definition, text)
    if definition.rule:
        check_rule(definition.name, value, definition.rule)
    return value


def check_rule(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    """Check the parsed value of a key by a rule. Raises InvalidValue or InvalidConfig."""
    _RULES[rule["rule"]](name, value, rule)


def canonical_value(definition: ConfigDefinition | None, text: str) -> str:
    """Return a valid value in the form that brokers return: ``true`` for ``TRUE``, ``a,b`` for ``a, b``
    (ConfigDef.convertToString). definition: None for an unknown key, whose value stays unchanged.
    """
    return text if definition is None else shown_value(parsed_value(definition, text))


def parsed_value(definition: ConfigDefinition, text: str) -> ConfigValue:
    """Parse a value by its key's type only, without the key's rule. Raises InvalidValue."""
    type_, stripped = definition.type, trimmed(text)
    if type_ == BOOLEAN:
        if stripped.lower() not in ("true", "false"):
            raise InvalidValue(definition.name, text, "Expected value to be either true or false")
        return stripped.lower() == "true"
    if type_ == LIST:
        parts = tuple(part.strip(_BLANKS) for part in stripped.split(",")) if stripped else ()
        return tuple(dict.fromkeys(parts)) if definition.rule.get("distinct") else parts
    if type_ == CLASS and not _is_class(stripped):
        raise InvalidValue(definition.name, text, f"Class {text} could not be found.")
    try:
        if type_ in _BITS:
            return whole_number(stripped, _BITS[type_])
        if type_ == DOUBLE:
            return decimal_number(stripped)
    except ValueError:
        raise InvalidValue(definition.name, text, f"Not a number of type {type_.name}") from None
    return stripped


def shown_value(value: ConfigValue) -> str:
    """Return a parsed value as text in Java's form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return java_double(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _is_class(name: str) -> bool:
    """Return whether a broker without additional jars has a Java class with this name."""
    return name.startswith(("org.apache.kafka.", "kafka.", "java."))


def _check_range(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    assert isinstance(value, int | float)
    low, high = rule["min"], rule["max"]
    if low is not None and value < low:
        raise InvalidValue(name, shown_value(value), f"Value must be at least {low}")
    if high is not None and value > high:
        raise InvalidValue(name, shown_value(value), f"Value must be no more than {high}")


def _check_one_of(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    if value not in rule["values"]:
        raise InvalidValue(name, str(value), f"String must be one of: {', '.join(rule['values'])}")


def _check_one_of_any_case(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    if str(value).upper() not in rule["values"]:
        options = ", ".join(rule["values"])
        raise InvalidValue(name, str(value), f"String must be one of (case insensitive): {options}")


def _check_list(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    assert isinstance(value, tuple)
    options = rule["values"]
    if not value and not rule["empty"]:
        expected = ", ".join(options)
        raise InvalidConfig(
            f"Configuration '{name}' must not be empty. Valid values include: "
            + (f"[{expected}]" if options else "any non-empty value")
        )
    for part in value:
        if rule["distinct"] and not part:
            raise InvalidConfig(f"Configuration '{name}' values must not be empty.")
        if options:
            _check_one_of(name, part, rule)


def _check_throttled_replicas(name: str, value: ConfigValue, _: Mapping[str, Any]) -> None:
    assert isinstance(value, tuple)
    if all(_THROTTLED.fullmatch(part) for part in value) or "".join(value).strip() == "*":
        return
    raise InvalidValue(
        name,
        f"[{', '.join(value)}]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )


def _check_not_empty(name: str, value: ConfigValue, _: Mapping[str, Any]) -> None:
    if not value:
        raise InvalidValue(name, "", "String must be non-empty")


def _check_level(name: str, value: ConfigValue, _: Mapping[str, Any]) -> None:
    assert isinstance(value, int)
    if value != -1 and not 1 <= value <= 9:
        raise InvalidValue(name, shown_value(value), "Value must be between 1 and 9 or equal to -1")


def _check_positive(name: str, value: ConfigValue, _: Mapping[str, Any]) -> None:
    assert isinstance(value, int)
    if value < -1 or not value:
        raise InvalidValue(name, shown_value(value), "Value can be -1 or greater than 0")


def _check_metadata_version(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless the value is a metadata version or a release: ``2.8-IV1``, ``2.8``, ``2.8.2``
    (ApiVersion, MetadataVersion).
    """
    text = str(value)
    versions = rule["text"].strip("[]").split(", ")
    known = {*versions, *(version.partition("-")[0] for version in versions)}
    if ".".join(text.split(".")[: 3 if text.startswith("0.") else 2]) not in known:
        quote = rule["quote"]
        raise InvalidValue(name, text, f"Version {quote}{text}{quote} is not a valid version")


def _check_offset_reset(name: str, value: ConfigValue, rule: Mapping[str, Any]) -> None:
    """Raise InvalidValue unless ShareGroupAutoOffsetResetStrategy accepts the value. The message of 4.0, which names
    earliest first, has an additional full stop.
    """
    text = str(value)
    kind, colon, duration = text.partition(":")
    if text in ("earliest", "latest") or (kind == "by_duration" and colon and _DURATION.fullmatch(duration)):
        return
    dot = "." if rule["text"].startswith("[earliest") else ""
    raise InvalidValue(
        name,
        text,
        f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest', 'latest' or of the "
        f"format 'by_duration:<PnDTnHnMn.nS{dot}>'.",
    )


_RULES: Mapping[str, Callable[[str, ConfigValue, Mapping[str, Any]], None]] = {
    "range": _check_range,
    "one_of": _check_one_of,
    "one_of_any_case": _check_one_of_any_case,
    "list_of": _check_list,
    "throttled_replicas": _check_throttled_replicas,
    "metadata_version": _check_metadata_version,
    "not_empty": _check_not_empty,
    "level_or_default": _check_level,
    "positive_or_default": _check_positive,
    "offset_reset": _check_offset_reset,
}


NOTHING: Mapping[str, str] = {}
_HOUR_MS = 3_600_000
_UNIT_MS = {
    "log.retention.minutes": 60_000,
    "log.retention.hours": _HOUR_MS,
    "log.roll.hours": _HOUR_MS,
    "log.roll.jitter.hours": _HOUR_MS,
}
_WITHOUT_END = "-1"
_OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)


def without_listener(key: str) -> str | None:
    """Return the key without its prefix ``listener.name.x.``; None if it has no such prefix."""
    found = _OF_LISTENER.fullmatch(key)
    return None if found is None else found[1]


class BrokerLayers(Struct, frozen=True):
    """The layers of a broker's configs (KIP-226), each as key -> value as it was set. A layer has priority over the
    next one.

    Several keys may set the same value (log.retention.ms, .minutes, .hours): they are synonyms. A topic inherits a
    value through the synonyms of one broker key.
    """

    configs: ReleaseConfigs
    own: Mapping[str, str]
    """The values set at run time for this broker."""
    cluster_default: Mapping[str, str]
    """The values set at run time for all brokers."""
    static: Mapping[str, str]
    """The values in the broker's configuration file."""

    @classmethod
    def of(cls, configs: ReleaseConfigs, view: View, broker_id: int, static: Mapping[str, str]) -> BrokerLayers:
        """Return the layers of a broker, as a node knows them by its view of the state. static: the configs in the
        broker's file.
        """
        own = view.configs.get(broker_resource(broker_id), NOTHING)
        return cls(configs, own, view.configs.get(CLUSTER_DEFAULT, NOTHING), static)

    def with_values(self, values: Mapping[str, str], *, own: bool) -> BrokerLayers:
        """Return the layers with other values set at run time. own: whether these are the broker's own, or the cluster
        default.
        """
        if own:
            return BrokerLayers(self.configs, values, self.cluster_default, self.static)
        return BrokerLayers(self.configs, self.own, values, self.static)

    def layers(self) -> Iterator[tuple[codes.ConfigSource, Mapping[str, str]]]:
        """Yield each layer after its source, in the order of priority."""
        yield codes.DYNAMIC_BROKER_CONFIG, self.own
        yield codes.DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster_default
        yield codes.STATIC_BROKER_CONFIG, self.static

    def names(self, key: str) -> tuple[str, ...]:
        """Return all synonyms of a key, in the order of priority (DynamicBrokerConfig.brokerConfigSynonyms)."""
        base = without_listener(key)
        if base is not None:
            mechanism = next((name for name in self.configs.listener_mechanism if base.endswith(name)), base)
            return key, mechanism
        return self.configs.broker_synonyms.get(key, (key,))

    def definition(self, key: str) -> ConfigDefinition | None:
        """Return the definition of a broker's key, which may have a listener's prefix; None for an unknown key."""
        for name in (key, *self.names(key)):
            found = self.configs.broker.get(name) or self.configs.broker_dynamic_only.get(name)
            if found is not None:
                return found
        return None

    def synonyms(self, key: str) -> tuple[Synonym, ...]:
        """Return the values of a key's synonyms in all layers, then their defaults, in the order of priority
        (ConfigHelper.configSynonyms). Values before the first one under the key's own name are left out. Empty if
        there is no value under that name.
        """
        names = self.names(key)
        found = [
            Synonym(name, values[name], source) for source, values in self.layers() for name in names if name in values
        ]
        for name in names:
            definition = self.configs.broker.get(name)
            if definition is not None and definition.default is not None:
                found.append(Synonym(name, definition.default, codes.DEFAULT_CONFIG))
        for at, synonym in enumerate(found):
            if synonym.name == key:
                return tuple(found[at:])
        return ()

    def value(self, key: str) -> str | None:
        """Return the effective value of a broker's key in the form that brokers return; None if it is null."""
        for _, values in self.layers():
            if key in values:
                return canonical_value(self.configs.broker.get(key), values[key])
        definition = self.configs.broker.get(key)
        return None if definition is None else definition.default

    def inherited(self, definition: ConfigDefinition) -> str | None:
        """Return the value that a topic without an override has for a key: that of a synonym in the broker's layers,
        otherwise the key's default; None if there is neither.
        """
        key = self.configs.topic_synonyms.get(definition.name)
        if key is None:
            return definition.default
        for _, values in self.layers():
            for name in self.names(key):
                if name in values:
                    return _in_milliseconds(name, canonical_value(self.configs.broker.get(name), values[name]))
        return definition.default


def _in_milliseconds(name: str, value: str) -> str:
    """Convert the value of a key in minutes or hours to milliseconds; a negative value means no limit
    (KafkaConfig.logRetentionTimeMillis).
    """
    unit = _UNIT_MS.get(name)
    if unit is not None:
        return _WITHOUT_END if int(value) < 0 else str(int(value) * unit)
    return _WITHOUT_END if name == "log.retention.ms" and int(value) < 0 else value
