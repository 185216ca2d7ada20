"""Rows of the pipeline's tables for tests: as few words as they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from console.history.schema import TABLES, Table, arrow_schema
from console.history.store import Lake, Release

START = datetime(2026, 11, 1, tzinfo=UTC)
_FILLED: Mapping[str, Any] = {"string": "x", "int": 1, "bigint": 1, "double": 1.0, "boolean": False, "timestamp": START}


def arrow_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as Arrow; columns that a row leaves out are filled in, those that may be empty stay empty."""
    filled = [
        {each.name: row.get(each.name, None if each.nullable else _FILLED[each.type]) for each in table.columns}
        for row in rows
    ]
    return pa.Table.from_pylist(filled, schema=arrow_schema(table))


def snapshot_rows(count: int, *, days: int = 2, clusters: int = 2, first: int = 0) -> pa.Table:
    """Rows of `snapshot`: over so many days and clusters."""
    return arrow_rows(
        TABLES["snapshot"],
        (
            {
                "cluster_id": f"cluster-{number % clusters}",
                "observed_ts": START + timedelta(days=number % days, seconds=number),
                "kind": "state",
                "entity_type": "topic",
                "entity_key": f"topic-{number}",
                "attr": "retention.ms",
                "value": str(number),
            }
            for number in range(first, first + count)
        ),
    )


def no_spark() -> SparkSession:
    """For jobs that have to do without."""
    raise AssertionError("a small job starts Spark")


def rows_of(
    lake: Lake, table: str, release: Release | None = None, *, without: Iterable[str] = ("run_id",)
) -> list[Any]:
    """All rows of a table as a reader without Spark sees them, in order of their content; less the run's id."""
    import duckdb

    files = lake.files(release or lake.current(), table)
    if not files:
        return []
    names = ", ".join(name for name in TABLES[table].names if name not in set(without))
    with duckdb.connect() as database:
        return database.execute(
            f"select {names} from read_parquet(?, hive_partitioning=false) order by all", [files]
        ).fetchall()
