"""Tests of how statements become edits: which edits are staged, and the message and the column if a statement is
refused.
"""

import pytest

from console.language.errors import CommandError
from console.language.grammar import parse
from console.language.secret_values import nobody_to_ask, read_secret_file, resolve_secrets
from console.language.statements import FromFile
from console.language.verbs import kind_of
from console.model.changes import NewTopic
from console.model.codes import CLIENT_METRICS
from console.model.config import CLUSTER_DEFAULT, ConfigResource, broker_resource, topic_resource
from console.model.failure import Failure
from console.model.quota import QuotaEntity
from console.model.secret import Secret
from console.model.snapshot import Snapshot, with_failures
from console.plan.edits import AppendConfig, CreateTopic, SetConfig, SetQuota, SubtractConfig
from console.plan.plan import EMPTY, stage
from tests.language.said import edits, refused
from tests.unit.command_cluster import LOGGER_1, SNAPSHOT

ORDERS = topic_resource("orders")
ALICE = QuotaEntity.of({"user": "alice"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set topic orders retention.ms=1d", SetConfig(ORDERS, "retention.ms", "86400000")),
        ("set topic orders retention.ms=86400000", SetConfig(ORDERS, "retention.ms", "86400000")),
        ("set topic orders max.message.bytes=2MiB", SetConfig(ORDERS, "max.message.bytes", "2097152")),
        ("set topic orders max.message.bytes=2MB", SetConfig(ORDERS, "max.message.bytes", "2000000")),
        ("set topic orders compression.type=", SetConfig(ORDERS, "compression.type", "")),
        ("set topic orders compression.type=1d", SetConfig(ORDERS, "compression.type", "1d")),
        ("set broker <default> log.cleaner.threads=3", SetConfig(CLUSTER_DEFAULT, "log.cleaner.threads", "3")),
        ("set broker 2 message.max.bytes=1MiB", SetConfig(broker_resource(2), "message.max.bytes", "1048576")),
        (
            "set broker 1 listener.name.out.ssl.keystore.location=/k",
            SetConfig(broker_resource(1), "listener.name.out.ssl.keystore.location", "/k"),
        ),
        (
            "set client-metrics m interval.ms=1min",
            SetConfig(ConfigResource(CLIENT_METRICS, "m"), "interval.ms", "60000"),
        ),
        ("set logger 1 kafka.server.KafkaApis=DEBUG", SetConfig(LOGGER_1, "kafka.server.KafkaApis", "DEBUG")),
        ("append topic orders cleanup.policy=compact", AppendConfig(ORDERS, "cleanup.policy", "compact")),
        ("subtract topic orders cleanup.policy=delete", SubtractConfig(ORDERS, "cleanup.policy", "delete")),
    ],
)
def test_config_statements(text, expected):
    assert edits(text) == (expected,)


def test_one_statement_gives_an_edit_for_each_key_and_the_rest_is_left_to_the_brokers():
    found = edits("set topic orders retention.ms=1d preallocate=TRUE")
    assert [(edit.key, edit.value) for edit in found] == [("retention.ms", "86400000"), ("preallocate", "true")]
    assert edits("set topic new any.key=1", Snapshot(topics=SNAPSHOT.topics | {"new": SNAPSHOT.topics["orders"]}))


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("set topic orders retention.m=1", "retention.m", "did you mean 'retention.ms'?"),
        ("set topic orders 'retention.m'=1", "'retention.m'", "did you mean 'retention.ms'?"),
        ("set topic orders retention.ms=soon", "soon", "whole number"),
        ("set topic orders preallocate=yes", "yes", "true or false"),
        ("set topic orders max.message.bytes=3000000000", "3000000000", "INT"),
        ("set topic orders max.message.bytes=1d", "1d", "bytes"),
        ("append topic orders retention.ms=1", "retention.ms", "needs a list, and retention.ms is long"),
        (
            "subtract logger 1 kafka.server.KafkaApis=DEBUG",
            "kafka",
            "needs a list, and kafka.server.KafkaApis is",
        ),
        ("set topic orders retention.ms=1 retention.ms=2", "retention.ms=2", "is given twice"),
        ("set topic ordres retention.ms=1", "topic ordres", "did you mean 'orders'?"),
        ("set broker 7 log.cleaner.threads=1", "broker 7", "brokers: 1, 2, 3"),
        ("set broker 1 log.cleaner.thread=1", "log.cleaner.thread", "did you mean 'log.cleaner.threads'?"),
        ("set broker <default> my.own.key=1", "my.own.key", "Quote a plug-in's own key: 'my.own.key'"),
        ("set logger 1 kafka.server.KafkaApi=DEBUG", "kafka.server", "did you mean"),
        ("set logger 1 kafka.server.KafkaApis=DEBG", "DEBG", "did you mean 'DEBUG'?"),
        ("set broker 1 ssl.key.password=hunter2", "hunter2", "ssl.key.password=@FILE"),
        ("set broker 1 listener.name.x.ssl.key.password=hunter2", "hunter2", "=@FILE"),
        ("set broker 1 'my.own.key'=hunter2", "hunter2", "my.own.key=@FILE"),
        ("set client-metrics m intervall.ms=1", "intervall.ms", "did you mean 'interval.ms'?"),
    ],
)
def test_what_is_wrong_with_a_config_is_named_where_it_stands(text, at, words):
    error = refused(text)
    assert words in str(error)
    assert "hunter2" not in str(error)
    assert error.column == text.rindex(at) + 1


