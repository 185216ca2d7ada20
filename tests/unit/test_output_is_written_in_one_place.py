"""Tests that only `console.terminal` writes to a terminal, and that the rest of the product contains no call that
could.
"""

import ast
import csv
import io
import json
import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from console.answers.data_forms import csv_cell, csv_text, yaml_text
from console.embedded.cluster_command import Indented
from console.log_file import WithoutSecrets
from console.model.numbers import json_text
from console.terminal import Harmless, for_clipboard, harmless
from tests.support.hostile_text import HOSTILE, acted_upon

ROOT = Path(__file__).parents[2]
WRITER = ROOT / "console" / "terminal.py"
ON_EXECUTORS = ROOT / "console" / "lake"
"""The package that runs on Spark's executors, without the rest of the product and without a terminal, so that it is
exempt.
"""
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
ASKED_ONLY = {"isatty", "fileno", "encoding", "errors"}
CALLS = {"print", "input", "getpass", "basicConfig", "write_through", "print_formatted_text", "print_exc"}
FORMATTERS = {"Formatter"}
NAMED = re.compile(rf"\b(?:{'|'.join(STREAMS | CALLS | FORMATTERS)}|warn|os\.write)\b")
"""Words of which a file must contain one to write to a terminal; other files are not searched further."""


def sources() -> list[Path]:
    found = [path for room in ("console", "widgets", "themes") for path in sorted((ROOT / room).rglob("*.py"))]
    assert WRITER in found
    return [path for path in found if path != WRITER and ON_EXECUTORS not in path.parents]


def bypasses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    asked = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ASKED_ONLY}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in STREAMS and id(node) not in asked:
                yield node.lineno, f"sys.{name}"
            case ast.ImportFrom(module="sys", names=names) if STREAMS & {each.name for each in names}:
                yield node.lineno, "from sys import …"
            case ast.ImportFrom(module="getpass", names=names) if "getpass" in {each.name for each in names}:
                yield node.lineno, "getpass"
            case ast.Call(func=ast.Name(id=name)) if name in CALLS | FORMATTERS:
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id="logging" | "traceback" | "warnings"))) if (
                name in CALLS | FORMATTERS | {"warn"}
            ):
                yield node.lineno, f"logging.{name}"
            case ast.Call(func=ast.Attribute(attr="write", value=ast.Name(id="os")), args=[ast.Constant(), *_]):
                yield node.lineno, "os.write"


HANDLED = {
    ("console/embedded/cluster_command.py", "logging.basicConfig"),  # with a handler whose formatter is kac's
    ("console/terminal.py", "sys.stdout"),  # prepares the streams, and writes nothing
    ("console/terminal.py", "sys.stderr"),
    ("console/contexts/configured.py", "sys.stderr"),  # checks whether it is a terminal
    ("console/cli/screen.py", "sys.stdout"),  # checks whether they are terminals
    ("console/cli/screen.py", "sys.stderr"),
}


def test_nothing_writes_around_the_writer_and_asking_a_stream_is_no_way() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sources()
        if NAMED.search(text := path.read_text(encoding="utf-8"))
        for line, what in bypasses(ast.parse(text))
        if (str(path.relative_to(ROOT)), what) not in HANDLED
    ]
    assert found == []
    assert not list(bypasses(ast.parse("import sys; sys.stdout.isatty(); sys.stderr.fileno()")))


@pytest.mark.parametrize(
    "code",
    [
        "print('x')", "import sys; sys.stdout.write('x')", "import sys; out = sys.stderr", "from sys import stdout",
        "from getpass import getpass", "import logging; logging.Formatter('x')", "import os; os.write(1, b'x')",
        "import sys; json.dump({}, sys.__stdout__)",
    ],
)  # fmt: skip
def test_a_way_around_is_seen(code: str) -> None:
    assert NAMED.search(code)
    assert list(bypasses(ast.parse(code)))


hostile = st.text(st.characters(), max_size=30) | st.sampled_from(HOSTILE)


@given(st.lists(hostile, max_size=4))
def test_what_is_written_has_lines_and_nothing_that_acts(texts: list[str]) -> None:
    out = io.StringIO()
    Harmless(out).write("\n".join(texts))
    assert acted_upon(out.getvalue()) == ""
    assert harmless(out.getvalue()) == out.getvalue()


