"""`create topic`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.language.statements import Assign, FromFile, Key, Name
from console.language.verbs.create import Create
from console.model.changes import NewTopic
from console.plan.edits import CreateTopic
from tests.language.said import edits, one, refused, texts, wrong
from tests.language.strategies import assigns, reads_back, replicas, topic_names


def creations():
    # A creation without any assignment can't be written.
    counted = st.builds(
        Create,
        topic_names,
        st.just(-1) | st.integers(1, 99),
        st.integers(1, 9),
        st.just(()),
        configs=assigns | st.just(()),
    )
    assigned = st.builds(
        Create,
        topic_names,
        assignments=st.lists(replicas, min_size=1, max_size=3).map(tuple),
        timeout_ms=st.none() | st.integers(1, 2**31 - 1),
        configs=assigns | st.just(()),
    )
    return counted | assigned


statements = creations()


@given(statements)
def test_what_is_written_reads_back(statement):
    reads_back(statement)


def test_create_topic():
    assert one("create topic a partitions=3 replication=2 k=v timeout=30s l=@f") == Create(
        Name("a"), 3, 2, (), 30_000, (Assign(Key("k"), "v"), Assign(Key("l"), FromFile("f")))
    )
    assert one("create topic a assign=1:2,2:3").assignments == ((1, 2), (2, 3))
    assert one("create topic a 'partitions'=x").configs == (Assign(Key("partitions", True), "x"),)


@pytest.mark.parametrize(
    ("assigns", "at"),
    [
        ("partitions=0", "0"),
        ("partitions=x", "x"),
        ("partitions=", "partitions"),
        ("replication=40000", "40000"),
        ("partitions=1 partitions=2", "partitions=2"),
        ("assign=1:2 partitions=1", "partitions"),
        ("assign=1:2 replication=1", "replication"),
        ("assign=1:,2", "1:"),
        ("assign=1:1", "1:1"),
        ("assign=a", "a"),
        ("timeout=5", "5"),
        ("timeout=99d", "99d"),
    ],
)
def test_create_topic_names_its_mistakes(assigns, at):
    text = f"create topic t {assigns}"
    assert wrong(text).column == text.rindex(at, len("create topic t ")) + 1


def test_create_topic_wants_an_assignment():
    assert wrong("create topic a").column == len("create topic a") + 1


def test_edits():
    found = edits("create topic new partitions=3 replication=2 retention.ms=1d timeout=45s")
    assert found == (CreateTopic(NewTopic("new", 3, 2, (), {"retention.ms": "86400000"}, 45_000)),)
    assert edits("create topic new assign=1:2,2:3") == (CreateTopic(NewTopic("new", assignments=((1, 2), (2, 3)))),)


def test_create_topic_checks_brokers_and_keys():
    assert "there is no broker 9" in refused("create topic new assign=1:9").message
    assert "did you mean 'retention.ms'?" in refused("create topic new retention.m=1").hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create topic x part|", ["partitions="]),
        ("create topic |", []),
    ],
)
def test_what_can_stand_at_the_cursor(text, expected):
    assert texts(text) == expected
