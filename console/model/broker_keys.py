"""Keys of brokers: their synonyms, the topic keys that inherit from them, and when a change takes effect.

Synonyms follow ConfigHelper, DynamicBrokerConfig.brokerConfigSynonyms and ServerTopicConfigSynonyms. A broker's key may
have several names, and each name may be set at several sources. When a broker describes a key of a topic, it lists the
values from the first one under the first name on: if only ``log.retention.hours`` is set, which is not the first name
for ``retention.ms``, the broker lists no synonyms and describes the value as a default.

The sets of keys in `dynamic_keys` are the union of several releases (DynamicBrokerConfig), so an older broker may
refuse a key, and a newer one may alter more keys. For a key that a broker defines, the broker's description decides
whether it can be altered. For keys with a listener's prefix and for dynamic-only keys the sets decide, because brokers
describe these keys as read-only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from console.model.codes import (
    BROKER,
    GROUP,
    TOPIC,
    ConfigSource,
    ResourceType,
)
from console.model.config import ConfigEntry, ConfigSet, Synonym

PRECEDENCE = tuple(map(ConfigSource, BROKER.entity.sources))
"""The sources of a broker's key, the one with the highest precedence first."""


class BrokerKey(NamedTuple):
    """A broker's key from which a topic's key inherits. `factor` is the number by which the broker's value is
    multiplied to get the topic's unit.
    """

    name: str
    factor: int = 1


_MINUTES = 60_000
_HOURS = 3_600_000

TOPIC_SYNONYMS: Mapping[str, tuple[BrokerKey, ...]] = {
    "segment.bytes": (BrokerKey("log.segment.bytes"),),
    "segment.ms": (BrokerKey("log.roll.ms"), BrokerKey("log.roll.hours", _HOURS)),
    "segment.jitter.ms": (BrokerKey("log.roll.jitter.ms"), BrokerKey("log.roll.jitter.hours", _HOURS)),
    "segment.index.bytes": (BrokerKey("log.index.size.max.bytes"),),
    "flush.messages": (BrokerKey("log.flush.interval.messages"),),
    "flush.ms": (BrokerKey("log.flush.interval.ms"), BrokerKey("log.flush.scheduler.interval.ms")),
    "retention.bytes": (BrokerKey("log.retention.bytes"),),
    "retention.ms": (
        BrokerKey("log.retention.ms"),
        BrokerKey("log.retention.minutes", _MINUTES),
        BrokerKey("log.retention.hours", _HOURS),
    ),
    "max.message.bytes": (BrokerKey("message.max.bytes"),),
    "index.interval.bytes": (BrokerKey("log.index.interval.bytes"),),
    "delete.retention.ms": (BrokerKey("log.cleaner.delete.retention.ms"),),
    "min.compaction.lag.ms": (BrokerKey("log.cleaner.min.compaction.lag.ms"),),
    "max.compaction.lag.ms": (BrokerKey("log.cleaner.max.compaction.lag.ms"),),
    "file.delete.delay.ms": (BrokerKey("log.segment.delete.delay.ms"),),
    "min.cleanable.dirty.ratio": (BrokerKey("log.cleaner.min.cleanable.ratio"),),
    "cleanup.policy": (BrokerKey("log.cleanup.policy"),),
    "unclean.leader.election.enable": (BrokerKey("unclean.leader.election.enable"),),
    "min.insync.replicas": (BrokerKey("min.insync.replicas"),),
    "compression.type": (BrokerKey("compression.type"),),
    "compression.gzip.level": (BrokerKey("compression.gzip.level"),),
    "compression.lz4.level": (BrokerKey("compression.lz4.level"),),
    "compression.zstd.level": (BrokerKey("compression.zstd.level"),),
    "preallocate": (BrokerKey("log.preallocate"),),
    "message.downconversion.enable": (BrokerKey("log.message.downconversion.enable"),),
    "message.timestamp.type": (BrokerKey("log.message.timestamp.type"),),
    "message.timestamp.difference.max.ms": (BrokerKey("log.message.timestamp.difference.max.ms"),),
    "message.timestamp.before.max.ms": (BrokerKey("log.message.timestamp.before.max.ms"),),
    "message.timestamp.after.max.ms": (BrokerKey("log.message.timestamp.after.max.ms"),),
    "local.retention.ms": (BrokerKey("log.local.retention.ms"),),
    "local.retention.bytes": (BrokerKey("log.local.retention.bytes"),),
    "remote.copy.lag.ms": (BrokerKey("log.remote.copy.lag.ms"),),
    "remote.copy.lag.bytes": (BrokerKey("log.remote.copy.lag.bytes"),),
    "max.decompressed.message.bytes": (BrokerKey("max.decompressed.message.bytes"),),
}
"""Topic key -> the broker keys that it inherits from, the one with the highest precedence first. A topic key that is
missing here has a default that no config of brokers changes.
"""

