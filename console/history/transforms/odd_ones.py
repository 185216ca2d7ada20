"""Who has another value than most."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_MEMBER = ("cluster_id", "entity_type", "entity_key")


def odd_ones(values: DataFrame, members: DataFrame, among: Sequence[str]) -> DataFrame:
    """The members that differ from the majority, by attribute: cluster_id, entity_type, entity_key, attr,
    majority_value, this_value, peers, differing, since.

    values: these and own, since, holds. members: the first three; all that belong to the groups that `among` makes. A
    member without a row has nothing. Compared is what holds; shown what is its own, since that is what can be aligned.
    """
    attrs = values.where(F.col("holds").isNotNull()).select(*among, "attr").distinct()
    grid = members.join(attrs, on=list(among), how="inner").join(values, on=[*_MEMBER, "attr"], how="left")
    of_attr = Window.partitionBy(*among, "attr")
    counts = grid.groupBy(*among, "attr", "holds").agg(
        F.count("*").alias("agree"),
        # If one of them inherits it, having nothing of one's own does.
        F.when(F.count("own") == F.count("*"), F.max("own")).alias("majority_value"),
        F.when(F.count("since") == F.count("*"), F.min("since")).alias("majority_since"),
    )
    ranked = counts.select(
        "*",
        F.sum("agree").over(of_attr).alias("all"),
        F.count("*").over(of_attr).alias("values"),
        F.rank().over(of_attr.orderBy(F.desc("agree"), F.col("majority_value").isNull().desc())).alias("rank"),
    ).where(F.col("values") > 1)
    first = Window.partitionBy(*among, "attr", "rank")
    majorities = (
        ranked.withColumn("tied", F.count("*").over(first))
        .where((F.col("rank") == 1) & (F.col("tied") == 1))
        .withColumnRenamed("holds", "majority_holds")
    )
    return (
        grid.join(majorities, on=[*among, "attr"], how="inner")
        .where(~F.col("holds").eqNullSafe(F.col("majority_holds")))
        .select(
            *_MEMBER,
            "attr",
            "majority_value",
            F.col("own").alias("this_value"),
            F.col("all").cast("int").alias("peers"),
            (F.col("all") - F.col("agree")).cast("int").alias("differing"),
            # It differs since the later of the two was set.
            F.greatest("since", "majority_since").alias("since"),
        )
    )
