"""Tests of IncrementalAlterConfigs for topics, groups and client metrics."""

from collections.abc import Sequence

import pytest

from tests.contract import verbs
from tests.contract.messages import told
from tests.contract.target import Target

THROTTLED = "leader.replication.throttled.replicas"


def test_set_and_delete(target: Target, topic: str) -> None:
    """After a DELETE the key has its default again. The DELETE of a key that is not set, or that Kafka does not know,
    succeeds.
    """
    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": "1000", "segment.ms": "2000"}) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"retention.ms": "1000", "segment.ms": "2000"}
    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": None, "segment.ms": "3000"}) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"segment.ms": "3000"}
    for key in ("retention.ms", "no.such.key", ""):
        assert verbs.alter(target, verbs.TOPIC, topic, {key: None}) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"segment.ms": "3000"}
    assert verbs.alter(target, verbs.TOPIC, topic) == verbs.FINE


def test_all_or_nothing_within_a_resource(target: Target, topic: str) -> None:
    refused = verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": "1000", "no.such.key": "1"})
    assert refused == told(target, "unknown topic config", key="no.such.key")
    assert verbs.values(target, verbs.TOPIC, topic) == {}


def test_resources_are_independent(target: Target, topic: str) -> None:
    missing, op = f"{topic}-no", ("retention.ms", verbs.SET, "1000")
    assert dict(verbs.alter_each(target, [((verbs.TOPIC, topic), [op]), ((verbs.TOPIC, missing), [op])])) == {
        (verbs.TOPIC, topic): verbs.FINE,
        (verbs.TOPIC, missing): told(target, "altered topic is missing", name=missing),
    }
    assert verbs.values(target, verbs.TOPIC, topic) == {"retention.ms": "1000"}


def test_validate_only_writes_nothing(target: Target, topic: str) -> None:
    """A validate-only request runs all checks and writes nothing."""
    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": "1000"}, dry=True) == verbs.FINE
    refused = verbs.alter(target, verbs.TOPIC, topic, {"no.such.key": "1"}, dry=True)
    assert refused == told(target, "unknown topic config", key="no.such.key")
    missing = verbs.alter(target, verbs.TOPIC, f"{topic}-no", {"retention.ms": "1"}, dry=True)
    assert missing == told(target, "altered topic is missing", name=f"{topic}-no")
    assert verbs.values(target, verbs.TOPIC, topic) == {}


def test_the_same_resource_twice(target: Target, topic: str) -> None:
    """If a request has a resource twice, both entries get an error."""
    wanted = [
        ((verbs.TOPIC, topic), [("retention.ms", verbs.SET, "1000")]),
        ((verbs.TOPIC, topic), [("segment.ms", verbs.SET, "2000")]),
    ]
    assert verbs.alter_each(target, wanted) == [((verbs.TOPIC, topic), told(target, "resource twice"))] * 2
    assert verbs.values(target, verbs.TOPIC, topic) == {}


@pytest.mark.parametrize(
    ("ops", "situation"),
    [
        ([("retention.ms", verbs.SET, "1"), ("retention.ms", verbs.SET, "2")], "key twice"),
        ([("retention.ms", verbs.SET, "1"), ("retention.ms", verbs.DELETE, None)], "key twice"),
        ([("retention.ms", verbs.SET, None), ("segment.ms", verbs.SET, None)], "null values"),
        ([("retention.ms", 7, "1")], "unknown operation"),
    ],
)
def test_a_request_that_contradicts_itself(target: Target, topic: str, ops: Sequence[verbs.Op], situation: str) -> None:
    """A request is refused that has a key twice, a SET with null, or an unknown operation."""
    keys = [key for key, _, _ in ops]
    parts = {"key": keys[0], "keys": ", ".join(keys)}
    assert verbs.alter(target, verbs.TOPIC, topic, *ops) == told(target, situation, **parts)
    assert verbs.values(target, verbs.TOPIC, topic) == {}