_BROKER_GROUPS = (
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
)
_BROKER_SYNONYMS = {
    **{name: group for group in _BROKER_GROUPS for name in group},
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
_LISTENER_KEY = re.compile(r"listener\.name\.[^.]*\.(.*)")
_MECHANISM_KEYS = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def broker_synonyms(key: str) -> tuple[str, ...]:
    """Return the names under which a broker reads the value of one of its keys, the one with the highest precedence
    first.
    """
    known = _BROKER_SYNONYMS.get(key)
    if known is not None:
        return known
    base = listener_base(key)
    return (key,) if base is None else (key, base)


def names_touched(names: Iterable[str]) -> frozenset[str]:
    """Return the given keys of brokers, and all keys that share synonyms with one of them, so that their values may
    change too. Keys with a listener's prefix are not added.
    """
    changed = set(names)
    return frozenset(changed.union(*(group for group in _BROKER_GROUPS if changed.intersection(group))))


@lru_cache(1024)  # polls ask about the same keys of each broker
def listener_base(key: str) -> str | None:
    """Return a key without ``listener.name.NAME.`` and without the name of a SASL mechanism after it; None if the key
    does not begin with ``listener.name.``.
    """
    # Nothing marks the end of the mechanism's name: compare the end of the key, as
    # DynamicBrokerConfig.brokerConfigSynonyms does.
    under = _LISTENER_KEY.fullmatch(key)
    if under is None:
        return None
    return next((name for name in _MECHANISM_KEYS if under[1].endswith(name)), under[1])


def broker_key_of(resource_type: ResourceType, key: str) -> str | None:
    """Return the broker key from which a key of a topic or group inherits; None if it inherits from no key."""
    if resource_type == TOPIC:
        names = TOPIC_SYNONYMS.get(key)
        return names[0].name if names else None
    return f"group.{key}" if resource_type == GROUP else None


Layers = Callable[[str], Iterable[Synonym]]
"""A function from a name to the values under this name, one for each source that sets it."""


def layers_of(configs: ConfigSet) -> Layers:
    """Return a function that takes a name, and returns the synonyms with exactly that name in a broker's configs, one
    for each source that sets it.
    """

    def layers(name: str) -> Iterable[Synonym]:
        entry = configs.get(name)
        return () if entry is None else (synonym for synonym in entry.synonyms if synonym.name == name)

    return layers


def chain(layers: Layers, key: str) -> tuple[Synonym, ...]:
    """Return the synonyms that a broker describes for one of its own keys.

    Args:
        layers: a function from a name to its values, one for each source that sets it.
        key: a broker's key.

    Returns:
        The synonyms by source (`PRECEDENCE`), then by name, beginning with the first one whose name is `key`, as
        ConfigHelper returns them; empty if no source sets `key` itself.
    """
    from console.model.grouping import grouped

    found = grouped((synonym.source, synonym) for name in broker_synonyms(key) for synonym in layers(name))
    # A stronger source beats a stronger name: log.retention.hours set on the broker wins over log.retention.ms in the
    # server's file (DynamicBrokerConfig.overrideProps).
    ordered = [synonym for source in PRECEDENCE for synonym in found.get(source, ())]
    for place, synonym in enumerate(ordered):
        if synonym.name == key:
            return tuple(ordered[place:])
    return ()


# -- update modes ------------------------------------------------------------------------------------------------------


class UpdateMode(Enum):
    """Where a key can be set, and whether a change needs a restart: KIP-226's modes (read-only, per-broker,
    cluster-wide), and modes for the cases that KIP-226 leaves out.
    """

    AT_ONCE = "at once"
    """A key of another resource than a broker: it takes effect without a restart."""
    CLUSTER_WIDE = "cluster-wide"
    """A key that can be set on the cluster default and on each broker."""
    PER_BROKER = "per broker"
    """A key that can be set on each broker, but not on the cluster default."""
    PER_LISTENER = "per listener"
    """A key that can be set on each broker, but only with a listener's prefix (``listener.name.x.``)."""
    RESTART = "restart needed"
    """A key that a broker reads from its file when it starts; the API can't alter it."""
    CUSTOM = "plug-in"
    """A key that the broker does not know and keeps for plug-ins."""


def update_mode(resource_type: ResourceType, key: str, entry: ConfigEntry | None = None) -> UpdateMode:
    """Return the update mode of a key: `AT_ONCE` for every key of a resource that is no broker.

    Args:
        entry: the key in the broker's description; None if it was not read. It decides for a key that the broker
            defines and describes as read-only (`RESTART`), and for a key that the broker does not define (type 0:
            `CUSTOM`).
    """
    if resource_type != BROKER:
        return UpdateMode.AT_ONCE
    from console.model.dynamic_keys import (
        CLUSTER_WIDE_KEYS,
        CLUSTER_WIDE_LISTENER_KEYS,
        DYNAMIC_ONLY_KEYS,
        PER_BROKER_KEYS,
        PER_LISTENER_KEYS,
    )

    under_prefix = listener_base(key)
    if under_prefix is not None:
        return UpdateMode.CLUSTER_WIDE if under_prefix in CLUSTER_WIDE_LISTENER_KEYS else UpdateMode.PER_BROKER
    # Check this before the sets of keys: a key that is dynamic in the newest Kafka may be read-only on an older broker.
    if entry is not None and entry.read_only and entry.type.known and key not in DYNAMIC_ONLY_KEYS:
        return UpdateMode.RESTART
    if key in CLUSTER_WIDE_KEYS:
        return UpdateMode.CLUSTER_WIDE
    if key in PER_BROKER_KEYS:
        return UpdateMode.PER_BROKER
    if key in PER_LISTENER_KEYS:
        return UpdateMode.PER_LISTENER
    # Brokers return type 0 for a key that none of their ConfigDefs has (ConfigHelper).
    if entry is not None and not entry.type.known:
        return UpdateMode.CUSTOM
    return UpdateMode.RESTART if entry is None or entry.read_only else UpdateMode.CLUSTER_WIDE


_ALTERED = frozenset({UpdateMode.CLUSTER_WIDE, UpdateMode.PER_BROKER})


def as_altered(configs: ConfigSet) -> ConfigSet:
    """Return a broker's configs with `read_only` set to False for the keys that the broker describes as read-only, but
    alters without a restart; the same object if there are no such keys.
    """
    wrong = {e.name for e in configs if e.read_only and update_mode(BROKER, e.name, e) in _ALTERED}
    if not wrong:
        return configs
    return ConfigSet(tuple(replace(each, read_only=False) if each.name in wrong else each for each in configs))
