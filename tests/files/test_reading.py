"""Tests of invalid files: kac prints a line for each problem, with its place and the text to write instead."""

import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import ValidationError

from console.files.reading import read_files
from console.files.schema import checked, wrong_in
from console.model.yaml_places import Document, FileProblems

GOOD = "version: 1\ntopics:\n  orders:\n    partitions: 3\n"


def problems(folder: Path, *texts: str) -> list[str]:
    """Write the texts into files a.yaml, b.yaml and so on; return the problems that kac finds, without the name of the
    folder.
    """
    for name, text in zip("abc", texts, strict=False):
        (folder / f"{name}.yaml").write_text(text)
    with pytest.raises(FileProblems) as caught:
        read_files([str(folder)])
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a.yaml:1: the file is empty; kac export shows what one looks like"),
        ("- topics", "a.yaml:1: a file says its version; write version: 1 at its top"),
        ("topics", "a.yaml:1: a file says its version; write version: 1 at its top"),
        ("topics: {}", "a.yaml:1: a file says its version; write version: 1 at its top"),
        ("version: 2", "a.yaml:1: a file says its version; write version: 1 at its top"),
        ("version: 1\ntopics: [", "a.yaml:3: invalid YAML: did not find expected node content"),
        ("version: 1\ntopcs: {}", "a.yaml:2: unknown key 'topcs'; did you mean topics?"),
        (
            "version: 1\ntopics:\n  a:\n    partitons: 3",
            "a.yaml:4: unknown key 'partitons'; did you mean partitions?",
        ),
        (
            "version: 1\ntopics:\n  a:\n    partitions: 0",
            "a.yaml:4: partitions: write a number from 1 to 1,000,000, or -1 for the broker's default",
        ),
        ("version: 1\ntopics:\n  a: {}\n  a: {}", "a.yaml:4: duplicate key 'a'; keep one of the two"),
        (
            "version: 1\ntopics:\n  a:\n    configs:\n      k:",
            'a.yaml:5: k has no value; leave the key out to inherit, or write "" for the empty value',
        ),
        ("version: 1\nbrokers:\n  one: {}", "a.yaml:3: 'one' is no broker's id; write a number or <default>"),
        (
            "version: 1\nquotas:\n  - limits: {}",
            "a.yaml:3: a quota is of a user, a client-id, both, or an ip",
        ),
        ("version: 1\nquotas:\n  - user: a", "a.yaml:3: limits is missing; add it"),
        (
            "version: 1\nquotas:\n  - user: a\n    limits:\n      producer_byte_rate: 1.5h",
            "a.yaml:5: ",
        ),
        (
            "version: 1\nquotas:\n  - user: a\n    limits:\n      producer_byte_rat: 1",
            "a.yaml:5: ",
        ),
        (
            "version: 1\nacls:\n  - allow: User:a\n    operations: REED\n    topic: b",
            "a.yaml:4: no operation 'REED'; did you mean READ?",
        ),
        (
            "version: 1\nacls:\n  - allow: User:a\n    deny: User:b\n    operations: READ\n    topic: b",
            "a.yaml:3: an ACL either allows or denies a principal; allow: User:alice",
        ),
        (
            "version: 1\nacls:\n  - allow: User:a\n    operations: READ",
            "a.yaml:3: an ACL is on one resource; one of topic, group, cluster, transactional-id, delegation-token, "
            "user",
        ),
    ],
)
def test_one_line_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    (problem,) = problems(tmp_path, text)
    assert problem.startswith(said)
    assert problem == said or len(problem) > len(said) + 10


