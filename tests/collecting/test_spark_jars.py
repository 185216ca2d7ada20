"""Tests of the jars for Spark: the table of them, the places where kac looks for them, and the jars that it refuses."""

import shutil
import stat
import sys
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

from console.cli import main as cli
from console.collecting import java as subject
from console.collecting.java import (
    FOLDER,
    Group,
    Jar,
    NoSpark,
    fetched_to_try,
    groups_of,
    jars_of,
    lacking_jars,
    spark_jars,
    table,
)

CONTENT = b"a jar"
ONE = Jar(Group.DELTA, "org.example", "one", "1.0", sha256(CONTENT).hexdigest())
NO_JAVA = Path("/nowhere/java")


@pytest.fixture(autouse=True)
def one_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "jars_of", lambda _: (ONE,))


def places(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": "/nowhere", **more}


def given(tmp_path: Path, content: bytes = CONTENT) -> dict[str, str]:
    """Write a jar with this content into a directory; return environment variables that name this directory."""
    (tmp_path / "given").mkdir(exist_ok=True)
    (tmp_path / "given" / ONE.file).write_bytes(content)
    return places(tmp_path, **{FOLDER: str(tmp_path / "given")})


def test_the_table_has_every_jar_once_and_none_of_sparks() -> None:
    whole = jars_of(set(Group))
    assert len({each.file for each in whole}) == len(whole)
    assert {each.of for each in whole} == set(Group)
    assert all(len(each.sha256) == 64 for each in whole)
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    own = {path.name for path in Path(spark, "jars").iterdir()}
    assert not {each.file for each in whole} & own


def test_delta_is_of_the_spark_that_is_installed() -> None:
    import pyspark

    delta = next(each for each in jars_of({Group.DELTA}) if each.name.startswith("delta-spark"))
    assert delta.name == f"delta-spark_{'.'.join(pyspark.__version__.split('.')[:2])}_2.13"
    assert {each.version for each in jars_of({Group.KAFKA}) if each.group == "org.apache.spark"} == {
        pyspark.__version__
    }


def test_a_line_of_the_table() -> None:
    assert table(f"# what it is\ndelta org.example:one:1.0 {ONE.sha256}\n") == (ONE,)


def test_what_a_lake_needs() -> None:
    assert groups_of("/lake", topics=False) == {Group.DELTA}
    assert groups_of("s3a://bucket/lake", topics=False) == {Group.DELTA, Group.S3}
    assert groups_of("/lake", topics=True) == {Group.DELTA, Group.KAFKA}


def test_a_folder_that_has_them_is_copied_once(tmp_path: Path) -> None:
    environ = given(tmp_path)
    assert lacking_jars(environ, {Group.DELTA}) == (ONE,)
    [path] = spark_jars(environ, {Group.DELTA}, NO_JAVA)
    assert path.read_bytes() == CONTENT
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    shutil.rmtree(tmp_path / "given")
    assert spark_jars(environ, {Group.DELTA}, NO_JAVA) == (path,)


@pytest.mark.parametrize("others", ["content", "link"])
def test_one_that_was_changed_is_fetched_again(others: str, tmp_path: Path) -> None:
    environ = given(tmp_path)
    [path] = spark_jars(environ, {Group.DELTA}, NO_JAVA)
    if others == "content":
        path.write_bytes(b"another")
    else:
        path.unlink()
        path.symlink_to(tmp_path / "given" / ONE.file)
    assert spark_jars(environ, {Group.DELTA}, NO_JAVA) == (path,)
    assert not path.is_symlink()
    assert path.read_bytes() == CONTENT


def test_another_content_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoSpark, match=r"one-1\.0\.jar .*is not the file that kac was tested with"):
        spark_jars(given(tmp_path, b"another"), {Group.DELTA}, NO_JAVA)
    assert list((tmp_path / "cache/kac/spark-jars").iterdir()) == []


