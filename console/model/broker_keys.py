"""Keys of brokers: their synonyms by layer, the topic keys that inherit from them, and when a change takes effect.

Synonyms follow ConfigHelper, DynamicBrokerConfig.brokerConfigSynonyms and ServerTopicConfigSynonyms: a key may be given
under several names, each at several sources; of a topic's key the broker names the first synonym and what stands after
it, so that a value from ``log.retention.hours`` alone is described as a default without synonyms.

Update modes are those of Kafka 3.9.1 and 4.3.0 together (DynamicBrokerConfig's sets; each was also tried with
validate-only on brokers of both). An older broker may still refuse a key: its own validation has the last word, the
`read_only` that it describes has not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from console.model.codes import (
    BROKER,
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
    """What a broker's described set has for each name."""

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


# -- update modes ------------------------------------------------------------------------------------------------------


class UpdateMode(Enum):
    """KIP-226's update modes, and two cases that it leaves out."""

    AT_ONCE = "at once"
    """Not a broker's key: a topic's, group's, logger's or client-metrics' key takes effect without a restart."""
    CLUSTER_WIDE = "cluster-wide"
    """May be set on the cluster default and on each broker."""
    PER_BROKER = "per broker"
    """May be set on each broker, not on the cluster default."""
    PER_LISTENER = "per listener"
    """May be set on each broker, under a listener's prefix only (``listener.name.x.``)."""
    RESTART = "restart needed"
    """Read from the server's file when it starts; can't be altered through the API."""
    CUSTOM = "plug-in"
    """A key that the broker does not know: kept, and given to plug-ins that ask for it."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PER_LISTENER_KEYS = _names(
    """
    ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)
"""DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS: without a listener's prefix they are refused."""

PER_BROKER_KEYS = _names(
    """
    advertised.listeners cordoned.log.dirs listener.security.protocol.map listeners principal.builder.class
    sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.mechanism.inter.broker.protocol
    ssl.cipher.suites ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.engine.factory.class ssl.keymanager.algorithm ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm
    """
)
"""DynamicBrokerConfig.PER_BROKER_CONFIGS less PER_LISTENER_KEYS; ``advertised.listeners`` is dynamic up to 3.9 only."""

CLUSTER_WIDE_KEYS = _names(
    """
    background.threads compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    config.providers follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate
    group.consumer.assignment.interval.ms group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms
    group.streams.assignment.interval.ms leader.replication.throttled.rate log.cleaner.backoff.ms
    log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms log.cleaner.io.buffer.load.factor
    log.cleaner.io.buffer.size log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy
    log.flush.interval.messages log.flush.interval.ms log.index.interval.bytes log.index.size.max.bytes
    log.local.retention.bytes log.local.retention.ms log.message.downconversion.enable
    log.message.timestamp.after.max.ms log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms
    log.message.timestamp.type log.preallocate log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms
    log.segment.bytes log.segment.delete.delay.ms max.connection.creation.rate max.connections max.connections.per.ip
    max.connections.per.ip.overrides message.max.bytes metric.reporters min.insync.replicas num.io.threads
    num.network.threads num.recovery.threads.per.data.dir num.replica.fetchers producer.id.expiration.ms
    remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
    remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
    remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
    remote.log.manager.follower.thread.pool.size remote.log.reader.threads
    replica.alter.log.dirs.io.max.bytes.per.second share.coordinator.cached.buffer.max.bytes
    transaction.partition.verification.enable unclean.leader.election.enable
    """
)
"""DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS less those that are per broker."""

CLUSTER_WIDE_LISTENER_KEYS = frozenset({"max.connections", "max.connection.creation.rate", "num.network.threads"})
"""DynamicBrokerConfig.CLUSTER_LEVEL_LISTENER_CONFIGS: cluster-wide even under a listener's prefix."""

_LISTENER_NAME = re.compile(r"listener\.name\.[^.]*\.(.*)")


def update_mode(resource_type: ResourceType, key: str, *, known: bool = True) -> UpdateMode:
    """How a key of this kind of resource is updated. known: whether the broker knows the key (ConfigEntry.type is 0
    and its value hidden where it does not), so that a plug-in's key is not taken for one that needs a restart."""
    if resource_type != BROKER:
        return UpdateMode.AT_ONCE
    under_prefix = _LISTENER_NAME.fullmatch(key)
    if under_prefix:
        return UpdateMode.CLUSTER_WIDE if under_prefix[1] in CLUSTER_WIDE_LISTENER_KEYS else UpdateMode.PER_BROKER
    if key in CLUSTER_WIDE_KEYS:
        return UpdateMode.CLUSTER_WIDE
    if key in PER_BROKER_KEYS:
        return UpdateMode.PER_BROKER
    if key in PER_LISTENER_KEYS:
        return UpdateMode.PER_LISTENER
    return UpdateMode.RESTART if known else UpdateMode.CUSTOM
