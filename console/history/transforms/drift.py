"""What is different from its peers now: a broker among its cluster's, a cluster among the lake's, all from a baseline.

The majority is the value that most have. Where two values are equally frequent, having nothing of one's own wins; other
ties say nothing of who is the odd one, and none is marked. Something hidden equals whatever else is hidden, and differs
from what is not set.

- broker: what holds for each broker, of its own or the cluster's default. Left out is what each has for itself: ids,
  addresses, folders, racks, its own key and certificate.
- cluster: topics among the clusters that have one of that name, quotas among those that have one of that entity, the
  brokers' defaults and the quotas of default entities among all.
- baseline: what a file wants (`console.history.policies.files`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..policies.rules import Wanted
from ..redact import HIDDEN
from ..schema.gold import DRIFT
from .drift_baseline import from_baseline
from .drift_severity import severity
from .first_look import since_before, with_first_look
from .odd_ones import odd_ones

_DEFAULT = "<default>"
_OF_EACH_BROKER = (
    r"^(:.*|(broker|node)\.id|(advertised\.)?(host\.name|port|listeners)|controller\.listener\.names|process\.roles"
    r"|(metadata\.)?log\.dirs?|broker\.rack|(listener\.name\.[^.]+\.)?ssl\.(key|keystore)\..*"
    r"|(listener\.name\.[^.]+\.)?(.*\.)?sasl\.kerberos\..*|(leader|follower)\.replication\.throttled\.replicas)$"
)
_OF_EACH_CLUSTER = (":topic_id", ":unobserved")
_STATIC = "STATIC_BROKER_CONFIG"


def drift(history: DataFrame, snapshot: DataFrame, baseline: Sequence[Wanted] = ()) -> DataFrame:
    """DRIFT's rows. history, snapshot: the tables of these names. baseline: of the user's file."""
    now = _now(history)
    brokers = _brokers(now, snapshot)
    found = _scope("broker", odd_ones(brokers.where(~F.col("attr").rlike(_OF_EACH_BROKER)), ("cluster_id", "attr")))
    found = found.unionByName(_scope("cluster", odd_ones(_clusters(now), ("entity_type", "entity_key", "attr"))))
    if baseline:
        others = now.where((F.col("entity_type") != "broker") | (F.col("entity_key") == _DEFAULT))
        values = others.withColumn("holds", F.col("own")).unionByName(brokers)
        found = found.unionByName(from_baseline(values, baseline))
    told = F.coalesce(F.col("severity"), severity(F.col("entity_type"), F.col("attr")))
    return (
        found.withColumn("severity", told)
        .withColumn("entity_key", F.concat_ws(":", "entity_type", "entity_key"))
        .select(*DRIFT.names)
    )


def _now(history: DataFrame) -> DataFrame:
    """cluster_id, entity_type, entity_key, attr, own (empty: taken away), since (empty: before anything was known)."""
    rows = history.where(F.col("is_current") & (F.col("entity_type") != "cluster"))
    current = with_first_look(rows, history)
    return current.select(
        "cluster_id",
        "entity_type",
        "entity_key",
        "attr",
        F.when(~F.col("is_deleted"), F.coalesce("new_value", F.lit(HIDDEN))).alias("own"),
        F.when(~since_before(), F.col("valid_from")).alias("since"),
    )


def _brokers(now: DataFrame, snapshot: DataFrame) -> DataFrame:
    """Every broker with every attribute that one of them has or inherits, as `now` has it; `holds`: what counts, of a
    broker's own at run time, the cluster's default, and its file, in this order."""
    rows = now.where(F.col("entity_type") == "broker")
    by_attr = rows.groupBy("cluster_id", "attr").agg(_by("entity_key").alias("said"))
    is_broker = (F.col("entity_key") != _DEFAULT) & F.col("own").isNotNull()
    members = rows.where(is_broker).groupBy("cluster_id").agg(F.collect_set("entity_key").alias("members"))
    in_files = _in_files(snapshot)
    inherited = F.col("inherited")
    in_file = F.coalesce(F.array_contains("in_files", F.col("entity_key")), F.lit(False)) & inherited.isNotNull()
    return (
        by_attr.join(F.broadcast(members), on="cluster_id", how="inner")
        .join(in_files, on=["cluster_id", "attr"], how="left")
        .select("*", F.explode("members").alias("entity_key"), F.col("said")[_DEFAULT]["own"].alias("inherited"))
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
    """cluster_id, attr, in_files: the brokers whose value, when last seen, stood in their server.properties."""
    states = snapshot.where((F.col("kind") == "state") & (F.col("entity_type") == "broker"))
    last = states.groupBy("cluster_id", "attr", "entity_key").agg(F.max_by("source", "observed_ts").alias("source"))
    in_file = F.when(F.col("source") == _STATIC, F.col("entity_key"))
    return last.groupBy("cluster_id", "attr").agg(F.collect_set(in_file).alias("in_files"))


def _clusters(now: DataFrame) -> DataFrame:
    """What clusters have under one name: each that is compared with each attribute that one of them has."""
    is_default = ((F.col("entity_type") == "broker") & (F.col("entity_key") == _DEFAULT)) | (
        (F.col("entity_type") == "quota") & ~F.regexp_replace("entity_key", f"={_DEFAULT}", "").contains("=")
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
    """What each of a column's values goes with, as a map."""
    return F.map_from_entries(F.collect_list(F.struct(F.col(name), F.struct("own", "since"))))


def _scope(name: str, odd: DataFrame) -> DataFrame:
    return odd.withColumn("scope", F.lit(name)).withColumn("severity", F.lit(None).cast("string"))
