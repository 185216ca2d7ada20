"""Changes that are known, made on a real cluster by two principals, and what the history has to say of each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass

from console.admin import changes
from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.acl import Acl
from console.model.changes import (
    AlterConfigs,
    AlterQuotas,
    AlterScram,
    ChangeRequest,
    ConfigOp,
    CreateAcls,
    CreatePartitions,
    CreateTopics,
    DeleteAcls,
    DeleteTopics,
    NewTopic,
    ScramUser,
)
from console.model.codes import (
    DELETE,
    SET,
    AclOperation,
    AclResourceType,
    PatternType,
    Permission,
    ScramMechanism,
)
from console.model.config import CLUSTER_DEFAULT, broker_resource, topic_resource
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from tests.support.kafka_cluster import KafkaCluster

ALICE, ADMIN = "alice", "admin"
TOPIC, GONE, BULK = "orders", "scratch", "bulk-loader"
PRODUCER_LIMIT = 60_000.0
KEYSTORE = "listener.name.sasl_plaintext.ssl.keystore.password"
SCRAM_PASSWORD, KEYSTORE_PASSWORD = "planted-scram-4711", "planted-keystore-4711"

READ_ORDERS = Acl(
    AclResourceType.parse("TOPIC"),
    TOPIC,
    PatternType.parse("LITERAL"),
    "User:carol",
    "*",
    AclOperation.parse("READ"),
    Permission.parse("ALLOW"),
)


@dataclass(frozen=True)
class Known:
    """A change that was made: new None: taken away."""

    who: str
    type: str
    key: str
    attr: str
    old: str | None
    new: str | None


def known() -> tuple[Known, ...]:
    """What the history must tell, by entity and attribute, in the order of time."""
    return (
        Known(ALICE, "topic", TOPIC, ":partitions", None, "2"),
        Known(ALICE, "topic", TOPIC, "retention.ms", None, "600000"),
        Known(ADMIN, "topic", TOPIC, "retention.ms", "600000", "1200000"),
        Known(ALICE, "topic", TOPIC, "retention.ms", "1200000", None),
        Known(ADMIN, "topic", TOPIC, "max.message.bytes", None, "200000"),
        Known(ALICE, "topic", TOPIC, ":partitions", "2", "4"),
        Known(ALICE, "topic", GONE, "cleanup.policy", None, "compact"),
        Known(ADMIN, "topic", GONE, "cleanup.policy", "compact", None),
        Known(ADMIN, "broker", "1", "log.cleaner.threads", None, "2"),
        Known(ADMIN, "broker", "<default>", "log.retention.ms", None, "86400000"),
        Known(ADMIN, "quota", "user=alice,client-id=<default>", "producer_byte_rate", None, "60000"),
        Known(ALICE, "quota", "user=<default>", "consumer_byte_rate", None, "5000000"),
        Known(ALICE, "quota", "user=<default>", "consumer_byte_rate", "5000000", "6000000"),
        Known(ALICE, "acl", "TOPIC:LITERAL:orders", "ALLOW READ User:carol from *", None, "set"),
        Known(ADMIN, "acl", "TOPIC:LITERAL:orders", "ALLOW READ User:carol from *", "set", None),
        Known(ADMIN, "scram", "carol", "SCRAM-SHA-256", None, "iterations=8192"),
    )


def steps() -> Iterator[tuple[str, ChangeRequest]]:
    """Who sends what, in this order."""
    orders = topic_resource(TOPIC)
    everybody, alice = QuotaEntity.of({"user": None}), QuotaEntity.of({"user": ALICE, "client-id": None})
    yield ALICE, CreateTopics((NewTopic(TOPIC, 2, 1, configs={"retention.ms": "600000"}),))
    yield ALICE, CreateTopics((NewTopic(GONE, 1, 1, configs={"cleanup.policy": "compact"}),))
    yield ADMIN, AlterConfigs({orders: (_set("retention.ms", "1200000"), _set("max.message.bytes", "200000"))})
    yield ALICE, AlterConfigs({orders: (ConfigOp("retention.ms", DELETE),)})
    yield ALICE, CreatePartitions({TOPIC: 4}, {TOPIC: 2})
    yield ADMIN, AlterConfigs({broker_resource(1): (_set("log.cleaner.threads", "2"),)}, broker=1)
    yield ADMIN, AlterConfigs({CLUSTER_DEFAULT: (_set("log.retention.ms", "86400000"),)})
    yield (
        ADMIN,
        AlterConfigs({broker_resource(1): (ConfigOp(KEYSTORE, SET, Secret(KEYSTORE_PASSWORD)),)}, broker=1),
    )
    yield ADMIN, AlterQuotas({alice: {"producer_byte_rate": PRODUCER_LIMIT}})
    yield ALICE, AlterQuotas({everybody: {"consumer_byte_rate": 5_000_000.0}})
    yield ALICE, AlterQuotas({everybody: {"consumer_byte_rate": 6_000_000.0}})
    yield ALICE, CreateAcls((READ_ORDERS,))
    yield ADMIN, DeleteAcls((READ_ORDERS,))
    scram = ScramUser("carol", ScramMechanism.parse("SCRAM-SHA-256"))
    yield ADMIN, AlterScram({scram: (8192, Secret(SCRAM_PASSWORD))})
    yield ADMIN, DeleteTopics((GONE,))


def make_changes(cluster: KafkaCluster) -> None:
    """Send them all, as the two, through the listener where one has to log in."""
    with contextlib.ExitStack() as stack:
        clients = {user: stack.enter_context(contextlib.closing(client(cluster, user))) for user in (ALICE, ADMIN)}
        for who, request in steps():
            for outcome in clients[who].submit(changes.send, request, validate_only=False).result(60):
                assert outcome.ok, outcome


def client(cluster: KafkaCluster, user: str) -> AdminClient:
    """A client that has logged in as the user."""
    settings = ConnectionSettings(
        cluster.login_addresses,
        security_protocol="SASL_PLAINTEXT",
        sasl=SaslSettings("PLAIN", user, Secret(cluster.users[user])),
        client_id=f"ops-{user}",
    )
    made = AdminClient(settings)
    made.start()
    return made


def produce_above_the_limit(cluster: KafkaCluster, seconds: float) -> float:
    """As alice, with the client id `BULK`, to the topic, as fast as the broker lets her. Returns bytes of values."""
    from kafka import KafkaProducer

    address = ",".join(f"{host}:{port}" for host, port in cluster.login_addresses)
    producer = KafkaProducer(
        bootstrap_servers=address,
        client_id=BULK,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username=ALICE,
        sasl_plain_password=cluster.users[ALICE],
        acks=1,
        linger_ms=0,
    )
    sent = 0.0
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            producer.send(TOPIC, b"x" * 20_000).get(timeout=30)
            sent += 20_000
    finally:
        producer.close()
    return sent


def _set(key: str, value: str) -> ConfigOp:
    return ConfigOp(key, SET, value)
