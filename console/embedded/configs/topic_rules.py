"""What a topic's configs may be, and what they are (LogConfig)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.embedded.configs.definitions import Definitions, ReleaseConfigs, release_configs
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.value_rules import Value, canonical, checked
from console.embedded.versions.release import Release
from console.model.config import topic_resource

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_NO_TIERED_STORAGE = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)


def topic_config_error(
    release: Release, configs: Mapping[str, str | None], inherited: Mapping[str, str] = NOTHING
) -> str | None:
    """Kafka's message for the first thing that is wrong with a topic's configs, INVALID_CONFIG; None where all is
    well.

    inherited: what the topic has of its broker beside them; Kafka's defaults where it is not given.
    """
    definitions = release_configs(release.name).topic
    empty = [key for key, value in configs.items() if value is None]
    if empty:
        return f"Null value not supported for topic configs: {','.join(empty)}"
    unknown = next((key for key in configs if key not in definitions), None)
    if unknown is not None:
        return f"Unknown topic config name: {unknown}"
    try:
        values = _values(definitions, {**inherited, **{key: text for key, text in configs.items() if text is not None}})
    except ValueError as error:
        return str(error)
    return _contradiction(values)


def _values(definitions: Definitions, configs: Mapping[str, str]) -> Mapping[str, Value]:
    result: dict[str, Value] = {}
    for name, definition in definitions.items():
        text = configs.get(name, definition.default)
        if text is not None:
            result[name] = checked(definition, text)
    return result


def _contradiction(values: Mapping[str, Value]) -> str | None:
    """(LogConfig.validateValues, validateRemoteStorageOnlyIfSystemEnabled)"""
    least, most = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        return f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
    return _NO_TIERED_STORAGE if values.get("remote.storage.enable") else None


def inherited_configs(configs: ReleaseConfigs, layers: BrokerLayers) -> dict[str, str]:
    """What every topic on a broker has where it sets nothing itself."""
    values = {name: layers.inherited(definition) for name, definition in configs.topic.items()}
    return {name: value for name, value in values.items() if value is not None}


def topic_config(cluster: EmbeddedCluster, broker_id: int, name: str, key: str) -> str:
    """What a topic's key is for a broker: the topic's own value, else what that broker goes by (min.insync.replicas,
    retention.ms, max.message.bytes). KeyError for a key that topics of this release don't have."""
    configs = release_configs(cluster.release.name)
    definition, view = configs.topic[key], cluster.view_of(broker_id)
    own = view.configs.get(topic_resource(name), NOTHING).get(key)
    if own is not None:
        return canonical(definition, own)
    layers = BrokerLayers.of(configs, view, broker_id, cluster.spec.static_configs)
    return layers.inherited(definition) or ""
