"""The lake's tables as Delta tables: what delta-rs and DuckDB see, what is taken back, and what is refused."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import duckdb
import pytest
from deltalake import DeltaTable

from console.history.schema import TABLES
from console.history.store import DamagedLake, Lake, LakeError, LeaseLost, TableFiles, commit, delta_log
from console.history.store.write import writing
from tests.history.endless_runs import KEPT, one_run
from tests.history.lake_rows import START, arrow_rows, rows_of, snapshot_rows
from tests.support.kafka_jars import fetched

SNAPSHOT = TABLES["snapshot"]
DELTA_SPARK = "io.delta:delta-spark_4.2_2.13:4.4.0"
ROOT = Path(__file__).parents[2]
RUNS = commit.CHECKPOINT_EVERY + KEPT + 3


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake.create(str(tmp_path / "a lake, 100% & #1"))
    add(made, 10)
    return made


def add(lake: Lake, count: int, job: str = "collect") -> int:
    """Gives the version of `snapshot` then."""
    with writing(lake, job) as write:
        write.add_arrow("snapshot", snapshot_rows(count))
        return write.commit().versions["snapshot"]


def log_of(lake: Lake, version: int, table: str = "snapshot") -> Path:
    return Path(lake.path(f"data/{table}/{delta_log.log_file(version)}"))


def commit_by_hand(lake: Lake, *actions: dict[str, Any]) -> int:
    """A commit of another program to `snapshot`."""
    newest = delta_log.listed(lake.filesystem, lake.path("data/snapshot")).newest
    assert newest is not None
    lines = [{"commitInfo": {"timestamp": 0, "operation": "WRITE"}}, *actions]
    log_of(lake, newest + 1).write_text("\n".join(map(json.dumps, lines)))
    return newest + 1


def test_delta_rs_reads_the_same_rows_whatever_the_names(lake: Lake) -> None:
    names = ["../../../outside", "a/b", "", "x=y", "é ü", "100%25", "a b", "%2F"]
    rows = arrow_rows(SNAPSHOT, ({"cluster_id": name, "entity_key": name} for name in names))
    with writing(lake, "collect") as write:
        write.add_arrow("snapshot", rows)
        made = write.commit()
    with writing(lake, "collect") as write:  # the log is read back, and partitions are replaced
        partition = next(each for each in made.tables["snapshot"].partitions if "é" in each)
        write.replace("snapshot", {partition: []})
        made = write.commit()
    table = DeltaTable(lake.path("data/snapshot"), version=made.versions["snapshot"])
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 2)
    columns = ", ".join(name for name in SNAPSHOT.names if name != "run_id")
    arrow = table.to_pyarrow_dataset()
    with duckdb.connect() as database:
        database.register("snapshot", arrow)
        seen = database.execute(f"select {columns} from snapshot order by all").fetchall()
    assert seen == rows_of(lake, "snapshot")
    assert {row[0] for row in seen} == {*names, "cluster-0", "cluster-1"} - {"é ü"}
    assert [each.name for each in table.schema().fields][-2:] == ["in_cluster_id", "in_day"]


def test_checkpoints_say_the_same_as_the_commits_before_them(lake: Lake) -> None:
    for _ in range(RUNS):
        one_run(lake)
        where = lake.path("data/history")
        log = delta_log.listed(lake.filesystem, where)
        assert log.newest is not None
        read = delta_log.replayed(lake.filesystem, where, log.newest)
        seen = DeltaTable(where).file_uris()
        assert {f"{where}/{path}" for path in read.files} == {unquote(urlsplit(each).path) for each in seen}
    assert log.checkpoints
    assert len(log.commits) <= 2 * commit.CHECKPOINT_EVERY + KEPT
    assert len(rows_of(lake, "history")) == RUNS
    older = [len(rows_of(lake, "history", each)) for each in lake.releases()]
    assert older == [older[0] - back for back in range(KEPT)]


def test_what_a_kept_version_needs_stays_and_the_rest_goes(lake: Lake) -> None:
    chance = random.Random(20261123)
    days = [f"cluster_id=c/day=2026-11-0{day}" for day in range(1, 5)]
    held: dict[str, list[Any]] = {}
    first = rows_of(lake, "snapshot")
    for number in range(20):
        keep = chance.randint(1, 4)
        with writing(lake, chance.choice(["collect", "compact"]), keep=keep) as write:
            if chance.random() < 0.5:
                write.add_arrow("snapshot", snapshot_rows(chance.randint(1, 9), first=100 * number))
            for day in chance.sample(days, chance.randint(0, 3)):
                rows = snapshot_rows(chance.randint(1, 9), first=100 * number)
                write.replace("snapshot", {day: write.put_arrow("snapshot", rows).popitem()[1]})
            made = write.commit()
        held[made.run_id] = rows_of(lake, "snapshot", made)
        kept = lake.releases()
        assert len(kept) <= keep
        for each in kept:
            assert rows_of(lake, "snapshot", each) == held.get(each.run_id, first)
    with writing(lake, "compact", keep=2) as write:
        write.commit()
    named = {path for each in lake.releases() for table in each.tables.values() for path in table.files}
    there = {str(each.relative_to(lake.where)) for each in Path(lake.path("data")).rglob("v=*/**/*.parquet")}
    assert {each for each in there if not each.startswith("data/release/")} == named


def test_commits_after_the_release_are_not_seen_and_taken_back(lake: Lake) -> None:
    before = rows_of(lake, "snapshot")
    held = lake.current()
    # As a run that died before its release, and a run that began a table and died.
    strange = TableFiles(SNAPSHOT.names)
    commit.put_table(lake.filesystem, lake.where, SNAPSHOT, strange, "x")
    with writing(lake, "build") as write:
        write.add_arrow("drift", arrow_rows(TABLES["drift"], [{}]))
        commit.put_table(lake.filesystem, lake.where, TABLES["drift"], write.draft.tables["drift"], "x")
    assert DeltaTable(lake.path("data/snapshot")).file_uris() == []
    assert rows_of(Lake.open(lake.where), "snapshot") == before
    assert lake.current() == held
    with writing(lake, "ingest") as write:
        made = write.commit()
    assert rows_of(lake, "snapshot") == before
    assert rows_of(lake, "drift") == []
    for name, version in made.versions.items():
        table = DeltaTable(lake.path(f"data/{name}"))
        assert table.version() == version
        assert len(table.file_uris()) == len(lake.files(made, name))
    assert not list(Path(lake.path("data/drift")).glob("v=*"))


def test_of_two_that_commit_at_once_one_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    replayed = delta_log.replayed

    def later(*given: Any) -> delta_log.Replayed:
        monkeypatch.undo()
        add(Lake.open(lake.where), 5)
        return replayed(*given)

    monkeypatch.setattr(delta_log, "replayed", later)
    with pytest.raises(LeaseLost, match=r"snapshot while this one paused"):
        commit.put_table(lake.filesystem, lake.where, SNAPSHOT, TableFiles(SNAPSHOT.names), "x")
    with pytest.raises(LeaseLost, match=r"release while this one paused"):
        commit.put_table(lake.filesystem, lake.where, TABLES["release"], TableFiles(()), "x", since=1)
    assert len(rows_of(lake, "snapshot")) == 15


PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}
UNUSUAL: dict[str, dict[str, Any]] = {
    "protocol 3, 7 (deletionVectors, rowTracking)": {
        "protocol": {**PROTOCOL, "writerFeatures": ["deletionVectors", "rowTracking"]}
    },
    "protocol 1, 7 (rowTracking)": {
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    },
    "mapped columns": {
        "metaData": {
            "schemaString": '{"type": "struct", "fields": []}',
            "partitionColumns": [],
            "configuration": {"delta.columnMapping.mode": "name"},
        }
    },
    "deletion vectors": {
        "add": {
            "path": "a.parquet",
            "partitionValues": {},
            "size": 1,
            "modificationTime": 0,
            "dataChange": True,
            "stats": '{"numRecords": 2}',
            "deletionVector": {"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1},
        }
    },
}


@pytest.mark.parametrize("said", UNUSUAL)
def test_a_table_with_other_features_is_refused_before_wrong_rows_are_read(lake: Lake, said: str) -> None:
    before = rows_of(lake, "snapshot")
    commit_by_hand(lake, UNUSUAL[said])
    assert rows_of(Lake.open(lake.where), "snapshot") == before  # the release is not of it
    words = said.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(LakeError, match=words):
        add(lake, 3)
    assert rows_of(lake, "snapshot") == before
    if "1, 7" in said:
        return  # writers alone have to know it
    log_of(lake, 1).replace(aside := log_of(lake, 1).with_suffix(".aside"))
    first = log_of(lake, 0)
    first.write_text(first.read_text() + "\n" + aside.read_text())
    with pytest.raises(DamagedLake, match=words):
        rows_of(Lake.open(lake.where), "snapshot")


def test_a_column_that_came_later_is_empty_in_older_files(lake: Lake) -> None:
    # The table as a version of kac wrote it that did not know one of the columns.
    first = log_of(lake, 0)
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    (metadata,) = (each["metaData"] for each in actions if "metaData" in each)
    schema = json.loads(metadata["schemaString"])
    schema["fields"] = [each for each in schema["fields"] if each["name"] != "source"]
    metadata["schemaString"] = json.dumps(schema)
    first.write_text("\n".join(map(json.dumps, actions)))
    assert "source" not in Lake.open(lake.where).current().table(SNAPSHOT).columns
    version = add(lake, 3)
    held = lake.current().table(SNAPSHOT)
    assert set(held.columns) == set(SNAPSHOT.names)
    table = DeltaTable(lake.path("data/snapshot"))
    assert table.version() == version == 2
    assert table.to_pyarrow_table().num_rows == 13


def test_statistics_hold_the_first_and_the_last_time(lake: Lake) -> None:
    for file in lake.current().table(SNAPSHOT).files.values():
        stats = json.loads(file.stats)
        assert stats["numRecords"] == file.rows == 5
        assert stats["minValues"]["observed_ts"] < stats["maxValues"]["observed_ts"]
    first = min(
        json.loads(file.stats)["minValues"]["observed_ts"] for file in lake.current().tables["snapshot"].files.values()
    )
    assert first == f"{START:%Y-%m-%dT%H:%M:%S.%fZ}"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_deltas_own_spark_reads_the_tables_and_what_it_appends_is_taken_back(lake: Lake) -> None:
    jars = ",".join(map(str, fetched("delta", (DELTA_SPARK,)).glob("*.jar")))
    for _ in range(commit.CHECKPOINT_EVERY + KEPT):
        one_run(lake)
    held = lake.current()
    seen = {name: len(rows_of(lake, name)) for name in held.versions}
    command = [sys.executable, "-m", "tests.history.delta_spark_read", lake.where, jars]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not ran.returncode, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    days = [row[1] for row in rows_of(lake, "snapshot")]
    one_day = sum(f"{day:%d}" == "01" for day in days)
    one_hour = sum(f"{day:%d %H:%M}" == "02 00:00" and day.second < 10 for day in days)
    assert told == {**seen, "one day": one_day, "one hour": one_hour}
    where = lake.path("data/snapshot")
    assert DeltaTable(where).version() == held.versions["snapshot"] + 1
    assert rows_of(Lake.open(lake.where), "snapshot") == rows_of(lake, "snapshot", held)
    one_run(lake)
    assert len(DeltaTable(where).file_uris()) == len(lake.files(lake.current(), "snapshot"))
    assert len(rows_of(lake, "snapshot")) == seen["snapshot"] + 6
