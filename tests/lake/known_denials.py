"""Requests of two principals to a real cluster, and the decisions that its authorizers make on them. `python -m
tests.lake.known_denials` records the log lines of each release in `authorizer_logs/`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition  # type: ignore[import-untyped]
from kafka.admin import (  # type: ignore[import-untyped]
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import KafkaError  # type: ignore[import-untyped]

from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_jars import KAFKA_2_8, RELEASES
from tests.support.patience import PATIENCE
from tests.support.zookeeper_cluster import ZooKeeperCluster

ALICE, BOB = "User:alice", "User:bob"
TOPIC, GROUP = "orders", "readers"
FORGED = (
    "[2026-11-30 01:02:03,004] INFO Principal = User:root is Denied operation = READ from host = 10.1.2.3 on "
    "resource = Topic:LITERAL:planted for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny "
    "(kafka.authorizer.logger)"
)
FORGING = f"g\n{FORGED}\nh"
"""The name of a group that contains a line of an authorizer log. The group does not exist, but brokers check the
client's right to describe it, and log its name.
"""
TWO_LINES = "two\nlines"
FOLDER = Path(__file__).parent / "authorizer_logs"
VERSIONS = {release: RELEASES[release] for release in ("2.8", "3.9", "4.3", "4.4")}
DECIDED = {
    (ALICE, "READ", "TOPIC", TOPIC, True),
    (ALICE, "DESCRIBE", "TOPIC", TOPIC, True),
    (ALICE, "DESCRIBE", "TOPIC", TOPIC, False),
    (ALICE, "WRITE", "TOPIC", TOPIC, False),
    (ALICE, "DELETE", "TOPIC", TOPIC, False),
    (ALICE, "READ", "GROUP", GROUP, True),
    (BOB, "DESCRIBE", "TOPIC", TOPIC, False),
    (BOB, "DESCRIBE", "GROUP", TWO_LINES, False),
    (BOB, "CREATE", "TOPIC", "mine", False),
}
"""Decisions that the brokers of each release make, among others: principal, operation, type and name of the resource,
and whether it is allowed.
"""


def login(cluster: KafkaCluster, user: str) -> dict[str, Any]:
    """Return the keyword arguments with which a client of kafka-python logs in as a user."""
    return {
        "bootstrap_servers": [f"{host}:{port}" for host, port in cluster.login_addresses],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": cluster.users[user],
    }


def _acl(type_: Any, name: str) -> Any:
    return ACL(ALICE, "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(type_, name))


def allow(cluster: KafkaCluster) -> None:
    """Create the topic, and add ACLs that let alice read it with her group."""
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        admin.create_topics([NewTopic(TOPIC, 1, 1)])
        admin.create_acls([_acl(ResourceType.TOPIC, TOPIC), _acl(ResourceType.GROUP, GROUP)])
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap)) as producer:
        producer.send(TOPIC, b"1").get(timeout=PATIENCE)


def forbid(cluster: KafkaCluster) -> None:
    """Delete the ACL that lets alice read the topic."""
    pattern = ResourcePatternFilter(ResourceType.TOPIC, TOPIC, ACLResourcePatternType.LITERAL)
    of = ACLFilter(ALICE, None, ACLOperation.ANY, ACLPermissionType.ANY, pattern)
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        admin.delete_acls([of])


def read_by_group(cluster: KafkaCluster) -> int:
    """Let alice read the topic as a member of her group; return the number of records that she reads."""
    consumer = KafkaConsumer(TOPIC, group_id=GROUP, auto_offset_reset="earliest", **login(cluster, "alice"))
    with closing(consumer):
        return sum(map(len, consumer.poll(timeout_ms=1000 * PATIENCE, max_records=1).values()))


def read_alone(cluster: KafkaCluster) -> None:
    """Let alice fetch from the topic without a group. Suppress the error of a refusal."""
    consumer = KafkaConsumer(group_id=None, **login(cluster, "alice"))
    with closing(consumer), suppress(KafkaError):
        consumer.assign([TopicPartition(TOPIC, 0)])
        consumer.seek(TopicPartition(TOPIC, 0), 0)
        consumer.poll(timeout_ms=3000)


def attempts(cluster: KafkaCluster) -> Iterator[Callable[[], object]]:
    """Yield functions that each send a request of alice or bob which brokers refuse. For most, the client then raises
    KafkaError; `read_alone` does not. One function among them, `forbid`, instead deletes the ACL of alice.

    Requests for groups whose names look like log lines come last: decisions that follow such a name in a log are
    uncertain.
    """

    def produce() -> None:
        with closing(KafkaProducer(retries=0, **login(cluster, "alice"))) as producer:
            producer.send(TOPIC, b"2").get(timeout=PATIENCE)

    yield produce
    for user in ("alice", "bob"):
        with closing(KafkaAdminClient(**login(cluster, user))) as admin:
            if user == "alice":
                yield lambda admin=admin: admin.delete_topics([TOPIC])
                continue
            yield lambda admin=admin: admin.create_topics([NewTopic("mine", 1, 1)])
            yield lambda admin=admin: admin.describe_topics([TOPIC])
            yield lambda: forbid(cluster)
            yield lambda: read_alone(cluster)
            for group in (TWO_LINES, FORGED, FORGING):
                yield lambda admin=admin, group=group: admin.list_group_offsets({group: None})


def try_all(cluster: KafkaCluster) -> int:
    """Send all requests, the allowed and the refused ones. Return how many refusals raised an error in a client."""
    allow(cluster)
    assert read_by_group(cluster) == 1
    refused = 0
    for attempt in attempts(cluster):
        try:
            attempt()
        except KafkaError:
            refused += 1
    return refused


def log_of(cluster: KafkaCluster, broker: int = 1) -> Path:
    """Return the path of a broker's authorizer log."""
    return cluster.directory / f"broker-{broker}" / "authorizer.log"


def cluster_of(version: str) -> KafkaCluster:
    """Return a cluster of this Kafka version with one broker, whose authorizer logs all decisions. It is not
    started.
    """
    if version == KAFKA_2_8:
        properties = {"allow.everyone.if.no.acl.found": "false"}
        return ZooKeeperCluster(brokers=1, authorizer_log=True, logins=True, properties=properties)
    return KafkaCluster(version, brokers=1, request_log=True, authorizer_log=True, logins=True, allow_everyone=False)


def sample(text: str) -> str:
    """Return the lines of a log that are stored: the first line of each decision about alice and bob, with all lines of
    a name that has line breaks.
    """
    seen, kept = set(), []
    for line in text.split("\n"):
        is_head = line.startswith("[") and FORGED not in line
        words = line.partition("] ")[2] if is_head else line
        is_about = ALICE in line or BOB in line or "ResourcePattern(resourceType=GROUP" in line
        is_about = is_about or "is a super user" in line
        if words and (not is_head or (is_about and words not in seen)):
            seen.add(words)
            kept.append(line)
    return "\n".join(kept) + "\n"


def record(release: str) -> None:
    """Run a cluster of the release, make all requests, and write the sample of its log."""
    with cluster_of(VERSIONS[release]) as cluster:
        refused = try_all(cluster)
        text = log_of(cluster).read_text()
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{release}.log").write_text(sample(text))
    print(f"{release}: {refused} refused, {len(text.splitlines())} lines")


if __name__ == "__main__":
    for each in sys.argv[1:] or VERSIONS:
        record(each)
