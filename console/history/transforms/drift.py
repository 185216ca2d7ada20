"""`drift`: what differs now: a broker from its cluster's others, a cluster from the lake's, all from a baseline.

The majority is the value that most have. If two values are equally frequent, "not set" wins; in any other tie nothing
is marked, and nothing between two clusters. A hidden value equals any other hidden value, and differs from "not set".

- broker: the value that counts for each broker, its own or the cluster's default; without those that differ by nature:
  ids, addresses, folders, racks, its own key and certificate.
- cluster: topics among the clusters that have one of that name, quotas among those that have one of that entity, the
  brokers' defaults and the quotas of default entities among all.
- baseline: the values of a file (`console.history.policy_files`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.drift_rules import BY_PATTERN, OF_EACH_BROKER
from console.history.entities import CLUSTER, DEFAULT, UNOBSERVED
from console.history.policy_files import Wanted
from console.history.redact import HIDDEN
from console.history.schema import DRIFT
from console.history.transforms.coverage_gaps import since_before, with_first_poll


def severity(entity_type: Column, attr: Column) -> Column:
    """high, medium or low."""
    found = F.when(entity_type == "acl", "high")
    for name, pattern in BY_PATTERN:
        found = found.when(attr.rlike(pattern), name)
    return found.otherwise("low")


# -- outliers --------------------------------------------------------------------------------------------------------


def outliers(peers: DataFrame, among: Sequence[str]) -> DataFrame:
    """The rows that differ from the majority of those that have `among` in common: `peers`' cluster_id, entity_type,
    entity_key and attr, with majority_value, this_value, peers, differing, since.

    peers: a row for each that is compared, those without a value too, with `holds`, which is compared, `own`, which is
    shown (the operator can change it), and `since`.
    """
    alike = Window.partitionBy(*among, "holds")
    together = Window.partitionBy(*among)
    # Of equally frequent values the one that some inherit wins.
    some_inherit = F.count("own").over(alike) < F.count("*").over(alike)
    scored = peers.select(
        "*",
        F.struct(F.count("*").over(alike).alias("agree"), some_inherit.alias("some_inherit")).alias("score"),
        # If one of them inherits it, so may the others.
        F.when(~some_inherit, F.max("own").over(alike)).alias("best_own"),
        # Unknown for one: unknown for all.
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


# -- baseline --------------------------------------------------------------------------------------------------------

_ENTITY = ("cluster_id", "entity_type", "entity_key")


def from_baseline(values: DataFrame, baseline: Sequence[Wanted]) -> DataFrame:
    """The columns of `outliers`, and scope and severity. values: as there, for all entities.

    peers: the number of entities of a cluster that the wanted value is for.
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
    # The last rule that fits counts, attribute by attribute.
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


# -- the table -------------------------------------------------------------------------------------------------------

_A_PAIR = 2
"""Clusters of which neither is the odd one."""
_OF_EACH_CLUSTER = (":topic_id", UNOBSERVED)
_STATIC = "STATIC_BROKER_CONFIG"


def drift(history: DataFrame, snapshot: DataFrame, baseline: Sequence[Wanted] = ()) -> DataFrame:
    """DRIFT's rows. history, snapshot: the tables of these names. baseline: from the user's file."""
    now = _now(history)
    brokers = _brokers(now, snapshot)
    found = _scope("broker", outliers(brokers.where(~F.col("attr").rlike(OF_EACH_BROKER)), ("cluster_id", "attr")))
    clusters = outliers(_clusters(now), ("entity_type", "entity_key", "attr"))
    found = found.unionByName(_scope("cluster", clusters.where(F.col("peers") > _A_PAIR)))
    if baseline:
        others = now.where((F.col("entity_type") != "broker") | (F.col("entity_key") == DEFAULT))
        values = others.withColumn("holds", F.col("own")).unionByName(brokers)
        found = found.unionByName(from_baseline(values, baseline))
    told = F.coalesce(F.col("severity"), severity(F.col("entity_type"), F.col("attr")))
    return (
        found.withColumn("severity", told)
        .withColumn("entity_key", F.concat_ws(":", "entity_type", "entity_key"))
        .select(*DRIFT.names)
    )


