"""The responses to DescribeConfigs: the entries of each type of resource, and their encoding."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from kio.schema.errors import ErrorCode

from console.embedded import config_definitions
from console.embedded.answers import WireFormat
from console.embedded.config_changes import ConfigProblem, invalid_request
from console.embedded.context import CONTROLLER_LISTENER, Cluster, RequestContext
from console.embedded.java import whole_number
from console.embedded.own_resources import own_resource
from console.embedded.topics import is_legal, name_refusal
from console.embedded.voters import is_dynamic, voters
from console.model import codes
from console.model.config import ConfigEntry, ConfigResource, Synonym, own_source
from console.wire.fields import for_version
from console.wire.frames import encode_body

if TYPE_CHECKING:
    from console.embedded.state import View
    from console.embedded.tables import BrokerNode, ControllerNode


_CONTROLLER_PORT = 10_000
"""Difference between two ports in a broker's config file: the port of the controller listener is the broker's own
port plus this number, or minus it if the sum is no valid port. Nothing listens there, and no client has to
connect to it.
"""
_CONTROLLERS_LOG = "/tmp/kac-embedded/metadata"  # noqa: S108 - a name in answers, never opened
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def node_file(cluster: Cluster, node: int) -> dict[str, str]:
    """Return the configs in the configuration file (server.properties) of a broker or controller."""
    spec, controller = cluster.spec, cluster.state.controllers.get(node)
    file = _broker_part(cluster, cluster.state.brokers[node]) if controller is None else _controller_part(controller)
    file |= {"broker.id": str(node), "node.id": str(node), "controller.listener.names": CONTROLLER_LISTENER}
    if cluster.state.controllers and is_dynamic(cluster.state):
        asked = (f"{each.host}:{each.port}" for each in cluster.state.controllers.values())
        file["controller.quorum.bootstrap.servers"] = ",".join(asked)
    elif cluster.state.controllers:
        there = (cluster.state.controllers[each] for each in voters(cluster.state))
        file["controller.quorum.voters"] = ",".join(f"{each.id}@{each.host}:{each.port}" for each in there)
    if spec.authorizer:
        file["authorizer.class.name"] = _AUTHORIZER
        file["super.users"] = ";".join(sorted(spec.super_users))
    if spec.sasl is not None:
        file["sasl.enabled.mechanisms"] = ",".join(cluster.mechanisms)
        file["security.inter.broker.protocol"] = cluster.listener_name
    if spec.brokers < _FEWEST_FOR_DEFAULTS:  # a small cluster gets fewer replicas, otherwise groups could not work
        file |= dict.fromkeys(_STATE_FACTORS, str(spec.brokers))
    return file | dict(spec.static_configs)


def _broker_part(cluster: Cluster, broker: BrokerNode) -> dict[str, str]:
    own = f"{cluster.listener_name}://{broker.host}:{broker.port}"
    file = {"listeners": own, "advertised.listeners": own, "log.dirs": ",".join(broker.log_dirs)}
    if broker.rack is not None:
        file["broker.rack"] = broker.rack
    if cluster.state.controllers:
        return file | {"process.roles": "broker"}
    asked = (f"{each.id}@{each.host}:{_controller_port(each.port)}" for each in cluster.state.brokers.values())
    return file | {
        "listeners": f"{own},{CONTROLLER_LISTENER}://{broker.host}:{_controller_port(broker.port)}",
        "process.roles": "broker,controller",
        "controller.quorum.voters": ",".join(asked),
    }


def _controller_part(controller: ControllerNode) -> dict[str, str]:
    own = f"{CONTROLLER_LISTENER}://{controller.host}:{controller.port}"
    return {
        "listeners": own,
        "advertised.listeners": own,
        "log.dirs": _CONTROLLERS_LOG,
        "process.roles": "controller",
    }


_FEWEST_FOR_DEFAULTS = 3
_STATE_FACTORS = ("offsets.topic.replication.factor", "transaction.state.log.replication.factor")
"""The keys for the replication factors of internal topics. In the embedded cluster these are at most the number of
brokers.
"""


def _controller_port(port: int) -> int:
    return port + _CONTROLLER_PORT if port + _CONTROLLER_PORT < 65536 else port - _CONTROLLER_PORT


def layers_of(cluster: Cluster, node: int, view: View) -> config_definitions.BrokerLayers:
    """Return the layers of configs of a broker or controller, by this view of the state."""
    return config_definitions.BrokerLayers.of(
        config_definitions.release_configs(cluster.release.name), view, node, node_file(cluster, node)
    )


_OTHER_BROKER = "Unexpected broker id, expected {own} or empty string, but received {name}"
_NOT_NUMBER = "Broker id must be an integer, but it is: {name}"
UNDOCUMENTED = ""
"""The documentation of a config in a response if the client did not request documentation."""


def described_entries(cluster: Cluster, broker_id: int, resource: ConfigResource) -> list[ConfigEntry]:
    """Return all entries of a resource with their synonyms, as this broker returns them (ConfigHelper). Raises
    ConfigProblem.
    """
    view = cluster.view_of(broker_id)
    layers = layers_of(cluster, broker_id, view)
    own = view.configs.get(resource, config_definitions.NOTHING)
    if resource.type == codes.TOPIC:
        check_topic_is_known(cluster, view, resource.name)
        return list(topic_entries(layers, own))
    if resource.type == codes.BROKER:
        if not resource.name:
            return list(_default_entries(layers))
        check_is_own(resource.name, broker_id, _OTHER_BROKER)
        return list(_broker_entries(layers))
    if resource.type.entity.has_levels:
        if not resource.name:
            raise invalid_request("Broker id must not be empty")
        check_is_own(resource.name, broker_id, "Unexpected broker id, expected {own} but received {name}")
        levels = cluster.loggers.levels(broker_id)
        return [
            ConfigEntry(name, level, codes.DYNAMIC_BROKER_LOGGER_CONFIG, documentation=UNDOCUMENTED)
            for name, level in levels.items()
        ]
    if resource.type == codes.GROUP:
        if not resource.name:
            raise invalid_request("Group name must not be empty")
        return list(_group_entries(layers, own))
    if not resource.type.entity.names.allows(resource.name):
        raise invalid_request(own_resource(resource.type).misnamed)
    return list(_own_entries(cluster, resource, own))


def describable_types(release: str) -> Collection[codes.ResourceType]:
    """Return the resource types that DescribeConfigs accepts in a release."""
    configs = config_definitions.release_configs(release)
    groups = [codes.GROUP] if configs.group else []
    return [
        codes.TOPIC,
        codes.BROKER,
        codes.BROKER_LOGGER,
        *groups,
        *(type_ for type_, keys in configs.others.items() if keys),
    ]


def check_topic_is_known(cluster: Cluster, view: View, name: str) -> None:
    """Raise ConfigProblem if the topic does not exist, by this view of the state."""
    if name in view.topics:
        return
    refusal = None if name and is_legal(name) else name_refusal(name, cluster.state)
    if refusal is not None:
        raise ConfigProblem(ErrorCode.invalid_topic_exception, refusal.message)
    raise ConfigProblem(ErrorCode.unknown_topic_or_partition, "")


def check_is_own(name: str, broker_id: int, wrong: str, not_number: str = _NOT_NUMBER) -> None:
    """Raise ConfigProblem if the name is not this broker's id.

    Args:
        wrong: the message for another id.
        not_number: the message for a name that is not a number.
    """
    number = broker_number(name)
    if number is None:
        raise invalid_request(not_number.format(name=name))
    if number != broker_id:
        raise invalid_request(wrong.format(own=broker_id, name=name))


def broker_number(name: str) -> int | None:
    """Parse a resource name as a broker id (Integer.parseInt); return None if it is not a number."""
    try:
        return whole_number(name, 32)
    except ValueError:
        return None


def topic_entries(layers: config_definitions.BrokerLayers, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """Yield the entries of a topic, as a broker with these layers returns them. Internal keys are left out unless the
    topic sets them. own: the topic's overrides.
    """
    for name, definition in layers.configs.topic.items():
        text = own.get(name)
        if text is None and definition.internal:
            continue
        value = layers.inherited(definition) if text is None else config_definitions.canonical_value(definition, text)
        key = layers.configs.topic_synonyms.get(name)
        synonyms = () if key is None else layers.synonyms(key)
        if text is not None:
            synonyms = (Synonym(name, value, codes.DYNAMIC_TOPIC_CONFIG), *synonyms)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _broker_entries(layers: config_definitions.BrokerLayers) -> Iterator[ConfigEntry]:
    """Yield the entries of a broker, sorted by name: of all defined keys that are not internal, and of other keys that
    are set.
    """
    names = {name for name, definition in layers.configs.broker.items() if not definition.internal}
    for _, values in layers.layers():
        names.update(values)
    for name in sorted(names):
        definition = layers.definition(name)
        value = layers.value(name)
        read_only = name not in layers.configs.dynamic
        yield _entry(name, value, definition, layers.synonyms(name), read_only=read_only)


def _default_entries(layers: config_definitions.BrokerLayers) -> Iterator[ConfigEntry]:
    """Yield the entries of the cluster default: the keys that are set, with their values as they were set."""
    for name, text in sorted(layers.cluster_default.items()):
        synonyms = tuple(each for each in layers.synonyms(name) if each.source == codes.DYNAMIC_DEFAULT_BROKER_CONFIG)
        read_only = name not in layers.configs.dynamic
        yield _entry(name, text, layers.definition(name), synonyms, read_only=read_only)


def _own_entries(cluster: Cluster, resource: ConfigResource, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """Yield the entries of a resource of a type that has only configs, such as a metrics subscription: the keys that
    it sets. From the release `OwnResource.defaults_from` on, entries have types and synonyms, and keys that are
    not set are yielded with their defaults.
    """
    source, defaults_from = own_source(resource), own_resource(resource.type).defaults_from
    for name, definition in config_definitions.release_configs(cluster.release.name).others[resource.type].items():
        text = own.get(name)
        if cluster.release.number < defaults_from:
            if text is not None:
                yield ConfigEntry(name, text, source, documentation=UNDOCUMENTED)
            continue
        value = definition.default if text is None else config_definitions.canonical_value(definition, text)
        synonyms = () if text is None else (Synonym(name, value, source),)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _group_entries(layers: config_definitions.BrokerLayers, own: Mapping[str, str]) -> Iterator[ConfigEntry]:
    """Yield the entries of all keys of a group. Before 4.3, the value of the broker's key for all groups is returned
    as the default of the group's key (measured).
    """
    for name, definition in layers.configs.group.items():
        text, key = own.get(name), layers.configs.group_synonyms.get(name)
        if text is None and definition.internal:
            continue
        broker_key = key or f"group.{name}"
        default = layers.value(broker_key) if broker_key in layers.configs.broker else definition.default
        synonyms: tuple[Synonym, ...] = () if key is None else layers.synonyms(key)
        if key is None and default is not None:
            synonyms = (Synonym(name, default, codes.DEFAULT_CONFIG),)
        value = default if text is None else config_definitions.canonical_value(definition, text)
        if text is not None:
            inherited = synonyms if layers.configs.group_synonyms else ()
            synonyms = (Synonym(name, value, codes.DYNAMIC_GROUP_CONFIG), *inherited)
        yield _entry(name, value, definition, synonyms, read_only=False)


def _entry(
    name: str,
    value: str | None,
    definition: config_definitions.ConfigDefinition | None,
    synonyms: tuple[Synonym, ...],
    *,
    read_only: bool,
) -> ConfigEntry:
    """Return the entry of a key. definition: None for an unknown key, whose value is hidden, since it may be secret
    (KafkaConfig.maybeSensitive).
    """
    sensitive = definition is None or definition.sensitive
    if sensitive:
        value, synonyms = None, tuple(synonym._replace(value=None) for synonym in synonyms)
    return ConfigEntry(
        name,
        value,
        synonyms[0].source if synonyms else codes.DEFAULT_CONFIG,
        read_only,
        sensitive,
        config_definitions.UNKNOWN_TYPE if definition is None else definition.type,
        synonyms,
        None if definition is None or definition.name != name else definition.documentation,
    )


_FLEXIBLE_FROM = 4
_NOT_THROTTLED = b"\x00\x00\x00\x00"
_SUCCESS = ""
_KEPT = 1024
"""Maximum number of encoded topics in the cache, one for each combination of overrides: about 5 KiB each, 25 KiB
with documentation.
"""
_KEPT_ENTRIES = 4096
"""Maximum number of encoded entries in the cache; brokers and topics have most of them in common."""
_KEPT_BROKERS = 64
"""Maximum number of encoded brokers in the cache, one for each combination of layers: about 30 KiB each, 110 KiB
with documentation.
"""

Pairs = tuple[tuple[str, str], ...]


class AskedEntries(NamedTuple):
    """The version of a DescribeConfigs request, and which entries with which fields it requests."""

    version: int
    synonyms: bool
    documentation: bool
    keys: frozenset[str] | None
    """The requested keys; None for all keys."""


class _Layers(NamedTuple):
    """The layers of a broker's configs in a hashable form, as a key of a cache."""

    release: str
    own: Pairs
    cluster_default: Pairs
    static: Pairs

    def layers(self) -> config_definitions.BrokerLayers:
        """Return the layers in their usual form."""
        return config_definitions.BrokerLayers(
            config_definitions.release_configs(self.release),
            dict(self.own),
            dict(self.cluster_default),
            dict(self.static),
        )


