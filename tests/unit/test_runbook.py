"""Tests of plans as commands of Kafka's tools: parsing the commands gives the edits of the plan."""

import shlex
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from console.cli.kafka_configs.command_line import parse_added
from console.language.quoting import shell_text
from console.model.changes import NewTopic, ScramUser
from console.model.codes import ScramMechanism
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.java_properties import parse_properties
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.plan import edits as edit
from console.plan.compile import runbook
from console.plan.diff import diff
from console.plan.kafka_tools import STDIN, Command, property_line
from console.plan.plan import EMPTY, stage
from tests.support import samples
from tests.support.model_cluster import ModelCluster

SERVER = ("--bootstrap-server", "broker:9092")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PASSWORD = "hunter2"


def commands(*edits: edit.Edit) -> tuple[Command, ...]:
    """Return the commands for a plan with these edits, on a small cluster."""
    snapshot = ModelCluster(
        topics={"a.b": 3},
        configs={topic_resource("a.b"): {"retention.ms": "5"}},
        quotas={QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 1024.0}},
    ).describe()
    report = stage(EMPTY, edits, snapshot)
    assert not report.refused
    return runbook(diff(report.plan, snapshot), SERVER)


def words(*edits: edit.Edit) -> list[str]:
    """Return the text of each command for these edits, without its last two words, the option with the server's
    address.
    """
    found = commands(*edits)
    assert {command.words[-2:] for command in found} == {SERVER}
    return [shlex.join(command.words[:-2]) for command in found]


@given(value=TEXT)
def test_kafka_configs_reads_the_value_that_was_meant(value: str) -> None:
    (command,) = commands(edit.SetConfig(topic_resource("a.b"), "compression.type", value))
    option, text = command.words[-4:-2]
    if option == "--add-config":
        assert parse_added(text) == {"compression.type": value}
    else:
        assert (option, text) == ("--add-config-file", STDIN)
        (entry,) = parse_properties(command.stdin)
        assert (entry.key, entry.value) == ("compression.type", value)


@given(key=TEXT, value=TEXT)
def test_a_property_reads_back(key: str, value: str) -> None:
    line = property_line(key, value)
    assert line.isascii()
    (entry,) = parse_properties(line + "\n")
    assert (entry.key, entry.value) == (key, value)


@given(name=TEXT.filter(lambda text: text and "\0" not in text and text != "<default>"))
def test_a_shell_reads_the_words_that_were_meant_and_a_terminal_sees_no_control(name: str) -> None:
    (command,) = commands(edit.SetQuota(QuotaEntity.of({"user": name}), "producer_byte_rate", 1e6))
    text = shell_text([command])
    assert text.replace("\n", "").isprintable()
    run = subprocess.run(
        ["bash", "-c", f"kafka-configs() {{ printf '%s\\0' \"$@\"; }}; {text}"], capture_output=True, check=True
    )
    # A shell removes a newline at the end, so such a command is a comment in the text.
    meant = [] if text.startswith("#") else list(command.words[1:])
    assert text.startswith("#") == name.endswith("\n")
    assert run.stdout.decode().split("\0")[:-1] == meant


def test_values_that_the_command_line_would_spoil_come_from_standard_input() -> None:
    topic = topic_resource("a.b")
    text = shell_text(commands(edit.SetConfig(topic, "leader.replication.throttled.replicas", "[0:1]")))
    assert text == (
        "kafka-configs --alter --entity-type topics --entity-name a.b \\\n"
        "  --add-config-file /dev/stdin --bootstrap-server broker:9092 <<'EOF'\n"
        "leader.replication.throttled.replicas=[0:1]\nEOF"
    )


