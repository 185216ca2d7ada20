"""The archive of classes: whose it is, and what is kept of what Java writes."""

from __future__ import annotations

from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from console.lake import java as module
from console.lake.java import Java, archiving, class_archive, forget_archive


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


def test_a_java_that_can_not_archive_is_not_asked_twice(java: Java, jars: Path, tmp_path: Path) -> None:
    (java.home / "lib" / "server" / "classes.jsa").unlink()
    archive = class_archive(java, tmp_path)
    with archiving(archive, java, BytesIO()) as options:
        assert options == ()
    assert "-Xshare:dump failed" in archive.failed.read_text()
    forget_archive(archive)
    assert not archive.failed.exists()


@pytest.mark.parametrize(("left", "there"), [(b"\xa8\xab\x0b\xf0", True), (bytes(4), False), (None, False)])
def test_what_java_leaves_is_kept_where_it_is_whole(
    java: Java, jars: Path, tmp_path: Path, left: bytes | None, there: bool
) -> None:
    archive = class_archive(java, tmp_path)
    with archiving(archive, java, BytesIO()) as (option,):
        if left is not None:
            Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(left)
    assert (archive.there, archive.failed.is_file()) == (there, not there)
    assert {path.suffix for path in archive.file.parent.iterdir()} == {".jsa" if there else ".failed", ".lock"}


def test_an_interrupted_run_leaves_nothing(java: Java, jars: Path, tmp_path: Path) -> None:
    archive = class_archive(java, tmp_path)
    with suppress(KeyboardInterrupt), archiving(archive, java, BytesIO()) as (option,):
        Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"half of it")
        raise KeyboardInterrupt
    assert {path.suffix for path in archive.file.parent.iterdir()} == {".lock"}


def test_one_process_writes_it(java: Java, jars: Path, tmp_path: Path) -> None:
    archive = class_archive(java, tmp_path)
    with archiving(archive, java, BytesIO()) as (option,):
        with archiving(archive, java, BytesIO()) as others:
            assert others == ()
        assert not archive.failed.exists()
        Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"all of it")
    assert archive.there
