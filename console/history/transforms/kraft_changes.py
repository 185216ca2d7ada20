"""Changes from facts of the metadata log (`kraft_facts`).

A record of the log is a change. A snapshot shows the state: it reports a change only if the log and the snapshots
before it end in another state, since then a part of the log is missing. Both follow from the neighbours of each fact in
the order of its attribute: snapshots cut the log into epochs, 0 before the first, and between a fact and the next lie
as many snapshots without its attribute as their epochs differ.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

ATTRIBUTE = ("cluster_id", "entity_type", "entity_key", "attr")
SINCE_BEFORE = -1
"""The uncertainty of what the first poll of a cluster shows: it was set before, at an unknown time."""
FIRST_OFFSETS = 10
"""A log with a record below this offset is complete from its beginning: before it are only the control records of its
first leader."""
_SPREAD = 64
_MS = F.unix_millis


def kraft_changes(facts: DataFrame, records: DataFrame) -> DataFrame:
    """Changes, in CHANGE_EVENT's columns without those of the author. facts: of `records`, KRAFT_RECORD's columns."""
    in_order = Window.partitionBy(*ATTRIBUTE).orderBy("epoch", F.col("in_snapshot").desc(), "log_offset")
    placed = _with_epochs(facts, _epochs(records)).select(
        "*",
        *(F.lag(name).over(in_order).alias(f"last_{name}") for name in ("is_set", "digest", "epoch", "ts")),
        *(F.lead(name).over(in_order).alias(f"next_{name}") for name in ("epoch", "in_snapshot")),
    )
    return (
        placed.withColumn("change", F.explode(F.array(_own_change(), _vanished())))
        .where(F.col("change").isNotNull())
        .select(*ATTRIBUTE, "run_id", "change.*")
    )


def _epochs(records: DataFrame) -> DataFrame:
    """Each epoch with the snapshot that it begins with: cluster_id, log_offset (-1 of the first, which begins with
    none), mark: its number, the snapshot's time, the times of the one before and the one after, the latter's offset,
    and whether the log is complete from its beginning."""
    in_order = Window.partitionBy("cluster_id").orderBy("log_offset")
    of_cluster = Window.partitionBy("cluster_id")
    is_log = F.col("log_offset") < 0
    ts = F.when(~is_log, F.col("ts"))
    mark = F.struct(
        F.sum((~is_log).cast("int")).over(in_order).cast("int").alias("epoch"),
        F.lag(ts).over(in_order).alias("former_ts"),
        F.lead("ts").over(in_order).alias("then_ts"),
        F.lead("log_offset").over(in_order).alias("then_offset"),
        ts.alias("epoch_ts"),
        F.coalesce(F.max(F.when(is_log, F.col("first") < FIRST_OFFSETS)).over(of_cluster), F.lit(False)).alias(
            "from_beginning"
        ),
    )
    return (
        records.groupBy("cluster_id", F.when(F.col("in_snapshot"), F.col("log_offset")).alias("of_snapshot"))
        .agg(F.max("record_ts").alias("ts"), F.min("log_offset").alias("first"))
        .withColumn("log_offset", F.coalesce("of_snapshot", F.lit(-1)))
        .select("cluster_id", "log_offset", mark.alias("mark"))
    )


def _with_epochs(facts: DataFrame, epochs: DataFrame) -> DataFrame:
    """The facts with their epoch; those of a snapshot belong to the epoch that begins with it."""
    own = epochs.withColumn("in_snapshot", F.lit(True)).withColumnRenamed("mark", "own_mark")
    # Only facts of the log itself need one order; those of snapshots are spread.
    part = F.when(F.col("in_snapshot"), F.pmod(F.hash(*ATTRIBUTE[1:]), F.lit(_SPREAD)) + 1).otherwise(0)
    # A snapshot ends before its offset, so its mark comes before the record that has that offset.
    in_order = Window.partitionBy("cluster_id", "part").orderBy("log_offset", F.col("is_mark").desc())
    marks = epochs.withColumn("is_mark", F.lit(True)).withColumn("part", F.lit(0))
    return (
        facts.join(own, on=["cluster_id", "log_offset", "in_snapshot"], how="left")
        .withColumn("part", part)
        .withColumn("is_mark", F.lit(False))
        .unionByName(marks, allowMissingColumns=True)
        .withColumn("at", F.coalesce("own_mark", F.last("mark", ignorenulls=True).over(in_order)))
        .where(~F.col("is_mark"))
        .select(*facts.columns, "at.*")
    )


def _own_change() -> Column:
    """The change that a fact makes; empty: none."""
    between = F.col("epoch") - F.col("last_epoch") - F.col("in_snapshot").cast("int")
    was_set = F.coalesce(F.col("last_is_set") & (between == 0), F.lit(False))
    as_before = was_set & F.col("digest").eqNullSafe(F.col("last_digest"))
    nothing_known = F.col("last_is_set").isNull() & (F.col("epoch") == 0) & ~F.col("from_beginning")
    by_log = F.when(
        F.col("is_set") | was_set | (F.col("told") & nothing_known),
        _change("kraft_log", F.col("is_set"), F.col("ts"), F.lit(0), F.col("log_offset")),
    )
    by_snapshot = F.when(
        ~as_before,
        _change(
            "kraft_snapshot", F.lit(True), F.col("ts"), _ms_since("ts", "last_ts", "former_ts"), F.col("log_offset")
        ),
    )
    return F.when(F.col("in_snapshot"), by_snapshot).otherwise(by_log)


def _vanished() -> Column:
    """The deletion of what a fact has set, if the next snapshot lacks it and no record deletes it."""
    before_next = F.col("next_epoch") - F.col("epoch") - F.col("next_in_snapshot").cast("int")
    gone = F.col("is_set") & F.col("then_ts").isNotNull() & F.coalesce(before_next > 0, F.lit(True))
    since = _ms_since("then_ts", "ts", "epoch_ts")
    return F.when(gone, _change("kraft_snapshot", F.lit(False), F.col("then_ts"), since, F.col("then_offset")))


def _ms_since(then: str, *known: str) -> Column:
    """Milliseconds from the later of the known times to `then`."""
    since = _MS(then) - F.greatest(*(_MS(each) for each in known))
    return F.when(since.isNull(), SINCE_BEFORE).when(since < 0, 0).otherwise(since).cast("bigint")


def _change(source: str, is_set: Column, ts: Column, uncertainty: Column, offset: Column) -> Column:
    return F.struct(
        ts.alias("event_ts"),
        uncertainty.cast("bigint").alias("ts_uncertainty_ms"),
        offset.alias("log_offset"),
        F.when(is_set, "set").otherwise("delete").alias("op"),
        F.when(is_set, F.col("value")).alias("value"),
        F.when(is_set, F.col("digest")).alias("value_sha256"),
        F.lit(source).alias("source"),
    )
