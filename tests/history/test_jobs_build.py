"""Tables are made of tables by whatever transforms there are: here, small ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from console.history.jobs.build import build
from console.history.jobs.progress import Progress
from console.history.jobs.tables import read_polls
from console.history.schema import POLL, SNAPSHOT, TABLES
from console.history.store import Lake, LakeError
from console.history.store.write import writing
from console.lake.poll import Observation, Row, rows_table, status_rows
from tests.history.lake_rows import START, rows_of, snapshot_rows
from tests.history.tiny_steps import FAILING, STEPS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake.create(str(tmp_path / "lake"))
    with writing(made, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(200, days=3))
        write.commit()
    return made


def test_polls_are_read_as_if_their_rows_were_in_snapshot(spark: SparkSession, lake: Lake) -> None:
    seen = Observation("c", START, {}, frozenset({"topic", "acl"}), failed={("group", None): "UNSUPPORTED: old"})
    before = read_polls(spark, lake, lake.current()).count()
    assert before == 200
    with writing(lake, "collect") as write:
        write.add_few("poll", rows_table(POLL, status_rows(seen), "c", START), 10)
        write.commit()
    now = read_polls(spark, lake, lake.current())
    assert now.columns == list(TABLES["snapshot"].names)
    found = [row.asDict() for row in now.where("cluster_id = 'c'").drop("run_id").collect()]
    each = [Row("heartbeat", "topic"), Row("heartbeat", "acl"), Row("failed", "group", value="UNSUPPORTED: old")]
    wanted = rows_table(SNAPSHOT, each, "c", START).to_pylist()
    assert len(wanted) == 3
    without_zone = [{**row, "observed_ts": START} for row in found]
    assert sorted(without_zone, key=str) == sorted([{**row, "observed_ts": START} for row in wanted], key=str)
    assert now.count() == before + 3


def test_builds_each_table_once_and_again_the_same(spark: SparkSession, lake: Lake) -> None:
    told: list[Progress] = []
    report = build(lambda: spark, lake, steps=STEPS, progress=told.append)
    assert report.rows == {"change_event": 200, "history": 200}
    made = {table: rows_of(lake, table) for table in ("change_event", "history")}
    assert [row[3] for row in made["history"]] == ["retention.ms"] * 200
    held = lake.current()
    assert sorted(held.tables["change_event"].partitions) == [
        f"cluster_id=cluster-{cluster}/day=2026-11-0{day}" for cluster in (0, 1) for day in (1, 2, 3)
    ]
    assert all(len(folders) == 1 for folders in held.tables["history"].partitions.values())
    assert {progress.step for progress in told} == {"change_event", "history"}
    ends = [progress for progress in told if progress.ended]
    assert [(end.number, end.steps, end.rows) for end in ends] == [(1, 2, 200), (2, 2, 200)]
    assert all(0 < end.done == end.total for end in ends)

    build(lambda: spark, lake, whole=True, steps=STEPS)
    assert {table: rows_of(lake, table) for table in made} == made
    assert rows_of(lake, "history", held) == made["history"]  # the former version is still there
    assert [row[0] for row in rows_of(lake, "run", without=set(TABLES["run"].names) - {"job"})] == [
        "build",
        "build",
        "collect",
    ]

    with pytest.raises(LakeError, match="no table that is built"):
        build(lambda: spark, lake, ["orders"], steps=STEPS)
    held = lake.current()
    with pytest.raises(Exception, match="hunter2"):
        build(lambda: spark, lake, whole=True, steps=(*STEPS, FAILING))
    assert lake.current() == held
    (failed,) = lake.failed_runs()
    assert failed["status"] == "failed"
    assert "hunter2" not in str(failed)
    left = {folder.name for folder in Path(lake.where, "data").glob("*/v=*")}
    assert not any(folder.endswith(failed["run_id"]) for folder in left)
