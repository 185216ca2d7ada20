"""Configs: resources, entries with their synonyms, and the set of a resource's entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, field

from console.model import codes
from console.model.entity_types import BY_NUMBER
from console.model.failure import Failure
from console.model.numbers import long_number


class ConfigResource(NamedTuple):
    """An entity with configs, by its type and name. The cluster-wide default of brokers is ``(BROKER, "")``."""

    type: codes.ResourceType
    name: str

    @property
    def is_cluster_default(self) -> bool:
        """Whether this is the cluster-wide default from which all brokers inherit."""
        return self.type == codes.BROKER and self.name == ""

    @property
    def is_default(self) -> bool:
        """Whether this is the default from which all entities of its type inherit."""
        return self.name == "" and self.type in _DEFAULT_SOURCES


ConfigPlace = tuple[ConfigResource, str]
"""(config resource, key)."""


CLUSTER_DEFAULT = ConfigResource(codes.BROKER, "")


def topic_resource(name: str) -> ConfigResource:
    """Return the config resource of a topic."""
    return tuple.__new__(ConfigResource, (codes.TOPIC, name))  # takes half the time of a call; there may be 100,000


def broker_resource(broker_id: int) -> ConfigResource:
    """Return the config resource of a single broker."""
    return ConfigResource(codes.BROKER, str(broker_id))


class Synonym(NamedTuple):
    """A value that a source has for a key, under the name that the source uses. It applies unless a source of higher
    precedence has a value.
    """

    name: str
    value: str | None
    source: codes.ConfigSource


_OWN_SOURCES = {number: codes.ConfigSource(each.own_source) for number, each in BY_NUMBER.items()}
_DEFAULT_SOURCES = {
    number: codes.ConfigSource(each.default_source) for number, each in BY_NUMBER.items() if each.default_source
}
_NO_SOURCE = codes.ConfigSource(0)


def own_source(resource: ConfigResource) -> codes.ConfigSource:
    """Return the source that marks a value as an override of this very resource.

    A type's default has another source than a single entity of the type.

    Returns:
        Source 0 (UNKNOWN) for an unknown type.
    """
    if resource.is_default:
        return _DEFAULT_SOURCES[resource.type]
    return _OWN_SOURCES.get(resource.type, _NO_SOURCE)


class ConfigEntry(Struct, frozen=True):
    """One key of a resource as a broker describes it. The entry has no reference to its resource, so that resources
    with equal configs can share one object.
    """

    name: str
    value: str | None
    """The value; None if the broker hides it (`sensitive`) or if there is no value. ``""`` is a value."""
    source: codes.ConfigSource
    read_only: bool = False
    sensitive: bool = False
    type: codes.ConfigType = field(default_factory=lambda: codes.ConfigType(0))
    synonyms: tuple[Synonym, ...] = ()
    """The values from all sources in their order of precedence; the first one applies."""
    documentation: str | None = None
    """Kafka's documentation of the key; None if it was not requested."""

    @property
    def is_default(self) -> bool:
        """Whether no source sets the key, so that Kafka's default applies (the flag of KIP-133)."""
        return self.source == codes.DEFAULT_CONFIG

    @property
    def hidden(self) -> bool:
        """Whether the broker has, or may have, a value that it does not return."""
        return self.sensitive and self.value is None


class ConfigSet(Struct, frozen=True, dict=True):
    """All entries of a resource, sorted by name. Equal sets are one object (console.admin shares them)."""

    entries: tuple[ConfigEntry, ...]

    @cached_property
    def _by_name(self) -> dict[str, ConfigEntry]:
        return {entry.name: entry for entry in self.entries}

    def get(self, name: str) -> ConfigEntry | None:
        """Return the entry of a key, None if the set has no such key; an empty or hidden value is an entry."""
        return self._by_name.get(name)

    def overrides(self, resource: ConfigResource) -> tuple[ConfigEntry, ...]:
        """Return the entries that this resource itself sets, sorted by name."""
        source = own_source(resource)
        return tuple(entry for entry in self.entries if entry.source == source)

    @cached_property
    def _by_source(self) -> Counter[int]:
        return Counter(entry.source for entry in self.entries)

    def count_overrides(self, resource: ConfigResource) -> int:
        """Return the number of entries that this resource itself sets. The count is cached for all resources that share
        the set.
        """
        return self._by_source.get(own_source(resource), 0)

    def __iter__(self) -> Iterator[ConfigEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def is_override(entry: ConfigEntry, resource: ConfigResource) -> bool:
    """Return whether the resource itself sets this key."""
    return entry.source == own_source(resource)


def own_value(entry: ConfigEntry | None, resource: ConfigResource) -> Synonym | None:
    """Return a resource's own override of a key.

    Args:
        entry: the entry of the key; None if the set has no such key.
        resource: the resource to which the entry belongs.

    Returns:
        None if the resource does not set the key. If the broker hides the value, the `Synonym` has the value None.
    """
    if entry is None or not is_override(entry, resource):
        return None
    return Synonym(entry.name, entry.value, entry.source)


def entry_in(configs: Mapping[ConfigResource, ConfigSet], resource: ConfigResource, key: str) -> ConfigEntry | None:
    """Return the entry of a resource's key; None if the resource has no such key, or its configs were not read."""
    found = configs.get(resource)
    return found.get(key) if found is not None else None


def text_in(configs: ConfigSet, key: str) -> str:
    """Return the value of a key; ``""`` if the key is missing, hidden or has no value."""
    entry = configs.get(key)
    return (entry.value or "") if entry is not None else ""


def number_in(configs: ConfigSet, key: str) -> int | None:
    """Return the value of a key as an integer; None if the key is missing, hidden, or its value is not an integer."""
    return long_number(text_in(configs, key))


def is_tiered(configs: Mapping[ConfigResource, ConfigSet], topic: str) -> bool:
    """Return whether the brokers copy segments of a topic to remote storage (KIP-405); False if its configs were not
    read.
    """
    entry = entry_in(configs, topic_resource(topic), "remote.storage.enable")
    return entry is not None and entry.value == "true"


def min_isr(configs: Mapping[ConfigResource, ConfigSet], topic: str) -> int | None:
    """Return the effective ``min.insync.replicas`` of a topic.

    Args:
        configs: resource -> its configs; other resources than topics are ignored.

    Returns:
        None if the topic's configs were not read, or the value is not a number.
    """
    entry = entry_in(configs, topic_resource(topic), "min.insync.replicas")
    return long_number(entry.value) if entry is not None and entry.value is not None else None


class ConfigListing(Struct, frozen=True):
    """The response to DescribeConfigs: for each resource its configs, or a failure."""

    sets: Mapping[ConfigResource, ConfigSet]
    failures: Mapping[ConfigResource, Failure] = field(default_factory=dict)
    described_by: int | None = None
    """The broker that described the resources that any broker can describe, such as topics: the values that these
    inherit are those of this broker. None if there are no such resources in the listing.
    """
