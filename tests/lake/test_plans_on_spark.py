"""Tests of Spark's plans: the rows are computed and written by tasks of executors, not by the driver, and Spark's event
log contains no secret.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import console.lake
from console.lake.lake import Lake
from console.lake.schema import DRIFT, POLICY_VIOLATION, TABLES
from tests.lake.lake_tables import held
from tests.lake.small_site import KEY, PASSWORD
from tests.lake.two_lakes import Json, TwoLakes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOM = Path(*console.lake.__path__)
TO_THE_DRIVER = {"collect", "toArrow", "toPandas", "toLocalIterator", "createDataFrame"}
NO_SECOND_ENGINE = {"multiprocessing", "concurrent", "duckdb", "threading", "asyncio", "subprocess"}
KEYS_OF_GIVEN = {
    "cluster_id",
    "entity_type",
    "entity_key",
    "entity_id",
    "name",
    "since",
    "since_1970",
    "first",
    "bound",
}
"""The columns of data frames that the driver may supply: keys, and times that limit them."""
SECOND_SESSION = pytest.mark.xdist_group("spark-two")
_GIVEN = re.compile(r"\(\d+\) LocalTableScan[^\n]*\nOutput \[\d+\]: \[([^\]]*)\]")


def trees(*names: str) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOM.rglob("*.py")):
        name = path.relative_to(ROOM).as_posix()
        if not names or name in names:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_rows_come_to_the_driver_and_from_it_in_one_module() -> None:
    found = {
        (name, node.func.attr)
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TO_THE_DRIVER
    }
    assert found == {("tables.py", "collect"), ("tables.py", "createDataFrame")}


def test_no_second_engine_makes_rows() -> None:
    names = ("plans.py", "streams.py", "gold.py", "landing.py", "clocks.py", "tables.py")
    read = [
        (name, node)
        for name, tree in trees(*names)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert {name for name, _ in read} == set(names)
    for name, node in read:
        found = [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        assert not {each.partition(".")[0] for each in found} & NO_SECOND_ENGINE, name
        assert not any(each.startswith("console.lake.delta_log") for each in found), name


# -- an update in Spark's event log ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def updated(two: TwoLakes) -> Lake:
    """Provide a lake after two updates: one with all data of a new lake, and one with a few changes."""
    while two.watched < 2:
        two.go_on(1 + 2 * (not two.watched))
        two.update(two.calm)
    two.update(two.calm)  # an earlier test may have added rounds
    assert two.site.problems(two.calm) == []
    return two.calm


@pytest.fixture(scope="module")
def events(updated: Lake, two: TwoLakes) -> list[Json]:
    """Provide the events that Spark logged during the updates."""
    assert updated is two.calm
    return two.log.events()


def plans(events: list[Json], lake: Lake) -> dict[int, str]:
    """Return execution id -> the final physical plan as text, for the executions that read or write the lake's data."""
    found = {
        each["executionId"]: each["physicalPlanDescription"] for each in events if "physicalPlanDescription" in each
    }
    return {number: plan for number, plan in found.items() if f"{lake.where}/data/" in plan}


@SECOND_SESSION
def test_the_rows_of_every_table_are_written_by_tasks(updated: Lake, events: list[Json]) -> None:
    """Tasks of the lake's streams wrote as many rows to each table as Delta's log says that were added."""
    streams = {json.loads(path.read_text())["id"] for path in Path(updated.where).glob("checkpoints/*/metadata")}
    assert len(streams) == 6
    stages = {
        stage
        for event in events
        if event["Event"] == "SparkListenerJobStart" and event["Properties"].get("sql.streaming.queryId") in streams
        for stage in event["Stage IDs"]
    }
    written = sum(
        event["Task Metrics"]["Output Metrics"]["Records Written"]
        for event in events
        if event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages and event.get("Task Metrics")
    )
    of_streams = [table for table in TABLES.values() if table not in (DRIFT, POLICY_VIOLATION)]
    by_table = {
        table.name: sum(
            int((commit.get("operationMetrics") or {}).get("numOutputRows", 0)) for commit in updated.commits(table)
        )
        for table in of_streams
    }
    assert all(by_table.values()), by_table
    assert written == sum(by_table.values()), by_table


@SECOND_SESSION
def test_no_plan_has_rows_of_the_driver_but_keys(updated: Lake, events: list[Json]) -> None:
    mine = plans(events, updated)
    assert len(mine) > 5
    outputs = [each for plan in mine.values() for each in _GIVEN.findall(plan)]
    assert outputs, "the driver gives keys, and its frames are found"
    columns = {name.partition("#")[0].strip() for each in outputs for name in each.split(",")}
    assert columns <= KEYS_OF_GIVEN, columns


@SECOND_SESSION
def test_plans_of_few_rows_are_not_compiled(updated: Lake, events: list[Json]) -> None:
    """Spark does not compile plans that have few rows: neither those of a source, nor those of a whole small cluster in
    a new lake.
    """
    assert not [plan for plan in plans(events, updated).values() if "[codegen id" in plan]


@SECOND_SESSION
def test_no_secret_is_in_what_spark_and_delta_write(
    updated: Lake, events: list[Json], spark: SparkSession, spark_folder: Path
) -> None:
    assert PASSWORD.encode() in next(Path(updated.where).parent.glob("site/data/*/*.log")).read_bytes()
    java: Any = spark._jvm
    process = java.java.lang.ProcessHandle.current().pid()
    planted = (KEY, KEY.hex().encode(), PASSWORD.encode(), PASSWORD.encode().hex().encode())
    places = {
        "Java's arguments": Path(f"/proc/{process}/cmdline").read_bytes(),
        "the settings": repr(spark.sparkContext.getConf().getAll()).encode(),
        **{str(path): path.read_bytes() for path in files_of(spark_folder)},
        **{str(path): path.read_bytes() for path in files_of(Path(updated.where)) if path.name != "hmac.key"},
    }
    assert any("/events/" in name for name in places)
    assert any("/checkpoints/" in name for name in places)
    assert any("/_delta_log/" in name for name in places)
    assert not [(name, secret) for name, content in places.items() for secret in planted if secret in content]
    assert PASSWORD not in repr([held(updated, name) for name in TABLES])


def files_of(folder: Path) -> Iterator[Path]:
    """Yield all files in a directory and below, except jars and checksums. A file that Spark deletes during the listing
    is skipped.
    """
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in (".jar", ".crc"):
            yield path
