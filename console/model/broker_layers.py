"""A broker's own keys layer by layer, and how they become the synonyms of its own and of others' entries.

Kafka's rules, from ConfigHelper, DynamicBrokerConfig.brokerConfigSynonyms and ServerTopicConfigSynonyms: a key may be
given under several names, each at several sources; of a topic's key the broker names the first synonym and whatever
stands after it, so that a value from ``log.retention.hours`` alone is described as a default that has no synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from console.model.codes import (
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    GROUP,
    STATIC_BROKER_CONFIG,
    TOPIC,
    ConfigSource,
    ResourceType,
)
from console.model.config import ConfigSet, Synonym

PRECEDENCE = (DYNAMIC_BROKER_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG)
"""The sources of a broker's key, the strongest first."""


class BrokerKey(NamedTuple):
    """A broker's key that gives a topic's key its value; `factor` turns its number into the topic's unit."""

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
}
"""Topic key -> the broker keys that it inherits from, the strongest first. A topic key that is not here has a default
of its own that no broker's setting changes."""

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
    """The names under which a broker looks for a key of its own, the strongest first."""
    known = _BROKER_SYNONYMS.get(key)
    if known is not None:
        return known
    base = listener_base(key)
    return (key,) if base is None else (key, base)


def names_touched(names: Iterable[str]) -> frozenset[str]:
    """The broker's keys whose synonyms may change when these change, listener prefixes aside."""
    changed = set(names)
    return frozenset(changed.union(*(group for group in _BROKER_GROUPS if changed.intersection(group))))


def listener_base(key: str) -> str | None:
    """The key without a listener's prefix (and a SASL mechanism's), None where it has no such prefix."""
    under = _LISTENER_KEY.fullmatch(key)
    if under is None:
        return None
    return next((name for name in _MECHANISM_KEYS if under[1].endswith(name)), under[1])


def broker_key_of(resource_type: ResourceType, key: str) -> str | None:
    """The broker's key by which an entry of a topic or group is inherited; None where it is not."""
    if resource_type == TOPIC:
        names = TOPIC_SYNONYMS.get(key)
        return names[0].name if names else None
    return f"group.{key}" if resource_type == GROUP else None


Layers = Callable[[str], Iterable[Synonym]]
"""The values of exactly this name, one for each source that has it."""


def layers_of(configs: ConfigSet) -> Layers:
    """What a broker's described set tells of each name."""

    def layers(name: str) -> Iterable[Synonym]:
        entry = configs.get(name)
        return () if entry is None else (synonym for synonym in entry.synonyms if synonym.name == name)

    return layers


def chain(layers: Layers, key: str) -> tuple[Synonym, ...]:
    """The synonyms that a broker describes for a key of its own: by source, then by name, from its own name on."""
    found: dict[ConfigSource, list[Synonym]] = {}
    for name in broker_synonyms(key):
        for synonym in layers(name):
            found.setdefault(synonym.source, []).append(synonym)
    ordered = [synonym for source in PRECEDENCE for synonym in found.get(source, ())]
    for place, synonym in enumerate(ordered):
        if synonym.name == key:
            return tuple(ordered[place:])
    return ()
