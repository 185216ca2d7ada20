"""Tests of DescribeConfigs: values, their sources, and resources that can't be described."""

import pytest

from tests.contract import verbs
from tests.contract.messages import told
from tests.contract.target import Target
from tests.support.kafka_messages import with_fields

DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT, LOGGER, METRICS, GROUPS = range(1, 9)
BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD = range(1, 10)


def test_every_config_of_a_topic(target: Target, topic: str) -> None:
    """All of a topic's configs have a type and documentation, and none is sensitive or read-only."""
    (result,) = verbs.describe(target, [(verbs.TOPIC, topic)], docs=True)
    told_of = {entry["name"]: entry for entry in result["configs"]}
    assert len(told_of) == target.by_release(v3_9=36, v4_0=33, v4_4=37)
    assert told_of["preallocate"]["config_type"] == BOOLEAN
    assert told_of["compression.type"]["config_type"] == STRING
    assert told_of["min.insync.replicas"]["config_type"] == INT
    assert told_of["retention.ms"]["config_type"] == LONG
    assert told_of["min.cleanable.dirty.ratio"]["config_type"] == DOUBLE
    assert told_of["cleanup.policy"]["config_type"] == LIST
    assert all(entry["documentation"] for entry in told_of.values())
    assert not any(entry["is_sensitive"] or entry["read_only"] for entry in told_of.values())


def test_every_config_of_a_broker(target: Target) -> None:
    """The description of a broker has the configs of its properties file too."""
    with verbs.configured(target, verbs.BROKER, "1", {"log.retention.ms": "5000"}):
        pass
    (result,) = verbs.describe(target, [(verbs.BROKER, "1")], docs=True)
    told_of = {entry["name"]: entry for entry in result["configs"]}
    assert len(told_of) > 200
    assert told_of["broker.rack"]["value"] == "rack-1"
    assert told_of["broker.rack"]["config_source"] == STATIC
    assert {entry.get("config_source", STATIC) for entry in told_of.values()} <= {DYNAMIC_DEFAULT, STATIC, DEFAULT}


def test_no_documentation_or_synonyms_unless_asked_for(target: Target, topic: str) -> None:
    asked = with_fields(resources=[(verbs.TOPIC, topic, ["segment.bytes"])])
    answer = target.ask("describe_configs", 4, asked)
    ((entry,),) = (result["configs"] for result in answer["results"])
    assert (entry["synonyms"], entry["documentation"]) == ([], None)


def test_an_older_version_says_less(target: Target, topic: str) -> None:
    """DescribeConfigs version 1 has sources and synonyms, but no types."""
    asked = with_fields(resources=[(verbs.TOPIC, topic, ["segment.bytes"])], include_synonyms=True)
    answer = target.ask("describe_configs", 1, asked)
    ((entry,),) = (result["configs"] for result in answer["results"])
    assert entry == {
        "name": "segment.bytes",
        "value": "1073741824",
        "read_only": False,
        "config_source": DEFAULT,
        "is_sensitive": False,
        "synonyms": [{"name": "log.segment.bytes", "value": "1073741824", "source": DEFAULT}],
    }


def test_empty_and_null_keys_mean_all(target: Target, topic: str) -> None:
    (named_none,) = verbs.describe(target, [(verbs.TOPIC, topic)], None)
    (named_no_more,) = verbs.describe(target, [(verbs.TOPIC, topic)], [])
    assert len(named_none["configs"]) == len(named_no_more["configs"]) > 20


def test_unknown_keys_are_dropped_in_silence(target: Target, topic: str) -> None:
    (result,) = verbs.describe(target, [(verbs.TOPIC, topic)], ["no.such.key", "segment.bytes"])
    assert verbs.error(result) == ("NONE", "")
    assert [entry["name"] for entry in result["configs"]] == ["segment.bytes"]


