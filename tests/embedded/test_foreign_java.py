"""Tests of Kafka's own commands on an embedded cluster: topics, configs, quotas, ACLs, records, groups."""

import subprocess
from collections.abc import Callable, Iterator

import pytest

from console.embedded.brokers import ThreadedCluster, run_in_thread
from console.embedded.spec import RELEASE_NAMES, ClusterSpec
from tests.support import kafka_jars, patience, real_clusters
from tests.support.kafka_commands import ACLS, CONFIGS, TOPICS, KafkaCommands, Ran

pytestmark = [pytest.mark.broker, pytest.mark.slow]

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
NO_DELAY = {"group.initial.rebalance.delay.ms": "0"}
RECORDS = 50

Run = Callable[..., str]

commands = real_clusters.lent(KafkaCommands)


@pytest.fixture(params=real_clusters.by_release(RELEASE_NAMES, "4.4"), scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[ThreadedCluster]:
    with run_in_thread(ClusterSpec(versions=request.param, static_configs=NO_DELAY)) as started:
        yield started


@pytest.fixture
def run(commands: KafkaCommands, cluster: ThreadedCluster) -> Run:
    """Provide a function that runs one of Kafka's commands, which must succeed, and returns its output."""

    def ran(main_class: str, *arguments: str) -> str:
        result: Ran = commands.run(main_class, ["--bootstrap-server", cluster.bootstrap, *arguments])
        assert result.code == 0, result
        return result.out

    return ran


def test_topics_and_their_configs(run: Run) -> None:
    options = ("--partitions", "3", "--replication-factor", "2", "--config", "retention.ms=86400000")
    assert run(TOPICS, "--create", "--topic", "orders", *options) == "Created topic orders.\n"
    described = run(TOPICS, "--describe", "--topic", "orders")
    assert "PartitionCount: 3\tReplicationFactor: 2\tConfigs: " in described
    assert "Partition: 2\tLeader: " in described
    run(TOPICS, "--alter", "--topic", "orders", "--partitions", "5")
    assert "PartitionCount: 5" in run(TOPICS, "--describe", "--topic", "orders")
    topic = ("--entity-type", "topics", "--entity-name", "orders")
    run(CONFIGS, "--alter", *topic, "--add-config", "max.message.bytes=2000", "--delete-config", "retention.ms")
    assert "  max.message.bytes=2000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=2000" in run(
        CONFIGS, "--describe", *topic
    )
    assert "  retention.ms=604800000 sensitive=false synonyms={}" in run(CONFIGS, "--describe", "--all", *topic)
    run(TOPICS, "--delete", "--topic", "orders")
    assert "orders" not in run(TOPICS, "--list").split()


def test_brokers_quotas_and_credentials(run: Run) -> None:
    default = ("--entity-type", "brokers", "--entity-default")
    run(CONFIGS, "--alter", *default, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in run(CONFIGS, "--describe", *default)
    assert "log.cleaner.threads=2" in run(
        CONFIGS, "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"
    )
    alice = ("--entity-type", "users", "--entity-name", "alice")
    run(CONFIGS, "--alter", *alice, "--add-config", "producer_byte_rate=1024")
    run(CONFIGS, "--alter", *alice, "--add-config", "SCRAM-SHA-256=[iterations=4096,password=of-a-test]")
    described = run(CONFIGS, "--describe", *alice)
    assert "Quota configs for user-principal 'alice' are producer_byte_rate=1024.0" in described
    assert "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=4096" in described


def test_acls(run: Run) -> None:
    rule = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
    run(ACLS, "--add", *rule)
    line = "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)"
    assert line in run(ACLS, "--list", "--topic", "orders")
    run(ACLS, "--remove", "--force", *rule)
    assert line not in run(ACLS, "--list")


def test_records_and_groups(run: Run, cluster: ThreadedCluster) -> None:
    run(TOPICS, "--create", "--topic", "payments", "--partitions", "2", "--replication-factor", "3")
    lines = [f"payment {number}" for number in range(RECORDS)]
    _produce(cluster, "payments", lines)
    limits = ("--max-messages", str(RECORDS - 1), "--timeout-ms", "60000")
    read = run(CONSUMER, "--topic", "payments", "--group", "readers", "--from-beginning", *limits).splitlines()
    assert len(read) == RECORDS - 1
    assert set(read) < set(lines)
    described = run(GROUPS, "--describe", "--group", "readers")
    rows = [line.split() for line in described.splitlines() if line.startswith("readers")]
    assert sum(int(row[3]) for row in rows) == RECORDS - 1
    assert sum(int(row[5]) for row in rows) == 1
    assert ["readers", "Empty"] in [line.split() for line in run(GROUPS, "--list", "--state").splitlines()]
    run(GROUPS, "--delete", "--group", "readers")
    assert "readers" not in run(GROUPS, "--list").split()


def _produce(cluster: ThreadedCluster, topic: str, lines: list[str]) -> None:
    """Write lines to a topic by kafka-console-producer, in a separate process because it reads standard input."""
    options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF")
    where = ("--bootstrap-server", cluster.bootstrap, "--topic", topic)
    subprocess.run(
        [kafka_jars.java(), *options, "-cp", f"{kafka_jars.jars(kafka_jars.KAFKA_4_3)}/*", PRODUCER, *where],
        input="\n".join(lines) + "\n",
        text=True,
        check=True,
        capture_output=True,
        timeout=patience.PATIENCE,
    )
