"""A small cluster as a snapshot, for tests of the language."""

from datetime import UTC, datetime

from console.model import cluster, codes, config
from console.model.quota import QuotaEntity
from console.model.snapshot import Snapshot
from tests.support import worlds

AT = datetime(2026, 1, 2, tzinfo=UTC)
BOOLEAN, STRING, INT, LONG, LIST, PASSWORD = (codes.ConfigType(code) for code in (1, 2, 3, 5, 7, 9))
LOGGER_1 = config.ConfigResource(codes.BROKER_LOGGER, "1")

RETENTION_DOCS = "How long a log is <code>kept</code>. <p>Older segments go.</p>"


def entry(name, value, source=codes.DEFAULT_CONFIG, type_=STRING, synonyms=(), **more):
    return config.ConfigEntry(name, value, source, type=type_, synonyms=tuple(synonyms), **more)


def topic_set(retention=None):
    below = config.Synonym("log.retention.ms", "604800000", codes.DEFAULT_CONFIG)
    own = [config.Synonym("retention.ms", retention, codes.DYNAMIC_TOPIC_CONFIG)] if retention else []
    source = codes.DYNAMIC_TOPIC_CONFIG if retention else codes.DEFAULT_CONFIG
    return config.ConfigSet(
        (
            entry("cleanup.policy", "delete", type_=LIST),
            entry("compression.type", "producer"),
            entry("max.message.bytes", "1048588", type_=INT),
            entry("preallocate", "false", type_=BOOLEAN),
            entry("retention.ms", retention or "604800000", source, LONG, [*own, below]),
        )
    )


BROKER_SET = config.ConfigSet(
    (
        entry("log.cleaner.threads", "1", type_=INT),
        entry("log.retention.ms", None, type_=LONG),
        entry("message.max.bytes", "1048588", codes.STATIC_BROKER_CONFIG, INT),
        entry("metric.reporters", "", type_=LIST),
        entry("ssl.key.password", None, type_=PASSWORD, sensitive=True),
        entry("ssl.keystore.location", None),
    )
)


def topic(name, partitions=3, isr=(1, 2, 3), internal=False):
    return cluster.Topic(name, tuple(cluster.Partition(n, 1, (1, 2, 3), isr) for n in range(partitions)), internal)


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
    cluster=cluster.ClusterInfo(
        "c1", 1, tuple(cluster.Broker(n, "localhost", 9090 + n, f"rack-{n}") for n in (1, 2, 3))
    ),
    topics=TOPICS,
    configs={
        config.topic_resource("orders"): topic_set("86400000"),
        config.topic_resource("orders-dlq"): topic_set(),
        config.topic_resource("payments"): topic_set(),
        config.broker_resource(1): BROKER_SET,
        config.broker_resource(2): BROKER_SET,
        config.CLUSTER_DEFAULT: config.ConfigSet(
            (entry("log.cleaner.threads", "2", codes.DYNAMIC_DEFAULT_BROKER_CONFIG, INT),)
        ),
        LOGGER_1: config.ConfigSet((entry("kafka.server.KafkaApis", "INFO", codes.DYNAMIC_BROKER_LOGGER_CONFIG),)),
    },
    configs_from=1,
    documentation={(int(codes.TOPIC), "retention.ms"): RETENTION_DOCS},
    quotas=QUOTAS,
    acls=(worlds.acl(), worlds.acl("User:bob", "pay", "WRITE", "DENY", pattern="PREFIXED")),
    scram={"alice": (cluster.ScramCredential(codes.ScramMechanism(1), 4096),)},
    groups={
        "billing": cluster.Group(
            "billing",
            "Stable",
            "consumer",
            "range",
            2,
            (cluster.GroupMember("m-1", "c-1", "/10.0.0.9", (("orders", 0),)),),
        ),
        "empty": cluster.Group("empty", "Empty", "classic", "", 3, ()),
    },
    lags={"billing": cluster.GroupLag((cluster.PartitionLag("orders", 0, 90, 100, 10, "m-1"),))},
    read_at=dict.fromkeys(("cluster", "topics", "quotas", "acls", "scram", "groups"), AT),
)
