"""What a topic's configs may be, and what they are (LogConfig)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from console.embedded.configs.definitions import ReleaseConfigs, release_configs
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.problems import ConfigProblem
from console.embedded.configs.value_rules import Value, canonical, checked
from console.embedded.versions.release import Release
from console.model.config import topic_resource

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster

_COMPACTION_LAGS = ("min.compaction.lag.ms", "max.compaction.lag.ms")
_NO_TIERED_STORAGE = (
    "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
)


def topic_config_error(
    release: Release, configs: Mapping[str, str | None], inherited: Mapping[str, str] = NOTHING
) -> str | None:
    """Kafka's message for the first thing that is wrong with a new topic's configs, INVALID_CONFIG; None where all is
    well.

    inherited: what the topic has of its broker beside them; Kafka's defaults where it is not given.
    """
    empty = [key for key, value in configs.items() if value is None]
    if empty:
        return f"Null value not supported for topic configs: {','.join(empty)}"
    given = {key: value for key, value in configs.items() if value is not None}
    try:
        check_topic(release_configs(release.name), given, inherited)
    except (ConfigProblem, ValueError) as refused:
        return str(refused)
    return None


def check_topic(configs: ReleaseConfigs, own: Mapping[str, str], inherited: Mapping[str, str]) -> None:
    """Raises ConfigProblem or ValueError for the first thing that is wrong with a topic's own configs."""
    unknown = next((key for key in own if key not in configs.topic), None)
    if unknown is not None:
        raise ConfigProblem(ErrorCode.invalid_config, f"Unknown topic config name: {unknown}")
    values: dict[str, Value] = {}
    for name, definition in configs.topic.items():
        if name in own:
            values[name] = checked(definition, own[name])
    least, most = (
        int(str(values.get(name, inherited.get(name, configs.topic[name].default)))) for name in _COMPACTION_LAGS
    )
    if least > most:
        raise ConfigProblem(
            ErrorCode.invalid_config,
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})",
        )
    if values.get("remote.storage.enable"):
        raise ValueError(_NO_TIERED_STORAGE)


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
    return BrokerLayers.of(configs, view, broker_id, cluster.spec.static_configs).inherited(definition) or ""
