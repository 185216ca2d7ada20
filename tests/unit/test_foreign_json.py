"""Tests that kac reads all JSON from outside with one parser, which limits the depth."""

import ast
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.lake.delta_log import Replayed, commits
from console.lake.files import Filesystem
from console.lake.requests.counted import Whose, counted
from console.lake.requests.lines import TOO_DEEP, altered
from console.model.foreign_json import DEEPEST, deeper_than, json_as, json_of
from tests.lake.request_lines import alter_configs, produce
from tests.unit.test_hostile_files import JSON

ROOT = Path(__file__).parents[2]
OURS = {
    "model/foreign_json.py": "the reader",
    "model/feature_levels.py": "a file of the package",
    "model/internal_records.py": "a file of the package",
    "embedded/config_definitions.py": "a file of the package",
    "embedded/spec.py": "a file of the package",
    "lake/kraft.py": "a file of the package",
    "lake/redact.py": "a file of the package",
    "lake/streams.py": "the settings that the driver of the same run gave",
    "lake/s3.py": "the loan that the driver of the same run wrote, for its user alone",
    "lake/transforms/change_event.py": "payloads that kraft.py wrote into bronze",
    "lake/requests/lines.py": "the fields that are counted of each line; whatever is read twice is bounded first",
    "lake/requests/pieces.py": "the objects of Docker's log: their fields stay text, whatever is in them",
}
"""Module that uses another JSON parser -> where its JSON comes from."""
PARSERS = {"json": ("loads", "load", "JSONDecoder"), "msgspec.json": ("decode", "Decoder")}
NAMED = re.compile(r"\b(?:load|loads|JSONDecoder|decode|Decoder)\b")
"""Words of which a file must contain one to use a JSON parser; other files are not searched further."""


def parsers_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the JSON parsers that a module imports, or uses as attributes of json or msgspec.json."""
    modules = dict(PARSERS)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if each.name in PARSERS.get(node.module or "", ()))
        elif isinstance(node, ast.Import):
            modules |= {each.asname: PARSERS[each.name] for each in node.names if each.asname and each.name in PARSERS}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in modules.get(ast.unparse(node.value), ()):
            yield node.attr


def test_every_reader_of_json_is_the_one_or_reads_our_own() -> None:
    folder = ROOT / "console"
    found = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if "json" in (text := path.read_text(encoding="utf-8")) and NAMED.search(text)
        if any(parsers_in(ast.parse(text)))
    }
    assert found == set(OURS)


@pytest.mark.parametrize(
    "code",
    [
        "import json\njson.loads(x)",
        "import json as j\nj.load(x)",
        "from json import loads\nloads(x)",
        "import msgspec\nmsgspec.json.decode(x)",
        "from msgspec.json import Decoder\nDecoder(int)",
        "import json\nread = json.loads",
    ],
)
def test_the_walk_finds_each_way_to_read_json(code: str) -> None:
    assert NAMED.search(code)
    assert list(parsers_in(ast.parse(code)))


def nested(levels: int, text: str = "1") -> str:
    return "[" * levels + text + "]" * levels


@given(JSON, st.integers(0, 2 * DEEPEST))
@example("]" * 300, 99)
@example('"[\\', DEEPEST)
def test_depth_is_that_of_the_brackets_outside_of_strings(inner: object, levels: int) -> None:
    text = nested(levels, json.dumps(inner))

    def depth(data: object) -> int:
        within = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        return max(map(depth, within), default=0) + isinstance(data, dict | list)

    real = levels + depth(inner)
    assert not deeper_than(text.encode(), real)
    assert real == 0 or deeper_than(text.encode(), real - 1)


@pytest.mark.parametrize("text", [nested(DEEPEST + 1), "[" * 100_000, '{"a":' * 500 + "1" + "}" * 500])
def test_the_bound_is_the_same_for_each_form_of_text(text: str) -> None:
    for form in (text, text.encode()):
        with pytest.raises(ValueError, match="too deep"):
            json_of(form)
        with pytest.raises(ValueError, match="too deep"):
            json_as(form, object)
    assert json_of(nested(DEEPEST)) == json_as(nested(DEEPEST), object)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"topic": "a", "topic": "b"}', "twice"),
        ("[" + "9" * 400 + "]", "too large a number"),
        ("-" + "1" * 309, "too large a number"),
        ("[NaN]", "no number"),
        ("1e999", "no number"),
        ("[1, 2, 3]", "more than 5 bytes"),
    ],
)
def test_what_parsers_read_differently_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        json_of(text, 5 if "bytes" in why else 1_000)


def test_digits_in_a_text_are_no_number() -> None:
    assert json_of(json.dumps(["1" * 5_000, 7])) == ["1" * 5_000, 7]


# -- deep lines, which once stopped the pipeline for ever --------------------------------------------------------------

AT = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("place", "levels"),
    [
        *(("in a change", levels) for levels in (DEEPEST + 1, 900, 990, 100_000)),
        *(("in what is skipped", levels) for levels in (DEEPEST + 1, 900, 990, 100_000)),
        *(("in a produce", levels) for levels in (DEEPEST + 1, 100_000)),
    ],
)
def test_a_deep_request_is_one_quarantined_line_and_the_others_count(place: str, levels: int) -> None:
    change = alter_configs([("retention.ms", 0, "1")], resource=(2, "t"), at=AT.replace(tzinfo=None)).line
    fetch = produce(100, at=AT.replace(tzinfo=None), principal="User:p").line
    line = fetch if place == "in a produce" else change
    of = '"isForwarded":' if place == "in what is skipped" else '"request":{'
    more = f'"x":{nested(levels)},'
    deep = line.replace(of, f"{more}{of}" if place == "in what is skipped" else f"{of}{more}")
    assert deep != line
    text = "\n".join([fetch.rstrip("\n"), deep.rstrip("\n"), change.rstrip("\n"), ""]).encode()
    rows = [row for batch in counted(Whose("c", 1, "f"), [(0, text)]) for row in batch.to_pylist()]
    assert sum(row["lines"] for row in rows) == 3
    bad = [row["quarantined"] for row in rows if row["quarantined"]]
    if place == "in a produce" and levels == DEEPEST + 1:
        assert not bad  # the parser that skips deep objects counts the line, and no other parser reads it
    else:
        assert [each["byte_pos"] for each in bad] == [len(fetch.rstrip("\n")) + 1]
        assert bad[0]["reason"] == TOO_DEEP
    assert len([row for row in rows if row["alter"]]) == 1


def test_another_parser_never_raises_what_nobody_catches() -> None:
    text = f'{{"requestHeader":{nested(990)}}}'
    assert altered(text, AT) == []


def test_a_deep_commit_names_its_file_and_notes_go_on_behind_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too deep"):
        Replayed("").commit(f'{{"x":{nested(5_000)}}}'.encode())
    known = Replayed("", ("a",))
    known.commit(f'{{"commitInfo":{{"x":{nested(5_000)}}}}}\n{{"remove":{{"path":"p"}}}}'.encode())
    assert known.columns == ("a",)
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version, info in enumerate(['{"a":1}', nested(5_000), '{"a":3}']):
        (log / f"{version:020}.json").write_text(f'{{"commitInfo":{info}}}\n')
    assert [each["version"] for each in commits(Filesystem(), str(tmp_path))] == [2, 0]


def test_msgspec_is_the_reader_of_forms() -> None:
    class Form(msgspec.Struct):
        at: int

    assert json_as('{"at": 1, "at": 2}', Form).at == 2
    with pytest.raises(ValueError, match="Expected `int`"):
        json_as('{"at": "1"}', Form)
