"""Legal values of keys whose documentation lists them, and samples for those that count something.

Sources: TopicConfig, GroupConfig, BrokerSecurityConfigs, SslConfigs and QuotaConfig of Apache Kafka 3.9 to 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from console.plan.amounts import Unit

_POLICIES = {"compact": "keep the latest value of each key", "delete": "drop old segments"}
_COMPRESSION = {
    "producer": "as the producer sent it",
    "uncompressed": "",
    "zstd": "",
    "lz4": "",
    "snappy": "",
    "gzip": "",
}
_TIMESTAMPS = {"CreateTime": "as the producer says", "LogAppendTime": "as the broker's clock says"}
_STORES = {"JKS": "", "PKCS12": "", "PEM": ""}
_MECHANISMS = {"SCRAM-SHA-512": "", "SCRAM-SHA-256": "", "PLAIN": "", "OAUTHBEARER": "", "GSSAPI": "Kerberos"}
_TLS = {"TLSv1.3": "", "TLSv1.2": ""}
_THROTTLED = {"*": "all replicas of the topic"}

VALUES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "cleanup.policy": _POLICIES,
        "log.cleanup.policy": _POLICIES,
        "compression.type": _COMPRESSION,
        "message.timestamp.type": _TIMESTAMPS,
        "log.message.timestamp.type": _TIMESTAMPS,
        "leader.replication.throttled.replicas": _THROTTLED,
        "follower.replication.throttled.replicas": _THROTTLED,
        "share.auto.offset.reset": {"earliest": "", "latest": "", "by_duration:PT1H": "an hour back"},
        "share.isolation.level": {"read_uncommitted": "", "read_committed": ""},
        "group.consumer.migration.policy": {"bidirectional": "", "upgrade": "", "downgrade": "", "disabled": ""},
        "ssl.client.auth": {"required": "", "requested": "", "none": ""},
        "ssl.keystore.type": _STORES,
        "ssl.truststore.type": _STORES,
        "ssl.protocol": _TLS,
        "ssl.enabled.protocols": _TLS,
        "ssl.endpoint.identification.algorithm": {
            "https": "host names are verified",
            "": "host names are not verified",
        },
        "sasl.enabled.mechanisms": _MECHANISMS,
        "sasl.mechanism.inter.broker.protocol": _MECHANISMS,
    }
)
"""Key (without a listener's prefix) -> value -> what it means, where its name does not say."""

LEVELS: Mapping[str, str] = MappingProxyType(dict.fromkeys(("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"), ""))

SAMPLES: Mapping[Unit, tuple[str, ...]] = MappingProxyType(
    {
        Unit.MILLISECONDS: ("1d", "7d", "30d", "12h", "1h", "30min", "30s"),
        Unit.SECONDS: ("1d", "1h", "30min", "30s"),
        Unit.MINUTES: ("7d", "1d", "12h", "1h"),
        Unit.HOURS: ("30d", "7d", "1d"),
        Unit.BYTES: ("1MiB", "16MiB", "128MiB", "1GiB", "10GiB", "100GiB"),
        Unit.BYTES_PER_SECOND: ("1MB/s", "10MB/s", "100MB/s"),
    }
)
"""What to begin with, by what a key counts."""

UNITS: Mapping[Unit, tuple[str, ...]] = MappingProxyType(
    {
        Unit.MILLISECONDS: ("d", "h", "min", "s", "ms"),
        Unit.SECONDS: ("d", "h", "min", "s"),
        Unit.MINUTES: ("d", "h", "min"),
        Unit.HOURS: ("d", "h"),
        Unit.BYTES: ("GiB", "MiB", "KiB", "GB", "MB", "kB"),
        Unit.BYTES_PER_SECOND: ("MB/s", "GB/s", "kB/s", "MiB/s", "GiB/s", "KiB/s"),
    }
)
"""The units to offer behind a number."""

SHORT: Mapping[Unit, str] = MappingProxyType(
    {
        Unit.NONE: "",
        Unit.MILLISECONDS: "ms",
        Unit.SECONDS: "s",
        Unit.MINUTES: "min",
        Unit.HOURS: "h",
        Unit.BYTES: "bytes",
        Unit.BYTES_PER_SECOND: "bytes/s",
    }
)

QUOTA_SAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "producer_byte_rate": SAMPLES[Unit.BYTES_PER_SECOND],
        "consumer_byte_rate": SAMPLES[Unit.BYTES_PER_SECOND],
        "request_percentage": ("50%", "100%", "200%"),
        "controller_mutation_rate": ("5/s", "10/s", "50/s"),
        "connection_creation_rate": ("10/s", "20/s", "100/s"),
    }
)

QUOTA_HELP: Mapping[str, str] = MappingProxyType(
    {
        "producer_byte_rate": "bytes per second that may be produced to each broker",
        "consumer_byte_rate": "bytes per second that may be fetched from each broker",
        "request_percentage": "percent of the time of one request thread, on each broker",
        "controller_mutation_rate": "partitions created or deleted per second, through the controller",
        "connection_creation_rate": "new connections per second to each broker",
    }
)

CREATE_HELP: Mapping[str, str] = MappingProxyType(
    {
        "partitions": "how many; left out: the cluster's num.partitions",
        "replication": "copies of each partition; left out: the cluster's default.replication.factor",
        "assign": "brokers of each partition, for example 1:2,2:3; instead of partitions and replication",
        "timeout": "how long the brokers may take, for example 30s",
    }
)
