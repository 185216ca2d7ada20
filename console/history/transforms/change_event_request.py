"""What requests and kac's journal tell: changes with their authors."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from .kraft_state import ATTRIBUTE

AUTHOR = (
    *ATTRIBUTE,
    "op",
    "value",
    "start_ts",
    "end_ts",
    "principal",
    "client_id",
    "client_host",
    "told_by",
    "api",
    "is_copy",
    "run_id",
)
"""What both tell of a change that was made. start_ts, end_ts: the time in which it was. told_by: request or journal.
is_copy: whether a row for the original of a forwarded request is there too."""

_NAMELESS = ("certificate", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
"""What kac's journal writes where the settings do not tell whom the brokers take it for."""
_DEFAULT = "-1"
"""What a topic's creation asks for where the brokers' default is to count: the value is not known."""
_ASKED = ("cluster_id", "principal", "entity_type", "entity_key", "attr", "op", "value", "api")


def changes_of_requests(alter_request: DataFrame, tolerance: timedelta) -> DataFrame:
    """`AUTHOR`'s rows of what was asked for and done. alter_request: ALTER_REQUEST's columns."""
    done = alter_request.where((F.col("error_code") == 0) & ~F.col("validate_only"))
    more = F.expr(f"INTERVAL {int(tolerance.total_seconds() * 1e6)} MICROSECONDS")
    by_start = Window.partitionBy(*_ASKED).orderBy("start_ts", "end_ts", "broker_id", "byte_pos")
    before = by_start.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    by_end = Window.partitionBy(*_ASKED).orderBy(
        F.col("start_ts").desc(), F.col("end_ts").desc(), F.col("broker_id").desc(), F.col("byte_pos").desc()
    )
    after = by_end.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    original = ~F.col("is_forwarded")
    # An original began before the copy and ended no earlier than the copy began, or began while the copy lasted.
    around = F.max(F.when(original, F.col("end_ts"))).over(before) + more >= F.col("start_ts")
    within = F.min(F.when(original, F.col("start_ts"))).over(after) - more <= F.col("end_ts")
    has_original = F.coalesce(around, F.lit(False)) | F.coalesce(within, F.lit(False))
    default = F.col("attr").isin(":partitions", ":replication") & (F.col("value") == _DEFAULT)
    return (
        done.withColumn("is_copy", F.col("is_forwarded") & has_original)
        .withColumn("value", F.when(~F.coalesce(default, F.lit(False)), F.col("value")))
        .withColumn("told_by", F.lit("request"))
        .select(*AUTHOR)
    )


def changes_of_journal(journal: DataFrame) -> DataFrame:
    """`AUTHOR`'s rows of what was applied. journal: JOURNAL's columns. A list that was added to is told whole where
    the journal knows what it was before."""
    known = F.col("op").isin("append", "subtract") & F.col("old_value").isNotNull() & F.col("value").isNotNull()
    return (
        journal.where(F.col("status") == "applied")
        .withColumn("result", F.when(known, changed_list(F.col("old_value"), F.col("op"), F.col("value"))))
        .withColumn("op", F.when(known, F.lit("set")).otherwise(F.col("op")))
        .withColumn("value", F.coalesce("result", "value"))
        .withColumn("start_ts", F.col("intent_ts"))
        .withColumn("end_ts", F.greatest("intent_ts", "end_ts"))
        .withColumn("client_id", F.lit(None).cast("string"))
        .withColumn("principal", _principal())
        .withColumn("told_by", F.lit("journal"))
        .withColumn("api", F.lit(None).cast("string"))
        .withColumn("is_copy", F.lit(False))
        .select(*AUTHOR)
    )


def _principal() -> Column:
    """As brokers write it: the journal has a login's name alone."""
    has_type = F.col("principal").contains(":") | F.col("principal").isin(*_NAMELESS)
    return F.when(has_type, F.col("principal")).otherwise(F.concat(F.lit("User:"), F.col("principal")))


def changed_list(base: Column, op: Column, items: Column) -> Column:
    """A list's value after `append` or `subtract`, as brokers have it: what is there is not added again."""
    had = F.filter(F.split(base, ","), lambda each: each != "")
    given = F.split(items, ",")
    added = F.concat(had, F.array_except(given, had))
    return F.array_join(F.when(op == "append", added).otherwise(F.array_except(had, given)), ",")


def author_changes(authors: DataFrame) -> DataFrame:
    """The same in CHANGE_EVENT's columns, each change once. authors: `AUTHOR`'s rows."""
    by_request = F.col("told_by") == "request"
    lasted = F.ceil((F.unix_micros("end_ts") - F.unix_micros("start_ts")) / 1000)
    return authors.where(~F.col("is_copy")).select(
        *ATTRIBUTE,
        F.col("end_ts").alias("event_ts"),
        lasted.cast("bigint").alias("ts_uncertainty_ms"),
        F.lit(None).cast("bigint").alias("log_offset"),
        "op",
        "value",
        F.when(F.col("op").isin("set", "delete"), F.sha2("value", 256)).alias("value_sha256"),
        F.when(by_request, F.lit("request_log")).otherwise(F.lit("journal")).alias("source"),
        "principal",
        "client_id",
        "client_host",
        F.col("told_by").alias("attribution"),
        "run_id",
    )
