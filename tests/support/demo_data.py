"""The content of the demo cluster: topics of a few teams, config overrides, quotas, ACLs and groups. The tests of the
guided walk use it, too.
"""

import asyncio
from collections.abc import Iterator

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings
from console.model import acl, codes, quota
from console.model import changes as model_changes
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from tests.support.kafka_cluster import KafkaCluster

TEAMS = {
    "checkout": ("orders", "orders-dlq", "payments", "refunds", "carts"),
    "logistics": ("shipments", "stock", "stock-changes", "carriers"),
    "identity": ("logins", "sessions", "audit"),
    "platform": ("metrics", "traces", "mirror-heartbeats"),
}
MIB = 1_048_576.0
DAY = 86_400_000


def demo_cluster() -> KafkaCluster:
    """Return a cluster of three brokers in three zones, not yet started."""
    return KafkaCluster(
        broker_properties={number: {"broker.rack": f"zone-{'abc'[number - 1]}"} for number in (1, 2, 3)}
    )


def topics() -> Iterator[model_changes.NewTopic]:
    """Yield the demo's topics, which have different numbers of partitions."""
    for team, names in TEAMS.items():
        for place, name in enumerate(names):
            partitions = (12, 3, 24, 6, 1)[place % 5]
            yield model_changes.NewTopic(f"{team}.{name}", partitions=partitions, replication=3)


def _set(**values: str) -> tuple[model_changes.ConfigOp, ...]:
    return tuple(
        model_changes.ConfigOp(key.replace("__", "-").replace("_", "."), codes.SET, value)
        for key, value in values.items()
    )


def _allow(principal: str, operation: str, type_: str, name: str, pattern: str = "LITERAL") -> acl.Acl:
    return acl.Acl(
        codes.AclResourceType.parse(type_),
        name,
        codes.PatternType.parse(pattern),
        principal,
        "*",
        codes.AclOperation.parse(operation),
        codes.Permission.parse("ALLOW"),
    )


def requests() -> Iterator[model_changes.ChangeRequest]:
    """Yield the change requests that turn an empty cluster into the demo cluster, in the order in which to send
    them.
    """
    yield model_changes.CreateTopics(tuple(topics()))
    yield model_changes.AlterConfigs(
        {
            topic_resource("checkout.orders"): _set(retention_ms=str(7 * DAY), min_insync_replicas="2"),
            topic_resource("checkout.payments"): _set(
                cleanup_policy="compact,delete", min_insync_replicas="2", retention_ms=str(30 * DAY)
            ),
            topic_resource("checkout.orders-dlq"): _set(retention_ms=str(14 * DAY)),
            topic_resource("logistics.stock"): _set(cleanup_policy="compact"),
            topic_resource("identity.audit"): _set(retention_ms="-1", compression_type="zstd"),
            topic_resource("platform.traces"): _set(retention_ms=str(3_600_000), segment_bytes=str(64 * 2**20)),
            CLUSTER_DEFAULT: _set(log_retention_ms=str(3 * DAY), log_cleaner_threads="2"),
            broker_resource(3): _set(log_retention_ms=str(2 * DAY)),
            ConfigResource(codes.GROUP, "billing"): (
                model_changes.ConfigOp("consumer.session.timeout.ms", codes.SET, "50000"),
            ),
            ConfigResource(codes.CLIENT_METRICS, "producers"): (
                model_changes.ConfigOp("metrics", codes.SET, "org.apache.kafka.producer."),
                model_changes.ConfigOp("interval.ms", codes.SET, "30000"),
            ),
        },
        broker=3,
    )
    user, client, ip = "user", "client-id", "ip"
    yield model_changes.AlterQuotas(
        {
            quota.QuotaEntity.of({user: None}): {"producer_byte_rate": 10 * MIB, "consumer_byte_rate": 20 * MIB},
            quota.QuotaEntity.of({user: "alice"}): {"consumer_byte_rate": 50 * MIB, "request_percentage": 200.0},
            quota.QuotaEntity.of({user: "alice", client: None}): {"producer_byte_rate": 1 * MIB},
            quota.QuotaEntity.of({user: "alice", client: "checkout"}): {"producer_byte_rate": 5 * MIB},
            quota.QuotaEntity.of({user: "bob", client: "loader"}): {"producer_byte_rate": 40 * MIB},
            quota.QuotaEntity.of({client: None}): {"controller_mutation_rate": 50.0},
            quota.QuotaEntity.of({client: "mirror-maker"}): {"producer_byte_rate": 80 * MIB},
            quota.QuotaEntity.of({ip: None}): {"connection_creation_rate": 20.0},
        }
    )
    yield model_changes.CreateAcls(
        (
            _allow("User:alice", "READ", "TOPIC", "checkout.", "PREFIXED"),
            _allow("User:alice", "WRITE", "TOPIC", "checkout.orders"),
            _allow("User:alice", "READ", "GROUP", "billing"),
            _allow("User:bob", "WRITE", "TOPIC", "logistics.", "PREFIXED"),
            _allow("User:bob", "DESCRIBE_CONFIGS", "TOPIC", "logistics.", "PREFIXED"),
            _allow("User:mirror", "READ", "TOPIC", "*"),
            _allow("User:mirror", "DESCRIBE", "CLUSTER", acl.CLUSTER_NAME),
        )
    )


def seed(addresses: tuple[tuple[str, int], ...]) -> None:
    """Create the demo's content on running brokers. addresses: (host, port) of brokers. Raises RuntimeError if a change
    is refused.
    """
    client = AdminClient(ConnectionSettings(addresses, request_timeout=60.0))
    client.start()
    try:
        for request in requests():
            outcomes = client.submit(changes.send, request, validate_only=False).result(120)
            failed = [outcome for outcome in outcomes if not outcome.ok]
            if failed:
                raise RuntimeError(f"the demo data was refused: {failed[0]}")
    finally:
        client.close()
    asyncio.run(_traffic(",".join(f"{host}:{port}" for host, port in addresses)))


async def _traffic(bootstrap: str) -> None:
    """Write some records, and commit offsets of groups that lag."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition  # type: ignore[import-untyped]

    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for topic, records in (("checkout.orders", 600), ("checkout.payments", 240), ("logistics.stock", 90)):
            for number in range(records):
                await producer.send(topic, key=str(number % 37).encode(), value=b"." * 200)
        await producer.flush()
    finally:
        await producer.stop()
    for group, topic in (("billing", "checkout.orders"), ("fraud-check", "checkout.payments")):
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
        await consumer.start()
        try:
            partitions = consumer.partitions_for_topic(topic) or set()
            places = [TopicPartition(topic, number) for number in partitions]
            if not places:
                places = [TopicPartition(topic, 0)]
            consumer.assign(places)
            ends = await consumer.end_offsets(places)
            await consumer.commit({place: end * 2 // 3 for place, end in ends.items()})
        finally:
            await consumer.stop()