class DescribedBytes:
    """A builder of an encoded DescribeConfigs response, with the results in the order of the calls.

    Encoded configs are cached: thousands of topics have only a few dozen combinations of overrides, and clients
    repeatedly request those of brokers, which have 350 keys.
    """

    def __init__(self, context: RequestContext, request: Any) -> None:
        self._cluster = context.cluster
        self._broker_id = context.broker_id
        self._view = context.view
        self._version = context.version
        self._form = WireFormat(context.version >= _FLEXIBLE_FROM)
        self._synonyms = bool(getattr(request, "include_synonyms", False))
        self._documentation = bool(getattr(request, "include_documentation", False))
        layers = layers_of(context.cluster, context.broker_id, self._view)
        self._layers = _Layers(
            context.cluster.release.name, _pairs(layers.own), _pairs(layers.cluster_default), _pairs(layers.static)
        )
        self._results: list[bytes] = []

    def add_topic(self, resource: ConfigResource, keys: Sequence[str] | None) -> None:
        """Add the result for a topic. keys: the requested keys; None for all. Raises ConfigProblem."""
        check_topic_is_known(self._cluster, self._view, resource.name)
        overrides = _pairs(self._view.configs.get(resource, config_definitions.NOTHING))
        configs = _topic_configs(self._layers, overrides, self._asked(keys))
        self._results.append(self._head(resource, ErrorCode.none, _SUCCESS) + configs)

    def add_broker(self, resource: ConfigResource, keys: Sequence[str] | None) -> None:
        """Add the result for the broker that answers. keys: the requested keys; None for all. Raises ConfigProblem."""
        check_is_own(resource.name, self._broker_id, _OTHER_BROKER)
        configs = _broker_configs(self._layers, self._asked(keys))
        self._results.append(self._head(resource, ErrorCode.none, _SUCCESS) + configs)

    def add(self, resource: ConfigResource, entries: Iterable[ConfigEntry], keys: Sequence[str] | None) -> None:
        """Add the result for a resource with these entries. keys: the requested keys; None for all."""
        configs = _encoded(entries, self._asked(keys))
        self._results.append(self._head(resource, ErrorCode.none, _SUCCESS) + configs)

    def add_problem(self, resource: ConfigResource, problem: ConfigProblem) -> None:
        """Add the result for a resource that can't be described."""
        configs = _encoded((), self._asked(None))
        self._results.append(self._head(resource, problem.code, problem.message) + configs)

    def body(self) -> bytes:
        """Return the encoded response."""
        return b"".join((_NOT_THROTTLED, self._form.length(len(self._results)), *self._results, self._form.end))

    def _asked(self, keys: Sequence[str] | None) -> AskedEntries:
        wanted = None if keys is None else frozenset(keys)
        return AskedEntries(self._version, self._synonyms, self._documentation, wanted)

    def _head(self, resource: ConfigResource, code: int, message: str | None) -> bytes:
        text = self._form.string
        return b"".join((struct.pack(">h", code), text(message), struct.pack(">b", resource.type), text(resource.name)))


