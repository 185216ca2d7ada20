"""Changes that two principals make on a real cluster, and the rows that the table `history` must have for them."""

from dataclasses import dataclass

from console.admin.client import AdminClient
from console.admin.settings import ConnectionSettings, SaslSettings
from console.model.secret import Secret
from tests.support.kafka_cluster import KafkaCluster

ALICE, ADMIN = "alice", "admin"
TOPIC, GONE, BULK = "orders", "scratch", "bulk-loader"
PRODUCER_LIMIT = 60_000.0
KEYSTORE = "listener.name.sasl_plaintext.ssl.keystore.password"
SCRAM_PASSWORD, KEYSTORE_PASSWORD = "planted-scram-4711", "planted-keystore-4711"


@dataclass(frozen=True)
class Known:
    """A change of a value. new: the new value; None if the change deletes the value."""

    who: str
    type: str
    key: str
    attr: str
    old: str | None
    new: str | None


def known() -> tuple[Known, ...]:
    """Return the changes that the table `history` must have, the earliest first."""
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


def client(cluster: KafkaCluster, user: str) -> AdminClient:
    """Return a client of the cluster that has logged in as the user."""
    settings = ConnectionSettings(
        cluster.login_addresses,
        security_protocol="SASL_PLAINTEXT",
        sasl=SaslSettings("PLAIN", user, Secret(cluster.users[user])),
        client_id=f"ops-{user}",
    )
    made = AdminClient(settings)
    made.start()
    return made
