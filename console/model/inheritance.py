"""The values that keys inherit if their resource does not set them, and the brokers on which these values differ."""

from __future__ import annotations

from typing import NamedTuple

from console.model import config
from console.model.broker_keys import PRECEDENCE, TOPIC_SYNONYMS
from console.model.codes import BROKER, DEFAULT_CONFIG, TOPIC, ConfigSource, ResourceType
from console.model.numbers import long_number
from console.model.snapshot import Snapshot

AUTO_CREATE = "auto.create.topics.enable"
"""The brokers' config that decides whether a broker creates a missing topic that a client requests."""
_FACTORS = {broker_key.name: broker_key.factor for keys in TOPIC_SYNONYMS.values() for broker_key in keys}


class Inherited(NamedTuple):
    """The inherited value of a key, in the key's own unit, with its source."""

    value: str | None
    """The value; None if there is no value, or it is hidden or unknown."""
    source: ConfigSource | None = None
    name: str = ""
    """The name of the key at the source (``log.retention.hours``); ``""`` if unknown."""
    hidden: bool = False
    known: bool = True
    """Whether the configs that were read determine the inherited value."""


UNKNOWN = Inherited(None, known=False)
NOTHING = Inherited(None)


def from_broker(key: str, configs: config.ConfigSet) -> Inherited:
    """Return the value that a topic's key inherits on a broker.

    Args:
        key: a topic's key.
        configs: the configs of the broker.

    Returns:
        The value of the first broker key in `TOPIC_SYNONYMS` that has a value, in the unit of the topic's key;
        `UNKNOWN` if no such broker key has one.
    """
    for broker_key in TOPIC_SYNONYMS.get(key, ()):
        entry = configs.get(broker_key.name)
        if entry is not None and entry.value is not None:
            return Inherited(in_terms_of(key, broker_key.name, entry.value), entry.source, broker_key.name)
    return UNKNOWN