def test_a_refusal_repeats_no_secret_and_shows_hostile_names_harmless():
    error = refused("set broker 1 sasl.jaas.config=hunter2", Snapshot())
    assert "sensitive" in error.message
    assert "hunter2" not in str(error)
    error = refused("set topic 'a\x1b[2J\u202eb' retention.ms=1")
    assert "\x1b" not in error.message
    assert "\u202e" not in error.message


def test_a_topic_that_could_not_be_described_says_why():
    denied = Failure("TOPIC_AUTHORIZATION_FAILED", "", "Ask for DESCRIBE on the topic.")
    snapshot = with_failures(Snapshot(), "topics", [("orders", denied)])
    error = refused("set topic orders retention.ms=1", snapshot)
    assert "TOPIC_AUTHORIZATION_FAILED" in error.message
    assert "Ask for DESCRIBE" in error.message


def test_the_selected_entity_stands_in_for_one_that_is_left_out():
    assert edits("set retention.ms=1", selected=ORDERS) == (SetConfig(ORDERS, "retention.ms", "1"),)
    assert "none is selected" in refused("set retention.ms=1").message


def test_a_topic_that_the_plan_creates_can_be_configured():
    plan = stage(EMPTY, (CreateTopic(NewTopic("new", 1)),), SNAPSHOT).plan
    assert edits("set topic new retention.ms=1d", plan=plan) == (
        SetConfig(topic_resource("new"), "retention.ms", "86400000"),
    )
    assert "did you mean" in refused("set topic new retention.m=1d", plan=plan).hint
    assert "no topic 'new'" in refused("set topic new retention.ms=1d").message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set user alice producer_byte_rate=10MB/s", SetQuota(ALICE, "producer_byte_rate", 10_000_000.0)),
        ("set user alice consumer_byte_rate=10MiB", SetQuota(ALICE, "consumer_byte_rate", 10_485_760.0)),
        ("set user alice request_percentage=12.5", SetQuota(ALICE, "request_percentage", 12.5)),
        (
            "set user <default> client '<default>' controller_mutation_rate=5",
            SetQuota(QuotaEntity.of({"user": None, "client-id": "<default>"}), "controller_mutation_rate", 5.0),
        ),
        (
            "set ip <default> connection_creation_rate=20",
            SetQuota(QuotaEntity.of({"ip": None}), "connection_creation_rate", 20.0),
        ),
    ],
)
def test_quota_statements(text, expected):
    assert edits(text) == (expected,)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("set user alice producer_byte_rat=1", "producer_byte_rat", "did you mean 'producer_byte_rate'?"),
        ("set user alice connection_creation_rate=1", "connection", "producer_byte_rate"),
        ("set ip 10.0.0.1 producer_byte_rate=1", "producer", "connection_creation_rate"),
        ("set user alice producer_byte_rate=0", "0", "above 0"),
        ("set user alice producer_byte_rate=much", "much", "number"),
        ("set user alice producer_byte_rate=@f", "@f", "can't be a secret"),
        ("append user alice producer_byte_rate=1", "append", "no lists"),
    ],
)
def test_what_is_wrong_with_a_quota_is_named_where_it_stands(text, at, words):
    error = refused(text)
    assert words in str(error)
    assert error.column == text.rindex(at) + 1


async def test_secrets_come_from_files_and_by_asking(tmp_path):
    file = tmp_path / "key"
    file.write_text("hunter2\n")
    (statement,) = parse(f"set broker 1 ssl.key.password='x' 'ssl.key.password'=@{file} ssl.keystore.location=?")
    asked = []

    async def ask(slot):
        asked.append(slot.prompt)
        return Secret("/k")

    secrets = await resolve_secrets(statement, ask)
    assert secrets == {"ssl.key.password": Secret("hunter2"), "ssl.keystore.location": Secret("/k")}
    assert asked == ["broker 1 ssl.keystore.location"]


def test_a_sensitive_value_stays_a_secret_and_another_becomes_text():
    secrets = {"ssl.key.password": Secret("hunter2"), "ssl.keystore.location": Secret("/k")}
    key, location = edits("set broker 1 ssl.key.password=? ssl.keystore.location=?", secrets=secrets)
    assert key.value == Secret("hunter2")
    assert location.value == "/k"
    assert "hunter2" not in repr((key, location))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        read_secret_file(FromFile(str(tmp_path / "none")))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="UTF-8"):
        read_secret_file(FromFile(str(tmp_path / "binary")))
    (tmp_path / "long").write_bytes(b"x" * (2 << 20))
    with pytest.raises(CommandError, match="too long"):
        read_secret_file(FromFile(str(tmp_path / "long")))


def test_where_nobody_can_be_asked_the_file_is_offered():
    (statement,) = parse("set broker 1 ssl.key.password=?")
    (slot,) = kind_of(statement).secrets(statement)
    assert slot.prompt == "broker 1 ssl.key.password"
    assert "ssl.key.password=@FILE" in str(nobody_to_ask(slot))