def test_null_to_append(target: Target, topic: str) -> None:
    refused = verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.APPEND, None))
    assert refused == told(target, "null values", keys="cleanup.policy")


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("retention.ms", "abc", "Not a number of type LONG"),
        ("retention.ms", "", "Not a number of type LONG"),
        ("retention.ms", "-5", "Value must be at least -1"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("min.insync.replicas", "99999999999", "Not a number of type INT"),
        ("min.cleanable.dirty.ratio", "2.0", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "half", "Not a number of type DOUBLE"),
        ("preallocate", "maybe", "Expected value to be either true or false"),
        ("cleanup.policy", "foo", "String must be one of: compact, delete"),
        ("compression.type", "foo", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("message.timestamp.type", "never", "String must be one of: CreateTime, LogAppendTime"),
    ],
)
def test_a_value_that_can_not_be(target: Target, topic: str, key: str, value: str, why: str) -> None:
    """A SET to an invalid value is refused with INVALID_CONFIG and the broker's message."""
    what = f"Invalid value {value} for configuration {key}: {why}"
    refused = verbs.alter(target, verbs.TOPIC, topic, (key, verbs.SET, value))
    assert refused == told(target, "bad topic value", kind="TOPIC", name=topic, what=what)


def test_a_range_that_changed(target: Target, topic: str) -> None:
    least = target.by_release(v3_9="14", v4_4="1048576")
    what = f"Invalid value 10 for configuration segment.bytes: Value must be at least {least}"
    refused = verbs.alter(target, verbs.TOPIC, topic, {"segment.bytes": "10"})
    assert refused == told(target, "bad topic value", kind="TOPIC", name=topic, what=what)


def test_values_that_contradict_each_other(target: Target, topic: str) -> None:
    lags = ("max.compaction.lag.ms", verbs.SET, "5"), ("min.compaction.lag.ms", verbs.SET, "10")
    assert verbs.alter(target, verbs.TOPIC, topic, *lags) == told(target, "values that contradict")
    assert verbs.alter(target, verbs.TOPIC, topic, lags[0]) == verbs.FINE
    assert verbs.alter(target, verbs.TOPIC, topic, lags[1]) == told(target, "values that contradict")


def test_tiered_storage_is_off(target: Target, topic: str) -> None:
    assert verbs.alter(target, verbs.TOPIC, topic, {"remote.storage.enable": "true"}) == told(target, "tiered storage")


@pytest.mark.parametrize(("op", "spelt"), [(verbs.APPEND, "append"), (verbs.SUBTRACT, "subtract")])
def test_a_key_that_is_no_list(target: Target, topic: str, op: int, spelt: str) -> None:
    """APPEND and SUBTRACT are refused for a key that is not a list."""
    parts = {"key": "retention.ms", "op": spelt, "OP": spelt.upper()}
    assert verbs.alter(target, verbs.TOPIC, topic, ("retention.ms", op, "1")) == told(
        target, "topic key is no list", **parts
    )
    parts["key"] = "no.such.key"
    assert verbs.alter(target, verbs.TOPIC, topic, ("no.such.key", op, "1")) == told(
        target, "unknown key is no list", **parts
    )


def test_lists_start_from_the_default(target: Target, topic: str) -> None:
    """APPEND and SUBTRACT change the value that the topic itself has, or the default if it has none. APPEND of an item
    that is in the list and SUBTRACT of one that isn't change nothing.
    """
    assert verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.APPEND, "compact")) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"cleanup.policy": "delete,compact"}
    assert verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.SUBTRACT, "neither")) == verbs.FINE
    assert verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.APPEND, "compact")) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"cleanup.policy": "delete,compact"}
    assert verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.SUBTRACT, "delete")) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"cleanup.policy": "compact"}


