"""Tests of the class archive, by which Spark's Java starts faster: kac makes it from a recording of a session, uses it
if it fits the Java and the jars, and otherwise starts Spark without it.
"""

import os
import stat
from pathlib import Path

import pytest

from console.collecting import java as collecting_java

WRITES = """#!/bin/sh
for word do case "$word" in -XX:SharedArchiveFile=*) echo classes > "${word#*=}";; esac; done
"""
FAILS = "#!/bin/sh\necho '[1s][warning][cds] Signed JAR'\necho 'no room for it' >&2\nexit 1\n"
PATIENCE = 60.0


def java(folder: Path, script: str) -> collecting_java.Java:
    program = folder / "java"
    program.write_text(script)
    program.chmod(0o755)
    return collecting_java.Java(folder, "here", "17.0.1", program)


def archive(folder: Path, script: str = WRITES, jar_time: int = 1) -> collecting_java.Archive:
    (folder / "one.jar").write_bytes(b"")
    os.utime(folder / "one.jar", (jar_time, jar_time))
    return collecting_java.archive_of(
        {"XDG_CACHE_HOME": str(folder)}, java(folder, script), ["-cp", str(folder / "one.jar"), "-Xint"]
    )


def recorded(folder: Path) -> Path:
    recording = folder / "recording"
    recording.write_text("java/lang/Object\n")
    return recording


def made(folder: Path, jar_time: int = 1) -> collecting_java.Archive:
    its = archive(folder, jar_time=jar_time)
    process = collecting_java.begin(its, recorded(folder))
    assert process is not None
    assert process.wait(PATIENCE) == 0
    return its


def test_the_first_session_records_and_later_ones_use_what_was_made(tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    assert collecting_java.start_options(archive(tmp_path), recording) == [f"-XX:DumpLoadedClassList={recording}"]
    assert collecting_java.start_options(archive(tmp_path), None) == []
    its = made(tmp_path)
    assert collecting_java.start_options(its, recording) == [f"-XX:SharedArchiveFile={its.file}"]
    assert sorted(path.name for path in its.folder.iterdir()) == [its.file.name, its.digest.name]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (its.folder, its.file, its.digest)] == [0o700, 0o600, 0o600]


def test_another_java_or_jar_has_another(tmp_path: Path) -> None:
    before = archive(tmp_path)
    assert archive(tmp_path).key == before.key
    assert archive(tmp_path, jar_time=2).key != before.key
    archive(tmp_path)
    newer = collecting_java.Java(tmp_path, "here", "17.0.2", tmp_path / "java")
    assert collecting_java.archive_of({}, newer, before.options).key != before.key


@pytest.mark.parametrize("others", ["content", "link", "no digest"])
def test_one_that_is_not_as_it_was_made_is_not_used(others: str, tmp_path: Path) -> None:
    its = made(tmp_path)
    if others == "content":
        its.file.write_text("classes!")
    elif others == "link":
        its.file.rename(tmp_path / "elsewhere")
        its.file.symlink_to(tmp_path / "elsewhere")
    else:
        its.digest.unlink()
    assert not collecting_java.usable(its)
    assert collecting_java.usable(made(tmp_path))


def test_in_a_folder_that_others_may_change_none_is_used(tmp_path: Path) -> None:
    its = made(tmp_path)
    its.folder.parent.chmod(0o777)
    assert not collecting_java.usable(its)
    assert collecting_java.begin(its, recorded(tmp_path)) is None


def test_what_can_not_be_made_is_tried_once(tmp_path: Path) -> None:
    its = archive(tmp_path, FAILS)
    process = collecting_java.begin(its, recorded(tmp_path))
    assert process is not None
    assert process.wait(PATIENCE) == 0
    assert its.failure.read_text() == "no room for it\n"
    assert collecting_java.start_options(its, tmp_path / "recording") == []
    assert [path.name for path in its.folder.iterdir()] == [its.failure.name]


def test_those_of_other_jars_go_when_they_were_not_used(tmp_path: Path) -> None:
    old = made(tmp_path)
    its = made(tmp_path, jar_time=2)
    assert old.file.exists()
    os.utime(old.file, (1, 1))
    os.utime(old.digest, (1, 1))
    its.digest.unlink()
    its.classes.write_text("java/lang/Object\n")
    collecting_java.make(its)
    assert not old.file.exists()
    assert not old.digest.exists()
    assert collecting_java.usable(its)


def test_without_a_recording_nothing_is_begun(tmp_path: Path) -> None:
    assert collecting_java.begin(archive(tmp_path), tmp_path / "nothing") is None
