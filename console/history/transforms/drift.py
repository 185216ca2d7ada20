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
    values = _with_inherited(now, snapshot)
    found = _among_brokers(values).unionByName(_among_clusters(values))
    if baseline:
        found = found.unionByName(from_baseline(values, baseline))
    told = F.coalesce(F.col("severity"), severity(F.col("entity_type"), F.col("attr")))
    return (
        found.withColumn("severity", told)
        .withColumn("entity_key", F.concat_ws(":", "entity_type", "entity_key"))
        .select(*DRIFT.names)
    )


def _now(history: DataFrame) -> DataFrame:
    """cluster_id, entity_type, entity_key, attr, own (empty: taken away), since (empty: before anything was known)."""
    current = with_first_look(history).where(F.col("is_current") & (F.col("entity_type") != "cluster"))
    return current.select(
        "cluster_id",
        "entity_type",
        "entity_key",
        "attr",
        F.when(~F.col("is_deleted"), F.coalesce("new_value", F.lit(HIDDEN))).alias("own"),
        F.when(~since_before(), F.col("valid_from")).alias("since"),
    )


def _with_inherited(now: DataFrame, snapshot: DataFrame) -> DataFrame:
    """`now` and `holds`: of a broker, what counts: its own of run time, the cluster's default, its file's."""
    of_brokers = now.where(F.col("entity_type") == "broker")
    brokers = (
        of_brokers.where((F.col("entity_key") != _DEFAULT) & F.col("own").isNotNull())
        .select("cluster_id", "entity_key")
        .distinct()
    )
    defaults = of_brokers.where((F.col("entity_key") == _DEFAULT) & F.col("own").isNotNull())
    inherited = defaults.select("cluster_id", "attr", F.col("own").alias("inherited"))
    # A broker that has none of its own has a row too, so that what it inherits is compared.
    added = (
        inherited.join(F.broadcast(brokers), on="cluster_id", how="inner")
        .join(of_brokers, on=["cluster_id", "entity_key", "attr"], how="left_anti")
        .select(
            "cluster_id",
            F.lit("broker").alias("entity_type"),
            "entity_key",
            "attr",
            F.lit(None).cast("string").alias("own"),
            F.lit(None).cast("timestamp").alias("since"),
        )
    )
    rows = now.unionByName(added).withColumn("is_broker", F.col("entity_type") == "broker")
    in_file = F.coalesce(F.col("is_static"), F.lit(False)) & F.col("inherited").isNotNull()
    return (
        rows.join(
            F.broadcast(inherited.withColumn("is_broker", F.lit(True))),
            on=["cluster_id", "is_broker", "attr"],
            how="left",
        )
        .join(_in_files(snapshot), on=["cluster_id", "entity_type", "entity_key", "attr"], how="left")
        .withColumn("holds", F.when(in_file, F.col("inherited")).otherwise(F.coalesce("own", "inherited")))
        .select("cluster_id", "entity_type", "entity_key", "attr", "own", "since", "holds")
    )


def _in_files(snapshot: DataFrame) -> DataFrame:
    """Attributes of brokers whose value, when last seen, stood in the broker's server.properties."""
    states = snapshot.where((F.col("kind") == "state") & (F.col("entity_type") == "broker"))
    return states.groupBy("cluster_id", "entity_type", "entity_key", "attr").agg(
        (F.max_by("source", "observed_ts") == _STATIC).alias("is_static")
    )


def _among_brokers(values: DataFrame) -> DataFrame:
    brokers = values.where((F.col("entity_type") == "broker") & (F.col("entity_key") != _DEFAULT))
    members = brokers.where(F.col("holds").isNotNull()).select("cluster_id", "entity_type", "entity_key").distinct()
    compared = brokers.where(~F.col("attr").rlike(_OF_EACH_BROKER))
    return _compared(compared, members, among=("cluster_id", "entity_type"), scope="broker")


def _among_clusters(values: DataFrame) -> DataFrame:
    is_default = ((F.col("entity_type") == "broker") & (F.col("entity_key") == _DEFAULT)) | (
        (F.col("entity_type") == "quota") & ~F.regexp_replace("entity_key", f"={_DEFAULT}", "").contains("=")
    )
    compared = values.where(
        (F.col("entity_type").isin("topic", "quota") | is_default) & ~F.col("attr").isin(*_OF_EACH_CLUSTER)
    )
    having = compared.where(F.col("own").isNotNull()).select("cluster_id", "entity_type", "entity_key").distinct()
    # A topic may have nothing that is compared.
    topics = values.where((F.col("entity_type") == "topic") & F.col("own").isNotNull())
    topics = topics.select("cluster_id", "entity_type", "entity_key")
    everywhere = (
        having.where(is_default)
        .select("entity_type", "entity_key")
        .distinct()
        .crossJoin(F.broadcast(values.select("cluster_id").distinct()))
    )
    members = having.where(~is_default).unionByName(topics).unionByName(everywhere).distinct()
    return _compared(compared, members, among=("entity_type", "entity_key"), scope="cluster")


def _compared(values: DataFrame, members: DataFrame, among: Sequence[str], scope: str) -> DataFrame:
    odd = odd_ones(values, members, among)
    return odd.withColumn("scope", F.lit(scope)).withColumn("severity", _no_text())


def _no_text() -> Column:
    return F.lit(None).cast("string")
