"""Tests of the Spark session: its settings, Delta's tables, and that all its processes end, whatever happens to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from console.lake.schema import DRIFT, REQUEST, Column, Table
from tests.support.children import Child
from tests.support.quick_spark import INTERPRETED, java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 120.0


def test_the_session_is_in_utc_and_on_loopback(spark: SparkSession) -> None:
    assert spark.sql("select string(timestamp '1970-01-01 00:00:00') t, hour(timestamp_seconds(0)) h").first() == (
        "1970-01-01 00:00:00",
        0,
    )
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"
    assert spark.conf.get("spark.authenticate") == "true"
    assert spark.range(10).repartition(5).groupBy("id").count().count() == 10


def test_tables_are_of_the_oldest_protocol(spark: SparkSession, tmp_path: Path) -> None:
    """The lake's Delta tables have no deletion vectors and no column mapping, so DuckDB can read their files as plain
    Parquet.
    """
    where = str(tmp_path / "table")
    for _ in range(2):
        spark.range(5).write.format("delta").mode("append").save(where)
    first = (tmp_path / "table/_delta_log" / f"{0:020}.json").read_text()
    actions = [json.loads(line) for line in first.splitlines()]
    protocol = next(each["protocol"] for each in actions if "protocol" in each)
    assert protocol == {"minReaderVersion": 1, "minWriterVersion": 2}
    settings = next(each["metaData"]["configuration"] for each in actions if "metaData" in each)
    assert settings["delta.checkpointInterval"] == "100"
    assert spark.read.format("delta").load(where).count() == 10


@pytest.mark.parametrize("table", [DRIFT, REQUEST], ids=lambda table: table.name)
def test_of_a_file_is_known_what_readers_ask(table: Table, spark: SparkSession, tmp_path: Path) -> None:
    """The statistics of a table's file have the least and greatest values of the columns by which readers search, and
    of no others: to compute them for all columns would take as long as the write.
    """
    where = tmp_path / "table"
    row = json.dumps({column.name: value_of(column) for column in table.columns})
    rows = spark.createDataFrame([(row,)], "row STRING").selectExpr(f"from_json(row, '{table.ddl}') made")
    rows.select("made.*").write.format("delta").save(str(where))
    log = (where / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    (stats,) = (json.loads(each["add"]["stats"]) for line in log if "add" in (each := json.loads(line)))
    known = stats["minValues"]
    assert known["cluster_id"]
    assert (known.get("second") or {"second": known.get("since")})["second"].startswith("2026-11-26")
    assert not known.keys() & {"alter", "quarantined", "severity"}


def value_of(column: Column) -> object:
    if column.of is not None:
        return {each.name: value_of(each) for each in column.of.columns}
    return "2026-11-26T01:00:00Z" if column.type == "timestamp" else "text" if column.type == "string" else 1


def test_a_vacuum_is_a_few_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A vacuum lists the directories of a table in a few tasks, not in the 10,000 of Spark's default."""
    where = tmp_path / "table"
    spark.range(5).write.format("delta").save(str(where))
    spark.sparkContext.setJobGroup("vacuum", "vacuum")
    try:
        spark.sql(f"VACUUM delta.`{where}` RETAIN 168 HOURS")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    stages = [
        spark.sparkContext.statusTracker().getStageInfo(stage)
        for job in spark.sparkContext.statusTracker().getJobIdsForGroup("vacuum")
        for stage in spark.sparkContext.statusTracker().getJobInfo(job).stageIds
    ]
    assert 0 < sum(stage.numTasks for stage in stages if stage is not None) < 100


def test_each_core_reads_a_part_of_many_rows_and_one_task_reads_few(spark: SparkSession, tmp_path: Path) -> None:
    """Several tasks read a million rows (8 MB), and one task reads a hundred rows of four files."""

    def tasks(rows: int, files: int) -> int:
        where = str(tmp_path / f"{rows}")
        spark.range(rows).selectExpr("rand(7) AS number").repartition(files).write.parquet(where)
        return spark.read.parquet(where).rdd.getNumPartitions()

    assert tasks(1 << 20, 4) > 1  # 8 MB
    assert tasks(100, 4) == 1


