"""Who has another value than most."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def odd_ones(peers: DataFrame, among: Sequence[str]) -> DataFrame:
    """The rows that differ from the majority of those that have `among` in common: `peers`' cluster_id, entity_type,
    entity_key and attr, with majority_value, this_value, peers, differing, since.

    peers: a row for each that is compared, those that have nothing too, with `holds`, which is compared, `own`, which
    is shown (it is what can be aligned), and `since`.
    """
    alike = Window.partitionBy(*among, "holds")
    together = Window.partitionBy(*among)
    # Of values that are equally frequent the one that some inherit wins.
    some_inherit = F.count("own").over(alike) < F.count("*").over(alike)
    scored = peers.select(
        "*",
        F.struct(F.count("*").over(alike).alias("agree"), some_inherit.alias("some_inherit")).alias("score"),
        # If one of them inherits it, having nothing of one's own does.
        F.when(~some_inherit, F.max("own").over(alike)).alias("best_own"),
        # Not known of one: not known.
        F.when(F.count("since").over(alike) == F.count("*").over(alike), F.min("since").over(alike)).alias(
            "best_since"
        ),
    )
    counted = scored.select("*", F.count("*").over(together).alias("all"), F.max("score").over(together).alias("top"))
    wins = F.col("score") == F.col("top")

    def of_winners(name: str) -> Column:
        return F.max(F.when(wins, F.col(name))).over(together)

    return (
        counted.select(
            "*",
            F.sum(wins.cast("int")).over(together).alias("winning"),
            of_winners("best_own").alias("majority_value"),
            of_winners("best_since").alias("majority_since"),
        )
        # As many rows win as agree on one value: else several values do.
        .where(~wins & (F.col("winning") == F.col("top.agree")))
        .select(
            "cluster_id",
            "entity_type",
            "entity_key",
            "attr",
            "majority_value",
            F.col("own").alias("this_value"),
            F.col("all").cast("int").alias("peers"),
            (F.col("all") - F.col("winning")).cast("int").alias("differing"),
            # It differs since the later of the two was set.
            F.greatest("since", "majority_since").alias("since"),
        )
    )
