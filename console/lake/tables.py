"""The lake's tables on Spark: reads, one append for each batch, streams, and compaction. delta-spark makes the commits;
all rows stay in the executors' tasks, except those that `taken` returns in the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from console.lake import schema as lake_schema
from console.lake.lake import Lake
from console.lake.transforms.kraft_changes import FIRST_OFFSETS
from console.lake.transforms.rows import arrow_of
from console.model.numbers import json_text

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamReader


_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
_ALL_AT_ONCE = 1_000_000
"""Maximum number of files in a batch of a stream: so high that every batch has all new files."""


class TooMany(Exception):
    """A frame has more rows than the driver may collect."""


def taken(keys: DataFrame, most: int) -> list[tuple[Any, ...]]:
    """Return the rows of a small frame of keys and counts as tuples, collected in the driver.

    Args:
        most: the maximum number of rows; it is checked before they are collected.

    Raises:
        TooMany: there are more rows.
    """
    rows = keys.limit(most + 1).collect()
    if len(rows) > most:
        raise TooMany
    return [tuple(row) for row in rows]


def given(spark: SparkSession, keys: Iterable[Sequence[Any]], schema: pa.Schema) -> DataFrame:
    """Return a frame with these rows of the driver."""
    return spark.createDataFrame(arrow_of(schema, keys))


def observed(rows: DataFrame, counts: Mapping[str, str]) -> tuple[DataFrame, Observation]:
    """Return the rows, and the observation of aggregates that Spark computes while it writes them. counts: name
    -> SQL.
    """
    seen = Observation()
    return rows.observe(seen, *(F.expr(sql).alias(name) for name, sql in counts.items())), seen


def empty(spark: SparkSession, ddl: str) -> DataFrame:
    """Return a frame without rows. ddl: its columns."""
    return spark.createDataFrame([], ddl)


def keyed(records: DataFrame, names: DataFrame) -> DataFrame:
    """Return records of the metadata log, each with its entity's key. A record that names a topic or ACL only by its id
    gets the key from `names`; records with unknown ids are left out.

    Args:
        names: the columns cluster_id, entity_id, name.
    """
    found = records.join(F.broadcast(names), ["cluster_id", "entity_id"], "left")
    return found.withColumn("entity_key", F.coalesce("entity_key", "name")).where("entity_key IS NOT NULL")


def of_clusters(clusters: Iterable[str]) -> Column:
    """Return the condition that selects the rows of these clusters. The table's files must be partitioned by
    cluster.
    """
    return F.col(*lake_schema.CLUSTER_PART).isin(sorted(clusters))


def _made_last(rows: DataFrame, table: lake_schema.Table) -> DataFrame:
    """Return the rows with the highest `made` in each group of rows that replace each other (`Table.newest`)."""
    latest = F.expr(f"max(made) OVER (PARTITION BY {', '.join(table.newest)})")
    return rows.withColumn("latest", latest).where("made = latest").drop("latest")


class Tables:
    """The tables of one lake, for one application. No other application writes to them, so the cached versions stay
    valid.

    Attributes:
        lake: the lake, accessed without Spark.
        note: a JSON text that every commit contains.
    """

    def __init__(self, spark: SparkSession, lake: Lake, root: str, note: dict[str, Any]) -> None:
        self.spark = spark
        self._lake = lake
        self._with_rows: set[str] = set()
        self.root = root.rstrip("/")
        self._note = note
        self._made: dict[str, int] = {}
        self._there: set[str] = set()

    def path(self, table: lake_schema.Table) -> str:
        """Return the path of a table."""
        return f"{self.root}/data/{table.name}"

    def exists(self, table: lake_schema.Table) -> bool:
        """Return whether the table has at least one commit."""
        if table.name not in self._there and self._lake.version(table) >= 0:
            self._there.add(table.name)
        return table.name in self._there

    def is_empty(self, table: lake_schema.Table) -> bool:
        """Return whether a table has no rows, by its log: Spark would take as long to plan a query of an empty table as
        of any other.
        """
        if table.name not in self._with_rows and self._lake.table(table).files:
            self._with_rows.add(table.name)
        return table.name not in self._with_rows

    def create_bronze(self) -> None:
        """Create those bronze tables that do not exist: the stream of gold reads them all."""
        for table in lake_schema.BRONZE:
            if not self.exists(table):
                parts = f" PARTITIONED BY ({', '.join(table.partitions)})" if table.partitions else ""
                # Readers select clusters, days and entities. A table without entities is found by its partitions alone
                # and needs no statistics.
                if "entity_type" not in table.names:
                    parts += " TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '0')"
                self.spark.sql(f"CREATE TABLE IF NOT EXISTS {self.named(table)} ({table.stored}) USING delta{parts}")
                self._there.add(table.name)

    def named(self, table: lake_schema.Table) -> str:
        """Return the expression that names the table in SQL."""
        return "delta.`" + self.path(table).replace("`", "``") + "`"

    def read(self, table: lake_schema.Table, clusters: Iterable[str] | None = None) -> DataFrame:
        """Return a table's rows, with partition columns and `made`; no rows if it does not exist.

        Args:
            clusters: ids of clusters, for a table whose files are partitioned by cluster; None for all clusters.
        """
        if not self.exists(table):
            return empty(self.spark, table.stored)
        rows = self.spark.read.format("delta").load(self.path(table))
        return rows if clusters is None else rows.where(of_clusters(clusters))

    def newest(self, table: lake_schema.Table, where: Column) -> DataFrame:
        """Return a table's valid rows: the rows with the highest `made` among those that are equal in `Table.newest`,
        without tombstones.

        Args:
            where: a condition on columns of `Table.newest` only: on other columns it could select replaced rows.

        Returns:
            The table's columns, without partition columns and `made`.
        """
        rows = self.read(table).where(where)
        if table.newest:
            rows = _made_last(rows, table).where(f"{table.there} IS NOT NULL")
        return rows.select(*table.names)

    def stream(self, table: lake_schema.Table) -> DataFrame:
        """Return the rows that are appended to a table, as a stream. Rows that maintenance only rewrites are
        not in it.
        """
        reader: DataStreamReader = self.spark.readStream.format("delta")
        reader = reader.option("skipChangeCommits", "true").option("maxFilesPerTrigger", _ALL_AT_ONCE)
        return reader.load(self.path(table))

    def append(self, rows: DataFrame, table: lake_schema.Table, batch: Batch) -> int | None:
        """Append the rows of a batch. If the same batch was appended before, do nothing.

        Returns:
            The version of the table that has the rows; None if the batch was appended before. In that case the
            observation of the rows never gets a result: do not wait for it.
        """
        before = self._lake.version(table)
        written = rows.withColumns({name: F.expr(of) for name, of in table.partitions.items()})
        if table.newest:
            made = self._next_made(table)
            written = written.withColumn("made", F.lit(made).cast("bigint"))
            self._made[table.name] = made
        self._save(written.write.format("delta").mode("append").partitionBy(*table.partitions), table, batch)
        after = self._lake.version(table)
        return after if after > before else None

    def overwrite(self, rows: DataFrame, table: lake_schema.Table, batch: Batch) -> None:
        """Replace all rows of a table by these, with a new `made`."""
        self._save(rows.write.format("delta").mode("overwrite").partitionBy(*table.partitions), table, batch)

    def rewrite(self, rows: DataFrame, table: lake_schema.Table) -> None:
        """Replace all rows of a table by its valid rows, which keep their `made`, in new files."""
        writer = rows.write.format("delta").mode("overwrite").option("userMetadata", json_text(self._note))
        writer.partitionBy(*table.partitions).save(self.path(table))

    def delete(self, table: lake_schema.Table, where: str) -> None:
        """Delete the rows that meet a condition."""
        self.spark.sql(f"DELETE FROM {self.named(table)} WHERE {where}")  # noqa: S608 - the condition is kac's own

    def undo(self, table: lake_schema.Table, version: int, note: Mapping[str, Any]) -> None:
        """Restore an earlier version of a table. note: added to the commit."""
        conf = self.spark.conf
        conf.set(_NOTE, json_text({**self._note, **note}))
        try:
            self.spark.sql(f"RESTORE TABLE {self.named(table)} TO VERSION AS OF {version}")
        finally:
            conf.unset(_NOTE)

    def _save(self, writer: Any, table: lake_schema.Table, batch: Batch) -> None:
        writer = writer.option("txnAppId", f"{batch.query}/{table.name}").option("txnVersion", batch.number)
        writer.option("userMetadata", json_text({**self._note, **batch.note})).save(self.path(table))
        self._there.add(table.name)

    def made(self, table: lake_schema.Table) -> int:
        """Return the highest value of the column `made` in a table, which the rows appended last have; 0 if the table
        has no row.
        """
        return self._next_made(table) - 1

    def _next_made(self, table: lake_schema.Table) -> int:
        """Return the value for the column `made` in the next rows to append: one more than the highest of the existing
        rows.
        """
        if table.name not in self._made:
            ((highest,),) = taken(self.read(table).agg(F.max("made")), 1)
            self._made[table.name] = highest or 0
        return self._made[table.name] + 1


@dataclass(frozen=True)
class Batch:
    """A batch of a stream."""

    query: str
    """The id of the stream's checkpoint: a new checkpoint numbers its batches from 0 again."""
    number: int
    note: Mapping[str, Any] = field(default_factory=dict)
    """The note in the commits of the batch, in addition to the application's note."""

    def noting(self, **more: Any) -> Batch:
        """Return a copy with additions to the note."""
        return replace(self, note={**self.note, **more})