def test_where_there_is_no_way_to_them_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoSpark, match=rf"1 of 1 jars .*by Spark's Ivy.*one-1\.0\.jar; {NO_JAVA}: No such.*{FOLDER}"):
        spark_jars(places(tmp_path), {Group.DELTA}, NO_JAVA)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoSpark, match=rf"{FOLDER}={tmp_path}/empty\): one-1\.0\.jar; No such file"):
        spark_jars(places(tmp_path, **{FOLDER: str(tmp_path / "empty")}), {Group.DELTA}, NO_JAVA)


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    environ = given(tmp_path)
    folder = tmp_path / "cache/kac/spark-jars"
    folder.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoSpark, match="it is a link, or another user may write where it is"):
        spark_jars(environ, {Group.DELTA}, NO_JAVA)
    folder.unlink()
    folder.parent.chmod(0o777)
    with pytest.raises(NoSpark, match="another user may write"):
        spark_jars(environ, {Group.DELTA}, NO_JAVA)


MAVEN = """#!/bin/sh
for word do case "$word" in -DoutputDirectory=*) printf 'a jar' > "${word#*=}/one-1.0.jar";; esac; done
"""
IVY = """#!/bin/sh
for word do case "$word" in */\\[artifact\\]*) printf 'a jar' > "${word%/*}/one-1.0.jar";; esac; done
"""


@pytest.mark.parametrize(("maven", "java"), [(MAVEN, "#!/bin/sh\nexit 1"), ("#!/bin/sh\nexit 1", IVY), (None, IVY)])
def test_maven_fetches_them_and_ivy_where_it_can_not(maven: str | None, java: str, tmp_path: Path) -> None:
    for name, script in (("mvn", maven), ("java", java)):
        if script is not None:
            (tmp_path / name).write_text(script)
            (tmp_path / name).chmod(0o755)
    [path] = spark_jars(places(tmp_path, PATH=str(tmp_path)), {Group.DELTA}, tmp_path / "java")
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]


def test_the_way_to_the_jars_is_tried_by_one_of_them_of_which_nothing_stays(tmp_path: Path) -> None:
    assert fetched_to_try(given(tmp_path), ONE, NO_JAVA) == ""
    assert not (tmp_path / "cache").exists()
    assert "one-1.0.jar" in fetched_to_try(places(tmp_path, **{FOLDER: "/nowhere"}), ONE, NO_JAVA)


def test_without_spark_there_is_no_ivy_and_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If pyspark is not installed, kac says that Spark is not installed, and does not fail with a traceback."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert "Spark is not installed" in fetched_to_try(places(tmp_path, PATH=str(tmp_path)), ONE, NO_JAVA)


def test_a_repository_whose_certificate_is_not_trusted_is_said_as_that(tmp_path: Path) -> None:
    """If the TLS certificate of a repository is not trusted, kac's message says so, although Ivy prints UNRESOLVED
    first, as for any jar that it does not find.
    """
    java = tmp_path / "java"
    java.write_text(
        "#!/bin/sh\necho ':::: WARNINGS'\necho 'UNRESOLVED DEPENDENCIES'\n"
        "echo 'Server access error (javax.net.ssl.SSLHandshakeException: PKIX path building failed)'\nexit 1\n"
    )
    java.chmod(0o755)
    with pytest.raises(NoSpark, match=r"TLS failed, as this Java does not trust .*PKIX path building failed"):
        spark_jars({**places(tmp_path), "PATH": "/nowhere"}, {Group.DELTA}, java)


def test_the_demo_asks_for_the_jars_before_it_deletes_and_makes_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv(FOLDER, str(tmp_path / "nothing"))
    former = tmp_path / "lake"
    former.mkdir()
    (former / "kept").touch()
    assert cli.run(["lake", "demo", "--lake", str(former)]) == 1
    assert "one-1.0.jar" in capsys.readouterr().err
    assert [each.name for each in former.iterdir()] == ["kept"]
