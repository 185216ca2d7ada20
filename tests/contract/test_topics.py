"""Tests of topics: their creation, their deletion, and new partitions for them."""

from typing import Any
from uuid import UUID

import pytest

from tests.contract import verbs
from tests.contract.messages import told
from tests.contract.target import Target
from tests.support.kafka_messages import with_fields


def delete_each(target: Target, *items: tuple[str | None, UUID | None]) -> list[dict[str, Any]]:
    """Send DeleteTopics v6; return the answer for each topic. items: (name, None) or (None, topic id)."""
    answer = target.ask("delete_topics", 6, with_fields(topics=items, timeout=20))
    told_of: list[dict[str, Any]] = answer["responses"]
    return told_of


def test_what_is_told_of_a_new_topic(target: Target, name: str) -> None:
    """The answer to a creation has the topic's number of partitions, its replication factor, and its configs with their
    sources (KIP-525).
    """
    (created,) = verbs.create_topics_answer(target, [(name, {0: [1], 1: [1]})], {"retention.ms": "5"})
    configs = {entry.pop("name"): entry for entry in created.pop("configs")}
    assert created == {
        "name": name,
        "topic_id": "an id",
        "error_code": "NONE",
        "error_message": None,
        "topic_config_error_code": "NONE",
        "num_partitions": 2,
        "replication_factor": 1,
    }
    assert configs["retention.ms"] == {"value": "5", "read_only": False, "config_source": 1, "is_sensitive": False}
    assert configs["segment.bytes"]["config_source"] == 5
    assert len(configs) == target.by_release(v3_9=36, v4_0=33, v4_4=37)
    assert verbs.partitions(target, name) == {0: [1], 1: [1]}
    assert verbs.values(target, verbs.TOPIC, name) == {"retention.ms": "5"}
    assert verbs.delete_topics(target, name) == [(name, verbs.FINE)]


def test_validate_only_creates_nothing(target: Target, topic: str, name: str) -> None:
    (created,) = verbs.create_topics_answer(target, [(f"{name}-dry", {0: [1]})], {"retention.ms": "5"}, dry=True)
    assert (verbs.error(created), created["num_partitions"], created["replication_factor"]) == (verbs.FINE, 1, 1)
    assert verbs.partitions(target, f"{name}-dry") == {}
    exists = told(target, "topic exists", name=topic)
    assert verbs.create_topics(target, {topic: (1, 1)}, dry=True) == {topic: exists}
    assert verbs.create_topics(target, {topic: (1, 1)}) == {topic: exists}


def test_defaults(target: Target, name: str) -> None:
    """A topic that is created with -1 partitions and the replication factor -1 has the values of num.partitions and
    default.replication.factor (KIP-464).
    """
    (created,) = verbs.create_topics_answer(target, [(name, (-1, -1))], dry=True)
    assert (verbs.error(created), created["num_partitions"], created["replication_factor"]) == (verbs.FINE, 1, 1)


@pytest.mark.parametrize(
    ("shape", "situation"),
    [((0, 1), "no partitions"), ((-2, 1), "no partitions"), ((1, 0), "no replicas"), ((1, 9), "too many replicas")],
)
def test_a_count_that_can_not_be(target: Target, name: str, shape: tuple[int, int], situation: str) -> None:
    refused = told(target, situation, brokers=len(target.brokers))
    assert verbs.create_topics(target, {name: shape}) == {name: refused}
    assert verbs.create_topics(target, {name: shape}, dry=True) == {name: refused}


@pytest.mark.parametrize(
    ("name", "situation"),
    [
        ("a b", "illegal topic name"),
        ("", "empty topic name"),
        (".", "dots for a topic name"),
        ("..", "dots for a topic name"),
        ("a" * 250, "long topic name"),
    ],
)
def test_a_name_that_can_not_be(target: Target, name: str, situation: str) -> None:
    assert verbs.create_topics(target, {name: (1, 1)}) == {name: told(target, situation, name=name)}


