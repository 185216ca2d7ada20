"""The transforms of an entity's rows, and of an hour's, on Spark: for more rows than one process takes. Each task gives
whole entities or hours to the transform; all rows of one are in memory then. Tables are read from the files of a
version, and written as folders that are committed later: Spark needs nothing of Delta for either."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from console.history.jobs.plan_build import BRONZE
from console.history.schema import CHANGE_EVENT, HISTORY, QUOTA_USAGE, TABLES, Table, arrow_schema
from console.history.store import Lake, Release
from console.history.store.partitions import IN, parts_of
from console.history.store.write import Write
from console.history.transforms.change_event import OF_ENTITIES, Bronze, change_event
from console.history.transforms.coverage import Covered, Polls
from console.history.transforms.history import history
from console.history.transforms.kraft_changes import Epochs, Names, acl_of, facts
from console.history.transforms.quota_usage import HOUR, SCOPE, WINDOW_SECONDS, Limits, used_minutes, with_suggestions
from console.history.transforms.rows import ENTITY, rows_of

CHUNK = 50_000
"""Rows that are given to a transform at a time, or those of one entity or hour."""
_SPARK_FORMATS = {"day": "yyyy-MM-dd", "hour": "yyyy-MM-dd'T'HH"}
ROWS_IN_FILE = 4_000_000
_ID = "id"
_OF = "of_table"
_Made = Callable[[pa.Table], pa.Table]


def events_of(bronze: Mapping[str, DataFrame], epochs: Mapping[str, Epochs], polls: Mapping[str, Polls]) -> DataFrame:
    """CHANGE_EVENT's rows, less `run_id`, of the bronze tables by name."""
    records = bronze["kraft_record"]
    with_entity = f"{_ddl(TABLES['kraft_record'])}, entity_type STRING, entity_key STRING, {_ID} STRING"
    tagged = records.select(*_names(TABLES["kraft_record"])).mapInArrow(_tag, with_entity)
    named = tagged.where(F.col(_ID).isNotNull() & F.col("entity_key").isNotNull())
    names = named.select("cluster_id", _ID, F.col("entity_key").alias("name")).distinct()
    keyed = tagged.join(names, on=["cluster_id", _ID], how="left").withColumn(
        "entity_key", F.coalesce("entity_key", "name")
    )
    told = {**bronze, "kraft_record": keyed.where(F.col("entity_key").isNotNull()).drop(_ID, "name")}
    told["snapshot"] = told["snapshot"].where(F.col("kind").isin("state", "absent"))
    parts = [rows.withColumn(_OF, F.lit(name)) for name, rows in told.items()]
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)

    def make(rows: pa.Table) -> pa.Table:
        own = (rows.filter(pc.equal(rows[_OF], name)) for name in BRONZE)
        return change_event(Bronze(*own), epochs, polls)

    return _gathered(together, ENTITY, make, CHANGE_EVENT)


def history_of(events: DataFrame, polls: Mapping[str, Polls], covers: Mapping[str, Covered]) -> DataFrame:
    """HISTORY's rows, less those of gaps."""
    return _gathered(events, ENTITY, lambda rows: history(rows, polls, covers), HISTORY)


def usage_of(
    seconds: DataFrame, former: DataFrame, wanted: set[tuple[str, int]], limits: Mapping[str, Limits]
) -> DataFrame:
    """QUOTA_USAGE's rows. wanted: clusters and hours that are made. seconds: REQUEST_1S's rows of these and of those
    before. former: minutes, of which those of other hours stay."""
    at = F.unix_seconds("second")
    hours = F.array_distinct(F.array(F.floor(at / HOUR), F.floor((at + WINDOW_SECONDS - 1) / HOUR)))
    by_hour = seconds.withColumn(_OF, F.explode(hours))

    def make(rows: pa.Table) -> pa.Table:
        made = [
            used_minutes(rows.filter((pc.field("cluster_id") == of) & (pc.field(_OF) == hour)), hour, limits[of])
            for of, hour in wanted.intersection(rows_of(rows, "cluster_id", _OF))
        ]
        return pa.concat_tables(made) if made else arrow_schema(QUOTA_USAGE).empty_table()

    minutes = _gathered(by_hour, ("cluster_id", _OF), make, QUOTA_USAGE)
    again = seconds.sparkSession.createDataFrame(list(wanted), f"cluster_id STRING, {_OF} BIGINT")
    kept = former.withColumn(_OF, F.floor(F.unix_seconds("minute") / HOUR))
    kept = kept.join(F.broadcast(again), on=["cluster_id", _OF], how="left_anti").drop(_OF)
    return _gathered(minutes.unionByName(kept), SCOPE, with_suggestions, QUOTA_USAGE)


def _gathered(rows: DataFrame, keys: Sequence[str], make: _Made, table: Table) -> DataFrame:
    together = rows.repartition(*keys).sortWithinPartitions(*keys)
    return together.mapInArrow(lambda batches: in_chunks(batches, make, keys), _ddl(table))


def in_chunks(batches: Iterable[pa.RecordBatch], make: _Made, keys: Sequence[str] = ENTITY) -> Iterator[pa.RecordBatch]:
    """What `make` gives of rows in the order of these keys, all of a key at a time."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= CHUNK:
            rows = pa.Table.from_batches(waiting)
            last = {name: rows[name][-1] for name in keys}
            begun = reduce(pc.and_, (_same(rows[name], value) for name, value in last.items()))
            first = pc.index(begun, True).as_py()
            if first:
                yield from make(rows.slice(0, first)).to_batches()
            waiting = rows.slice(first).to_batches()
            count = 0 if first else rows.num_rows
    if waiting:
        yield from make(pa.Table.from_batches(waiting)).to_batches()


def _same(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, value), False) if value.is_valid else pc.is_null(column)


def _tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The records that say something of an entity, with its type, its key where they have it, and the id by which they
    name it."""
    names = Names()
    decode = msgspec.json.Decoder().decode
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        rows = rows.filter(OF_ENTITIES)
        tags: list[tuple[str, str | None, str | None]] = []
        for type_, payload in rows_of(rows, "record_type", "payload"):
            fields = decode(payload)
            if "topicId" in fields:
                tags.append(("topic", fields.get("name"), fields["topicId"]))
            elif "AccessControlEntry" in type_:
                tags.append(("acl", acl_of(fields)[0] if "resourceName" in fields else None, fields["id"]))
            else:
                fact = next(facts(type_, fields, None, names), None)
                tags.append(("", None, None) if fact is None else (*fact.entity, None))
        columns = zip(*tags, strict=True) if tags else ((), (), ())
        for name, column in zip(("entity_type", "entity_key", _ID), columns, strict=True):
            rows = rows.append_column(name, pa.array(column, pa.string()))
        yield from rows.to_batches()


def _names(table: Table) -> list[str]:
    return [name for name in table.names if name != "run_id"]


def _ddl(table: Table) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in table.columns if column.name != "run_id")


# -- tables as DataFrames --------------------------------------------------------------------------------------------


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