def test_settings_follow_the_size_of_a_batch(spark: SparkSession) -> None:
    from console.lake.spark import for_few_rows, for_many_rows

    named = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    try:
        for_many_rows(spark)
        assert [spark.conf.get(each) for each in named] == ["true", "FALLBACK"]
        assert "*(1)" in plan_of(spark)
    finally:
        for_few_rows(spark)
    assert [spark.conf.get(each) for each in named] == ["false", "NO_CODEGEN"]
    assert "*(1)" not in plan_of(spark)


def plan_of(spark: SparkSession) -> str:
    """Return the text of a small query's plan. Stages that Spark compiles are marked by asterisks in it."""
    frame = spark.range(10).selectExpr("id + 1 AS more").where("more > 3")
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_compiled_code_has_room(spark: SparkSession) -> None:
    """The Java of a session has at least 240 MB for compiled code. By default it has 48 MB if only one compiler runs,
    and a session needs more after some batches.
    """
    java: Any = spark._jvm
    pools = java.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    assert sum(each.getUsage().getMax() for each in pools if "Code" in each.getName()) >= 240 << 20


def test_a_sort_takes_little_memory(spark: SparkSession) -> None:
    """A page of a sort has at most 4 MB; by default it grows with the heap, up to 64 MB."""
    java: Any = spark._jvm
    assert java.org.apache.spark.SparkEnv.get().memoryManager().pageSizeBytes() <= 4 << 20


# -- sessions in separate processes ----------------------------------------------------------------------------------

START = """
import os, sys
from pathlib import Path
from console.collecting.gateway import NotStarted, session
from console.collecting.java import Group, spark_jars
from console.collecting.java import find_java
from tests.support.quick_spark import of_archive

folder = Path(sys.argv[1])
its = find_java(os.environ)
java = its.program
jars = spark_jars(os.environ, {Group.DELTA}, java)
settings = {"spark.master": "local[1]", "spark.local.dir": str(folder)}
options = [f"-Djava.io.tmpdir={folder}", *of_archive(its, jars)]

def started(more={}, **others):
    return session({**settings, **more}, **{"java": java, "jars": jars, "options": options, "log": log, **others})

log = open(folder / "spark.log", "ab")
"""


def run(script: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START + script, str(folder), *arguments]
    return subprocess.run(
        command, env=marked(folder), capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )


def marked(folder: Path) -> Mapping[str, str]:
    """Return an environment in which a variable marks the processes that a test starts."""
    return {**os.environ, "KAC_TEST_OF": str(folder)}


def left(folder: Path) -> list[str]:
    """Return the command lines of the processes that a test started with `marked` and that still run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"KAC_TEST_OF={folder}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text())
    return found


def wait_until_none_is_left(folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while them := left(folder):
        assert time.monotonic() < until, them
        time.sleep(0.05)


SECRET = "planted-7f2c9d41"
TWICE = """
def children():
    return "".join(each.read_text() for each in Path("/proc/self/task").glob("*/children")).split()

for number in range(2):
    try:
        with started({"spark.hadoop.fs.s3a.secret.key": "SECRET"}) as spark:
            hadoop = spark.sparkContext._jsc.hadoopConfiguration()
            found = [spark.range(7 + number).count(), hadoop.get("fs.s3a.secret.key")]
            [process] = children()
            seen = [Path("/proc", process, name).read_bytes() for name in ("cmdline", "environ")]
            files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
            print(found, len(files) > 1, any(b"SECRET" in each for each in (*seen, *files)))
            if number:
                raise LookupError("of the program")
    except LookupError as error:
        print(error)
    print(children())
