"""Small steps of a build: each row of `snapshot` becomes an event, and each event a row of `history`."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from console.history.jobs.steps import Step
from console.history.schema import TABLES
from console.history.store import Lake


def _events(_: SparkSession, __: Lake, snapshot: DataFrame) -> DataFrame:
    table = TABLES["change_event"]
    return snapshot.select(
        "cluster_id",
        F.col("observed_ts").alias("event_ts"),
        F.lit(0).cast("bigint").alias("ts_uncertainty_ms"),
        F.lit(None).cast("bigint").alias("log_offset"),
        "entity_type",
        "entity_key",
        "attr",
        F.lit("set").alias("op"),
        "value",
        *(F.lit(None).cast("string").alias(name) for name in ("value_sha256", "principal", "client_id", "client_host")),
        F.lit("snapshot").alias("source"),
        F.lit("none").alias("attribution"),
        F.lit("").alias("run_id"),
    ).select(*table.names)


def _history(_: SparkSession, __: Lake, events: DataFrame) -> DataFrame:
    return events.select(
        "cluster_id",
        "entity_type",
        "entity_key",
        "attr",
        F.lit(None).cast("string").alias("old_value"),
        F.col("value").alias("new_value"),
        F.col("event_ts").alias("valid_from"),
        F.lit(None).cast("timestamp").alias("valid_to"),
        F.lit(True).alias("is_current"),
        F.lit(False).alias("is_deleted"),
        "principal",
        "attribution",
        "source",
    )


STEPS = (
    Step("change_event", ("snapshot",), _events),
    Step("history", ("change_event",), _history),
)


def _fail(_: SparkSession, __: Lake, events: DataFrame) -> DataFrame:
    return events.select(F.raise_error(F.lit("the secret is hunter2")).alias("cluster_id"))


FAILING = Step("drift", ("history",), _fail)
"""Raises, and quotes a row."""