def test_names_that_collide(target: Target, name: str) -> None:
    """A name is refused that differs from an existing topic's only by `.` and `_`, which are the same in the names of
    metrics.
    """
    one, other = f"{name}.a_b", f"{name}_a.b"
    assert verbs.create_topics(target, {one: {0: [1]}}) == {one: verbs.FINE}
    assert verbs.create_topics(target, {other: {0: [1]}}) == {
        other: told(target, "names collide", name=other, other=one)
    }
    assert verbs.delete_topics(target, one) == [(one, verbs.FINE)]


def test_the_log_of_metadata_is_no_topic(target: Target) -> None:
    refused = told(target, "metadata topic")
    assert verbs.create_topics(target, {"__cluster_metadata": (1, 1)}) == {"__cluster_metadata": refused}


def test_a_topic_twice_in_a_request(target: Target, name: str) -> None:
    created = verbs.create_topics_answer(target, [(name, (1, 1)), (name, (2, 1))])
    assert {(each["name"], verbs.error(each)) for each in created} == {(name, told(target, "topic created twice"))}
    assert len(created) == 1
    assert verbs.partitions(target, name) == {}


@pytest.mark.parametrize(
    ("configs", "situation"),
    [
        ({"no.such.key": "1"}, "unknown topic config"),
        ({"retention.ms": None}, "null in new topic"),
        ({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, "values that contradict"),
    ],
)
def test_configs_that_can_not_be(target: Target, name: str, configs: dict[str, str | None], situation: str) -> None:
    refused = told(target, situation, key=next(iter(configs)))
    assert verbs.create_topics(target, {name: (1, 1)}, configs) == {name: refused}
    assert verbs.partitions(target, name) == {}


def test_a_config_with_a_bad_value(target: Target, name: str) -> None:
    refused = ("INVALID_CONFIG", "Invalid value x for configuration retention.ms: Not a number of type LONG")
    assert verbs.create_topics(target, {name: (1, 1)}, {"retention.ms": "x"}) == {name: refused}


@pytest.mark.parametrize(
    ("assignment", "situation"),
    [
        ({0: [77]}, "assigned unknown broker"),
        ({0: [1, 1]}, "assigned one twice"),
        ({0: []}, "assigned nobody"),
        ({0: [1], 2: [1]}, "assigned with a gap"),
        ({1: [1]}, "assigned with a gap"),
        ({-1: [1]}, "assigned a negative number"),
    ],
)
def test_an_assignment_that_can_not_be(
    target: Target, name: str, assignment: dict[int, list[int]], situation: str
) -> None:
    refused = told(target, situation, broker=77)
    assert verbs.create_topics(target, {name: assignment}) == {name: refused}
    assert verbs.create_topics(target, {name: assignment}, dry=True) == {name: refused}


def test_counts_and_an_assignment(target: Target, name: str) -> None:
    both = (name, 1, 1, [(0, [1])], [])
    answer = target.ask("create_topics", 7, with_fields(topics=[both], validate_only=False))
    assert [verbs.error(each) for each in answer["topics"]] == [told(target, "counts and assignment")]


def test_topics_of_a_request_are_independent(target: Target, name: str) -> None:
    answered = verbs.create_topics(target, {name: {0: [1]}, "a b": {0: [1]}})
    assert answered == {name: verbs.FINE, "a b": told(target, "illegal topic name", name="a b")}
    assert verbs.create_topics(target, {}) == {}
    assert verbs.delete_topics(target, name, f"{name}-no") == [
        (name, verbs.FINE),
        (f"{name}-no", told(target, "deleted is missing")),
    ]


def test_no_time_to_create(target: Target, name: str) -> None:
    """If the timeout of a creation is 0, the error is REQUEST_TIMED_OUT, and brokers create no topic."""
    assert verbs.create_topics(target, {name: {0: [1]}}, timeout=0) == {name: ("REQUEST_TIMED_OUT", None)}
    assert verbs.partitions(target, name) == {}


def test_deleting_what_is_not_there(target: Target, name: str) -> None:
    for missing in (name, "a b", ""):
        assert verbs.delete_topics(target, missing) == [(missing, told(target, "deleted is missing"))]
    assert verbs.delete_topics(target) == []


def test_deleting_a_name_twice(target: Target, topic: str) -> None:
    """If a deletion has a topic's name twice, the error is INVALID_REQUEST, and the topic is not deleted."""
    assert verbs.delete_topics(target, topic, topic) == [(topic, told(target, "deleted twice"))]
    assert verbs.partitions(target, topic) == {0: [1]}


def test_deleting_by_id(target: Target, topic: str) -> None:
    """Topics can be deleted by id (KIP-516)."""
    unknown = UUID(int=12345)
    for name, topic_id, situation in (
        (None, unknown, "deleted id is missing"),
        (topic, unknown, "deleted by both"),
    ):
        (told_of,) = delete_each(target, (name, topic_id))
        assert (told_of["name"], verbs.error(told_of)) == (name, told(target, situation))
    (told_of,) = delete_each(target, (topic, None))
    assert (told_of["name"], verbs.error(told_of)) == (topic, verbs.FINE)
    assert told_of["topic_id"] is not None
    assert verbs.partitions(target, topic) == {}


def test_growing(target: Target, topic: str) -> None:
    assert verbs.grow(target, topic, 2, dry=True) == verbs.FINE
    assert verbs.partitions(target, topic).keys() == {0}
    assert verbs.grow(target, topic, 2, [[1]]) == verbs.FINE
    assert verbs.partitions(target, topic) == {0: [1], 1: [1]}
    for count in (2, 1, 0, -5):
        assert verbs.grow(target, topic, count) == _not_more(topic, count)
    assert verbs.grow(target, topic, 3, [[1]]) == verbs.FINE
    assert verbs.partitions(target, topic) == {0: [1], 1: [1], 2: [1]}


def _not_more(topic: str, count: int) -> verbs.Error:
    same = f"Topic already has {count} partition(s)."
    fewer = f"The topic {topic} currently has 2 partition(s); {count} would not be an increase."
    return "INVALID_PARTITIONS", same if count == 2 else fewer


def test_growing_what_is_not_there(target: Target, name: str) -> None:
    for missing in (name, "a b"):
        assert verbs.grow(target, missing, 2) == ("UNKNOWN_TOPIC_OR_PARTITION", None)


ADDED = "Attempted to add {} additional partition(s), but only {} assignment(s) were specified."
INCLUDES = "The manual partition assignment includes {}."


@pytest.mark.parametrize(
    ("count", "assignments", "text"),
    [
        (2, [[1], [1]], ADDED.format(1, 2)),
        (3, [[1]], ADDED.format(2, 1)),
        (2, [], ADDED.format(1, 0)),
        (2, [[77]], INCLUDES.format("broker 77, but no such broker is registered")),
        (2, [[1, 1]], INCLUDES.format("the broker 1 more than once")),
        (2, [[]], INCLUDES.format("an empty replica list")),
    ],
)
def test_growing_by_an_assignment_that_can_not_be(
    target: Target, topic: str, count: int, assignments: list[list[int]], text: str
) -> None:
    assert verbs.grow(target, topic, count, assignments) == ("INVALID_REPLICA_ASSIGNMENT", text)
    assert verbs.partitions(target, topic) == {0: [1]}


def test_any_broker_forwards(target: Target, topic: str) -> None:
    """Each broker forwards changes to the active controller, so they succeed on any broker."""
    other, created = target.brokers[-1], f"{topic}-2"
    assert verbs.create_topics(target, {created: {0: [1]}}, broker=other) == {created: verbs.FINE}
    assert verbs.alter(target, verbs.TOPIC, created, {"retention.ms": "5"}, broker=other) == verbs.FINE
    assert verbs.grow(target, created, 2, [[1]], broker=other) == verbs.FINE
    assert verbs.delete_topics(target, created, broker=other) == [(created, verbs.FINE)]
