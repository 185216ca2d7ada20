"""Tests of files that never end or are too large: each of kac's readers of YAML refuses them at once, with a
message.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.answers.data_forms import yaml_text
from console.cli.main import run
from console.collecting.sources import read_sources
from console.contexts.context import ContextError
from console.contexts.tool_file import parse_yaml
from console.files.plan_file import read_plan
from console.files.reading import read_files
from console.lake.policy_files import read_baseline, read_policies
from console.model import yaml_places
from console.model import yaml_places as places
from console.safe_files import read_text

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
"""A YAML text whose aliases expand to 9**9 values."""
DEEP = "[" * 100_000
NESTED = "".join(f"{'  ' * depth}a:\n" for depth in range(2_000))
MERGED = "a: &a {b: 1}\nc:\n  <<: *a\n"
HOLDS_ITSELF = "a: &a [*a]\n"
TAGGED = "a: !!python/object/apply:os.system ['true']\n"
SECOND = "a: 1\n---\nb: 1\n"
TWICE = "version: 1\nversion: 2\n"

Reader = Callable[[str, Path], Any]


def policies(text: str, _: Path) -> Any:
    return read_policies(text)


def baseline(text: str, _: Path) -> Any:
    return read_baseline(text)


def wanted(text: str, folder: Path) -> Any:
    (folder / "wanted.yaml").write_text(text)
    return read_files([str(folder / "wanted.yaml")])


def sources(text: str, folder: Path) -> Any:
    return read_sources(text, "sources.yaml", folder)


REFUSED = (places.FileProblem, places.FileProblems)


@pytest.mark.parametrize("reader", [policies, baseline, wanted, sources])
@pytest.mark.parametrize(
    "text",
    [BOMB, f"version: 1\n{BOMB}", DEEP, NESTED, MERGED, HOLDS_ITSELF, TAGGED, SECOND, TWICE],
    ids=["bomb", "bomb-behind", "deep", "nested", "merged", "itself", "tagged", "second", "twice"],
)
def test_every_reader_of_ours_refuses_it(reader: Reader, text: str, tmp_path: Path) -> None:
    with pytest.raises(REFUSED):
        reader(text, tmp_path)


def test_the_line_of_an_alias_is_named() -> None:
    with pytest.raises(places.FileProblem, match=r"f.yaml:2: anchors and aliases"):
        places.read_yaml("version: 1\na: &a x\nb: *a\n", "f.yaml")


def test_the_bomb_is_refused_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bomb.yaml"
    file.write_text(BOMB)
    assert len(BOMB) < 500
    for command in ("diff", "plan", "apply"):
        assert run([command, "-b", "127.0.0.1:1", "-f", str(file)]) == 2
        assert f"{file}:1: anchors and aliases (& and *) are not read here" in capsys.readouterr().err


def test_more_values_or_characters_than_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_places, "MOST_VALUES", 100)
    with pytest.raises(places.FileProblem, match=r"f:100: it has more than 100 values"):
        places.read_yaml("- x\n" * 101, "f")
    monkeypatch.setattr(yaml_places, "MOST_CHARS", 100)
    with pytest.raises(places.FileProblem, match="characters"):
        places.read_yaml("x" * 101, "f")


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.files.reading.LARGEST", 1 << 20)
    with pytest.raises(places.FileProblems, match="larger than 1 MiB"):
        read_files(["/dev/zero"])
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(1 << 40)  # no block of the file is on the disk
    with pytest.raises(places.FileProblems, match="larger than 1 MiB"):
        read_files([str(tmp_path / "large.yaml")])
    with pytest.raises(ValueError, match="larger"):
        read_text(tmp_path / "large.yaml", 1 << 20)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\ntopics: {a: {partitions: " + "9" * 50_000 + "}}",
        "version: 1\ntopics: {a: {partitions: 1e400}}",
        "version: 1\nquotas: [{user: a, limits: {producer_byte_rate: " + "9" * 50_000 + "}}]",
        "version: 1\nquotas: [{user: a, limits: {producer_byte_rate: 1e999999999}}]",
        "version: " + "1" * 100_000,
    ],
    ids=["int", "float", "quota", "exponent", "version"],
)
def test_a_huge_number_is_a_problem_with_a_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(places.FileProblems):
        wanted(text, tmp_path)


def foreign(text: str, folder: Path) -> Any:
    (folder / "config").write_text(text)
    return parse_yaml(folder / "config")


@pytest.mark.parametrize("text", [BOMB, DEEP, NESTED, HOLDS_ITSELF], ids=["bomb", "deep", "nested", "itself"])
def test_what_another_tool_has_is_bounded(text: str, tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="config:"):
        foreign(text, tmp_path)


def test_anchors_and_merges_of_another_tool_are_read(tmp_path: Path) -> None:
    text = "base: &base {brokers: [a:1]}\ncontexts:\n  one: *base\n  two: {<<: *base, x: 1}\n"
    assert foreign(text, tmp_path)["contexts"]["one"] == {"brokers": ["a:1"]}


HEAD = {"format": "kac plan", "version": 1, "cluster_id": "x", "made": "2026-01-01T00:00:00+00:00"}
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(st.sampled_from(["op", "topic"]), of, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "kac plan", "a": ' + "[" * 100_000,
        json.dumps(HEAD)[:-1] + ', "edits": [' + "9" * 50_000 + "]}",
        json.dumps({**HEAD, "made": 5, "edits": []}),
        json.dumps({**HEAD, "edits": [{"edit": {"op": "grow-topic", "name": "a", "partitions": 1e999}, "was": None}]}),
        json.dumps({**HEAD, "edits": {"a": 1}}),
    ],
    ids=["deep", "int", "time", "infinite", "mapping"],
)
def test_a_plan_that_can_not_be_read_says_so(text: str) -> None:
    with pytest.raises(places.FileProblem, match="plan"):
        read_plan(text, "p")


@given(ANY, ANY)
def test_no_plan_is_a_traceback(edit: Any, was: Any) -> None:
    with suppress(places.FileProblem):
        read_plan(json.dumps({**HEAD, "edits": [{"edit": edit, "was": was}]}), "p")


VALUES = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    lambda of: st.lists(of, max_size=3) | st.dictionaries(st.text("ab<&* ", max_size=3), of, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_bounded_is_read_whole(value: Any) -> None:
    assert places.read_yaml(yaml_text(value), "f").data == value


@pytest.mark.parametrize(("depth", "taken"), [(places.MOST_DEPTH, True), (places.MOST_DEPTH + 1, False)])
def test_depth_is_counted_exactly(depth: int, taken: bool) -> None:
    text = "[" * depth + "]" * depth
    if taken:
        assert list(places.events(text))
    else:
        with pytest.raises(places.UnsafeYaml):
            list(places.events(text))
