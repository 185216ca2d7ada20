"""The config definitions of each Kafka release, from the data files that tests/support/record_config_definitions.py
writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from console.model.codes import ConfigType

NO_RULE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ConfigDefinition:
    """One key (ConfigDef.ConfigKey). default: as Kafka writes it; None for null, and for a key that has to be set.

    rule: what a value must be, by its name and bounds (see value_rules); empty where every value of the type is valid.
    internal: never described unless it is set.
    """

    name: str
    type: ConfigType
    default: str | None = None
    rule: Mapping[str, Any] = field(default_factory=dict)
    internal: bool = False
    documentation: str | None = None

    @property
    def is_list(self) -> bool:
        """Whether values are lists, which can be appended to."""
        return self.type == LIST

    @property
    def sensitive(self) -> bool:
        """Whether a value is never told."""
        return self.type == PASSWORD


BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = map(ConfigType, range(1, 10))
UNKNOWN_TYPE = ConfigType(0)

Definitions = Mapping[str, ConfigDefinition]


@dataclass(frozen=True, slots=True)
class ReleaseConfigs:
    """What there is to configure in a release, by key, in the order in which Kafka checks values.

    broker: what a broker's file may hold; broker_dynamic_only: what can only be set at run time (KIP-73's rates).
    topic_synonyms: topic key -> the broker key that it inherits from; group_synonyms: alike, None where nothing is.
    broker_synonyms: broker key -> all keys for the same thing, the strongest first.
    checked: broker keys whose values are looked at when they are changed, in that order (3.9 has one of its own).
    dynamic: broker keys that are told not to be read-only. not_dynamic: those that can't be changed at run time.
    per_broker: not as a default of the cluster. per_listener: only with a listener's prefix. listener_mechanism: with
    a mechanism's name too. cluster_level_listener: of all listeners, as a default of the cluster too. loggers: names,
    the root's too.
    """

    topic: Definitions
    broker: Definitions
    broker_dynamic_only: Definitions
    group: Definitions
    client_metrics: Definitions
    topic_synonyms: Mapping[str, str]
    group_synonyms: Mapping[str, str | None]
    broker_synonyms: Mapping[str, tuple[str, ...]]
    checked: tuple[str, ...]
    dynamic: frozenset[str]
    not_dynamic: frozenset[str]
    per_broker: frozenset[str]
    per_listener: frozenset[str]
    listener_mechanism: frozenset[str]
    cluster_level_listener: frozenset[str]
    loggers: tuple[str, ...]


@cache
def release_configs(release: str) -> ReleaseConfigs:
    """The definitions of a release by its name (``4.3``)."""
    file = files("console.embedded.configs") / "data" / f"kafka_{release.replace('.', '_')}.json"
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))

    def definitions(section: str) -> Definitions:
        return _definitions(data.get(section, {}))

    def keys(name: str) -> frozenset[str]:
        return frozenset(data[name])

    return ReleaseConfigs(
        topic=definitions("topic"),
        broker=definitions("broker"),
        broker_dynamic_only=definitions("broker_dynamic_only"),
        group=definitions("group"),
        client_metrics=definitions("client_metrics"),
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


def _definitions(section: Mapping[str, Mapping[str, Any]]) -> Definitions:
    return {
        name: ConfigDefinition(
            name,
            ConfigType.parse(told["type"]),
            told.get("default"),
            told.get("valid", NO_RULE),
            told.get("internal", False),
            told["documentation"],
        )
        for name, told in section.items()
    }