# -- maintenance that keeps a lake small: compaction of files, deletion of replaced rows and of old rows of bronze -----

# These rows of bronze may be deleted: requests by the second and decisions by the minute (minutes and hours made from
# them stay, and are not made again), records without an entity, unreadable lines, and whole snapshots of a metadata log
# that showed no difference: without them the same changes follow. A row about an entity stays as long as its history.

EVERY = timedelta(days=1)
"""Interval of maintenance."""
MANY_FILES = 100
"""Maintenance compacts a table with more files than this. The first update of a lake writes fewer, so it compacts
nothing.
"""
KEPT_HOURS = 7 * 24
"""Hours for which files that the newest version of a table does not need are kept, for readers of older versions.
This is Delta's own minimum.
"""
MOST_SNAPSHOTS = 1_000_000


def maintain(tables: Tables, files: dict[str, int], keep_days: float | None) -> None:
    """Delete rows older than `keep_days`, compact tables of more than `MANY_FILES` (100) files, and delete the files of
    all tables that no recent version needs.

    Args:
        files: name of a table -> number of files.
        keep_days: the number of days for which rows that no history is made from are kept; None to keep them for ever.
    """
    spark = tables.spark
    if keep_days is not None:
        _forget(tables, datetime.now(timezone.utc) - timedelta(days=keep_days))
    for table in lake_schema.TABLES.values():
        if not tables.exists(table):
            continue
        if files.get(table.name, 0) > MANY_FILES:
            if table.newest:
                tables.rewrite(_made_last(tables.read(table), table).repartition(*table.partitions), table)
            elif table in lake_schema.BRONZE:
                by = " ZORDER BY (cluster_id)" if "in_cluster_id" not in table.partitions else ""
                spark.sql(f"OPTIMIZE {tables.named(table)}{by}")
        spark.sql(f"VACUUM {tables.named(table)} RETAIN {KEPT_HOURS} HOURS")