def test_a_resource_named_twice_is_described_twice(target: Target, topic: str) -> None:
    """If a request has a resource twice, the answer has two results, each with its own error."""
    results = verbs.describe(
        target, [(verbs.TOPIC, topic), (verbs.TOPIC, f"{topic}-no"), (verbs.TOPIC, topic)], ["segment.bytes"]
    )
    assert sorted((result["resource_name"], result["error_code"]) for result in results) == [
        (topic, "NONE"),
        (topic, "NONE"),
        (f"{topic}-no", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]


def test_a_missing_topic(target: Target, name: str) -> None:
    """The description of a missing topic is the error UNKNOWN_TOPIC_OR_PARTITION with an empty message."""
    (result,) = verbs.describe(target, [(verbs.TOPIC, name)])
    assert (verbs.error(result), result["configs"]) == (("UNKNOWN_TOPIC_OR_PARTITION", ""), [])


@pytest.mark.parametrize(("topic_name", "situation"), [("a b", "illegal topic name"), ("", "empty topic name")])
def test_a_topic_that_can_not_be(target: Target, topic_name: str, situation: str) -> None:
    (result,) = verbs.describe(target, [(verbs.TOPIC, topic_name)])
    assert verbs.error(result) == told(target, situation, name=topic_name)


def test_precedence_and_sources(target: Target, topic: str) -> None:
    """The value of a topic's config comes from the first of these that sets it: the topic, the broker, the cluster's
    default, the properties file, Kafka's default. The source of the entry is that of its first synonym.
    """
    key, own = "log.retention.ms", "retention.ms"
    default = ("log.retention.hours", "168", DEFAULT)
    assert verbs.synonyms(verbs.entries(target, verbs.TOPIC, topic, [own])[own]) == []
    with (
        verbs.configured(target, verbs.BROKER, "", {key: "5000"}),
        verbs.configured(target, verbs.BROKER, "1", {key: "6000"}),
    ):
        assert verbs.alter(target, verbs.TOPIC, topic, {own: "7000"}) == ("NONE", None)
        target.until(lambda: len(verbs.entries(target, verbs.TOPIC, topic, [own])[own]["synonyms"]) == 4)
        entry = verbs.entries(target, verbs.TOPIC, topic, [own])[own]
        layers = [default, (key, "6000", DYNAMIC_BROKER), (key, "5000", DYNAMIC_DEFAULT)]
        assert sorted(verbs.synonyms(entry)) == sorted([*layers, (own, "7000", DYNAMIC_TOPIC)])
        assert (entry["value"], entry["config_source"]) == ("7000", DYNAMIC_TOPIC)
        assert verbs.alter(target, verbs.TOPIC, topic, {own: None}) == ("NONE", None)
        target.until(lambda: verbs.entries(target, verbs.TOPIC, topic, [own])[own]["value"] == "6000")
        entry = verbs.entries(target, verbs.TOPIC, topic, [own])[own]
        assert (sorted(verbs.synonyms(entry)), entry["config_source"]) == (sorted(layers), DYNAMIC_BROKER)
        told_of = verbs.entries(target, verbs.BROKER, "1", [key])[key]
        assert (told_of["value"], told_of["config_source"]) == ("6000", DYNAMIC_BROKER)
    target.until(lambda: verbs.entries(target, verbs.TOPIC, topic, [own])[own]["value"] == "604800000")
    assert verbs.entries(target, verbs.TOPIC, topic, [own])[own]["config_source"] == DEFAULT


def test_what_a_topic_inherits_depends_on_the_broker_that_answers(target: Target, topic: str) -> None:
    """If a config is set on one broker alone, only this broker describes topics with its value."""
    other = target.brokers[-1]
    with verbs.configured(target, verbs.BROKER, str(other), {"log.flush.interval.messages": "5000"}):
        for broker in target.brokers:
            value = "5000" if broker == other else "9223372036854775807"
            target.until(lambda broker=broker, value=value: _flush(target, topic, broker) == value)


def _flush(target: Target, topic: str, broker: int) -> str:
    value: str = verbs.entries(target, verbs.TOPIC, topic, ["flush.messages"], broker=broker)["flush.messages"]["value"]
    return value


def test_broker_without_a_name_tells_the_cluster_defaults_alone(target: Target) -> None:
    """The description of the broker with the name "" has only the cluster's dynamic defaults. Since 4.1 one of them is
    always set.
    """
    written = target.by_release(v3_9={}, v4_4={"min.insync.replicas": "1"})
    assert verbs.values(target, verbs.BROKER, "") == written
    with verbs.configured(target, verbs.BROKER, "", {"log.retention.ms": "5000"}):
        target.until(lambda: len(verbs.values(target, verbs.BROKER, "")) > len(written))
        told_of = verbs.entries(target, verbs.BROKER, "")
        assert {name: entry["value"] for name, entry in told_of.items()} == {**written, "log.retention.ms": "5000"}
        assert verbs.synonyms(told_of["log.retention.ms"]) == [("log.retention.ms", "5000", DYNAMIC_DEFAULT)]


@pytest.mark.parametrize(
    ("kind", "named", "situation"),
    [
        (verbs.BROKER, "9", "described on a wrong broker"),
        (verbs.BROKER, "x", "broker is no number"),
        (verbs.BROKER_LOGGER, "9", "described logger of a wrong broker"),
        (verbs.BROKER_LOGGER, "", "logger without a broker"),
        (verbs.BROKER_LOGGER, "x", "broker is no number"),
    ],
)
def test_a_broker_that_is_not_asked(target: Target, kind: int, named: str, situation: str) -> None:
    """A broker refuses to describe a broker or its loggers if the name is another broker's id or no number, and loggers
    also if the name is empty.
    """
    (result,) = verbs.describe(target, [(kind, named)])
    assert verbs.error(result) == told(target, situation, name=named)


def test_loggers(target: Target) -> None:
    """The configs of loggers have the source 6 (DYNAMIC_BROKER_LOGGER_CONFIG) and no synonyms."""
    entry = verbs.entries(target, verbs.BROKER_LOGGER, "1", ["root"])["root"]
    assert entry == {
        "name": "root",
        "value": "INFO",
        "read_only": False,
        "config_source": LOGGER,
        "is_sensitive": False,
        "synonyms": [],
        "config_type": 0,
        "documentation": "",
    }


def test_which_loggers_there_are(target: Target) -> None:
    with target.differing("which loggers there are"):
        assert "root" in verbs.entries(target, verbs.BROKER_LOGGER, "1")


def test_an_unknown_key_of_a_broker_is_sensitive(target: Target) -> None:
    """A broker's config with an unknown key is sensitive: its value is null, also in the synonyms."""
    for name, source in (("1", DYNAMIC_BROKER), ("", DYNAMIC_DEFAULT)):
        with verbs.configured(target, verbs.BROKER, name, {"no.such.key": "value"}):
            target.until(lambda name=name: "no.such.key" in verbs.entries(target, verbs.BROKER, name, ["no.such.key"]))
            entry = verbs.entries(target, verbs.BROKER, name, ["no.such.key"])["no.such.key"]
            assert entry == {
                "name": "no.such.key",
                "value": None,
                "read_only": True,
                "config_source": source,
                "is_sensitive": True,
                "synonyms": [{"name": "no.such.key", "value": None, "source": source}],
                "config_type": 0,
                "documentation": None,
            }


def test_a_password_is_never_told(target: Target) -> None:
    """The value of a password is null although it is set, and its read-only flag is true although it can be altered."""
    key = "listener.name.plaintext.ssl.keystore.password"
    with verbs.configured(target, verbs.BROKER, "1", {key: "secret"}):
        target.until(lambda: key in verbs.entries(target, verbs.BROKER, "1", [key]))
        entry = verbs.entries(target, verbs.BROKER, "1", [key])[key]
        assert (entry["value"], entry["is_sensitive"], entry["config_type"]) == (None, True, PASSWORD)
        assert [value for _, value, _ in verbs.synonyms(entry)] == [None]
        assert entry["read_only"]


def test_the_read_only_flag(target: Target) -> None:
    """The read-only flag of `ssl.keystore.password` is false, although brokers refuse the key without a listener's
    prefix.
    """
    keys = {"ssl.keystore.password": False, "log.dirs": True, "num.io.threads": False, "log.retention.ms": False}
    told_of = verbs.entries(target, verbs.BROKER, "1", list(keys))
    assert {name: entry["read_only"] for name, entry in told_of.items()} == keys


def test_the_throttle_rate_of_a_broker(target: Target) -> None:
    """Up to 3.9 the read-only flag of a broker's throttle rate is true, although the rate can be set."""
    key = "leader.replication.throttled.rate"
    with verbs.configured(target, verbs.BROKER, "1", {key: "1000"}):
        target.until(lambda: key in verbs.entries(target, verbs.BROKER, "1", [key]))
        entry = verbs.entries(target, verbs.BROKER, "1", [key])[key]
        assert (entry["value"], entry["config_type"], entry["config_source"]) == ("1000", LONG, DYNAMIC_BROKER)
        assert entry["read_only"] is target.by_release(v3_9=True, v4_4=False)


def test_groups(target: Target, name: str) -> None:
    """A group that does not exist is described with the defaults. Before 4.0 brokers refuse to describe groups."""
    (result,) = verbs.describe(target, [(verbs.GROUP, name)], ["consumer.session.timeout.ms"])
    if not target.is_since("4.0"):
        assert verbs.error(result) == told(target, "unknown type")
        return
    (entry,) = result["configs"]
    assert (entry["value"], entry["config_source"], entry["config_type"]) == ("45000", DEFAULT, INT)
    prefix = target.by_release(v4_0="", v4_4="group.")
    assert verbs.synonyms(entry) == [(f"{prefix}consumer.session.timeout.ms", "45000", DEFAULT)]
    (every,) = verbs.describe(target, [(verbs.GROUP, name)], docs=True)
    assert len(every["configs"]) > 5
    (nobody,) = verbs.describe(target, [(verbs.GROUP, "")])
    assert verbs.error(nobody) == ("INVALID_REQUEST", "Group name must not be empty")


def test_client_metrics(target: Target, name: str) -> None:
    """Configs of client metrics have the source 7 (CLIENT_METRICS_CONFIG). Release 3.9 returns no defaults for them."""
    (result,) = verbs.describe(target, [(verbs.CLIENT_METRICS, name)])
    defaults = {"interval.ms": "300000", "match": "", "metrics": ""}
    told_of = {entry["name"]: entry["value"] for entry in result["configs"]}
    assert told_of == target.by_release(v3_9={}, v4_4=defaults)
    (nobody,) = verbs.describe(target, [(verbs.CLIENT_METRICS, "")])
    assert verbs.error(nobody) == ("INVALID_REQUEST", "Client metrics subscription name must not be empty")


@pytest.mark.parametrize("kind", [0, 3, 99])
def test_an_unknown_type_fails_the_whole_request(target: Target, topic: str, kind: int) -> None:
    results = verbs.describe(target, [(kind, "x"), (verbs.TOPIC, topic)])
    assert [verbs.error(result) for result in results] == [told(target, "unknown type")] * 2
