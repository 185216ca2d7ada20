"""Tests of files with the JSON of kafka-reassign-partitions."""

from pathlib import Path

import pytest

from console.operations.goals import Reassign
from tests.files.foreign.wishes import problems, wanted

LIST = """\
{"version": 1,
 "partitions": [
  {"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "/data2"]},
  {"topic": "orders", "partition": 1, "replicas": [3, 2, 1]}
]}
"""


def test_a_reassignment(tmp_path: Path) -> None:
    read = wanted(tmp_path, LIST)
    assert read.is_empty
    assert read.reassign is not None
    goal, source, line = read.reassign
    assert goal == Reassign((("orders", 0, (1, 2)), ("orders", 1, (3, 2, 1))), (("orders", 0, 2, "/data2"),))
    assert str(goal) == "reassign 2 partitions of orders"
    assert (source, line) == (f"{tmp_path}/file.yaml", 1)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 1', '"version": 2', "file:1: '2' is no whole number of 1 to 1"),
        ('"partition": 0', '"partition": -1', "file:3: '-1' is no whole number of 0 to 2,147,483,647"),
        ("[1, 2]", "[1, 1]", "file:3: orders-0 has a broker twice; name it once"),
        ("[1, 2]", "[]", "file:3: orders-0 has no replica; name a broker"),
        ('["any", "/data2"]', '["any"]', "file:3: orders-0 has 2 replicas; one of log_dirs for each, or any"),
        (', "replicas": [1, 2]', "", "file:3: replicas is missing; add it"),
        ('"log_dirs"', '"logdirs"', "file:3: unknown key 'logdirs'; did you mean log_dirs?"),
        ('"partition": 1', '"partition": 0', "file:4: orders-0 stands twice; let it stand once"),
        ('"version"', '"versions"', "file:1: unknown key 'versions'; did you mean version?"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in LIST
    assert problems(tmp_path, LIST.replace(old, new))[0].startswith(said)


def test_what_is_given_twice_empty_or_generated_is_told(tmp_path: Path) -> None:
    assert "has a reassignment too; give one at a time" in problems(tmp_path, f"{LIST}---\n{LIST}")[0]
    assert problems(tmp_path, '{"version": 1, "partitions": []}') == ["file:1: no partition is in it; name one"]
    text = f"Current partition replica assignment\n{{}}\n\nProposed partition reassignment configuration\n{LIST}"
    assert problems(tmp_path, text)[0].startswith("file:4: this is what --generate prints")


def test_topics_to_move_say_no_place(tmp_path: Path) -> None:
    """The file for --generate is refused, because it names no brokers. A list of topics in kac's own format gets the
    usual message.
    """
    theirs = '{"version": 1,\n "topics": [{"topic": "orders"}, {"topic": "returns"}]}'
    (said,) = problems(tmp_path, theirs)
    assert said.startswith("file:2: this names topics to move, as --topics-to-move-json-file takes them")
    assert problems(tmp_path, "version: 1\ntopics: [{name: orders}]\n")[0].startswith(
        "file:2: topics: a mapping of keys"
    )
