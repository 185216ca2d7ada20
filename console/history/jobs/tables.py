"""The lake's tables as DataFrames: read from the files of a version, written as folders of partitions."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ..schema.table import Table
from ..store import Lake, Manifest
from ..store.partitions import parts_of
from ..store.write import Write

_SPARK_FORMATS = {"day": "yyyy-MM-dd", "hour": "yyyy-MM-dd'T'HH"}
_IN = "in_"
"""Before the names of folders that Spark makes: what a folder is named after is not in its files, and all columns have
to be."""
ROWS_IN_FILE = 4_000_000


def read_table(
    spark: SparkSession, lake: Lake, manifest: Manifest, table: Table, partitions: Iterable[str] | None = None
) -> DataFrame:
    """The table as it is in that version; without rows where it has no files."""
    paths = lake.files(manifest, table, partitions)
    if not paths:
        return spark.createDataFrame([], table.ddl)
    return spark.read.schema(table.ddl).parquet(*paths).select(*table.names)


def write_partitions(write: Write, table: Table, rows: DataFrame, *, keep_run_id: bool = False) -> dict[str, list[str]]:
    """Writes the rows to new folders, in few files, each in the order of the table's key; gives the folders by
    partition, for `Write.append` or `Write.replace`.

    keep_run_id: whether the column `run_id` stays as it is; otherwise it becomes this run's.
    """
    base = write.folder(table.name)
    if "run_id" in table.names and not keep_run_id:
        rows = rows.withColumn("run_id", F.lit(write.run_id))
    names = [f"{_IN}{name}" for name, _ in parts_of(table)]
    parts = [column.alias(name) for name, column in zip(names, partition_columns(table), strict=True)]
    cut = rows.select(*table.names, *parts)
    gathered = cut.hint("rebalance", *names) if names else cut.coalesce(1)
    order = [*names, *table.key]
    writer = gathered.sortWithinPartitions(*order).write.option("compression", "zstd")
    writer.option("maxRecordsPerFile", ROWS_IN_FILE).partitionBy(*names).parquet(base)
    return {partition: [folder] for partition, folder in _leaves(write, base, len(names))}


def partition_columns(table: Table) -> list[Column]:
    """What the parts of its partitions' names are made of."""
    return [_part(name, of) for name, of in parts_of(table)]


def _part(name: str, of: str) -> Column:
    return F.date_format(F.col(of), _SPARK_FORMATS[name]) if name in _SPARK_FORMATS else F.col(of)


def _leaves(write: Write, folder: str, depth: int, partition: str = "") -> Iterable[tuple[str, str]]:
    if not depth:
        yield partition, folder
        return
    for entry in write.lake.filesystem.entries(folder):
        if entry.is_folder and entry.name.startswith(_IN):
            below = f"{partition}/{entry.name.removeprefix(_IN)}".lstrip("/")
            yield from _leaves(write, f"{folder}/{entry.name}", depth - 1, below)
