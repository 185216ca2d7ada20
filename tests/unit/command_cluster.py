"""A small cluster as a snapshot, for tests of the language."""

from datetime import UTC, datetime

from console.model.acl import Acl
from console.model.cluster import (
    Broker,
    ClusterInfo,
    Group,
    GroupLag,
    GroupMember,
    Partition,
    PartitionLag,
    ScramCredential,
    Topic,
)
from console.model.codes import (
    BROKER_LOGGER,
    DEFAULT_CONFIG,
    DYNAMIC_BROKER_LOGGER_CONFIG,
    DYNAMIC_DEFAULT_BROKER_CONFIG,
    DYNAMIC_TOPIC_CONFIG,
    STATIC_BROKER_CONFIG,
    TOPIC,
    AclOperation,
    AclResourceType,
    ConfigType,
    PatternType,
    Permission,
    ScramMechanism,
)
from console.model.config import (
    CLUSTER_DEFAULT,
    ConfigEntry,
    ConfigResource,
    ConfigSet,
    Synonym,
    broker_resource,
    topic_resource,
)
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot

AT = datetime(2026, 1, 2, tzinfo=UTC)
BOOLEAN, STRING, INT, LONG, LIST, PASSWORD = (ConfigType(code) for code in (1, 2, 3, 5, 7, 9))
LOGGER_1 = ConfigResource(BROKER_LOGGER, "1")

RETENTION_DOCS = "How long a log is <code>kept</code>. <p>Older segments go.</p>"


def entry(name, value, source=DEFAULT_CONFIG, type_=STRING, synonyms=(), **more):
    return ConfigEntry(name, value, source, type=type_, synonyms=tuple(synonyms), **more)


def topic_set(retention=None):
    below = Synonym("log.retention.ms", "604800000", DEFAULT_CONFIG)
    own = [Synonym("retention.ms", retention, DYNAMIC_TOPIC_CONFIG)] if retention else []
    source = DYNAMIC_TOPIC_CONFIG if retention else DEFAULT_CONFIG
    return ConfigSet(
        (
            entry("cleanup.policy", "delete", type_=LIST),
            entry("compression.type", "producer"),
            entry("max.message.bytes", "1048588", type_=INT),
            entry("preallocate", "false", type_=BOOLEAN),
            entry("retention.ms", retention or "604800000", source, LONG, [*own, below]),
        )
    )


BROKER_SET = ConfigSet(
    (
        entry("log.cleaner.threads", "1", type_=INT),
        entry("log.retention.ms", None, type_=LONG),
        entry("message.max.bytes", "1048588", STATIC_BROKER_CONFIG, INT),
        entry("metric.reporters", "", type_=LIST),
        entry("ssl.key.password", None, type_=PASSWORD, sensitive=True),
        entry("ssl.keystore.location", None),
    )
)


def topic(name, partitions=3, isr=(1, 2, 3), internal=False):
    return Topic(name, tuple(Partition(n, 1, (1, 2, 3), isr) for n in range(partitions)), internal)


def acl(principal, name, operation=3, permission=3, pattern=3):
    return Acl(
        AclResourceType(2), name, PatternType(pattern), principal, "*", AclOperation(operation), Permission(permission)
    )


TOPICS = {
    "orders": topic("orders", 12, isr=(1, 2)),
    "orders-dlq": topic("orders-dlq", 1),
    "payments": topic("payments"),
    "__consumer_offsets": topic("__consumer_offsets", 50, internal=True),
}
QUOTAS = {
    QuotaEntity.of({"user": None}): {"producer_byte_rate": 10e6},
    QuotaEntity.of({"user": "alice"}): {"consumer_byte_rate": 50e6, "request_percentage": 200.0},
    QuotaEntity.of({"user": "alice", "client-id": None}): {"producer_byte_rate": 1048576.0},
    QuotaEntity.of({"user": "alice", "client-id": "check out"}): {"producer_byte_rate": 5e6},
    QuotaEntity.of({"client-id": "<default>"}): {"producer_byte_rate": 7.0},
    QuotaEntity.of({"ip": "10.0.0.1"}): {"connection_creation_rate": 20.0},
}
SNAPSHOT = Snapshot(
    cluster=ClusterInfo("c1", 1, tuple(Broker(n, "localhost", 9090 + n, f"rack-{n}") for n in (1, 2, 3))),
    topics=TOPICS,
    configs={
        topic_resource("orders"): topic_set("86400000"),
        topic_resource("orders-dlq"): topic_set(),
        topic_resource("payments"): topic_set(),
        broker_resource(1): BROKER_SET,
        broker_resource(2): BROKER_SET,
        CLUSTER_DEFAULT: ConfigSet((entry("log.cleaner.threads", "2", DYNAMIC_DEFAULT_BROKER_CONFIG, INT),)),
        LOGGER_1: ConfigSet((entry("kafka.server.KafkaApis", "INFO", DYNAMIC_BROKER_LOGGER_CONFIG),)),
    },
    configs_from=1,
    documentation={(int(TOPIC), "retention.ms"): RETENTION_DOCS},
    quotas=QUOTAS,
    acls=(acl("User:alice", "orders"), acl("User:bob", "pay", 4, 2, 4)),
    scram={"alice": (ScramCredential(ScramMechanism(1), 4096),)},
    groups={
        "billing": Group(
            "billing", "Stable", "consumer", "range", 2, (GroupMember("m-1", "c-1", "/10.0.0.9", (("orders", 0),)),)
        ),
        "empty": Group("empty", "Empty", "classic", "", 3, ()),
    },
    lags={"billing": GroupLag((PartitionLag("orders", 0, 90, 100, 10, "m-1"),))},
    read_at=dict.fromkeys(("cluster", "topics", "quotas", "acls", "scram", "groups"), AT),
)
