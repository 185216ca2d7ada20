"""A build makes each table once, the same again, and nothing of it holds where a step fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from console.history.jobs.build import build
from console.history.jobs.progress import Progress
from console.history.schema import KRAFT_RECORD, TABLES
from console.history.store import Lake, LakeError
from console.history.store.write import writing
from tests.history.lake_rows import arrow_rows, no_spark, rows_of, snapshot_rows


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake.create(str(tmp_path / "lake"))
    with writing(made, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(200, days=3))
        write.commit()
    return made


def test_builds_each_table_once_and_again_the_same(lake: Lake) -> None:
    told: list[Progress] = []
    tables = ("change_event", "history")
    report = build(no_spark, lake, tables, told.append)
    assert report.rows == {"change_event": 200, "history": 200}
    made = {table: rows_of(lake, table) for table in tables}
    assert [row[3] for row in made["history"]] == ["retention.ms"] * 200
    held = lake.current()
    assert sorted(held.tables["change_event"].partitions) == [
        f"cluster_id=cluster-{cluster}/day=2026-11-0{day}" for cluster in (0, 1) for day in (1, 2, 3)
    ]
    assert all(len(folders) == 1 for folders in held.tables["history"].partitions.values())
    assert {progress.step for progress in told} == {"change_event", "history"}
    ends = [progress for progress in told if progress.ended]
    assert [(end.number, end.steps, end.rows) for end in ends] == [(1, 2, 200), (2, 2, 200)]

    build(no_spark, lake, whole=True)
    assert {table: rows_of(lake, table) for table in made} == made
    assert rows_of(lake, "history", held) == made["history"]  # the former version is still there
    assert [row[0] for row in rows_of(lake, "run", without=set(TABLES["run"].names) - {"job"})] == [
        "build",
        "build",
        "collect",
    ]

    with pytest.raises(LakeError, match="no table that is built"):
        build(no_spark, lake, ["orders"])
    held = lake.current()


def test_a_step_that_fails_leaves_the_former_tables_and_no_value_in_its_record(lake: Lake) -> None:
    build(no_spark, lake)
    with writing(lake, "ingest") as write:
        quota = {"entity": [{"entityType": "user", "entityName": "a"}], "key": "k", "value": "hunter2", "remove": False}
        record = {"record_type": "ClientQuotaRecord", "payload": json.dumps(quota)}
        write.add_arrow(KRAFT_RECORD.name, arrow_rows(KRAFT_RECORD, [record]))
        write.commit()
    held = lake.current()
    with pytest.raises(ValueError, match="hunter2"):
        build(no_spark, lake, whole=True)
    assert lake.current() == held
    (failed,) = lake.failed_runs()
    assert failed["status"] == "failed"
    assert "hunter2" not in str(failed)
    left = {folder.name for folder in Path(lake.where, "data").glob("*/v=*")}
    assert not any(folder.endswith(failed["run_id"]) for folder in left)


def test_on_spark_it_makes_the_same(spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = ("change_event", "history")
    build(no_spark, lake, tables)
    made = {table: rows_of(lake, table) for table in tables}
    monkeypatch.setattr("console.history.jobs.renew.MOST_ROWS", 0)
    told: list[Progress] = []
    build(lambda: spark, lake, tables, told.append)
    assert {table: rows_of(lake, table) for table in tables} == made
    assert all(0 < end.done == end.total for end in told if end.ended)