@pytest.mark.parametrize("kind", [WithoutSecrets, Indented])
@given(hostile, hostile)
def test_a_record_of_the_log_can_not_look_like_two(kind: type[logging.Formatter], message: str, error: str) -> None:
    formatter = kind("%(asctime)s %(levelname)s %(name)s: %(message)s")
    forged = f"{message}\n2026-01-01 00:00:00,000 INFO console: all is well"
    try:
        raise ValueError(f"{error}\n2026-01-01 00:00:00,000 INFO console: all is well")
    except ValueError as raised:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "%s", (forged,), (ValueError, raised, None))
    written = formatter.format(record)
    assert acted_upon(written) == ""
    first, *others = written.split("\n")
    assert "ERROR x: " in first
    assert all(line.startswith("    ") for line in others)


@given(hostile)
def test_what_is_pasted_is_harmless(text: str) -> None:
    assert acted_upon(for_clipboard(text)) == ""
    assert not for_clipboard(text + "\n").endswith("\n")


values = hostile | st.integers() | st.booleans() | st.none()
data = st.recursive(
    values, lambda of: st.lists(of, max_size=3) | st.dictionaries(hostile, of, max_size=3), max_leaves=8
)


@given(data)
def test_yaml_and_json_read_back_and_show_all_that_is_in_them(given_: object) -> None:
    text = yaml_text(given_)
    assert acted_upon(text) == ""
    assert harmless(text) == text
    assert yaml.safe_load(text) == given_
    text = json.dumps(given_, indent=2)
    assert harmless(text) == text
    assert json.loads(text) == given_


def test_what_stands_twice_is_no_alias() -> None:
    twice = ["x"]
    assert yaml_text([twice, twice]) == "- - x\n- - x\n"


def refused(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def finite(data: object) -> object:
    """Return the data with each infinite number and NaN replaced by its text, as in kac's JSON."""
    match data:
        case float():
            return data if math.isfinite(data) else str(data)
        case list():
            return [finite(each) for each in data]
        case dict():
            return {key: finite(value) for key, value in data.items()}
    return data


@given(
    st.recursive(
        values | st.floats(),
        lambda of: st.lists(of, max_size=3) | st.dictionaries(hostile, of, max_size=3),
        max_leaves=8,
    )
)
def test_json_is_json_whatever_a_number_is(given_: object) -> None:
    assert json.loads(json_text(given_), parse_constant=refused) == finite(given_)


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_json_has_not_reads_back(number: float) -> None:
    (text,) = json.loads(json_text((number,)), parse_constant=refused)
    assert repr(float(text)) == repr(number)
    assert json.loads(json_text({number: {"x": number}}), parse_constant=refused) == {str(number): {"x": str(number)}}


JSON_WRITERS = {"dump", "dumps", "JSONEncoder"}


def json_writers(source: str) -> Iterator[int]:
    if not any(name in source for name in JSON_WRITERS):
        return
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="json"), attr=name) if name in JSON_WRITERS:
                yield node.lineno
            case ast.ImportFrom(module="json", names=imported) if JSON_WRITERS & {each.name for each in imported}:
                yield node.lineno


def test_json_is_written_by_one_function() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "console").rglob("*.py"))
        if path != ROOT / "console" / "model" / "numbers.py"
        for line in json_writers(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert list(json_writers("import json\njson.dumps(1)\nfrom json import dump")) == [3, 2]


@given(st.lists(st.lists(hostile, min_size=2, max_size=2), max_size=4))
def test_csv_has_a_line_for_each_row_and_no_formulas(rows: list[list[str]]) -> None:
    text = csv_text(rows)
    assert acted_upon(text) == ""
    assert harmless(text) == text
    assert text.count("\n") == len(rows)
    for cell in (cell for row in csv.reader(io.StringIO(text)) for cell in row):
        assert cell[:1] not in ("=", "@", "\uff1d", "\uff20", "\t", "\r")
        if cell[:1] in ("+", "-"):
            float(cell)


@pytest.mark.parametrize("number", ["-1", "+1", "-1.5", "-1e9", "0", "-.5", "104857600", "-9223372036854775808"])
def test_a_number_stays_one(number: str) -> None:
    assert csv_cell(number) == number


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"), ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)"), ("+a", "'+a"),
        ("\t=1", "'\\t=1"), ("\r=1", "'\\r=1"), ("-", "'-"), ("-Infinity", "'-Infinity"), ("\uff1d1", "'\uff1d1"),
        ("a=1", "a=1"), ("", ""), ("a\x1b[2J\nb", "a\\x1b[2J\\nb"), ("-1\n", "'-1\\n"),
    ],
)  # fmt: skip
def test_what_a_spreadsheet_would_run_is_text(text: str, cell: str) -> None:
    assert csv_cell(text) == cell
