"""The lake's tables on Spark: read, appended to once for each batch, streamed, kept small. Delta commits, delta-spark
by the executors' tasks; of rows nothing comes to the driver but what `taken` says.
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


PARTITION = "in_"
"""Begins the names of partitions: the columns that they are made of are in the files, too."""
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
_ALL_AT_ONCE = 1_000_000
"""Files of a batch of a stream: what there is is one batch."""


class TooMany(Exception):
    """More keys than may come to the driver."""


def taken(keys: DataFrame, most: int) -> list[tuple[Any, ...]]:
    """Return the rows of a small frame of keys and counts, in the driver.

    Args:
        most: rows that may come to the driver; this is checked before they do.

    Raises:
        TooMany: there are more.
    """
    rows = keys.limit(most + 1).collect()
    if len(rows) > most:
        raise TooMany
    return [tuple(row) for row in rows]


def given(spark: SparkSession, keys: Iterable[Sequence[Any]], schema: pa.Schema) -> DataFrame:
    """Return keys that the driver has as a frame."""
    return spark.createDataFrame(arrow_of(schema, keys))


def observed(rows: DataFrame, counts: Mapping[str, str]) -> tuple[DataFrame, Observation]:
    """Return rows of which aggregations (SQL by name) are computed while they are written, and their observation."""
    seen = Observation()
    return rows.observe(seen, *(F.expr(sql).alias(name) for name, sql in counts.items())), seen


def empty(spark: SparkSession, ddl: str) -> DataFrame:
    """Return a frame without rows."""
    return spark.createDataFrame([], ddl)


def keyed(records: DataFrame, names: DataFrame) -> DataFrame:
    """Return records of the metadata log with the keys of what they name by an id alone; those of unknown name are left
    out. names: cluster_id, entity_id, name.
    """
    found = records.join(F.broadcast(names), ["cluster_id", "entity_id"], "left")
    return found.withColumn("entity_key", F.coalesce("entity_key", "name")).where("entity_key IS NOT NULL")


def of_clusters(clusters: Iterable[str]) -> Column:
    """Return the condition that a row is of these clusters, for tables whose files are partitioned by cluster."""
    return F.col(*lake_schema.CLUSTER_PART).isin(sorted(clusters))


def _made_last(rows: DataFrame, table: lake_schema.Table) -> DataFrame:
    """Return, of rows that replace each other, those with the highest `made`."""
    latest = F.expr(f"max(made) OVER (PARTITION BY {', '.join(table.newest)})")
    return rows.withColumn("latest", latest).where("made = latest").drop("latest")


class Tables:
    """The tables of one lake, for one application: it is alone, so what it knows of them stays true.

    lake: the same without Spark. note: goes into each commit of Delta, as JSON.
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
        """Return whether anything was ever written to a table."""
        if table.name not in self._there and self._lake.version(table) >= 0:
            self._there.add(table.name)
        return table.name in self._there

    def is_empty(self, table: lake_schema.Table) -> bool:
        """Return whether a table has no rows: to plan a query of none takes as long as of some."""
        if table.name not in self._with_rows and self._lake.table(table).files:
            self._with_rows.add(table.name)
        return table.name not in self._with_rows

    def create_bronze(self) -> None:
        """Create what a stream of all bronze tables reads."""
        for table in lake_schema.BRONZE:
            if not self.exists(table):
                parts = f" PARTITIONED BY ({', '.join(table.partitions)})" if table.partitions else ""
                self.spark.sql(f"CREATE TABLE IF NOT EXISTS {self.named(table)} ({table.stored}) USING delta{parts}")
                self._there.add(table.name)

    def named(self, table: lake_schema.Table) -> str:
        """Return the table's name in SQL."""
        return "delta.`" + self.path(table).replace("`", "``") + "`"

    def read(self, table: lake_schema.Table, clusters: Iterable[str] | None = None) -> DataFrame:
        """Return a table's rows, with partitions and `made`; none where it does not exist. clusters: whose rows, of a
        table whose files are partitioned by cluster; None: of all.
        """
        if not self.exists(table):
            return empty(self.spark, table.stored)
        rows = self.spark.read.format("delta").load(self.path(table))
        return rows if clusters is None else rows.where(of_clusters(clusters))

    def newest(self, table: lake_schema.Table, where: Column) -> DataFrame:
        """Return a table's valid rows: of rows that are equal in `Table.newest` those made last, without those that
        report a deletion.

        Args:
            where: a condition on columns of `Table.newest` alone: on others it would select a row that was replaced.

        Returns:
            The table's columns, without partitions and `made`.
        """
        rows = self.read(table).where(where)
        if table.newest:
            rows = _made_last(rows, table).where(f"{table.there} IS NOT NULL")
        return rows.select(*table.names)

    def stream(self, table: lake_schema.Table) -> DataFrame:
        """Return what is appended to a table, as a stream. What maintenance rewrites is left out."""
        reader: DataStreamReader = self.spark.readStream.format("delta")
        reader = reader.option("skipChangeCommits", "true").option("maxFilesPerTrigger", _ALL_AT_ONCE)
        return reader.load(self.path(table))

    def append(self, rows: DataFrame, table: lake_schema.Table, batch: Batch) -> int | None:
        """Append rows, once for each batch however often it is called. Returns the version of the table that has them;
        None: they were there, and nothing is observed of rows that are not written again: it would be waited for
        without end."""
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
        """Replace all rows of a table."""
        self._save(rows.write.format("delta").mode("overwrite").partitionBy(*table.partitions), table, batch)

    def rewrite(self, rows: DataFrame, table: lake_schema.Table) -> None:
        """Replace all rows of a table by rows that keep their `made`: the valid ones, in other files."""
        writer = rows.write.format("delta").mode("overwrite").option("userMetadata", json_text(self._note))
        writer.partitionBy(*table.partitions).save(self.path(table))

    def delete(self, table: lake_schema.Table, where: str) -> None:
        """Delete the rows for which a condition holds."""
        self.spark.sql(f"DELETE FROM {self.named(table)} WHERE {where}")  # noqa: S608 - of our own words

    def undo(self, table: lake_schema.Table, version: int, note: Mapping[str, Any]) -> None:
        """Restore a table's state of a version; the commit says so, and the note."""
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
        """Return the `made` of the rows that were appended last."""
        return self._next_made(table) - 1

    def _next_made(self, table: lake_schema.Table) -> int:
        """Return the `made` with which new rows replace every existing one."""
        if table.name not in self._made:
            ((highest,),) = taken(self.read(table).agg(F.max("made")), 1)
            self._made[table.name] = highest or 0
        return self._made[table.name] + 1


