"""What DescribeConfigs tells of each kind of resource (ConfigHelper)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from console.embedded.configs.broker_file import layers_of
from console.embedded.configs.definitions import UNKNOWN_TYPE, ConfigDefinition, release_configs
from console.embedded.configs.inheritance import NOTHING, BrokerLayers
from console.embedded.configs.java_values import whole_number
from console.embedded.configs.problems import ConfigProblem
from console.embedded.configs.value_rules import canonical
from console.embedded.state.topic_names import is_legal
from console.embedded.topics.naming import name_refusal
from console.model.codes import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_LOGGER_CONFIG,
    DYNAMIC_CLIENT_METRICS_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_GROUP_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    GROUP,
    TOPIC,
    ResourceType,
)
from console.model.config import ConfigEntry, ConfigResource, Synonym

if TYPE_CHECKING:
    from console.embedded.cluster import EmbeddedCluster
    from console.embedded.state.tables import View

_INTERNAL_HIDDEN_FROM = (3, 0)
"""Before, a broker of which anything was changed told what is internal too (KafkaConfig.nonInternalValues)."""
_METRICS_DEFAULTS_FROM = (4, 0)
UNDOCUMENTED = ""
"""Told even where no documentation is asked for."""


def described(cluster: EmbeddedCluster, broker_id: int, resource: ConfigResource) -> list[ConfigEntry]:
    """All entries of a resource, as this broker sees them, with their synonyms. Raises ConfigProblem."""
    view = cluster.view_of(broker_id)
    layers = layers_of(cluster, broker_id, view)
    own = view.configs.get(resource, NOTHING)
    if resource.type == TOPIC:
        check_topic_is_known(cluster, view, resource.name)
        return list(topic_entries(layers, own))
    if resource.type == BROKER:
        if not resource.name:
            return list(_default_entries(layers))
        check_is_own(
            resource.name, broker_id, "Unexpected broker id, expected {own} or empty string, but received {name}"
        )
        with_internal = cluster.release.number < _INTERNAL_HIDDEN_FROM and broker_id in cluster.reconfigured
        return list(_broker_entries(layers, with_internal=with_internal))
    if resource.type == BROKER_LOGGER:
        if not resource.name:
            raise ConfigProblem(ErrorCode.invalid_request, "Broker id must not be empty")
        check_is_own(resource.name, broker_id, "Unexpected broker id, expected {own} but received {name}")
        levels = cluster.loggers.levels(broker_id)
        return [
            ConfigEntry(name, level, DYNAMIC_BROKER_LOGGER_CONFIG, documentation=UNDOCUMENTED)
            for name, level in levels.items()
        ]
    if resource.type == CLIENT_METRICS:
        if not resource.name:
            raise ConfigProblem(ErrorCode.invalid_request, "Client metrics subscription name must not be empty")
        return list(_metrics_entries(cluster, own))
    if not resource.name:
        raise ConfigProblem(ErrorCode.invalid_request, "Group name must not be empty")
    return list(_group_entries(layers, own))


def describable(release: str) -> Collection[ResourceType]:
    """The types of resources that brokers of a release know."""
    known = [TOPIC, BROKER, BROKER_LOGGER]
    configs = release_configs(release)
    if configs.client_metrics:
        known.append(CLIENT_METRICS)
    if configs.group:
        known.append(GROUP)
    return known


def check_topic_is_known(cluster: EmbeddedCluster, view: View, name: str) -> None:
    """Raises ConfigProblem."""
    if name in view.topics:
        return
    refusal = None if name and is_legal(name) else name_refusal(name, cluster.state)
    if refusal is not None:
        raise ConfigProblem(ErrorCode.invalid_topic_exception, refusal.message)
    raise ConfigProblem(ErrorCode.unknown_topic_or_partition, "")


def check_is_own(name: str, broker_id: int, wrong: str) -> None:
    """Whether a resource's name is this broker's id; ConfigProblem otherwise. wrong: what to say to another's."""
    number = broker_number(name)
    if number is None:
        raise ConfigProblem(ErrorCode.invalid_request, f"Broker id must be an integer, but it is: {name}")
    if number != broker_id:
        raise ConfigProblem(ErrorCode.invalid_request, wrong.format(own=broker_id, name=name))


