"""What looks at a cluster tell: the differences between one and the next."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .kraft_state import ATTRIBUTE, SINCE_BEFORE

_RESOURCE = ("cluster_id", "entity_type", "entity_key")


def snapshot_changes(snapshot: DataFrame) -> DataFrame:
    """Changes, in CHANGE_EVENT's columns less those of who. snapshot: SNAPSHOT's columns.

    The rows of a resource replace its former rows. A change is as old as the look that first saw it, and at most as old
    as the last look at that type of entity before it; there is none before the first look (`SINCE_BEFORE`).
    """
    seen = snapshot.where(F.col("kind").isin("state", "absent"))
    states = snapshot.where(F.col("kind") == "state")
    of_attribute = Window.partitionBy(*ATTRIBUTE).orderBy("observed_ts")
    neighbours = (
        states.select(*ATTRIBUTE, "observed_ts", "value", "run_id")
        .join(_times(seen), on=[*_RESOURCE, "observed_ts"], how="inner")
        .select(
            "*",
            F.lag(F.struct("observed_ts", "value")).over(of_attribute).alias("last"),
            F.lead("observed_ts").over(of_attribute).alias("next_set_ts"),
        )
    )
    stays = F.coalesce(F.col("next_set_ts") == F.col("then_ts"), F.lit(False))
    as_before = F.col("last").isNotNull() & (F.col("last.observed_ts") == F.col("former_ts"))
    same = F.coalesce(as_before, F.lit(False)) & F.col("value").eqNullSafe(F.col("last.value"))
    changes = F.array(
        F.when(~same, _change(F.col("observed_ts"), "set", F.col("value"))),
        F.when(F.col("then_ts").isNotNull() & ~stays, _change(F.col("then_ts"), "delete", F.lit(None))),
    )
    return (
        neighbours.withColumn("change", F.explode(changes))
        .where(F.col("change").isNotNull())
        .select(*ATTRIBUTE, "run_id", "change.*")
        .join(_uncertainties(snapshot), on=["cluster_id", "entity_type", "event_ts"], how="left")
        .withColumn("log_offset", F.lit(None).cast("bigint"))
        .withColumn("source", F.lit("snapshot"))
        .withColumn("ts_uncertainty_ms", F.coalesce("ts_uncertainty_ms", F.lit(SINCE_BEFORE).cast("bigint")))
    )


def _change(ts: Column, op: str, value: Column) -> Column:
    text = value.cast("string")
    return F.struct(
        ts.alias("event_ts"), F.lit(op).alias("op"), text.alias("value"), F.sha2(text, 256).alias("value_sha256")
    )


def _times(seen: DataFrame) -> DataFrame:
    """The times of which a resource has rows, each with the one before it and the one after it."""
    in_order = Window.partitionBy(*_RESOURCE).orderBy("observed_ts")
    return (
        seen.select(*_RESOURCE, "observed_ts")
        .dropDuplicates()
        .select(
            "*",
            F.lag("observed_ts").over(in_order).alias("former_ts"),
            F.lead("observed_ts").over(in_order).alias("then_ts"),
        )
    )


def _uncertainties(snapshot: DataFrame) -> DataFrame:
    """cluster_id, entity_type, event_ts (the time of any row), ts_uncertainty_ms: since the heartbeat before it."""
    before = (
        Window.partitionBy("cluster_id", "entity_type").orderBy("event_ts").rowsBetween(Window.unboundedPreceding, -1)
    )
    beat = F.max(F.when(F.col("kind") == "heartbeat", F.col("observed_ts")))
    since = F.unix_millis("event_ts") - F.unix_millis(F.last("beat", ignorenulls=True).over(before))
    return (
        snapshot.groupBy("cluster_id", "entity_type", F.col("observed_ts").alias("event_ts"))
        .agg(beat.alias("beat"))
        .select("cluster_id", "entity_type", "event_ts", since.alias("ts_uncertainty_ms"))
    )