def _forget(tables: Tables, before: datetime) -> None:
    """Delete the rows of bronze that no history is made from, if they are of a day before `before`."""
    day = f"in_day < '{before:%Y-%m-%d}'"
    tables.delete(lake_schema.REQUEST, f"{day} AND alter IS NULL")
    tables.delete(lake_schema.AUTHORIZATION, day)
    plain = f"entity_type IS NULL AND NOT in_snapshot AND log_offset >= {FIRST_OFFSETS}"
    tables.delete(lake_schema.KRAFT_RECORD, f"{day} AND {plain}")
    if not tables.exists(lake_schema.CHANGE_EVENT):
        return
    told = (
        tables.newest(lake_schema.CHANGE_EVENT, F.col("source") == "kraft_snapshot")
        .select("cluster_id", "log_offset")
        .distinct()
    )
    old = (
        tables.read(lake_schema.KRAFT_RECORD)
        .where(f"{day} AND in_snapshot")
        .select("cluster_id", "log_offset")
        .distinct()
    )
    without = taken(old.join(told, ["cluster_id", "log_offset"], "left_anti"), MOST_SNAPSHOTS)
    for cluster in {cluster for cluster, _ in without}:
        ends = ", ".join(str(end) for of, end in without if of == cluster)
        named = cluster.replace("\\", "\\\\").replace("'", "\\'")
        where = f"in_cluster_id = '{named}' AND {day} AND in_snapshot AND log_offset IN ({ends})"
        tables.delete(lake_schema.KRAFT_RECORD, where)
