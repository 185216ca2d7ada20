"""When a cluster was first looked at: what that look shows was there before, nobody knows since when."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_LOOKS = ("snapshot", "kraft_snapshot")


def with_first_look(rows: DataFrame, history: DataFrame) -> DataFrame:
    """`rows`, some of `history`, with `first_look`: the first time at which a look at the cluster, or a snapshot of its
    log, tells of anything."""
    looks = history.where(F.col("source").isin(*_LOOKS)).groupBy("cluster_id")
    first = looks.agg(F.min("valid_from").alias("first_look"))
    return rows.join(F.broadcast(first), on="cluster_id", how="left")


def since_before() -> Column:
    """Whether a row of `with_first_look` may have been so before anything was known."""
    return F.coalesce(F.col("source").isin(*_LOOKS) & (F.col("valid_from") == F.col("first_look")), F.lit(False))