""".replace("SECRET", SECRET)


@pytest.mark.slow
@pytest.mark.takes(15)
def test_a_secret_is_seen_nowhere_a_second_session_follows_and_an_error_ends_java(tmp_path: Path) -> None:
    done = run(TWICE, tmp_path)
    first, second = (f"[{count}, '{SECRET}'] True False" for count in (7, 8))
    assert done.stdout.splitlines() == [first, "[]", second, "of the program", "[]"], done.stderr
    assert done.returncode == 0
    assert SECRET not in (tmp_path / "spark.log").read_text()
    assert SECRET not in done.stderr
    wait_until_none_is_left(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("kac-")] == []


INTERRUPTED = """
import signal, threading, time

def reached(moment, child):
    return {
        "forked": lambda: True,
        "java": lambda: Path("/proc", child, "comm").read_text().strip() == "java",
        "connected": lambda: any(folder.glob("kac-java-*/gateway")),
    }[moment]()

def interrupt():
    while True:
        for thread in Path("/proc/self/task").glob("*/children"):
            for child in thread.read_text().split():
                if reached(sys.argv[2], child):
                    os.kill(os.getpid(), signal.SIGINT)
                    return
        time.sleep(0.001)

threading.Thread(target=interrupt, daemon=True).start()
try:
    with started():
        pass
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["forked", "java", "connected"])
def test_a_start_that_is_interrupted_leaves_no_process(moment: str, tmp_path: Path) -> None:
    done = run(INTERRUPTED, tmp_path, moment)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
    wait_until_none_is_left(tmp_path)


ENDLESS = """
with started() as spark:
    spark.range(1).mapInArrow(lambda batches: batches, "id long").count()
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_program_takes_java_with_it(tmp_path: Path) -> None:
    program = Child(
        [sys.executable, "-c", START + ENDLESS, str(tmp_path)],
        env=marked(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    assert len(left(tmp_path)) > 1
    program.send_signal(signal.SIGKILL)
    program.wait()
    wait_until_none_is_left(tmp_path)


NOT_STARTED = """
for program in (folder / "nothing", folder / "ends"):
    try:
        with started(java=program):
            pass
    except NotStarted as error:
        print(error)
"""


@pytest.mark.slow  # it fetches jars
def test_a_java_that_does_not_start_is_said(tmp_path: Path) -> None:
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    done = run(NOT_STARTED, tmp_path)
    first, second = done.stdout.splitlines()
    assert first == f"{tmp_path / 'nothing'}: No such file or directory", done.stderr
    assert second == "Java ended with 3 before Spark was there"


@pytest.mark.slow
@pytest.mark.takes(15)
def test_under_spark_submit_the_session_that_is_there_gets_the_settings(tmp_path: Path) -> None:
    from importlib.util import find_spec

    from console.collecting.executor_package import write_package
    from console.collecting.java import Group, find_java, spark_jars

    script = tmp_path / "script.py"
    script.write_text(
        "from console.lake.spark import session\n"
        "with session({}) as spark:\n"
        "    named = ('spark.sql.session.timeZone', 'spark.sql.shuffle.partitions', 'spark.master')\n"
        "    spark.range(3).write.format('delta').save('table')\n"
        "    print([spark.conf.get(each) for each in named], spark.read.format('delta').load('table').count())\n"
    )
    java = find_java(os.environ)
    jars = ",".join(map(str, spark_jars(os.environ, {Group.DELTA}, java.program)))
    package, _ = write_package(tmp_path / "kac-lake.zip")
    [spark] = find_spec("pyspark").submodule_search_locations  # type: ignore[union-attr,misc]
    submit = [str(Path(spark, "bin", "spark-submit")), "--master", "local[1]", "--jars", jars]
    submit += ["--driver-java-options", " ".join(java_options())]
    submit += [word for name, value in INTERPRETED.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [*submit, "--conf", "spark.sql.shuffle.partitions=3", "--py-files", str(package), str(script)],
        env={**marked(tmp_path), "PYSPARK_PYTHON": sys.executable, "SPARK_HOME": spark, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "['UTC', '3', 'local[1]'] 3", done.stderr
    wait_until_none_is_left(tmp_path)
