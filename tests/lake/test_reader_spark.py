"""Tests of the reader without Spark, on lakes that Spark wrote. The writer that other tests use writes the same tables
as Spark.
"""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from console.collecting.results import status
from console.lake import reader, schema
from console.lake.delta_log import listed
from console.lake.lake import Lake
from tests.support import delta_lake, sample_lake
from tests.support.delta_lake import arrow_rows
from tests.support.sample_lake import CLUSTER, EVIL, NOON, OTHER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MINUTE = timedelta(minutes=1)
RUN = "20261126T020000Z-00000a"
SECOND = {"cluster_id": CLUSTER, "broker_id": 1, "second": NOON, "principal": "User:a", "client_id": "", "api": "FETCH"}
REQUESTS = [{"cluster_id": CLUSTER, "second": SECOND}, {"cluster_id": CLUSTER, "quarantined": {"reason": "torn"}}]


class Both:
    """Two lakes with the same rows: one is written by Spark, the other by the tests' own writer."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        from console.lake.tables import Batch
        from console.lake.tables import Tables as Written

        self.lakes = [Lake.create(str(folder / name)) for name in ("spark", "own")]
        self._tables = Written(spark, self.lakes[0], self.lakes[0].where, {"run": RUN})
        self._batch = Batch
        self._number = 0

    def put(self, table: schema.Table, rows: pa.Table, *, overwrite: bool = False) -> None:
        """Write a batch to a table of both lakes. overwrite: whether it replaces all rows of the table."""
        self._number += 1
        batch, made = self._batch("test", self._number), self._tables.spark.createDataFrame(rows)
        if overwrite:
            self._tables.overwrite(made, table, batch)
        else:
            self._tables.append(made, table, batch)
        delta_lake.put(self.lakes[1], table, rows, run=RUN, overwrite=overwrite)

    def read(self, table: schema.Table) -> list[Any]:
        """Return the current rows of a table of the first lake, as Spark reads them."""
        from pyspark.sql import functions as F

        return [tuple(row.values()) for row in self._tables.newest(table, F.lit(True)).toArrow().to_pylist()]


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Both:
    interval = "spark.databricks.delta.properties.defaults.checkpointInterval"
    before = spark.conf.get(interval, None)
    spark.conf.set(interval, "3")
    made = Both(spark, tmp_path_factory.mktemp("both"))
    history = sample_lake.history(CLUSTER, NOON)
    for minute in range(5):
        again = [(*row[:5], f"{row[5]}.{minute}", *row[6:]) for row in history[minute:] if row[5] is not None]
        made.put(schema.HISTORY, sample_lake.arrow("history", again if minute else history))
    orders = {"cluster_id": CLUSTER, "entity_type": "topic", "entity_key": "orders"}
    made.put(schema.HISTORY, delta_lake.nothing_left(schema.HISTORY, orders, {**orders, "entity_key": EVIL}))
    made.put(schema.HISTORY, sample_lake.arrow("history", [(f"{OTHER} 50%/=é", *history[0][1:])]))
    usage = sample_lake.usage(CLUSTER, NOON)
    made.put(schema.QUOTA_USAGE, sample_lake.arrow("quota_usage", usage))
    hour = [(*row[:8], row[8] * 2, *row[9:]) for row in usage if row[2] == NOON - 30 * MINUTE]
    made.put(schema.QUOTA_USAGE, sample_lake.arrow("quota_usage", hour))
    made.put(schema.QUOTA_SUGGESTION, sample_lake.arrow("quota_suggestion", sample_lake.suggestions(CLUSTER)))
    for count in (7, 3):
        made.put(schema.DRIFT, sample_lake.arrow("drift", sample_lake.drift(CLUSTER, NOON)[:count]), overwrite=True)
    made.put(schema.REQUEST, arrow_rows(schema.REQUEST, REQUESTS))
    if before is None:
        spark.conf.unset(interval)
    else:
        spark.conf.set(interval, before)
    return made


def test_the_rows_that_hold_are_those_that_spark_finds(both: Both) -> None:
    log = listed(both.lakes[0].files, both.lakes[0].folder(schema.HISTORY))
    assert log.checkpoints, "no checkpoint was read"
    for lake in both.lakes:
        with closing(reader.Tables(lake.where)) as tables:
            changes = [reader.Change(*row) for row in both.read(schema.HISTORY)]
            assert sorted(reader.timeline(tables, reader.Wanted()), key=repr) == sorted(changes, key=repr)
            top = reader.hottest(tables, reader.Window(CLUSTER))[0]
            assert top.suggested_value == 8e6
            assert top.pair == reader.Pair("alice", "checkout", "producer_byte_rate")
            used = reader.minutes(tables, reader.Window(CLUSTER), top.pair)
            found = [(each.minute, each.broker_id, each.rate_avg) for each in used]
            wanted = [(row[2], row[1], row[8]) for row in both.read(schema.QUOTA_USAGE) if row[3:6] == top.pair]
            assert found == sorted(wanted)
            assert NOON - 31 * MINUTE not in {at for at, _, _ in found}
            differing = [reader.Drifted(*row) for row in both.read(schema.DRIFT)]
            assert sorted(reader.drift(tables), key=repr) == sorted(differing, key=repr)
            assert len(differing) == 3


def test_an_entity_is_found_by_the_statistics_of_files(both: Both) -> None:
    with closing(reader.Tables(both.lakes[0].where)) as tables:
        for row in reader.timeline(tables, reader.Wanted()):
            found = reader.timeline(tables, reader.Wanted(row.cluster_id, ((row.entity_type, row.entity_key),)))
            assert row in found
            assert {each.entity_key for each in found} <= {row.entity_key, CLUSTER}


def test_both_write_the_same_layout_times_and_runs(both: Both) -> None:
    told = [status(lake).tables for lake in both.lakes]
    facts = [[(each.name, each.run, each.rows, each.earliest, each.latest) for each in tables] for tables in told]
    assert facts[0] == facts[1]
    assert {each.run for each in told[0]} == {RUN}
    for table in schema.TABLES.values():
        spark, own = (lake.table(table) for lake in both.lakes)
        assert set(spark.columns) == set(own.columns)
        assert {tuple(sorted(file.parts.items())) for file in spark.files.values()} == {
            tuple(sorted(file.parts.items())) for file in own.files.values()
        }
