"""Where a broker's values come from: set for it, for all brokers, in its file, or Kafka's own default (KIP-226).

A broker's keys have synonyms (log.retention.ms, .minutes, .hours), and a topic inherits through one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from console.embedded.configs.definitions import ConfigDefinition, ReleaseConfigs
from console.embedded.configs.value_rules import canonical
from console.embedded.state.tables import View
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    STATIC_BROKER_CONFIG,
    ConfigSource,
)
from console.model.config import CLUSTER_DEFAULT, Synonym, broker_resource

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
    """What stands behind ``listener.name.x.``, None for a key without that."""
    found = _OF_LISTENER.fullmatch(key)
    return None if found is None else found[1]


@dataclass(frozen=True, slots=True)
class BrokerLayers:
    """What one broker goes by. static: its file. Each of the layers: key -> value as it was written."""

    configs: ReleaseConfigs
    own: Mapping[str, str]
    cluster_default: Mapping[str, str]
    static: Mapping[str, str]

    @classmethod
    def of(cls, configs: ReleaseConfigs, view: View, broker_id: int, static: Mapping[str, str]) -> BrokerLayers:
        """Those of a broker, as it knows them."""
        own = view.configs.get(broker_resource(broker_id), NOTHING)
        return cls(configs, own, view.configs.get(CLUSTER_DEFAULT, NOTHING), static)

    def with_values(self, values: Mapping[str, str], *, own: bool) -> BrokerLayers:
        """The same broker with these values set for itself, or with own=False for all brokers."""
        if own:
            return BrokerLayers(self.configs, values, self.cluster_default, self.static)
        return BrokerLayers(self.configs, self.own, values, self.static)

    def layers(self) -> Iterator[tuple[ConfigSource, Mapping[str, str]]]:
        """What was set anywhere, the strongest first."""
        yield DYNAMIC_BROKER_CONFIG, self.own
        yield DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster_default
        yield STATIC_BROKER_CONFIG, self.static

    def names(self, key: str) -> tuple[str, ...]:
        """All keys for the same thing, the strongest first (DynamicBrokerConfig.brokerConfigSynonyms)."""
        base = without_listener(key)
        if base is not None:
            mechanism = next((name for name in self.configs.listener_mechanism if base.endswith(name)), base)
            return key, mechanism
        return self.configs.broker_synonyms.get(key, (key,))

    def definition(self, key: str) -> ConfigDefinition | None:
        """The definition of a broker's key, of the key that a listener's one stands for; None for an unknown one."""
        for name in (key, *self.names(key)):
            found = self.configs.broker.get(name) or self.configs.broker_dynamic_only.get(name)
            if found is not None:
                return found
        return None

    def synonyms(self, key: str) -> tuple[Synonym, ...]:
        """Every value that there is for a key, in order of precedence, from the first one that has the key's own name
        on (ConfigHelper.configSynonyms)."""
        names = self.names(key)
        found = [
            Synonym(name, values[name], source) for source, values in self.layers() for name in names if name in values
        ]
        for name in names:
            definition = self.configs.broker.get(name)
            if definition is not None and definition.default is not None:
                found.append(Synonym(name, definition.default, DEFAULT_CONFIG))
        for at, synonym in enumerate(found):
            if synonym.name == key:
                return tuple(found[at:])
        return ()

    def value(self, key: str) -> str | None:
        """What applies for a broker's key, as it tells it; None for null."""
        for _, values in self.layers():
            if key in values:
                return canonical(self.configs.broker.get(key), values[key])
        definition = self.configs.broker.get(key)
        return None if definition is None else definition.default

    def inherited(self, definition: ConfigDefinition) -> str | None:
        """What a topic's key is where the topic does not set it."""
        key = self.configs.topic_synonyms.get(definition.name)
        if key is None:
            return definition.default
        for _, values in self.layers():
            for name in self.names(key):
                if name in values:
                    return _in_milliseconds(name, canonical(self.configs.broker.get(name), values[name]))
        return definition.default


def _in_milliseconds(name: str, value: str) -> str:
    """Minutes and hours; less than nothing is no limit (KafkaConfig.logRetentionTimeMillis)."""
    unit = _UNIT_MS.get(name)
    if unit is not None:
        return _WITHOUT_END if int(value) < 0 else str(int(value) * unit)
    return _WITHOUT_END if name == "log.retention.ms" and int(value) < 0 else value
