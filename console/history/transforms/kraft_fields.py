"""The fields of metadata records that changes are told by, out of their JSON. Names are those of Kafka's records."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_FIELDS = """
 resourceType INT, resourceName STRING, name STRING, value STRING,
 entity ARRAY<STRUCT<entityType STRING, entityName STRING>>, key STRING, remove BOOLEAN,
 id STRING, patternType INT, principal STRING, host STRING, operation INT, permissionType INT,
 mechanism INT, iterations INT, featureLevel INT,
 topicId STRING, partitionId INT, replicas ARRAY<INT>, removingReplicas ARRAY<INT>,
 brokerId INT, endPoints ARRAY<STRUCT<name STRING, host STRING, port INT>>, rack STRING, fenced STRING
"""
"""All that any record type needs; `fenced` is a boolean in one type and a number in another."""


def read_fields(records: DataFrame, *types: str) -> DataFrame:
    """The records of these types, with a struct `f` of their fields. records: KRAFT_RECORD's columns."""
    return records.where(F.col("record_type").isin(*types)).select(
        "cluster_id",
        "log_offset",
        "in_snapshot",
        F.col("record_ts").alias("ts"),
        "record_type",
        "value_hmac",
        "run_id",
        F.from_json("payload", _FIELDS).alias("f"),
    )


def is_type(*types: str) -> Column:
    """Whether a record is of one of the types."""
    return F.col("record_type").isin(*types)
