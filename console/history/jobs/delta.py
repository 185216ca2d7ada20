"""Tables that are built as Delta tables, for who reads the lake with Delta's own readers, too.

A table is at data/<table>/delta. The manifest names its version there and the files of that version, so that readers of
manifests see one state of all tables, and need no Delta. Delta commits before CURRENT moves: a run that is killed in
between leaves a version that no manifest names, and the next run begins at the manifest's. The columns that Delta
partitions by are made of others and stand beside them (``in_cluster_id``), since Delta leaves them out of its files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from console.history.schema import Table

from ..store import DataFile, TableFiles
from ..store.manifest import schema_of
from ..store.partitions import TimeCut
from ..store.write import Write
from .tables import ROWS_IN_FILE, in_partitions, partition_of_folder

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
