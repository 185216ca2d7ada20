"""Bad files: a line for each thing that is wrong, with its place and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.files.reading import read_files
from console.model.yaml_places import FileProblems

GOOD = "version: 1\ntopics:\n  orders:\n    partitions: 3\n"


def problems(folder: Path, *texts: str) -> list[str]:
    """What is said of files a.yaml, b.yaml…; the folder's name is left out."""
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
            "a.yaml:4: partitions: input should be greater than or equal to 1",
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


def test_an_entity_in_two_files_names_both_places(tmp_path: Path) -> None:
    assert problems(tmp_path, GOOD, GOOD) == ["b.yaml:3: topic orders stands in a.yaml:3 too; let it stand once"]


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "version: 1\nx: 1\ny: 2", "version: 1\nz: 3")) == 3


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
    read = read_files([str(file)])
    assert set(read.topics) == {"orders"}
    assert len(read.configs) == 3
    assert len(read.quotas) == 1
    assert len(read.acls) == 2