def _pairs(values: Any) -> Pairs:
    return tuple(sorted(values.items()))


@lru_cache(_KEPT)
def _topic_configs(layers: _Layers, overrides: Pairs, asked: AskedEntries) -> bytes:
    """Return the encoded configs of a topic with these overrides, as a broker with these layers returns them."""
    return _encoded(topic_entries(layers.layers(), dict(overrides)), asked)


@lru_cache(_KEPT_BROKERS)
def _broker_configs(layers: _Layers, asked: AskedEntries) -> bytes:
    """Return the encoded configs of a broker with these layers."""
    return _encoded(_broker_entries(layers.layers()), asked)


def _encoded(entries: Iterable[ConfigEntry], asked: AskedEntries) -> bytes:
    """Return the encoded result of a resource from its configs on, without the fields before them."""
    form = WireFormat(asked.version >= _FLEXIBLE_FROM)
    flags = asked.synonyms, asked.documentation
    encoded = [_entry_bytes(entry, asked.version, *flags) for entry in _wanted(entries, asked.keys)]
    return b"".join((form.length(len(encoded)), *encoded, form.end))


def _wanted(entries: Iterable[ConfigEntry], keys: Collection[str] | None) -> Iterable[ConfigEntry]:
    return entries if keys is None else (entry for entry in entries if entry.name in keys)


@lru_cache(_KEPT_ENTRIES)
def _entry_bytes(entry: ConfigEntry, version: int, has_synonyms: bool, has_documentation: bool) -> bytes:
    schema = import_module(f"kio.schema.describe_configs.v{version}.response")
    synonyms = tuple(
        schema.DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
        for each in (entry.synonyms if has_synonyms else ())
    )
    encodable = for_version(
        schema.DescribeConfigsResourceResult,
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=entry.documentation if has_documentation or entry.documentation == UNDOCUMENTED else None,
    )
    return encode_body(schema.DescribeConfigsResourceResult, encodable)
