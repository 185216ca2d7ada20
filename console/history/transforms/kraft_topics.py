"""What metadata records say of topics, which most of them know by their ids alone (`kraft_facts` has the columns).

A topic's replication is that of its first partition, without the replicas that a reassignment is to remove.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..entities import CONFIG_TYPES
from .kraft_fields import is_type, read_fields

ONE_CHANGE = 1000
"""Milliseconds that the records of one change, next to each other in the log, may be apart."""
_OF_TOPIC = ("TopicRecord", "PartitionRecord", "PartitionChangeRecord", "RemoveTopicRecord")
_BY_ID = ("cluster_id", "topic_id")


def topic_facts(records: DataFrame) -> DataFrame:
    """Ids, partitions, replication, and all that is gone with a topic. Topics whose name no record tells are left
    out."""
    said = _runs(_by_time(records)).withColumn("said", F.explode(_said()))
    # A removal takes away each config that the topic ever had; where it had lost it before, nothing changes.
    taken = said.join(_known_configs(records), on=["cluster_id", "entity_key", "removes"], how="left")
    value = F.col("said.value")
    return (
        taken.withColumn("attrs", F.when(F.col("removes"), _gone()).otherwise(F.array("said.attr")))
        .withColumn("attr", F.explode("attrs"))
        .select(
            "cluster_id",
            F.lit("topic").alias("entity_type"),
            "entity_key",
            "attr",
            (~F.col("removes")).alias("is_set"),
            value.alias("value"),
            F.sha2(value, 256).alias("digest"),
            (~F.col("removes") | (F.col("attr") == ":topic_id")).alias("told"),
            "log_offset",
            "in_snapshot",
            "ts",
            "run_id",
        )
    )


def _by_time(records: DataFrame) -> DataFrame:
    """Records of partitions of one topic at one time together, others as they are; all with the topic's name."""
    of_partitions = is_type("PartitionRecord")
    first = F.col("f.partitionId") == 0
    together = (
        read_fields(records, *_OF_TOPIC)
        .where(~is_type("PartitionChangeRecord") | (first & F.col("f.replicas").isNotNull()))
        .groupBy(
            "cluster_id",
            F.col("f.topicId").alias("topic_id"),
            "record_type",
            "in_snapshot",
            "ts",
            F.when(~of_partitions | F.col("in_snapshot"), F.col("log_offset")).alias("alone"),
        )
        .agg(
            F.max("f.name").alias("name"),
            F.max("f.partitionId").alias("last"),
            F.max(F.when(first, _replication())).alias("replication"),
            F.min("log_offset").alias("from_offset"),
            F.max("log_offset").alias("log_offset"),
            F.max("run_id").alias("run_id"),
        )
    )
    name = F.max("name").over(Window.partitionBy(*_BY_ID))
    return together.withColumn("entity_key", name).where(F.col("entity_key").isNotNull())


def _runs(rows: DataFrame) -> DataFrame:
    """Partitions that were made as one, though the clock went on, end in one row: the last, with all that they say."""
    in_order = Window.partitionBy(*_BY_ID).orderBy("in_snapshot", "log_offset", "record_type")
    of_log = (F.col("record_type") == "PartitionRecord") & ~F.col("in_snapshot")
    goes_on = (
        of_log
        & F.lead(of_log).over(in_order)
        & (F.lead("from_offset").over(in_order) == F.col("log_offset") + 1)
        & (F.unix_millis(F.lead("ts").over(in_order)) - F.unix_millis("ts") <= ONE_CHANGE)
    )
    went_on = F.coalesce(F.lag("goes_on").over(in_order), F.lit(False))
    of_run = Window.partitionBy(*_BY_ID, "run").orderBy("log_offset")
    return (
        rows.withColumn("goes_on", F.coalesce(goes_on, F.lit(False)))
        .withColumn("run", F.sum((~went_on).cast("int")).over(in_order))
        .withColumn("replication", F.max("replication").over(of_run))
        .where(~F.col("goes_on"))
        .withColumn("removes", is_type("RemoveTopicRecord"))
    )


def _said() -> Column:
    """What a row says, as an array of attributes with values; a removal of nothing by itself."""
    partitions = _value(":partitions", F.col("last") + 1)
    replication = F.when(F.col("replication").isNotNull(), _value(":replication", F.col("replication")))
    return F.array_compact(
        F.when(is_type("TopicRecord"), F.array(_value(":topic_id", F.col("topic_id"))))
        .when(is_type("PartitionRecord"), F.array(partitions, replication))
        .when(is_type("PartitionChangeRecord"), F.array(replication))
        .otherwise(F.array(_value("", F.lit(None))))
    )


def _value(attr: str, value: Column) -> Column:
    return F.struct(F.lit(attr).alias("attr"), value.cast("string").alias("value"))


def _replication() -> Column:
    return F.size("f.replicas") - F.greatest(F.coalesce(F.size("f.removingReplicas"), F.lit(0)), F.lit(0))


def _gone() -> Column:
    of_all = F.array(*(F.lit(attr) for attr in (":topic_id", ":partitions", ":replication")))
    return F.concat(of_all, F.coalesce("configs", F.array().cast("array<string>")))


def _known_configs(records: DataFrame) -> DataFrame:
    """The configs that topics have or had, by their names: cluster_id, entity_key, removes (true), configs."""
    (topic,) = (number for number, type_ in CONFIG_TYPES.items() if type_ == "topic")
    return (
        read_fields(records, "ConfigRecord")
        .where(F.col("f.resourceType") == topic)
        .groupBy("cluster_id", F.col("f.resourceName").alias("entity_key"))
        .agg(F.array_sort(F.collect_set("f.name")).alias("configs"))
        .withColumn("removes", F.lit(True))
    )
