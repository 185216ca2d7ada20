"""What keeps a lake in order: compaction, verification, its state; and how Spark's driver reaches one on S3."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from console.history.jobs.compact import compact
from console.history.jobs.status import Gap, status
from console.history.jobs.submit import files_of_s3a
from console.history.jobs.verify import verify
from console.history.schema import TABLES
from console.history.store import Lake
from console.history.store.write import writing
from tests.history.lake_rows import START, arrow_rows, rows_of, snapshot_rows

HOUR = timedelta(hours=1)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Six looks at two clusters over two days."""
    made = Lake.create(str(tmp_path / "lake"))
    for look in range(6):
        with writing(made, "collect") as write:
            write.add_arrow("snapshot", snapshot_rows(20, first=20 * look))
            write.commit()
    return made


def history_rows(*times: tuple[datetime, datetime | None, bool], attr: str = "retention.ms") -> list[dict[str, object]]:
    return [
        {"cluster_id": "c", "entity_key": "t", "attr": attr, "valid_from": a, "valid_to": b, "is_current": now}
        for a, b, now in times
    ]


def test_compaction_leaves_the_same_rows_in_few_files(lake: Lake) -> None:
    before, runs = rows_of(lake, "snapshot", without=()), rows_of(lake, "run", without=())
    held = lake.current()
    assert all(len(folders) == 6 for folders in held.tables["snapshot"].partitions.values())
    report = compact(lake)
    assert report.rows == {"snapshot": 120, "run": 6}
    now = lake.current()
    assert all(len(folders) == 1 for folders in now.tables["snapshot"].partitions.values())
    assert len(lake.files(now, "snapshot")) == 2
    assert rows_of(lake, "snapshot", without=()) == before
    assert rows_of(lake, "run", without=())[:6] == runs
    assert rows_of(lake, "snapshot", held, without=()) == before
    assert compact(lake).rows == {}
    assert verify(lake) == ()


def test_verification_finds_each_kind_of_damage(lake: Lake) -> None:
    with writing(lake, "build") as write:
        write.add_arrow(
            "history",
            arrow_rows(
                TABLES["history"],
                [
                    *history_rows((START, START + HOUR, False), (START + HOUR, None, True)),
                    *history_rows((START, START + 2 * HOUR, False), (START + HOUR, None, True), attr="overlaps"),
                    *history_rows((START, None, True), (START + HOUR, None, True), attr="twice current"),
                    *history_rows((START + HOUR, START, True), attr="backwards"),
                ],
            ),
        )
        write.add_arrow("drift", arrow_rows(TABLES["drift"], [{"attr": "a"}, {"attr": "a"}, {"attr": "b"}]))
        folder = write.folder("quota_usage", "cluster_id=c/day=2026-11-02")
        Path(folder).mkdir(parents=True)
        hole = arrow_rows(TABLES["quota_usage"], [{"cluster_id": "c", "minute": START}])
        hole = hole.set_column(hole.column_names.index("rate_avg"), "rate_avg", [[None]])
        pq.write_table(hole.select([n for n in TABLES["quota_usage"].names if n != "reason"]), f"{folder}/a.parquet")
        write.rewrite("quota_usage", (), {"cluster_id=c/day=2026-11-02": [folder]})
        usage = f"{folder.removeprefix(lake.where + '/')}/a.parquet"
        folder = write.folder("policy_violation", "cluster_id=other")
        Path(folder).mkdir(parents=True)
        strange = arrow_rows(TABLES["policy_violation"], [{"cluster_id": "c", "severity": None}])
        pq.write_table(strange, f"{folder}/a.parquet")
        write.rewrite("policy_violation", (), {"cluster_id=other": [folder]})
        write.commit()

    # Files that are not what the log says.
    one, two, three = (Path(each) for each in lake.files(lake.current(), "snapshot")[:3])
    one.unlink()
    two.write_bytes(two.read_bytes() + b"x")
    three.write_bytes(b"\0" * three.stat().st_size)

    found = verify(lake)
    within = Path(lake.where)
    assert {(finding.where, finding.what) for finding in found if not finding.where.startswith("data/snap")} == {
        ("history", "2 rows last beyond the beginning of the next"),
        ("history", "1 rows end before they begin"),
        ("history", "1 rows are current and have ended"),
        ("history", "1 attributes have more than one current row"),
        ("drift", "1 keys stand there more than once (cluster_id, scope, entity_key, attr)"),
        (usage, "columns are missing, unknown or of another type: rate_avg, reason"),
        ("policy_violation", "rows lie in the partition of other rows"),
        ("policy_violation", "severity is empty in 1 rows, and may not be"),
    }
    places = {finding.where: finding.what for finding in found if finding.where.startswith("data/snap")}
    assert places.keys() == {str(each.relative_to(within)) for each in (one, two, three)}
    assert places[str(three.relative_to(within))] == "it is no whole Parquet file"
    assert "bytes, and the log says" in places[str(two.relative_to(within))]
    assert places[str(one.relative_to(within))] == "it is missing"

    # Of versions before, only that they are there is looked at.
    with writing(lake, "build") as write:
        for table in ("snapshot", "history", "drift", "quota_usage", "policy_violation"):
            write.replace(table, {}, whole=True)
        write.commit()
    older = {finding.where: finding.what for finding in verify(lake) if finding.where.startswith("data/snap")}
    assert older.keys() == {str(each.relative_to(within)) for each in (one, two)}
    assert "names it, and it is missing or of another size" in older[str(one.relative_to(within))]


