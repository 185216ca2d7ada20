"""Which of a cluster's time is covered by polls or its log: the first poll, and the gaps."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.entities import POLL_SOURCES


def with_first_poll(rows: DataFrame, history: DataFrame) -> DataFrame:
    """`rows`, some of `history`, with `first_poll`: the first time of a poll of the cluster, or of a snapshot of its
    log. What that shows was there before, since an unknown time."""
    looks = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    first = looks.agg(F.min("valid_from").alias("first_poll"))
    return rows.join(F.broadcast(first), on="cluster_id", how="left")


def since_before() -> Column:
    """Whether a row of `with_first_poll` may have held before anything was known."""
    return F.coalesce(F.col("source").isin(*POLL_SOURCES) & (F.col("valid_from") == F.col("first_poll")), F.lit(False))


TIMES_THE_USUAL = 3
"""A cluster is unobserved if the next poll is later than so many of its usual intervals."""


def coverage_gaps(snapshot: DataFrame, log_covers: DataFrame, now: datetime | None) -> DataFrame:
    """The gaps in which a cluster was not polled and no metadata log covers it: cluster_id, valid_from, valid_to
    (empty: it lasts).

    snapshot: SNAPSHOT's columns. log_covers: cluster_id, from_ts, to_ts: the time that a metadata log covers. now:
    until when polls may be missing; None: the time of the latest poll of any cluster.
    """
    beats = (
        snapshot.where(F.col("kind") == "heartbeat").select("cluster_id", "entity_type", "observed_ts").dropDuplicates()
    )
    until = F.lit(now).cast("timestamp") if now is not None else F.col("latest")
    looks = beats.groupBy("cluster_id", "observed_ts").agg(F.lit(1).alias("one")).drop("one")
    in_order = Window.partitionBy("cluster_id").orderBy("observed_ts")
    return (
        looks.withColumn("next_ts", F.lead("observed_ts").over(in_order))
        .join(_usual_ms(beats), on="cluster_id", how="inner")
        .join(log_covers, on="cluster_id", how="left")
        .crossJoin(F.broadcast(beats.agg(F.max("observed_ts").alias("latest"))))
        .withColumn("ends", F.coalesce("next_ts", until))
        .withColumn("parts", _less_the_log())
        .withColumn("gap", F.explode("parts"))
        .where(_ms("gap.to_ts") - _ms("gap.from_ts") > F.col("usual_ms") * TIMES_THE_USUAL)
        .select(
            "cluster_id",
            F.col("gap.from_ts").alias("valid_from"),
            F.when(F.col("next_ts").isNotNull() | (F.col("gap.to_ts") < F.col("ends")), F.col("gap.to_ts")).alias(
                "valid_to"
            ),
        )
    )


def _usual_ms(beats: DataFrame) -> DataFrame:
    """The usual interval between a cluster's polls: the median, of the entity type that is polled the least often."""
    in_order = Window.partitionBy("cluster_id", "entity_type").orderBy("observed_ts")
    since = _ms("observed_ts") - _ms(F.lag("observed_ts").over(in_order))
    return (
        beats.withColumn("since_ms", since)
        .groupBy("cluster_id", "entity_type")
        .agg(F.median("since_ms").alias("usual_ms"))
        .groupBy("cluster_id")
        .agg(F.max("usual_ms").alias("usual_ms"))
    )


def _less_the_log() -> Column:
    """The time from a poll to the next without the time that the log covers: at most two pieces."""
    begins, ends = F.col("observed_ts"), F.col("ends")
    from_ts, to_ts = F.col("from_ts"), F.col("to_ts")
    apart = from_ts.isNull() | (from_ts >= ends) | (to_ts <= begins)
    whole = F.array(_gap(begins, ends))
    pieces = F.array(_gap(begins, F.greatest(from_ts, begins)), _gap(F.least(to_ts, ends), ends))
    return F.when(apart, whole).otherwise(pieces)


def _gap(begins: Column, ends: Column) -> Column:
    return F.struct(begins.alias("from_ts"), ends.alias("to_ts"))


def _ms(time: Column | str) -> Column:
    return F.unix_millis(time)
