"""`history`: each value of each attribute of each entity, from when until when, and who set it.

Several sources tell the same change: it is one row, with the best of them (the log, its snapshots, looks, the journal,
requests), the time of the one that knows it best, and the author. What sets the same value again is no row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..schema.gold import HISTORY
from .attribution import TOLERANCE
from .history_events import AUTHORS, LOOK, counted, log_covers, micros
from .history_values import changed_values
from .kraft_state import ATTRIBUTE
from .unobserved import UNOBSERVED, unobserved

_BEST = ("kraft_log", "kraft_snapshot", "snapshot", "journal", "request_log")


def history(
    change_event: DataFrame, snapshot: DataFrame, tolerance: timedelta = TOLERANCE, now: datetime | None = None
) -> DataFrame:
    """HISTORY's rows. change_event, snapshot: the tables of these names. tolerance: how far clocks may be apart.

    now: until when looks may be missed (`unobserved`); None: the latest look at any cluster. What the first look at a
    cluster shows is valid from that look.
    """
    covers = log_covers(change_event)
    values = changed_values(counted(change_event, snapshot, covers, tolerance), tolerance)
    gaps = unobserved(snapshot, covers.select("cluster_id", "from_ts", "to_ts"), now)
    return _rows(values, tolerance).unionByName(_gap_rows(gaps)).select(*HISTORY.names)


def _rows(values: DataFrame, tolerance: timedelta) -> DataFrame:
    """A row for each change, with what its echoes know of it."""
    told = ("ts", "source", "is_set", "value", "principal", "attribution", "uncertainty_ms")
    echo = F.when(
        ~F.col("changed") & ~F.col("source").isin("kraft_log", LOOK),
        F.struct("ts", "source", "principal", "attribution", "uncertainty_ms"),
    )
    changes = (
        values.groupBy(*ATTRIBUTE, "change")
        .agg(F.max(F.when(F.col("changed"), F.struct(*told))).alias("told"), F.collect_list(echo).alias("echoes"))
        .withColumn("echoes", F.filter("echoes", _of_same_change(tolerance)))
    )
    with_time = changes.select(*ATTRIBUTE, "change", "told.*", _best_source().alias("best"), *_author())
    # Two changes within the clock's millisecond are a microsecond apart.
    at_once = Window.partitionBy(*ATTRIBUTE, "ts").orderBy("change")
    apart = F.timestamp_micros(F.unix_micros("ts") + F.row_number().over(at_once) - 1)
    following = Window.partitionBy(*ATTRIBUTE).orderBy("change")
    return with_time.withColumn("valid_from", apart).select(
        *ATTRIBUTE,
        F.lag("value").over(following).alias("old_value"),
        F.col("value").alias("new_value"),
        "valid_from",
        F.lead("valid_from").over(following).alias("valid_to"),
        F.lead("valid_from").over(following).isNull().alias("is_current"),
        (~F.col("is_set")).alias("is_deleted"),
        F.col("by").alias("principal"),
        F.col("by_what").alias("attribution"),
        F.col("best").alias("source"),
    )


def _of_same_change(tolerance: timedelta) -> Callable[[Column], Column]:
    def same(each: Column) -> Column:
        began = F.timestamp_micros(F.unix_micros(each["ts"]) - each["uncertainty_ms"] * 1000)
        return (each["uncertainty_ms"] < 0) | (began - micros(tolerance) <= F.col("told.ts"))

    return same


def _best_source() -> Column:
    sources = F.concat(
        F.array(F.when(F.col("told.source") == LOOK, F.lit("snapshot")).otherwise(F.col("told.source"))),
        F.transform("echoes", lambda each: each["source"]),
    )
    best = F.lit(None).cast("string")
    for source in reversed(_BEST):
        best = F.when(F.array_contains(sources, source), F.lit(source)).otherwise(best)
    return best


def _author() -> list[Column]:
    """Of what the log and looks tell, the author that was found; else the one who tells, with all who tell the same at
    that time."""
    told = F.col("told")
    authors = F.concat(
        F.array(F.struct("told.principal", "told.attribution")),
        F.transform(
            F.filter("echoes", lambda each: each["source"].isin(*AUTHORS)),
            lambda each: F.struct(each["principal"].alias("principal"), each["attribution"].alias("attribution")),
        ),
    )
    known = F.filter(authors, lambda each: each["principal"].contains(":"))
    fitting = F.when(F.size(known) > 0, known).otherwise(authors)
    names = F.array_sort(F.array_distinct(F.transform(fitting, lambda each: each["principal"])))
    by_journal = F.exists(authors, lambda each: each["attribution"] == "journal")
    by_author = told["source"].isin(*AUTHORS)
    return [
        F.when(by_author, F.array_join(names, ", ")).otherwise(told["principal"]).alias("by"),
        F.when(~by_author, told["attribution"])
        .when(F.size(names) > 1, "several")
        .when(by_journal, "journal")
        .otherwise("request")
        .alias("by_what"),
    ]


def _gap_rows(gaps: DataFrame) -> DataFrame:
    return gaps.select(
        "cluster_id",
        F.lit("cluster").alias("entity_type"),
        F.col("cluster_id").alias("entity_key"),
        F.lit(UNOBSERVED).alias("attr"),
        F.lit(None).cast("string").alias("old_value"),
        F.lit(None).cast("string").alias("new_value"),
        "valid_from",
        "valid_to",
        F.col("valid_to").isNull().alias("is_current"),
        F.lit(False).alias("is_deleted"),
        F.lit(None).cast("string").alias("principal"),
        F.lit("none").alias("attribution"),
        F.lit("snapshot").alias("source"),
    )
