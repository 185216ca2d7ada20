"""What can't be read, written to the table `quarantine`, each thing once however often it is met."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from console.history.schema import QUARANTINE

from ..store import parquet_files
from ..store.write import Write
from .tables import read_table, write_partitions


def quarantine(spark: SparkSession, write: Write, rows: DataFrame) -> int:
    """Appends rows of QUARANTINE (less `run_id`) that are not there yet; gives how many."""
    key = list(QUARANTINE.key)
    there = read_table(spark, write.lake, write.draft, QUARANTINE).select(*key)
    new = rows.dropDuplicates(key).join(there, on=key, how="left_anti")
    before = write.rows.get(QUARANTINE.name, 0)
    for partition, folders in write_partitions(write, QUARANTINE, new).items():
        for folder in folders:
            write.append(QUARANTINE.name, partition, folder)
    return write.rows.get(QUARANTINE.name, 0) - before


def quarantine_arrow(write: Write, rows: pa.Table) -> int:
    """The same for few rows that are here already; without Spark."""
    if not rows.num_rows:
        return 0
    there = parquet_files.read(write.lake.filesystem, write.lake.files(write.draft, QUARANTINE), QUARANTINE)
    known = set(_keys(there))
    fresh = []
    for place, key in enumerate(_keys(rows)):
        if key not in known:
            known.add(key)
            fresh.append(place)
    return write.add_arrow(QUARANTINE.name, rows.take(fresh)) if fresh else 0


def _keys(rows: pa.Table) -> Iterator[tuple[object, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in QUARANTINE.key), strict=True)