def test_what_comes_first_is_sent_first_and_a_name_is_no_pattern() -> None:
    acl = samples.acl("User:alice", "t-", "DESCRIBE_CONFIGS", "DENY", on="TRANSACTIONAL_ID", pattern="PREFIXED")
    quota = QuotaEntity.of({"user": None, "client-id": "c"})
    assert words(
        edit.DeleteTopic("a.b"),
        edit.SetQuota(quota, "request_percentage", 12.5),
        edit.AddAcl(acl),
        edit.CreateTopic(NewTopic("new", 3, 2, configs={"cleanup.policy": "compact,delete", "flush.ms": "7"})),
    ) == [
        "kafka-topics --create --topic new --partitions 3 --replication-factor 2 "
        "--config cleanup.policy=compact,delete --config flush.ms=7",
        "kafka-acls --add --deny-principal User:alice --deny-host '*' --operation DescribeConfigs "
        "--transactional-id t- --resource-pattern-type prefixed",
        "kafka-configs --alter --entity-type users --entity-default --entity-type clients --entity-name c "
        "--add-config request_percentage=12.5",
        "kafka-topics --delete --topic 'a\\.b'",
    ]


def test_brokers_growth_and_removals() -> None:
    assert words(
        edit.GrowTopic("a.b", 6),
        edit.UnsetConfig(topic_resource("a.b"), "retention.ms"),
        edit.SetConfig(topic_resource("a.b"), "cleanup.policy", "compact,delete"),
        edit.SetConfig(CLUSTER_DEFAULT, "log.cleaner.threads", "2"),
        edit.SetConfig(broker_resource(1), "max.connections", "100"),
        edit.UnsetQuota(QuotaEntity.of({"user": "alice"}), "producer_byte_rate"),
    ) == [
        "kafka-topics --alter --topic 'a\\.b' --partitions 6",
        "kafka-configs --alter --entity-type topics --entity-name a.b --add-config 'cleanup.policy=[compact,delete]'",
        "kafka-configs --alter --entity-type topics --entity-name a.b --delete-config retention.ms",
        "kafka-configs --alter --entity-type brokers --entity-default --add-config log.cleaner.threads=2",
        "kafka-configs --alter --entity-type brokers --entity-name 1 --add-config max.connections=100",
        "kafka-configs --alter --entity-type users --entity-name alice --delete-config producer_byte_rate",
    ]


def test_no_secret_is_in_it() -> None:
    user = ScramUser("alice", ScramMechanism(1))
    resource: ConfigResource = broker_resource(1)
    text = shell_text(
        commands(
            edit.UpsertScram(user, 4096, Secret(PASSWORD)),
            edit.SetConfig(resource, "listener.name.x.ssl.key.password", Secret(PASSWORD)),
        )
    )
    assert PASSWORD not in text
    assert text == (
        "# secret.properties, readable by you alone, has to hold: listener.name.x.ssl.key.password=…\n"
        "kafka-configs --alter --entity-type brokers --entity-name 1 \\\n"
        "  --add-config-file secret.properties --bootstrap-server broker:9092\n"
        "# secret.properties, readable by you alone, has to hold: SCRAM-SHA-256=iterations=4096,password=…\n"
        "kafka-configs --alter --entity-type users --entity-name alice \\\n"
        "  --add-config-file secret.properties --bootstrap-server broker:9092"
    )


def test_what_no_command_can_say_is_told() -> None:
    (command,) = commands(edit.SetQuota(QuotaEntity.of({"user": "<default>"}), "producer_byte_rate", 1.0))
    assert command.words == ()
    assert "no command can name" in shell_text([command])


def test_an_acl_is_removed_without_a_question() -> None:
    snapshot_acl = samples.acl("User:-odd", "kafka-cluster", "ALL", on="CLUSTER", host="10.0.0.1")
    snapshot = ModelCluster(acls=[snapshot_acl]).describe()
    plan = stage(EMPTY, [edit.RemoveAcl(snapshot_acl)], snapshot).plan
    (command,) = runbook(diff(plan, snapshot), ())
    assert shlex.join(command.words) == (
        "kafka-acls --remove --force --allow-principal User:-odd --allow-host 10.0.0.1 --operation All --cluster "
        "--resource-pattern-type literal"
    )
