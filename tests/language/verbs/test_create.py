"""Tests of the statements `create topic` and `create connector`."""

import json

import pytest
from hypothesis import strategies as st

from console.language import given_files
from console.language.errors import CommandError
from console.language.interpret import to_edits
from console.language.statements import Assign, FromFile, Key, Name
from console.language.verbs.connector import CreateConnector
from console.language.verbs.create import Create
from console.model import connect
from console.model.changes import NewTopic
from console.model.secret import Secret
from console.model.snapshot import Snapshot
from console.plan import edits as do
from console.plan.edits import CreateTopic
from tests.language.said import completes, edits, one, refused, wrong
from tests.language.strategies import NAMES, assigns, read_back, replicas, topic_names


def creations():
    # A creation with no assignment can't be written.
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


test_what_is_written_reads_back = read_back(creations())


def test_create_topic():
    assert one("create topic a partitions=3 replication=2 k=v timeout=30s l=@f") == Create(
        Name("a"), 3, 2, (), 30_000, (Assign(Key("k"), "v"), Assign(Key("l"), FromFile("f")))
    )
    assert one("create topic a assign=1:2,2:3").assignments == ((1, 2), (2, 3))
    assert one("create topic a 'partitions'=x").configs == (Assign(Key("partitions", True), "x"),)
    assert wrong("create topic a").column == len("create topic a") + 1


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


def test_edits():
    found = edits("create topic new partitions=3 replication=2 retention.ms=1d timeout=45s")
    assert found == (CreateTopic(NewTopic("new", 3, 2, (), {"retention.ms": "86400000"}, 45_000)),)
    assert edits("create topic new assign=1:2,2:3") == (CreateTopic(NewTopic("new", assignments=((1, 2), (2, 3)))),)
    assert "there is no broker 9" in refused("create topic new assign=1:9").message
    assert "did you mean 'retention.ms'?" in refused("create topic new retention.m=1").hint


test_what_can_stand_at_the_cursor = completes(
    ("create topic x part|", ["partitions="]),
    ("create topic |", []),
)


CLASS = "org.example.JdbcSink"
CONNECTORS = st.builds("{}/{}".format, NAMES.filter(lambda name: "/" not in name), NAMES).map(Name)
STATES = st.sampled_from(["", connect.PAUSED, connect.STOPPED])


test_a_connector_reads_back = read_back(
    st.builds(CreateConnector, CONNECTORS, NAMES | st.just(""), assigns, STATES)
    | st.builds(CreateConnector, CONNECTORS, NAMES, st.just(()), STATES)
)


def test_create_connector():
    config = Assign(Key("a.b"), "c")
    assert one("create connector main/x a.b=c stopped") == CreateConnector(
        Name("main/x"), "", (config,), connect.STOPPED
    )
    assert one("create connector main/x @'a b.json' a.b=c") == CreateConnector(Name("main/x"), "a b.json", (config,))
    assert edits(f"create connector main/x connector.class={CLASS} paused", Snapshot()) == (
        do.CreateConnector("main/x", {"connector.class": CLASS}, connect.PAUSED),
    )


@pytest.mark.parametrize(
    "text", ["", " main/x", " main/x stopped", " x a=b", " main/ a=b", " main/x a=b stopped c=d", " main/x a=b @f"]
)
def test_create_connector_names_its_mistakes(text):
    assert wrong(f"create connector{text}")


CONFIG = {"connector.class": CLASS, "tasks.max": 2, "flag": True, "door": "s3cret-9"}
BODY, FLAT = json.dumps({"name": "other", "config": CONFIG}), json.dumps({"name": "other", **CONFIG})
PROPERTIES = f"name=other\n# no\nconnector.class = {CLASS}\ntasks.max=2\nflag=true\ndoor=s3cret-9\n"


@pytest.mark.parametrize("text", [BODY, FLAT, PROPERTIES], ids=["body", "flat", "properties"])
def test_a_config_in_a_file_is_the_statements(text, tmp_path):
    file = tmp_path / "x"
    file.write_text(text)
    statement = given_files.with_file(one(f"create connector main/x @{file} door=? mode=b"))
    assert "s3cret-9" not in repr(statement)
    (edit,) = to_edits(statement, Snapshot(), secrets={"door": Secret("typed")})
    assert edit == do.CreateConnector(
        "main/x",
        {"connector.class": CLASS, "tasks.max": "2", "flag": "true", "door": Secret("typed"), "mode": "b"},
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"name": "x"}',
        '{"name": "x", "config": {}}',
        '{"name": "x", "config": {"connector.class": "A", "b": null}}',
        '{"name": "x", "config": {"connector.class": "A", "b": {"c": 1}}}',
        '{"name": "x", "config": {"connector.class": "A"}, "initial_state": "odd"}',
        '{"name": "x", "config": {"connector.class": "A"}, "more": 1}',
        "name=x\n",
        "connector.class=A\nconnector.class=B\n",
        "connector.class=\\u12\n",
    ],
)
def test_other_files_are_refused(text, tmp_path):
    file = tmp_path / "x"
    file.write_text(text)
    with pytest.raises(CommandError):
        given_files.with_file(one(f"create connector main/x @{file}"))