def in_terms_of(key: str, name: str, value: str | None) -> str | None:
    """Convert a value from the unit of one key to that of another: ``168`` hours become ``604800000`` ms; a negative
    number, which means unlimited, becomes ``-1``. A value that is no number, or in the same unit, is returned
    unchanged.

    Args:
        key: the key whose unit the result has.
        name: the key whose unit `value` has.
    """
    theirs, ours = _FACTORS.get(name, 1), _FACTORS.get(key, 1)
    number = long_number(value)
    if theirs == ours or number is None:
        return value
    return str(number * theirs // ours) if number >= 0 else "-1"  # a negative number means unlimited in every unit


def given_as(key: str, name: str, value: str | None) -> str:
    """Return a value as it was set, in the unit of the key under which it was set, such as ``log.retention.hours=168``
    for ``retention.ms``; ``""`` if the units are equal, or there is no value.

    Args:
        key: the key whose unit `value` has.
        name: the key under which it was set.
    """
    if value is None or not name or _FACTORS.get(name, 1) == _FACTORS.get(key, 1):
        return ""
    return f"{name}={in_terms_of(name, key, value)}"


def values_of_brokers(snapshot: Snapshot, key: str) -> dict[int, str | None]:
    """Return broker -> its value of a key, None if hidden; brokers whose configs were not read or lack the key are left
    out.
    """
    ids = [each.id for each in snapshot.cluster.brokers]
    entries = ((id_, config.entry_in(snapshot.configs, config.broker_resource(id_), key)) for id_ in ids)
    return {id_: entry.value for id_, entry in entries if entry is not None}


def is_made_on_request(snapshot: Snapshot) -> bool:
    """Return whether any broker creates a missing topic when a client requests the topic."""
    return "true" in values_of_brokers(snapshot, AUTO_CREATE).values()


def by_broker(snapshot: Snapshot, key: str) -> dict[int, Inherited]:
    """Return the value that topics inherit for a key on each broker whose configs were read.

    Args:
        snapshot: a snapshot with the configs of brokers.
        key: a topic's key.

    Returns:
        Broker id -> the value, sorted by id; empty if the key inherits from no broker key.
    """
    found = {}
    for resource, configs in snapshot.configs.items():
        broker_id = long_number(resource.name)
        if resource.type == BROKER and broker_id is not None:
            inherited = from_broker(key, configs)
            if inherited.known:
                found[broker_id] = inherited
    return dict(sorted(found.items()))


def differing(snapshot: Snapshot, key: str) -> dict[int, Inherited]:
    """Return broker id -> the value that topics inherit there, if the brokers differ; empty if they agree."""
    found = by_broker(snapshot, key)
    return found if len({inherited.value for inherited in found.values()}) > 1 else {}


class Inheritance:
    """Looks up inherited values in one snapshot, and caches the results that need a search."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._found: dict[tuple[ResourceType, str], Inherited] = {}
        self._different: dict[ResourceType, list[config.ConfigSet]] = {}

    def without_override(self, resource: config.ConfigResource, key: str) -> Inherited:
        """Return the value that a key would have if the resource itself did not set it.

        Args:
            resource: a topic inherits from the broker that described it (`Snapshot.configs_from`).
            key: a key of the resource, set or not; it need not be in the resource's description.

        Returns:
            `UNKNOWN` if the configs that were read do not show the value, as for loggers; `NOTHING` for a broker's key
            that no source sets.
        """
        if resource.type.entity.has_levels:
            return UNKNOWN  # the level comes from a parent logger; which one has a level is unknown
        entry = config.entry_in(self._snapshot.configs, resource, key)
        if entry is not None:
            # Prefer the entry's own synonyms: the file of its broker may differ from other brokers' files.
            told = _told(entry, resource)
            if told is not None:
                return told
        if resource.is_cluster_default:
            return self._below_cluster_default(key)
        if resource.type == BROKER:
            return NOTHING if resource in self._snapshot.configs else UNKNOWN
        if resource.type.entity.own_keys:
            return NOTHING if resource in self._snapshot.configs else UNKNOWN
        if (resource.type, key) not in self._found:
            self._found[resource.type, key] = self._search(resource.type, key)
        return self._found[resource.type, key]

    def default(self, resource: config.ConfigResource, key: str) -> str | None:
        """Return Kafka's own default of a key; None if it is unknown.

        If a resource does not set a key, an append or a subtract starts from this default, not from the inherited value
        (ConfigurationControlManager.getParts).
        """
        entry = config.entry_in(self._snapshot.configs, resource, key)
        if entry is None or _default(entry) is None:
            others = self._sets(resource.type)
            entry = next((e for c in others if (e := c.get(key)) is not None and _default(e) is not None), entry)
        return None if entry is None else _default(entry)

    def described(self, resource: config.ConfigResource, key: str) -> config.ConfigEntry | None:
        """Return the entry of a key in the resource's description. If that lacks the key, return the entry of
        another resource of the type (`sample`), because some descriptions, such as that of the cluster default,
        have only keys that are set. None if no resource of the type has the key.
        """
        entry = config.entry_in(self._snapshot.configs, resource, key)
        return entry or self.sample(resource.type, key)

    def sample(self, resource_type: ResourceType, key: str) -> config.ConfigEntry | None:
        """Return the entry of a key from any resource of the type; None if no resource has the key. Only its data
        type and flags are valid for other resources.
        """
        return next((entry for configs in self._sets(resource_type) if (entry := configs.get(key)) is not None), None)

    def read(self, resource_type: ResourceType) -> bool:
        """Return whether the configs of any resource of the type were read; the cluster default does not count."""
        return bool(self._sets(resource_type))

    def keys(self, resource_type: ResourceType) -> list[str]:
        """Return the keys in the descriptions of all resources of the type, sorted, each once."""
        return sorted({entry.name for configs in self._sets(resource_type) for entry in configs})

    def _sets(self, resource_type: ResourceType) -> list[config.ConfigSet]:
        """Return the distinct configs of the resources of a type, without the cluster default; empty for a type whose
        entities have different keys.
        """
        if resource_type.entity.own_keys:
            return []
        # Equal sets are one object: 100,000 topics have a few dozen different ones.
        if resource_type not in self._different:
            found = {
                id(configs): configs
                for resource, configs in self._snapshot.configs.items()
                if resource.type == resource_type and not resource.is_cluster_default
            }
            self._different[resource_type] = list(found.values())
        return self._different[resource_type]

    def _search(self, resource_type: ResourceType, key: str) -> Inherited:
        for known in resource_type.entity.keys:
            if known.name == key:
                return Inherited(known.default, DEFAULT_CONFIG, key)
        broker = self._snapshot.configs_from
        if resource_type == TOPIC and broker is not None:
            configs = self._snapshot.configs.get(config.broker_resource(broker))
            inherited = from_broker(key, configs) if configs is not None else UNKNOWN
            if inherited.known:
                return inherited
        # A resource of the same type without an override of the key shows the value that all of them inherit.
        own = config.own_source(config.ConfigResource(resource_type, "any"))
        for configs in self._sets(resource_type):
            entry = configs.get(key)
            if entry is not None and entry.source != own:
                return Inherited(entry.value, entry.source, _name_at_source(entry), entry.hidden)
        return UNKNOWN

    def _below_cluster_default(self, key: str) -> Inherited:
        """Return the value that a key would have if the cluster default did not set it: each broker falls back to its
        own file or to Kafka's default. `UNKNOWN` if the brokers that were read do not agree.
        """
        found = {_below(configs.get(key), key) for configs in self._sets(BROKER)}
        return found.pop() if len(found) == 1 else UNKNOWN


def _below(entry: config.ConfigEntry | None, key: str) -> Inherited:
    """Return the value that a broker's key would have if no dynamic config set it; `NOTHING` if no other source has a
    value.
    """
    if entry is None:
        return NOTHING
    for synonym in entry.synonyms:
        # Skip the two dynamic sources: next come the server's file and Kafka's default.
        if synonym.source in PRECEDENCE[2:]:
            value = in_terms_of(key, synonym.name, synonym.value)
            return Inherited(value, synonym.source, synonym.name, entry.hidden)
    return NOTHING


def _told(entry: config.ConfigEntry, resource: config.ConfigResource) -> Inherited | None:
    """Return the value that a key would have without the resource's override, as the synonyms of its own entry show
    it; None if they do not show it.
    """
    own = config.own_source(resource)
    for synonym in entry.synonyms:
        if synonym.source != own:
            value = in_terms_of(entry.name, synonym.name, synonym.value)
            return Inherited(value, synonym.source, synonym.name, entry.hidden)
    if not config.is_override(entry, resource):
        return Inherited(entry.value, entry.source, entry.name, entry.hidden)
    return None


def _default(entry: config.ConfigEntry) -> str | None:
    for synonym in entry.synonyms:
        if synonym.source == DEFAULT_CONFIG:
            return in_terms_of(entry.name, synonym.name, synonym.value)
    return entry.value if entry.source == DEFAULT_CONFIG else None


def _name_at_source(entry: config.ConfigEntry) -> str:
    return entry.synonyms[0].name if entry.synonyms else entry.name
