"""The keys of brokers that can be altered, in sets by where they can be set: on a listener, on a broker, or on the
cluster default too. Written from Kafka's jars by ``python -m tests.support.record_dynamic_keys``.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PER_LISTENER_KEYS = _names(
    """
    ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.truststore.certificates ssl.truststore.location ssl.truststore.password ssl.truststore.type
    """
)
"""DynamicBrokerConfig.DYNAMIC_SECURITY_CONFIGS: brokers refuse to alter these keys without a listener's prefix."""


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
"""DynamicBrokerConfig.PER_BROKER_CONFIGS without PER_LISTENER_KEYS; some exist only up to Kafka 3.9."""


CLUSTER_WIDE_KEYS = _names(
    """
    background.threads compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    config.providers errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix
    follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate group.consumer.assignment.interval.ms
    group.consumer.assignor.offload.enable group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms
    group.share.assignor.offload.enable group.streams.assignment.interval.ms group.streams.assignor.offload.enable
    leader.replication.throttled.rate log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.delete.retention.ms log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
    log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
    log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy log.flush.interval.messages
    log.flush.interval.ms log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
    log.local.retention.ms log.message.downconversion.enable log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms log.message.timestamp.type
    log.preallocate log.remote.copy.lag.bytes log.remote.copy.lag.ms log.retention.bytes log.retention.ms
    log.roll.jitter.ms log.roll.ms log.segment.bytes log.segment.delete.delay.ms max.connection.creation.rate
    max.connections max.connections.per.ip max.connections.per.ip.overrides max.decompressed.message.bytes
    message.max.bytes metric.reporters min.insync.replicas num.io.threads num.network.threads
    num.recovery.threads.per.data.dir num.replica.fetchers producer.id.expiration.ms remote.fetch.max.wait.ms
    remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
    remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
    remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
    remote.log.manager.follower.thread.pool.size remote.log.reader.threads
    replica.alter.log.dirs.io.max.bytes.per.second share.coordinator.cached.buffer.max.bytes
    transaction.partition.verification.enable unclean.leader.election.enable
    """
)
"""DynamicBrokerConfig.ALL_DYNAMIC_CONFIGS without the keys of `PER_LISTENER_KEYS` and `PER_BROKER_KEYS`."""


DYNAMIC_ONLY_KEYS = _names(
    """
    follower.replication.throttled.rate leader.replication.throttled.rate replica.alter.log.dirs.io.max.bytes.per.second
    """
)
"""Keys that a server's file can't contain. Brokers describe them only while they are set, and then as read-only,
although they can be altered.
"""


CLUSTER_WIDE_LISTENER_KEYS = _names(
    """
    max.connection.creation.rate max.connections num.network.threads
    """
)
"""Keys that are cluster-wide even under a listener's prefix (CLUSTER_LEVEL_LISTENER_CONFIGS)."""
