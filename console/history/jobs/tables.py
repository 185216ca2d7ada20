"""The lake's tables as DataFrames: read from the files of a version, written as folders of partitions, and published as
Delta tables for other readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from delta import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from console.history.schema import Table
from console.history.store import DataFile, Lake, Manifest, TableFiles
from console.history.store.manifest import schema_of
from console.history.store.partitions import TimeCut, parts_of
from console.history.store.write import Write

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
    names, gathered = in_partitions(write, table, rows, keep_run_id=keep_run_id)
    writer = gathered.write.option("compression", "zstd").option("maxRecordsPerFile", ROWS_IN_FILE)
    writer.partitionBy(*names).parquet(base)
    return {partition_of_folder(folder.removeprefix(base)): [folder] for folder in _leaves(write, base, len(names))}


def in_partitions(
    write: Write, table: Table, rows: DataFrame, *, keep_run_id: bool = False
) -> tuple[list[str], DataFrame]:
    """The rows with the columns to partition by, whose names come first; gathered so that few files come of them, and
    in the order of the table's key."""
    if "run_id" in table.names and not keep_run_id:
        rows = rows.withColumn("run_id", F.lit(write.run_id))
    names = [f"{_IN}{name}" for name, _ in parts_of(table)]
    parts = [column.alias(name) for name, column in zip(names, partition_columns(table), strict=True)]
    cut = rows.select(*table.names, *parts)
    gathered = cut.hint("rebalance", *names) if names else cut.coalesce(1)
    return names, gathered.sortWithinPartitions(*names, *table.key)


def partition_of_folder(path: str) -> str:
    """``/in_cluster_id=X/in_day=D`` as the manifest names the partition."""
    return "/".join(part.removeprefix(_IN) for part in path.split("/") if part)


def partition_columns(table: Table) -> list[Column]:
    """What the parts of its partitions' names are made of."""
    return [_part(name, of) for name, of in parts_of(table)]


def _part(name: str, of: str) -> Column:
    return F.date_format(F.col(of), _SPARK_FORMATS[name]) if name in _SPARK_FORMATS else F.col(of)


def _leaves(write: Write, folder: str, depth: int) -> Iterable[str]:
    if not depth:
        yield folder
        return
    for entry in write.lake.filesystem.entries(folder):
        if entry.is_folder and entry.name.startswith(_IN):
            yield from _leaves(write, f"{folder}/{entry.name}", depth - 1)


# Tables that are built as Delta tables, for who reads the lake with Delta's own readers, too.
#
# A table is at data/<table>/delta. The manifest names its version there and the files of that version, so that readers
# of manifests see one state of all tables, and need no Delta. Delta commits before CURRENT moves: a run that is killed
# in between leaves a version that no manifest names, and the next run begins at the manifest's. The columns that Delta
# partitions by are made of others and stand beside them (``in_cluster_id``), since Delta leaves them out of its files.

PACKAGE = "io.delta:delta-spark_4.2_2.13:4.4.0"
"""The jar that goes with pyspark 4.2 and delta-spark 4.4.0: other pairs fail, some only when reading."""
SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""What a session needs besides the jar; it can't be set later. Delta takes 50 tasks to read its log, which is small."""


def write_delta(spark: SparkSession, write: Write, table: Table, rows: DataFrame, cut: TimeCut | None) -> None:
    """Puts the rows in the place of what the table had: all of it, or the partitions of `cut`."""
    where = write.lake.path(f"data/{table.name}/delta")
    former = write.draft.table(table).delta
    _settle(spark, where, former)
    names, gathered = in_partitions(write, table, rows)
    writer = gathered.write.format("delta").mode("overwrite").option("maxRecordsPerFile", ROWS_IN_FILE)
    if names:
        writer = writer.partitionBy(*names)
    if cut is None:
        writer = writer.option("overwriteSchema", "true")
    else:
        writer = writer.option("replaceWhere", f"in_{cut.part} >= '{cut.first}'")
    writer.save(where)
    version = int(DeltaTable.forPath(spark, where).history(1).collect()[0]["version"])
    paths = spark.read.format("delta").option("versionAsOf", version).load(where).inputFiles()
    write.stand(table.name, TableFiles(schema_of(table), *_named(write, where, paths), delta=version))


def _settle(spark: SparkSession, where: str, former: int | None) -> None:
    """Takes back what a run wrote that died before its commit."""
    if former is None or not DeltaTable.isDeltaTable(spark, where):
        return
    table = DeltaTable.forPath(spark, where)
    if int(table.history(1).collect()[0]["version"]) != former:
        table.restoreToVersion(former)


def _named(
    write: Write, where: str, paths: Iterable[str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[DataFile, ...]]]:
    """Partitions and files, as a manifest has them. paths: as Spark's `inputFiles` gives them, escaped."""
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = unquote(urlsplit(path).path).rpartition("/")
        _, _, within = folder.rpartition("/delta")
        by_folder.setdefault(f"{where}{within}", []).append(name)
    partitions: dict[str, tuple[str, ...]] = {}
    files: dict[str, tuple[DataFile, ...]] = {}
    for folder, names in sorted(by_folder.items()):
        relative = folder.removeprefix(f"{write.lake.where}/")
        partitions[partition_of_folder(folder.removeprefix(where))] = (relative,)
        files[relative] = tuple(write.described(folder, names))
    return partitions, files
