"""The lake's tables as DataFrames: read from the files of a version, written as folders that are committed later.
Spark needs nothing of Delta for either.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from console.history.schema import Table
from console.history.store import Lake, Release
from console.history.store.partitions import IN, parts_of
from console.history.store.write import Write

_SPARK_FORMATS = {"day": "yyyy-MM-dd", "hour": "yyyy-MM-dd'T'HH"}
ROWS_IN_FILE = 4_000_000


def read_table(
    spark: SparkSession,
    lake: Lake,
    release: Release,
    table: Table,
    partitions: Iterable[str] | None = None,
) -> DataFrame:
    """The table as it is in that version; without rows where it has no files."""
    paths = lake.files(release, table, partitions)
    if not paths:  # known to be empty before anything runs: what is joined with it is left out of the plan
        names = (F.lit(None).cast(column.type).alias(column.name) for column in table.columns)
        return spark.range(0).select(*names).where(F.lit(False))
    return spark.read.schema(table.ddl).parquet(*lake.filesystem.here(paths)).select(*table.names)


def write_partitions(write: Write, table: Table, rows: DataFrame) -> dict[str, list[str]]:
    """Writes the rows to new folders, in few files, each in the order of the table's key, `run_id` as this run's; gives
    the folders by partition, for `Write.rewrite` or `Write.replace`.
    """
    base = write.folder(table.name)
    if "run_id" in table.names:
        rows = rows.withColumn("run_id", F.lit(write.run_id))
    parts = {
        f"{IN}{name}": F.date_format(of, _SPARK_FORMATS[name]) if name in _SPARK_FORMATS else F.col(of)
        for name, of in parts_of(table)
    }
    names = list(parts)
    cut = rows.select(*table.names).withColumns(parts)
    gathered = cut.hint("rebalance", *names) if names else cut.coalesce(1)
    in_order = gathered.sortWithinPartitions(*names, *table.key)
    writer = in_order.write.option("compression", "zstd").option("maxRecordsPerFile", ROWS_IN_FILE)
    scratch = rows.sparkSession.conf.get("spark.local.dir", None) or tempfile.gettempdir()
    with write.lake.filesystem.gathered(base, scratch) as place:
        writer.partitionBy(*names).parquet(place)
    return {_partition(folder.removeprefix(base)): [folder] for folder in _leaves(write, base, len(names))}


def _partition(path: str) -> str:
    """``/in_cluster_id=X/in_day=D`` as the lake names the partition."""
    return "/".join(part.removeprefix(IN) for part in path.split("/") if part)


def _leaves(write: Write, folder: str, depth: int) -> Iterable[str]:
    if not depth:
        yield folder
        return
    for entry in write.lake.filesystem.entries(folder):
        if entry.is_folder and entry.name.startswith(IN):
            yield from _leaves(write, f"{folder}/{entry.name}", depth - 1)
