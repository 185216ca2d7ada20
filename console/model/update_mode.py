"""When a change of a config key takes effect, and where it may be set.

The names are those of Kafka 3.9.1 and 4.3.0 together (DynamicBrokerConfig's sets; each was also tried with
validate-only on brokers of both). An older broker may still refuse one: its own validation has the last word, the
`read_only` that it describes has not.
"""

from __future__ import annotations

import re
from enum import Enum

from console.model.codes import BROKER, ResourceType


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

_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]*\.(.*)")


def update_mode(resource_type: ResourceType, key: str, *, known: bool = True) -> UpdateMode:
    """How a key of this kind of resource is updated. known: whether the broker knows the key (ConfigEntry.type is 0
    and its value hidden where it does not), so that a plug-in's key is not taken for one that needs a restart."""
    if resource_type != BROKER:
        return UpdateMode.AT_ONCE
    under_prefix = _LISTENER_PREFIX.fullmatch(key)
    if under_prefix:
        return UpdateMode.CLUSTER_WIDE if under_prefix[1] in CLUSTER_WIDE_LISTENER_KEYS else UpdateMode.PER_BROKER
    if key in CLUSTER_WIDE_KEYS:
        return UpdateMode.CLUSTER_WIDE
    if key in PER_BROKER_KEYS:
        return UpdateMode.PER_BROKER
    if key in PER_LISTENER_KEYS:
        return UpdateMode.PER_LISTENER
    return UpdateMode.RESTART if known else UpdateMode.CUSTOM
