"""Tests of how the tests run: with a home folder of their own, without leaving child processes, and with a report if
Java is missing.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import collecting, kafka_jars, touched
from tests.support.cached_folder import cached_folder
from tests.support.children import Child, end_children
from tests.support.kafka_commands import KafkaCommands
from tests.support.patience import PATIENCE
from tests.support.real_clusters import running

TESTS = Path(__file__).resolve().parents[1]
INNER = """
import os
from pathlib import Path

def test_it():
    assert os.environ["HOME"] != {home!r}
    Path({target!r}).parent.mkdir(parents=True)
    Path({target!r}).write_text("x")
"""


def test_what_is_changed_in_the_users_home_fails_the_run(tmp_path: Path) -> None:
    home, target = tmp_path / "home", tmp_path / "home/.local/state/kac/journal/of.jsonl"
    # The file stands next to the tests, so that their conftest counts.
    inner = TESTS / "unit" / f"test_inner_{os.getpid()}.py"
    inner.write_text(INNER.format(home=str(home), target=str(target)))
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(inner)]
    try:
        done = subprocess.run(
            command, cwd=TESTS.parent, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    finally:
        inner.unlink()
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1
    assert "changed outside of the tests' own folders" in done.stdout
    assert str(target) in done.stdout


def test_a_child_that_nobody_waits_for_ends_with_the_test() -> None:
    child = Child([sys.executable, "-c", "import time; time.sleep(3600)"])
    assert child.poll() is None
    end_children()
    assert child.returncode == -9


def test_no_test_starts_a_program_in_another_way() -> None:
    wrong = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in TESTS.rglob("*.py")
        # These files start processes for several tests, and end them.
        if not path.relative_to(TESTS).as_posix().startswith(("support", "wire/record_frames.py"))
        if "Popen" in (text := path.read_text("utf-8")) or "create_subprocess_exec" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Popen", "create_subprocess_exec"))
    ]
    assert wrong == []


def test_a_slow_test_stands_in_a_file_that_runs_of_slow_tests_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "TESTS", tmp_path)
    files = {"unit/test_quick.py": "mark.slower", "unit/test_slow.py": "pytest.mark.slow", "broker/test_any.py": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [collecting.may_be_slow(tmp_path / name) for name in files] == [False, True, True]


def test_the_tests_of_a_change_are_those_that_are_about_it() -> None:
    for path, wanted in {
        "console/present/topics.py": "tests/unit/test_columns.py",
        "docs/operations.md": "tests/unit/test_pages.py",
        "tests/broker/test_rights.py": "tests/broker/test_rights.py",
        "console/plan/edits.py": "tests/unit/test_edit_kinds.py",
    }.items():
        assert (touched.ROOT / path).is_file()
        found, _ = touched.for_changes([path], touched.ROOT)
        assert wanted in found
    assert touched.for_changes(["console/xyzzy.py"], touched.ROOT) == ([], 0)
    assert all((touched.ROOT / test).is_file() for test in touched.ALWAYS)


def a_java(home: Path, version: str) -> Path:
    """Write a program that prints what a Java of this version prints, but has no compiler next to it; return its
    path.
    """
    command = home / "bin" / "java"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(("required", "ends"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_without_java_a_test_is_skipped_with_the_reason_or_fails(
    required: str,
    ends: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KAC_REQUIRE_BROKERS", required)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ends, match="no Java found: install Java 17 or newer"):
        next(running(KafkaCommands))
    assert (kafka_jars.main(["--java"]), kafka_jars.main()) == (0, 1)
    told = capsys.readouterr().out
    assert "without it the core will NOT RUN" in told
    assert "no brokers: no Java found" in told
    assert not list(tmp_path.iterdir())  # nothing was downloaded


@pytest.mark.parametrize(
    ("version", "is_fine"), [("1.8.0_402", False), ("11.0.2", False), ("17.0.15", True), ("21", True)]
)
def test_an_old_java_is_refused_by_name(
    version: str, is_fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = a_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if is_fine:
        assert kafka_jars.java() == str(command)
    else:
        with pytest.raises(kafka_jars.BrokersUnavailableError, match=f'too old.*"{version}"'):
            kafka_jars.java()


def test_without_a_compiler_only_what_compiles_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = a_java(tmp_path, "21")
    monkeypatch.delenv("KAC_REQUIRE_BROKERS", raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=f"{command} has no compiler: install a JDK"):
        KafkaCommands()
    kafka_jars.main(["--java"])
    assert "everything else runs" in capsys.readouterr().out
    command.with_name("javac").touch()
    assert kafka_jars.compiler() == str(command.with_name("javac"))


def test_a_cached_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "jars" / "1"

    def half(scratch: Path) -> None:
        (scratch / "a").touch()
        raise OSError("the line went dead")

    with pytest.raises(OSError, match="went dead"):
        cached_folder(folder, half)
    assert [path.name for path in folder.parent.iterdir()] == [".1.lock"]
    assert cached_folder(folder, lambda scratch: (scratch / "a").touch()) == folder
    assert cached_folder(folder, half) == folder
