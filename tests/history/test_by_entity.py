"""Spark makes the rows that one process makes, however its tasks cut them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from console.history.jobs import by_entity, renew
from console.history.jobs.build import build
from console.history.schema import TABLES, arrow_schema
from console.history.store import Lake, parquet_files
from console.history.transforms.change_event import Bronze, change_event, covers_of, epochs_of, polls_of
from console.history.transforms.history import history
from tests.history import lake_rows
from tests.history.test_history_laws import all_by_log, some_of_all
from tests.history.test_renewal import in_rounds, take_in

pytestmark = pytest.mark.timeout(900)


def test_spark_makes_the_same_rows(spark: SparkSession) -> None:
    told = [each for seed in range(12) for each in (all_by_log(seed, by_journal=seed % 2 == 0), some_of_all(seed))]
    read = []
    for name in Bronze._fields:
        rows = [row for each in told for row in each.rows[name]]
        random.Random(5).shuffle(rows)
        read.append(pa.Table.from_pylist(rows, schema=arrow_schema(TABLES[name])))
    bronze = Bronze(*read)
    epochs, polls = epochs_of(bronze.kraft_record), polls_of(bronze.snapshot)
    frames = {name: spark.createDataFrame(rows) for name, rows in zip(Bronze._fields, bronze, strict=True)}
    here = change_event(bronze, epochs, polls)
    assert rows_of(by_entity.events_of(frames, epochs, polls).toArrow()) == rows_of(here)
    covers = covers_of(here)
    by_spark = by_entity.history_of(spark.createDataFrame(here), polls, covers).toArrow()
    assert rows_of(by_spark) == rows_of(history(here, polls, covers))


def test_a_build_of_many_rows_is_that_of_few(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.create(str(tmp_path / "lake"))
    for came in in_rounds(range(4)):
        take_in(lake, came)
    made = ("change_event", "history")
    build(lambda: spark, lake, made)
    before = {name: lake_rows.rows_of(lake, name) for name in made}
    monkeypatch.setattr(renew, "MOST_ROWS", 0)
    build(lambda: spark, lake, made)
    assert json.loads(last_run(lake)["versions"])["spark"] == spark.version
    for name in made:
        assert lake_rows.rows_of(lake, name) == before[name]
        assert len(before[name]) > 20


def last_run(lake: Lake) -> dict[str, Any]:
    runs = parquet_files.read(lake.filesystem, lake.files(lake.current(), "run"), TABLES["run"])
    row: dict[str, Any] = runs.sort_by("run_id").to_pylist()[-1]
    return row


def rows_of(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_chunks_are_of_whole_entities(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key for key, count in (("a", 5), ("b", 1), ("c", 1), ("d", 12)) for _ in range(count)]
    rows = pa.table({"cluster_id": ["c"] * len(keys), "entity_type": ["topic"] * len(keys), "entity_key": keys})
    seen: list[list[str]] = []

    def make(chunk: pa.Table) -> pa.Table:
        seen.append(chunk["entity_key"].to_pylist())
        return chunk

    monkeypatch.setattr(by_entity, "CHUNK", 4)
    made = pa.Table.from_batches(by_entity.in_chunks(rows.to_batches(max_chunksize=size), make))
    assert made["entity_key"].to_pylist() == keys
    assert all(not set(one) & set(other) for place, one in enumerate(seen) for other in seen[:place])
    assert len(seen) > 1 or size == 100
