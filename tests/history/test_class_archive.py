"""The archive of classes: whose it is, and what is done where it can't be built."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from console.lake import java as module
from console.lake.java import Java, build_archive, class_archive, forget_archive
from console.lake.spark_session import Notice, archived, java_options


@pytest.fixture
def java(tmp_path: Path) -> Java:
    """One that has an archive of its own, and ends at once."""
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "classes.jsa").touch()
    program = home / "bin" / "java"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    return Java(home, "here", "17.0.1", program)


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "a.jar").write_text("a")
    monkeypatch.setattr(module, "_jars", lambda: folder.glob("*.jar"))
    return folder


def test_it_belongs_to_a_java_and_its_jars(java: Java, jars: Path, tmp_path: Path) -> None:
    first = class_archive(java, tmp_path)
    assert first == class_archive(java, tmp_path)
    assert first.base is None
    (jars / "b.jar").write_text("b")
    second = class_archive(java, tmp_path)
    other = class_archive(Java(java.home, "here", "17.0.2", java.program), tmp_path)
    assert len({first.file, second.file, other.file}) == 3
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    alone = class_archive(java, tmp_path)
    assert alone.base is not None
    assert alone.java_options[0] == f"-XX:SharedArchiveFile={alone.base}:{alone.file}"


def test_one_that_can_not_be_built_is_said_once(java: Java, jars: Path, tmp_path: Path) -> None:
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    said: list[Notice] = []
    assert java_options(java, environ, None, said.append) == ()
    assert "could not be archived" in said[-1].text
    archive = class_archive(java, tmp_path / "kac")
    assert "-Xshare:dump failed" in archive.failed.read_text()
    assert [path.suffix for path in archive.file.parent.iterdir() if "new" in path.suffix] == []
    said.clear()
    assert not archived(java, environ, said.append).there
    assert said == []
    forget_archive(archive)
    assert not archive.failed.exists()


def test_nobody_waits_for_another_who_builds(java: Java, jars: Path, tmp_path: Path) -> None:
    archive = class_archive(java, tmp_path)
    archive.file.parent.mkdir(parents=True)
    with archive.file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert build_archive(archive, java, os.environ) == "another process is building it"
    assert not archive.failed.exists()


@pytest.mark.parametrize(("read", "small"), [(None, False), (1, True), (1 << 40, False)])
def test_what_is_there_is_used(java: Java, jars: Path, tmp_path: Path, read: int | None, small: bool) -> None:
    archive = class_archive(java, tmp_path / "kac")
    archive.file.parent.mkdir(parents=True)
    archive.file.touch()
    options = java_options(java, {"XDG_CACHE_HOME": str(tmp_path)}, read, lambda _: None)
    assert f"-XX:SharedArchiveFile={archive.file}" in options
    assert ("-XX:TieredStopAtLevel=1" in options) == small