def broker_number(name: str) -> int | None:
    """A name as an id (Integer.parseInt), None where it is none."""
    try:
        return whole_number(name, 32)
    except ValueError:
        return None


def topic_entries(layers: BrokerLayers, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """Every entry of a topic with these overrides on a broker."""
    for name, definition in layers.configs.topic.items():
        text = own.get(name)
        if text is None and definition.internal:
            continue
        value = layers.inherited(definition) if text is None else canonical(definition, text)
        key = layers.configs.topic_synonyms.get(name)
        synonyms = () if key is None else layers.synonyms(key)
        if text is not None:
            synonyms = (Synonym(name, value, DYNAMIC_TOPIC_CONFIG), *synonyms)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _broker_entries(layers: BrokerLayers, *, with_internal: bool) -> Iterator[ConfigEntry]:
    """Everything that is defined, and what else was set."""
    names = {name for name, definition in layers.configs.broker.items() if with_internal or not definition.internal}
    for _, values in layers.layers():
        names.update(values)
    for name in sorted(names):
        definition = layers.definition(name)
        value = layers.value(name)
        read_only = name not in layers.configs.dynamic
        yield _entry(name, value, definition, layers.synonyms(name), read_only=read_only)


def _default_entries(layers: BrokerLayers) -> Iterator[ConfigEntry]:
    """What was set for all brokers, as it was written."""
    for name, text in sorted(layers.cluster_default.items()):
        synonyms = tuple(each for each in layers.synonyms(name) if each.source == DYNAMIC_DEFAULT_BROKER_CONFIG)
        read_only = name not in layers.configs.dynamic
        yield _entry(name, text, layers.definition(name), synonyms, read_only=read_only)


def _metrics_entries(cluster: EmbeddedCluster, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """What a subscription sets; since 4.0 the defaults too, with types and synonyms."""
    for name, definition in release_configs(cluster.release.name).client_metrics.items():
        text = own.get(name)
        if cluster.release.number < _METRICS_DEFAULTS_FROM:
            if text is not None:
                yield ConfigEntry(name, text, DYNAMIC_CLIENT_METRICS_CONFIG, documentation=UNDOCUMENTED)
            continue
        value = definition.default if text is None else canonical(definition, text)
        synonyms = () if text is None else (Synonym(name, value, DYNAMIC_CLIENT_METRICS_CONFIG),)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _group_entries(layers: BrokerLayers, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    for name, definition in layers.configs.group.items():
        text, key = own.get(name), layers.configs.group_synonyms.get(name)
        default = definition.default if key is None else layers.value(key)
        synonyms: tuple[Synonym, ...] = () if key is None else layers.synonyms(key)
        if key is None and default is not None:
            synonyms = (Synonym(name, default, DEFAULT_CONFIG),)
        value = default if text is None else canonical(definition, text)
        if text is not None:
            synonyms = (Synonym(name, value, DYNAMIC_GROUP_CONFIG), *synonyms)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _entry(
    name: str,
    value: str | None,
    definition: ConfigDefinition | None,
    synonyms: tuple[Synonym, ...],
    *,
    read_only: bool,
) -> ConfigEntry:
    """A value of an unknown key might be secret, and is not told either (KafkaConfig.maybeSensitive)."""
    sensitive = definition is None or definition.sensitive
    if sensitive:
        value, synonyms = None, tuple(synonym._replace(value=None) for synonym in synonyms)
    return ConfigEntry(
        name,
        value,
        synonyms[0].source if synonyms else DEFAULT_CONFIG,
        read_only,
        sensitive,
        UNKNOWN_TYPE if definition is None else definition.type,
        synonyms,
        None if definition is None or definition.name != name else definition.documentation,
    )