def test_an_inherited_list_is_not_what_is_appended_to(target: Target, topic: str) -> None:
    """If a topic inherits the value of a list from a broker, APPEND starts from Kafka's own default, not from the
    inherited value.
    """
    with verbs.configured(target, verbs.BROKER, "", {"log.cleanup.policy": "compact"}):
        target.until(lambda: verbs.entries(target, verbs.TOPIC, topic)["cleanup.policy"]["value"] == "compact")
        assert verbs.alter(target, verbs.TOPIC, topic, ("cleanup.policy", verbs.APPEND, "compact")) == verbs.FINE
        assert verbs.values(target, verbs.TOPIC, topic) == {"cleanup.policy": "delete,compact"}


def test_subtracting_everything_gives_an_empty_value(target: Target, topic: str) -> None:
    """After a SUBTRACT of all items the value is `""`; the key remains set."""
    assert verbs.alter(target, verbs.TOPIC, topic, (THROTTLED, verbs.APPEND, "0:1,1:1")) == verbs.FINE
    assert verbs.alter(target, verbs.TOPIC, topic, (THROTTLED, verbs.SUBTRACT, "1:1,0:1")) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {THROTTLED: ""}


def test_a_list_with_a_value_that_can_not_be(target: Target, topic: str) -> None:
    assert verbs.alter(target, verbs.TOPIC, topic, {THROTTLED: "*"}) == verbs.FINE
    refused = verbs.alter(target, verbs.TOPIC, topic, (THROTTLED, verbs.APPEND, "0:1"))
    what = (
        f"Invalid value [*, 0:1] for configuration {THROTTLED}: {THROTTLED} must be the literal '*' or a list of "
        "replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )
    assert refused == told(target, "bad topic value", kind="TOPIC", name=topic, what=what)


def test_values_are_trimmed(target: Target, topic: str) -> None:
    assert verbs.alter(target, verbs.TOPIC, topic, {"retention.ms": " 500 "}) == verbs.FINE
    assert verbs.values(target, verbs.TOPIC, topic) == {"retention.ms": "500"}


def test_a_list_that_grows_too_long(target: Target, topic: str) -> None:
    """A list of more than 32767 characters is refused."""
    first, second = (",".join(f"{index}:{broker}" for index in range(4000)) for broker in (1, 2))
    assert verbs.alter(target, verbs.TOPIC, topic, (THROTTLED, verbs.SET, first)) == verbs.FINE
    assert verbs.alter(target, verbs.TOPIC, topic, (THROTTLED, verbs.APPEND, second)) == told(
        target, "appended too much"
    )
    assert verbs.values(target, verbs.TOPIC, topic) == {THROTTLED: first}


def test_validation_comes_before_existence(target: Target, name: str) -> None:
    """Brokers check keys and names before they check whether the topic exists: for a missing topic with an unknown
    key the error is about the key, and for a topic with an empty name it is about the name.
    """
    refused = verbs.alter(target, verbs.TOPIC, name, {"no.such.key": "1"})
    assert refused == told(target, "unknown topic config", key="no.such.key")
    assert verbs.alter(target, verbs.TOPIC, "", {"retention.ms": "1"}) == told(target, "altered topic has no name")


@pytest.mark.parametrize("kind", [0, 99])
def test_an_unknown_type(target: Target, kind: int) -> None:
    assert verbs.alter(target, kind, "x", {"a": "b"}) == told(target, "altered type is unknown", kind=kind)


@pytest.mark.slow
def test_a_controller_takes_so_many_records_in_one_change(target: Target, name: str) -> None:
    """A request that would write more than 10,000 records to the metadata log fails for every resource in it."""
    kind, ops = (verbs.GROUP, [("consumer.session.timeout.ms", verbs.SET, "46000")])
    if not target.is_since("4.0"):
        kind, ops = verbs.CLIENT_METRICS, [("interval.ms", verbs.SET, "1000")]
    many = [((kind, f"{name}-{number}"), ops) for number in range(10_001)]
    assert {each for _, each in verbs.alter_each(target, many, dry=True)} == {_TOO_MANY}


_TOO_MANY = ("POLICY_VIOLATION", "Unable to perform excessively large batch operation.")


def test_group_configs(target: Target, name: str) -> None:
    key = "consumer.session.timeout.ms"
    if not target.is_since("4.0"):
        refused = told(target, "altered type is unknown", kind=verbs.GROUP)
        assert verbs.alter(target, verbs.GROUP, name, {key: "50000"}) == refused
        return
    assert verbs.alter(target, verbs.GROUP, name, {key: "50000"}) == verbs.FINE
    entry = verbs.entries(target, verbs.GROUP, name, [key])[key]
    assert (entry["value"], entry["config_source"]) == ("50000", 8)
    inherited = target.by_release(v4_0=[], v4_4=[(f"group.{key}", "45000", 5)])
    assert verbs.synonyms(entry) == [(key, "50000", 8), *inherited]
    for ops, refused in (
        (("no.such.key", verbs.SET, "1"), ("INVALID_CONFIG", "Unknown group config name: no.such.key")),
        (
            (key, verbs.SET, "x"),
            ("INVALID_CONFIG", f"Invalid value x for configuration {key}: Not a number of type INT"),
        ),
        (
            (key, verbs.SET, "1"),
            ("INVALID_CONFIG", f"{key} must be greater than or equal to group.consumer.min.session.timeout.ms")
            if not target.is_since("4.4")
            else ("INVALID_CONFIG", f"{key} must be in the range 45000 to 60000 inclusive."),
        ),
    ):
        assert verbs.alter(target, verbs.GROUP, name, ops) == refused
    assert verbs.alter(target, verbs.GROUP, "", {key: "50000"}) == (
        "INVALID_REQUEST",
        "Default group resources are not allowed.",
    )
    assert verbs.alter(target, verbs.GROUP, name, {key: None}) == verbs.FINE
    assert verbs.values(target, verbs.GROUP, name) == {}


def test_client_metrics(target: Target, name: str) -> None:
    assert verbs.alter(target, verbs.CLIENT_METRICS, name, {"interval.ms": "1000", "metrics": "a,b"}) == verbs.FINE
    assert verbs.values(target, verbs.CLIENT_METRICS, name) == {"interval.ms": "1000", "metrics": "a,b"}
    bad = "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"
    for op, refused in (
        (("no.such.key", verbs.SET, "1"), ("INVALID_REQUEST", "Unknown client metrics configuration: no.such.key")),
        (("interval.ms", verbs.SET, "1"), ("INVALID_REQUEST", bad)),
        (("match", verbs.SET, "foo=["), ("INVALID_CONFIG", "Illegal client matching pattern: foo=[")),
    ):
        assert verbs.alter(target, verbs.CLIENT_METRICS, name, op) == refused
    nobody = verbs.alter(target, verbs.CLIENT_METRICS, "", {"interval.ms": "1000"})
    assert nobody == ("INVALID_REQUEST", "Subscription name can't be empty")
    assert verbs.alter(target, verbs.CLIENT_METRICS, name, {"interval.ms": None, "metrics": None}) == verbs.FINE


def test_configs_go_with_their_topic(target: Target, name: str) -> None:
    """A topic that is created again under the name of a deleted topic does not have the deleted topic's configs."""
    assert verbs.create_topics(target, {name: {0: [1]}}, {"retention.ms": "1000"}) == {name: verbs.FINE}
    assert verbs.values(target, verbs.TOPIC, name) == {"retention.ms": "1000"}
    assert verbs.delete_topics(target, name) == [(name, verbs.FINE)]
    assert verbs.create_topics(target, {name: {0: [1]}}) == {name: verbs.FINE}
    assert verbs.values(target, verbs.TOPIC, name) == {}
    assert verbs.delete_topics(target, name) == [(name, verbs.FINE)]
