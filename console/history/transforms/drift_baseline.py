"""What is not as a file of wanted values has it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..policies.rules import Wanted

_ENTITY = ("cluster_id", "entity_type", "entity_key")


def from_baseline(values: DataFrame, baseline: Sequence[Wanted]) -> DataFrame:
    """The columns of `odd_ones`, and scope and severity. values: as there, for all entities.

    peers: how many entities the wanted value is for, in a cluster.
    """
    there = values.where(F.col("holds").isNotNull()).select(*_ENTITY).distinct()
    looked_for = [(each.entity_type, name) for each in baseline for name in each.looked_for]
    if looked_for:
        entities = F.explode(
            F.array(*(F.struct(F.lit(t).alias("entity_type"), F.lit(n).alias("entity_key")) for t, n in looked_for))
        )
        clusters = values.select("cluster_id").distinct()
        there = there.unionByName(
            clusters.select("cluster_id", entities.alias("e")).select("cluster_id", "e.*")
        ).distinct()
    # The last that fits counts, attribute by attribute.
    fitting = there.select(
        *_ENTITY, F.explode(F.array_compact(F.array(*map(_fits, range(len(baseline)), baseline)))).alias("w")
    )
    wanted = fitting.groupBy(*_ENTITY, "w.attr").agg(F.max_by("w", "w.place").alias("w"))
    compared = wanted.join(values, on=[*_ENTITY, "attr"], how="left").withColumn(
        "differs", ~F.col("holds").eqNullSafe(F.col("w.value"))
    )
    alike = Window.partitionBy("cluster_id", "entity_type", "attr", "w.place")
    return (
        compared.withColumn("peers", F.count("*").over(alike).cast("int"))
        .withColumn("differing", F.sum(F.col("differs").cast("int")).over(alike).cast("int"))
        .where(F.col("differs"))
        .select(
            *_ENTITY,
            "attr",
            F.col("w.value").alias("majority_value"),
            F.col("own").alias("this_value"),
            "peers",
            "differing",
            "since",
            F.lit("baseline").alias("scope"),
            F.col("w.severity").alias("severity"),
        )
    )


def _fits(place: int, wanted: Wanted) -> Column:
    fits = (
        (F.col("entity_type") == wanted.entity_type)
        & F.col("entity_key").rlike(wanted.names.pattern)
        & F.col("cluster_id").rlike(wanted.clusters.pattern)
    )
    return F.when(
        fits,
        F.struct(
            F.lit(place).alias("place"),
            F.lit(wanted.attr).alias("attr"),
            F.lit(wanted.value).cast("string").alias("value"),
            F.lit(wanted.severity).cast("string").alias("severity"),
        ),
    )