def _now(history: DataFrame) -> DataFrame:
    """cluster_id, entity_type, entity_key, attr, own (empty: deleted), since (empty: before anything was known)."""
    rows = history.where(F.col("is_current") & (F.col("entity_type") != CLUSTER))
    current = with_first_poll(rows, history)
    return current.select(
        "cluster_id",
        "entity_type",
        "entity_key",
        "attr",
        F.when(~F.col("is_deleted"), F.coalesce("new_value", F.lit(HIDDEN))).alias("own"),
        F.when(~since_before(), F.col("valid_from")).alias("since"),
    )


def _brokers(now: DataFrame, snapshot: DataFrame) -> DataFrame:
    """Every broker with every attribute that one of them has or inherits, in the columns of `now`; `holds`: the value
    that counts: the broker's own at run time, else the cluster's default, else its file's."""
    rows = now.where(F.col("entity_type") == "broker")
    by_attr = rows.groupBy("cluster_id", "attr").agg(_by("entity_key").alias("said"))
    is_broker = (F.col("entity_key") != DEFAULT) & F.col("own").isNotNull()
    members = rows.where(is_broker).groupBy("cluster_id").agg(F.collect_set("entity_key").alias("members"))
    in_files = _in_files(snapshot)
    inherited = F.col("inherited")
    in_file = F.coalesce(F.array_contains("in_files", F.col("entity_key")), F.lit(False)) & inherited.isNotNull()
    return (
        by_attr.join(F.broadcast(members), on="cluster_id", how="inner")
        .join(in_files, on=["cluster_id", "attr"], how="left")
        .select("*", F.explode("members").alias("entity_key"), F.col("said")[DEFAULT]["own"].alias("inherited"))
        .select("*", F.col("said")[F.col("entity_key")].alias("mine"))
        .select(
            "cluster_id",
            F.lit("broker").alias("entity_type"),
            "entity_key",
            "attr",
            "mine.own",
            "mine.since",
            F.when(in_file, inherited).otherwise(F.coalesce("mine.own", inherited)).alias("holds"),
        )
    )


def _in_files(snapshot: DataFrame) -> DataFrame:
    """cluster_id, attr, in_files: the brokers whose value, when last seen, was in their server.properties."""
    states = snapshot.where((F.col("kind") == "state") & (F.col("entity_type") == "broker"))
    last = states.groupBy("cluster_id", "attr", "entity_key").agg(F.max_by("source", "observed_ts").alias("source"))
    in_file = F.when(F.col("source") == _STATIC, F.col("entity_key"))
    return last.groupBy("cluster_id", "attr").agg(F.collect_set(in_file).alias("in_files"))


def _clusters(now: DataFrame) -> DataFrame:
    """The values of clusters under one name: each cluster that is compared, with each attribute that one of them
    has."""
    is_default = ((F.col("entity_type") == "broker") & (F.col("entity_key") == DEFAULT)) | (
        (F.col("entity_type") == "quota") & ~F.regexp_replace("entity_key", f"={DEFAULT}", "").contains("=")
    )
    rows = now.where(F.col("entity_type").isin("topic", "quota") | is_default)
    by_attr = rows.where(~F.col("attr").isin(*_OF_EACH_CLUSTER)).groupBy("entity_type", "entity_key", "attr")
    having = F.collect_set(F.when(F.col("own").isNotNull(), F.col("cluster_id")))
    members = rows.groupBy("entity_type", "entity_key").agg(having.alias("having"))
    everywhere = now.agg(F.collect_set("cluster_id").alias("all_clusters"))
    return (
        by_attr.agg(_by("cluster_id").alias("said"))
        .join(members, on=["entity_type", "entity_key"], how="inner")
        .crossJoin(F.broadcast(everywhere))
        .select(
            "*", F.explode(F.when(is_default, F.col("all_clusters")).otherwise(F.col("having"))).alias("cluster_id")
        )
        .select("*", F.col("said")[F.col("cluster_id")].alias("mine"))
        .select(
            "cluster_id",
            "entity_type",
            "entity_key",
            "attr",
            "mine.own",
            "mine.since",
            F.col("mine.own").alias("holds"),
        )
    )


def _by(name: str) -> Column:
    """A map from a column's values to `own` and `since`."""
    return F.map_from_entries(F.collect_list(F.struct(F.col(name), F.struct("own", "since"))))


def _scope(name: str, odd: DataFrame) -> DataFrame:
    return odd.withColumn("scope", F.lit(name)).withColumn("severity", F.lit(None).cast("string"))
