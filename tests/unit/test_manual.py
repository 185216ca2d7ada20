"""The man page is the latest; a half-typed line wants what it should; bash completes with our script."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.cli import COMMANDS
from console.manual.complete import _split, _taken, candidates
from console.manual.completion import SCRIPTS
from console.manual.page import page
from console.manual.parsers import commands, help_of
from console.manual.words import Kind, wanted

ROOT = Path(__file__).parents[2]


def test_the_page_is_fresh() -> None:
    fresh = (ROOT / "docs" / "kac.1").read_text(encoding="utf-8") == page()
    assert fresh, "run: python -m console.manual.page > docs/kac.1"


def test_the_page_has_every_command_with_every_option() -> None:
    text = page().replace("\\-", "-")
    for command in commands():
        assert f".SS kac {command.name}\n" in text
        for option in help_of(command).options:
            assert all(name in text for name in option.names)
    assert "__complete" not in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed (Debian: apt install groff)")
def test_groff_has_nothing_against_it() -> None:
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the admin console for Apache Kafka" in done.stdout


@pytest.mark.parametrize(
    ("line", "kind", "start", "typed"),
    [
        ("", Kind.LISTED, "", ""),
        ("to", Kind.LISTED, "", "to"),
        ("-c pr", Kind.CONTEXT, "", "pr"),
        ("-b h:1 topics --to", Kind.LISTED, "", "--to"),
        ("topics --topic a", Kind.TOPIC, "", "a"),
        ("topics --topic=a", Kind.TOPIC, "--topic=", "a"),
        ("topics --create --config ret", Kind.ASSIGNMENT, "", "ret"),
        ("topics --create --config retention.ms=5", Kind.NOTHING, "", "retention.ms=5"),
        ("configs --add-config a=b,c=d,re", Kind.ASSIGNMENT, "a=b,c=d,", "re"),
        ("configs --delete-config a,b", Kind.KEY, "a,", "b"),
        ("configs --entity-type users --entity-name a", Kind.USER, "", "a"),
        ("configs --entity-name a", Kind.NOTHING, "", "a"),
        ("configs --entity-type ", Kind.LISTED, "", ""),
        ("configs --add-config-file x", Kind.FILE, "", "x"),
        ("run -f x", Kind.FILE, "", "x"),
        ("acls --add --allow-principal User:", Kind.PRINCIPAL, "", "User:"),
        ("nothing --topic a", Kind.NOTHING, "", "a"),
    ],
)
def test_what_is_wanted(line: str, kind: Kind, start: str, typed: str) -> None:
    found = wanted(line.split(" "))
    assert (found.kind, found.start, found.typed) == (kind, start, typed)


def test_words_that_are_listed() -> None:
    assert candidates(["snap"]) == [("snapshot", "print the whole state as JSON")]
    assert [text for text, _ in candidates(["completion", ""])] == list(SCRIPTS)
    assert [text for text, _ in candidates(["topics", "--output=c"])] == ["--output=csv"]
    assert [text for text, _ in candidates(["configs", "--entity-type", "broker"])] == ["brokers", "broker-loggers"]
    assert "--if-not-exists" in [text for text, _ in candidates(["topics", "--"])]
    assert [text for text, _ in candidates(["quotas", "--user", "a", "--add-config", "pro"])] == ["producer_byte_rate="]
    names = [text for text, _ in candidates([""])]
    assert names == [command.name for command in COMMANDS if not command.name.startswith("_")]


@given(st.lists(st.text(alphabet="ab-=:'\" ", max_size=6), max_size=4))
def test_any_line_is_split_and_nothing_is_lost(words: list[str]) -> None:
    found = _split(" ".join(["kac", *words]))
    assert found
    assert 0 <= _taken(found[-1], "b") <= len(found[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words", "reply"),
    [
        ("kac snap", ["kac", "snap"], ["snapshot"]),
        ("kac topics --output=c", ["kac", "topics", "--output", "=", "c"], ["csv"]),
        ("kac topics --output=", ["kac", "topics", "--output", "="], ["table", "json", "yaml", "csv"]),
        ("kac configs --entity-type gr", ["kac", "configs", "--entity-type", "gr"], ["groups"]),
        (
            "kac quotas --alter --user a --add pro",
            ["kac", "quotas", "--alter", "--user", "a", "--add", "pro"],
            ["producer_byte_rate="],
        ),
        ("kac run -f console/cl", ["kac", "run", "-f", "console/cl"], ["console/cli.py"]),
    ],
)
def test_bash_completes(line: str, words: list[str], reply: list[str]) -> None:
    """With bash itself, which parts words at = and : in its own way."""
    script = f"""
        kac() {{ {sys.executable} -m console "$@"; }}
        source /dev/stdin <<'EOF_SCRIPT'
{SCRIPTS["bash"]}
EOF_SCRIPT
        COMP_LINE=$1; COMP_POINT=${{#1}}; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
        compopt() {{ :; }}
        _kac
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", line, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert (done.stdout.split(), done.stderr) == (reply, "")
