"""Where brokers cannot run, the tests say why; where they have to run, that is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cached_folder import cached_folder
from tests.support.kafka_commands import KafkaCommands
from tests.support.kafka_jars import BrokersUnavailableError, compiler, coordinates, java, main
from tests.support.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
BROKER_TEST = "tests/broker/test_harness.py::test_every_broker_sees_all_three"


def run_broker_test(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("KAC_", "JAVA_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", BROKER_TEST]
    return subprocess.run(
        command, env=clean | environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def test_without_java_broker_tests_are_skipped_with_the_reason_shown(tmp_path: Path) -> None:
    done = run_broker_test(PATH=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "no Java found: install Java 17 or newer" in done.stdout


def test_where_brokers_are_required_the_lack_of_java_fails(tmp_path: Path) -> None:
    done = run_broker_test(PATH=str(tmp_path), KAC_REQUIRE_BROKERS="1")
    assert done.returncode == 1
    assert "KAC_REQUIRE_BROKERS=1, but no Java found" in done.stdout


def a_jre(home: Path, version: str) -> Path:
    """What answers as a Java of this version, without a compiler beside it."""
    command = home / "bin" / "java"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    command.chmod(0o755)
    return command


@pytest.mark.parametrize(
    ("version", "fine"), [("1.8.0_402", False), ("11.0.2", False), ("17.0.15", True), ("21", True)]
)
def test_an_old_java_is_refused_by_name(
    version: str, fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = a_jre(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if fine:
        assert java() == str(command)
    else:
        with pytest.raises(BrokersUnavailableError, match=f'too old.*"{version}"'):
            java()


def test_without_a_compiler_only_what_compiles_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = a_jre(tmp_path, "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.delenv("KAC_REQUIRE_BROKERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"{command} has no compiler: install a JDK"):
        KafkaCommands()
    said = subprocess.run(
        [sys.executable, "-m", "tests.support.kafka_jars", "--java"], cwd=ROOT, capture_output=True, text=True,
        check=True, timeout=PATIENCE,
    ).stdout  # fmt: skip
    assert "has no compiler" in said
    assert "everything else runs" in said
    command.with_name("javac").touch()
    assert compiler() == str(command.with_name("javac"))


def test_without_java_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert main() == 1
    assert "no brokers: JAVA_HOME" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_each_kafka_gets_the_logging_that_it_can_use() -> None:
    assert [artifact.split(":")[1] for artifact in coordinates("4.3.0")][2:] == ["log4j-slf4j-impl"]
    assert [artifact.split(":")[1] for artifact in coordinates("3.9.1")][2:] == ["slf4j-reload4j", "reload4j"]


def test_a_kafka_that_was_published_without_tools_is_its_brokers_alone() -> None:
    assert [artifact.split(":")[1] for artifact in coordinates("4.4.0")] == ["kafka_2.13", "log4j-slf4j-impl"]


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
    assert (folder / "a").exists()