def test_all_that_is_wrong_is_told_with_its_place_also_within_one_entity(tmp_path: Path) -> None:
    """kac reports each of several problems, also within one entity, with its place. msgspec itself reports only the
    first.
    """
    text = """\
version: 1
topics:
  a:
    partitions: three
    replication: [1]
    configs:
      k:
      l: {secret: shown}
      m: {secrt: set}
      n: [1]
  b: 3
quotas:
  - user: {nam: x}
    limits: 5
    limit: 6
  - text
acls:
  - allow: User:a
    operations: []
  - operations: [READ, {}]
    host:
brokers: []
"""
    assert problems(tmp_path, text) == [
        "a.yaml:4: partitions: 'three' is not a whole number of 0 or more",
        "a.yaml:5: replication: a number is expected here",
        'a.yaml:7: k has no value; leave the key out to inherit, or write "" for the empty value',
        "a.yaml:8: secret: set is expected",
        "a.yaml:9: unknown key 'secrt'; did you mean secret?",
        "a.yaml:9: secret is missing; add it",
        "a.yaml:10: n: a text or a number or a mapping of keys to values is expected here",
        "a.yaml:11: b: a mapping of keys to values is expected here",
        "a.yaml:13: unknown key 'nam'; did you mean name?",
        "a.yaml:13: name is missing; add it",
        "a.yaml:14: limits: a mapping of keys to values is expected here",
        "a.yaml:15: unknown key 'limit'; did you mean limits?",
        "a.yaml:16: 1: a mapping of keys to values is expected here",
        "a.yaml:19: operations: an empty list; list something, or leave the key out",
        "a.yaml:20: 1: a text or a number is expected here",
        'a.yaml:21: host has no value; leave the key out to inherit, or write "" for the empty value',
        "a.yaml:22: brokers: a mapping of keys to values is expected here",
    ]


def test_whatever_is_refused_has_a_line(tmp_path: Path) -> None:
    """Each text that msgspec refuses also has a problem by kac's own check, which reports all problems and not only the
    first.
    """
    chance = random.Random(1)
    values = (None, "1", "x", "", [], ["a"], {}, {"name": "a"}, {"secret": "set"}, {"a": None}, [{}], "-1", "0")
    keys = ("version", "topics", "quotas", "acls", "brokers", "user", "limits", "partitions", "configs", "operations")

    def made(depth: int) -> Any:
        if depth == 0 or chance.random() < 0.3:
            return chance.choice(values)
        if chance.random() < 0.3:
            return [made(depth - 1) for _ in range(chance.randrange(3))]
        return {chance.choice(keys): made(depth - 1) for _ in range(chance.randrange(4))}

    matched = 0
    for _ in range(3_000):
        document = Document("a.yaml", {"version": "1", **{key: made(3) for key in chance.sample(keys[:5], 2)}})
        try:
            checked(document)
        except ValidationError:
            assert wrong_in(document), document.data
        else:
            matched += 1
            assert not wrong_in(document), document.data
    assert matched > 20


def test_everything_that_is_wrong_is_told_at_once_and_both_places_of_an_entity(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "version: 1\nx: 1\ny: 2", "version: 1\nz: 3")) == 3
    assert problems(tmp_path, GOOD, GOOD) == ["b.yaml:3: topic orders stands in a.yaml:3 too; let it stand once"]


def test_files_that_are_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(FileProblems) as caught:
        read_files([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), str(tmp_path)])
    assert len(caught.value.problems) == 3


def test_a_default_by_name_and_by_meaning(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "version: 1\nquotas:\n  - user: <default>\n    limits: {producer_byte_rate: 1MB/s}\n"
        '  - user: {name: "<default>"}\n    limits: {producer_byte_rate: 2MB/s}\n'
    )
    found = {
        entity.name_of("user"): limits["producer_byte_rate"]
        for entity, limits in read_files([str(file)]).quotas.items()
    }
    assert found == {None: 1e6, "<default>": 2e6}


def test_the_page_shows_a_file_that_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    file = tmp_path / "a.yaml"
    file.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.avsc").write_text('{"type": "record", "name": "Order", "fields": []}')
    read = read_files([str(file)])
    assert set(read.topics) == {"orders"}
    assert len(read.configs) == 3
    assert len(read.quotas) == 1
    assert len(read.acls) == 2
    assert len(read.schemas) == 1