@dataclass(frozen=True)
class Batch:
    """A batch of a stream. query: its checkpoint's id: a new checkpoint counts its batches from 0 again. note: what its
    commits say, beside what all of the application do."""

    query: str
    number: int
    note: Mapping[str, Any] = field(default_factory=dict)

    def noting(self, **more: Any) -> Batch:
        """Return the batch with more in its note."""
        return replace(self, note={**self.note, **more})


# -- what keeps a lake small: few files of many, rows that others have replaced go, and of bronze old ones -------------

# Of bronze these may go: requests by the second (the minutes that were made of them stay, and are not made again),
# records that are about no entity, unreadable lines, and whole snapshots of a metadata log by which nothing was found
# to differ: without them the same changes follow. What says something of an entity stays as long as its history.

EVERY = timedelta(days=1)
"""How often it is done."""
MANY_FILES = 100
"""Of a table: fewer are left as they are. The first update writes fewer, and compacts nothing."""
KEPT_HOURS = 7 * 24
"""How long files that hold no more stay for readers: Delta's own least."""
MOST_SNAPSHOTS = 1_000_000


def maintain(tables: Tables, files: dict[str, int], keep_days: float | None) -> None:
    """Compact tables of many files, vacuum them, and delete rows that are too old. files: how many each table has.
    keep_days: how many days rows are kept of which no history is made; None: for ever.
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
    """Delete what no history is made of, of the days before that time."""
    day = f"in_day < '{before:%Y-%m-%d}'"
    tables.delete(lake_schema.REQUEST, f"{day} AND alter IS NULL")
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
