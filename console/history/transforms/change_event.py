"""`change_event`: every change that some source reports, those of the log and of polls with their authors."""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from console.history.schema import CHANGE_EVENT
from console.history.transforms.attribution import TOLERANCE, attributed
from console.history.transforms.kraft_changes import ATTRIBUTE, SINCE_BEFORE, kraft_changes
from console.history.transforms.kraft_facts import facts
from console.history.transforms.touched import Touched, cut

# -- polls: the differences between one and the next -----------------------------------------------------------------

_RESOURCE = ("cluster_id", "entity_type", "entity_key")


def snapshot_changes(snapshot: DataFrame, touched: Touched | None = None) -> DataFrame:
    """Changes between polls, in CHANGE_EVENT's columns without those of the author. snapshot: SNAPSHOT's columns.

    The rows of a resource replace its former rows. A change is as old as the poll that first saw it, and at most as old
    as the poll of that entity type before it; before the first poll nothing is known (`SINCE_BEFORE`).
    """
    seen = cut(snapshot, touched).where(F.col("kind").isin("state", "absent"))
    states = seen.where(F.col("kind") == "state")
    of_attribute = Window.partitionBy(*ATTRIBUTE).orderBy("observed_ts")
    neighbours = (
        states.select(*ATTRIBUTE, "observed_ts", "value", "run_id")
        .join(_times(seen), on=[*_RESOURCE, "observed_ts"], how="inner")
        .select(
            "*",
            F.lag(F.struct("observed_ts", "value")).over(of_attribute).alias("last"),
            F.lead("observed_ts").over(of_attribute).alias("next_set_ts"),
        )
    )
    stays = F.coalesce(F.col("next_set_ts") == F.col("then_ts"), F.lit(False))
    as_before = F.col("last").isNotNull() & (F.col("last.observed_ts") == F.col("former_ts"))
    same = F.coalesce(as_before, F.lit(False)) & F.col("value").eqNullSafe(F.col("last.value"))
    changes = F.array(
        F.when(~same, _change(F.col("observed_ts"), "set", F.col("value"))),
        F.when(F.col("then_ts").isNotNull() & ~stays, _change(F.col("then_ts"), "delete", F.lit(None))),
    )
    return (
        neighbours.withColumn("change", F.explode(changes))
        .where(F.col("change").isNotNull())
        .select(*ATTRIBUTE, "run_id", "change.*")
        .join(_uncertainties(snapshot), on=["cluster_id", "entity_type", "event_ts"], how="left")
        .withColumn("log_offset", F.lit(None).cast("bigint"))
        .withColumn("source", F.lit("snapshot"))
        .withColumn("ts_uncertainty_ms", F.coalesce("ts_uncertainty_ms", F.lit(SINCE_BEFORE).cast("bigint")))
    )


def _change(ts: Column, op: str, value: Column) -> Column:
    text = value.cast("string")
    return F.struct(
        ts.alias("event_ts"), F.lit(op).alias("op"), text.alias("value"), F.sha2(text, 256).alias("value_sha256")
    )


def _times(seen: DataFrame) -> DataFrame:
    """The times at which a resource has rows, each with the one before and the one after."""
    in_order = Window.partitionBy(*_RESOURCE).orderBy("observed_ts")
    return (
        seen.select(*_RESOURCE, "observed_ts")
        .dropDuplicates()
        .select(
            "*",
            F.lag("observed_ts").over(in_order).alias("former_ts"),
            F.lead("observed_ts").over(in_order).alias("then_ts"),
        )
    )


def _uncertainties(snapshot: DataFrame) -> DataFrame:
    """cluster_id, entity_type, event_ts (the time of any row), ts_uncertainty_ms: since the heartbeat before it."""
    before = (
        Window.partitionBy("cluster_id", "entity_type").orderBy("event_ts").rowsBetween(Window.unboundedPreceding, -1)
    )
    beat = F.max(F.when(F.col("kind") == "heartbeat", F.col("observed_ts")))
    since = F.unix_millis("event_ts") - F.unix_millis(F.last("beat", ignorenulls=True).over(before))
    return (
        snapshot.groupBy("cluster_id", "entity_type", F.col("observed_ts").alias("event_ts"))
        .agg(beat.alias("beat"))
        .select("cluster_id", "entity_type", "event_ts", since.alias("ts_uncertainty_ms"))
    )


# -- requests and kac's journal: changes with their authors ----------------------------------------------------------

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
"""The columns that both have of a change. start_ts, end_ts: the time in which it was made. told_by: request or journal.
is_copy: whether a row for the original of a forwarded request exists too."""

_NAMELESS = ("certificate", "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM")
"""What kac's journal writes if the settings do not determine the principal."""
_DEFAULT = "-1"
"""What a topic's creation asks for to get the brokers' default: the value is unknown."""
_ASKED = ("cluster_id", "principal", "entity_type", "entity_key", "attr", "op", "value", "api")


def changes_of_requests(alter_request: DataFrame, tolerance: timedelta) -> DataFrame:
    """`AUTHOR`'s rows of requests that succeeded. alter_request: ALTER_REQUEST's columns."""
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
    """`AUTHOR`'s rows of edits that were applied. journal: JOURNAL's columns. `append` and `subtract` become the whole
    list if the journal has the former one."""
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
    """The principal as brokers write it: the journal has only the login's name."""
    has_type = F.col("principal").contains(":") | F.col("principal").isin(*_NAMELESS)
    return F.when(has_type, F.col("principal")).otherwise(F.concat(F.lit("User:"), F.col("principal")))


def changed_list(base: Column, op: Column, items: Column) -> Column:
    """A list's value after `append` or `subtract`. Brokers do not add an item again."""
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


def change_event(
    kraft_record: DataFrame,
    snapshot: DataFrame,
    journal: DataFrame,
    alter_request: DataFrame,
    tolerance: timedelta = TOLERANCE,
    touched: Touched | None = None,
) -> DataFrame:
    """CHANGE_EVENT's rows, from the bronze tables of these names. tolerance: how far clocks may be apart. touched: what
    they are made of (None: everything); of clusters that it names the tables have to be whole.

    `run_id` is that of the row that reports the change.
    """
    authors = changes_of_requests(cut(alter_request, touched), tolerance).unionByName(
        changes_of_journal(cut(journal, touched))
    )
    observed = kraft_changes(facts(kraft_record, touched), kraft_record).unionByName(
        snapshot_changes(snapshot, touched)
    )
    told = attributed(observed, authors, tolerance).unionByName(author_changes(authors))
    return told.select(*CHANGE_EVENT.names)