def test_the_state_of_a_lake(tmp_path: Path) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    empty = status(lake)
    assert (empty.current, empty.tables, empty.runs, empty.gaps, empty.last("collect")) == ("", (), (), (), None)
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", snapshot_rows(20, days=5))
        first = write.commit(message="b: timed out")
    gaps = [
        {
            "entity_type": "cluster",
            "attr": ":unobserved",
            "cluster_id": "c",
            "valid_from": START + n * HOUR,
            "valid_to": to,
        }
        for n, to in enumerate((START + HOUR, None))
    ]
    with writing(lake, "build") as write:
        write.add_arrow("history", arrow_rows(TABLES["history"], [*gaps, {"attr": "x", "valid_from": START - HOUR}]))
        held = write.commit(quarantined=3)
    with writing(lake, "ingest") as write:
        write.fail("too much of it is bad", quarantined=9)
    seen = status(lake)
    assert (seen.current, seen.versions) == (held.run_id, 2)
    snapshot, _, history = seen.tables
    assert (snapshot.name, snapshot.layer, snapshot.rows, snapshot.partitions) == ("snapshot", "bronze", 20, 10)
    assert (snapshot.earliest, snapshot.latest) == (START, START + timedelta(days=4, seconds=19))
    assert (history.earliest, history.latest) == (START - HOUR, START + HOUR)
    assert not snapshot.is_older
    assert seen.gaps == (Gap("c", START + HOUR, None), Gap("c", START, START + HOUR))
    assert [(run.job, run.status, run.quarantined, run.message) for run in seen.runs] == [
        ("ingest", "failed", 9, "too much of it is bad"),
        ("build", "done", 3, None),
        ("collect", "done", 0, "b: timed out"),
    ]
    assert seen.runs[2].rows == {"snapshot": 20}
    assert seen.last("ingest") is None
    collected = seen.last("collect")
    assert collected is not None
    assert collected.run_id == first.run_id


def test_delta_rs_reaches_s3_with_the_settings_of_hadoops_s3a(spark: SparkSession) -> None:
    settings = {
        "fs.s3a.access.key": "AKIA",
        "fs.s3a.secret.key": "hunter2",
        "fs.s3a.endpoint": "127.0.0.1:9000",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.bucket.other.access.key": "AKIB",
        "fs.s3a.bucket.other.endpoint": "https://s3.example",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        one = files_of_s3a(spark, "s3a://bucket/lake").delta_options()
        assert (one["aws_access_key_id"], one["aws_secret_access_key"]) == ("AKIA", "hunter2")
        assert (one["aws_endpoint_url"], one["aws_allow_http"]) == ("http://127.0.0.1:9000", "true")
        other = files_of_s3a(spark, "s3a://other/lake").delta_options()
        assert (other["aws_access_key_id"], other["aws_secret_access_key"]) == ("AKIB", "hunter2")
        assert (other["aws_endpoint_url"], other["aws_allow_http"]) == ("https://s3.example", "false")
    finally:
        for name in settings:
            spark.conf.unset(name)
