"""What the configs of a topic are, as CreateTopics tells them of the new one (ConfigurationControlManager)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from console.embedded.configs.definitions import ConfigDefinition, release_configs
from console.embedded.configs.inheritance import BrokerLayers
from console.embedded.configs.value_rules import canonical
from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
)

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster


class ToldConfig(NamedTuple):
    """One key. source: as in DescribeConfigs."""

    name: str
    value: str | None
    source: int


class ToldConfigs:
    """Of the topics of one request: what they inherit is the same for all."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        state, configs = cluster.state, release_configs(cluster.release.name)
        self._layers = BrokerLayers.of(configs, state.view, state.controller_id, cluster.spec.static_configs)
        self._definitions, self._synonyms = configs.topic, configs.topic_synonyms
        self._kraft = cluster.release.kraft
        self._inherited = {
            name: ToldConfig(name, self._layers.inherited(definition), self._source(definition))
            for name, definition in sorted(configs.topic.items())
            if not definition.internal
        }

    def of(self, own: Mapping[str, str]) -> tuple[ToldConfig, ...]:
        """Every config of a topic with these of its own."""
        return tuple(
            ToldConfig(name, self._own(name, own[name]), DYNAMIC_TOPIC_CONFIG) if name in own else inherited
            for name, inherited in self._inherited.items()
        )

    def _own(self, name: str, text: str) -> str:
        """KRaft's controller tells it as the client wrote it."""
        return text if self._kraft else canonical(self._definitions[name], text)

    def _source(self, definition: ConfigDefinition) -> int:
        key = self._synonyms.get(definition.name)
        for source, values in (
            (DYNAMIC_BROKER_CONFIG, self._layers.own),
            (DYNAMIC_DEFAULT_BROKER_CONFIG, self._layers.cluster_default),
            (STATIC_BROKER_CONFIG, self._layers.static),
        ):
            if key is not None and any(name in values for name in self._layers.names(key)):
                return source
        return DEFAULT_CONFIG
