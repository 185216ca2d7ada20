"""What `history` puts in order: each change that counts, and what later looks have to say of it.

Columns: those of an attribute; ts; source (`look` for what a look says without a change of its own); rank, at one time;
log_offset, op, value, digest, uncertainty_ms, principal, client_id, attribution; keeps (a deletion counts though
nothing is known to have been there); in_log (the metadata log tells of that time); by_log (of a `look`: it is the log's
own snapshot that shows what is).
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ..entities import DEFAULT
from .kraft_state import ATTRIBUTE, SINCE_BEFORE

LOOK = "look"
AUTHORS = ("journal", "request_log")
LOG = ("kraft_log", "kraft_snapshot")
_RANKS = {"kraft_log": 0, "kraft_snapshot": 1, "journal": 2, "request_log": 3, "snapshot": 4, LOOK: 5}
"""The order at one time: a look shows what was done before it."""


def counted(change_event: DataFrame, snapshot: DataFrame, covers: DataFrame, tolerance: timedelta) -> DataFrame:
    """The events, and a `look` for each attribute at the first look after an event that the log does not tell of.

    Where the log tells everything, requests and the journal are its authors (`attribution`) and no changes of their
    own.
    """
    changes = _alone(change_event, covers, tolerance)
    beats = snapshot.where(F.col("kind") == "heartbeat").select("cluster_id", "entity_type", "observed_ts")
    kept = _with_keeps(changes, beats).select(
        *ATTRIBUTE,
        F.col("event_ts").alias("ts"),
        "source",
        "log_offset",
        "op",
        "value",
        F.col("value_sha256").alias("digest"),
        F.col("ts_uncertainty_ms").alias("uncertainty_ms"),
        "principal",
        "client_id",
        "attribution",
        "keeps",
        "in_log",
        F.lit(False).alias("by_log"),
    )
    looks = _looks(changes, snapshot, beats.dropDuplicates(), covers, tolerance).unionByName(_log_looks(changes))
    shown = (
        looks.withColumn("source", F.lit(LOOK))
        .withColumn("attribution", F.lit("none"))
        .withColumn("uncertainty_ms", F.lit(SINCE_BEFORE).cast("bigint"))
        .withColumn("keeps", F.lit(False))
        .withColumn("in_log", F.lit(False))
    )
    events = kept.unionByName(shown, allowMissingColumns=True)
    return events.withColumn("ts", _log_time()).withColumn("rank", _rank())


def log_covers(change_event: DataFrame) -> DataFrame:
    """The time that a cluster's metadata log tells of, as far as its changes show: cluster_id, from_ts, to_ts, holes
    (an array of structs of from_ts and to_ts, in which a part of it is missing), whole_ts (of the first snapshot, if it
    begins with one: what that does not show was not there)."""
    log = change_event.where(F.col("source").isin(*LOG))
    begun = F.timestamp_micros(F.unix_micros("event_ts") - F.col("ts_uncertainty_ms") * 1000)
    is_hole = (F.col("source") == "kraft_snapshot") & (F.col("ts_uncertainty_ms") > 0)
    by_snapshot = log.groupBy("cluster_id", F.when(is_hole, F.col("event_ts")).alias("hole_ends")).agg(
        F.min("event_ts").alias("from_ts"),
        F.max("event_ts").alias("to_ts"),
        F.min(F.when(is_hole, begun)).alias("hole_begins"),
        F.min(F.when(F.col("ts_uncertainty_ms") == SINCE_BEFORE, F.col("event_ts"))).alias("whole_ts"),
    )
    hole = F.when(
        F.col("hole_ends").isNotNull(),
        F.struct(F.col("hole_begins").alias("from_ts"), F.col("hole_ends").alias("to_ts")),
    )
    return by_snapshot.groupBy("cluster_id").agg(
        F.min("from_ts").alias("from_ts"),
        F.max("to_ts").alias("to_ts"),
        F.collect_list(hole).alias("holes"),
        F.min("whole_ts").alias("whole_ts"),
    )


def _alone(change_event: DataFrame, covers: DataFrame, tolerance: timedelta) -> DataFrame:
    """The changes without what requests and the journal tell of time that the log covers; of others, with `then_ts`:
    when the log's next snapshot shows what is, because the log does not tell of the time before."""
    began = F.timestamp_micros(F.unix_micros("event_ts") - F.col("ts_uncertainty_ms") * 1000)
    more = micros(tolerance)
    hole = F.get(
        F.filter("holes", lambda hole: (F.col("event_ts") > hole["from_ts"]) & (began < hole["to_ts"])), F.lit(0)
    )
    in_log = (began - more <= F.col("to_ts")) & (F.col("event_ts") + more >= F.col("from_ts")) & F.col("hole").isNull()
    before = F.when(F.col("event_ts") < F.col("whole_ts"), F.col("whole_ts"))
    return (
        change_event.join(covers, on="cluster_id", how="left")
        .withColumn("hole", F.when(F.col("ts_uncertainty_ms") >= 0, hole))
        .withColumn("in_log", F.coalesce(in_log, F.lit(False)))
        .where(~F.col("source").isin(*AUTHORS) | ~F.col("in_log") | _not_in_logs())
        .withColumn("then_ts", F.when(~F.col("source").isin(*LOG), F.coalesce("hole.to_ts", before)))
        .select(*change_event.columns, "in_log", "then_ts", F.col("from_ts").alias("first_record"))
    )


def _not_in_logs() -> Column:
    """What no metadata log tells, or not as it was asked for, and no look shows."""
    return (F.col("entity_type") == "broker-logger") | F.col("attr").startswith(":reassignment/")


def _log_looks(changes: DataFrame) -> DataFrame:
    """ATTRIBUTE's columns, ts (of the snapshot of the log that shows what is), by_log."""
    return (
        changes.where(F.col("then_ts").isNotNull() & ~_not_in_logs())
        .select(*ATTRIBUTE, F.col("then_ts").alias("ts"))
        .dropDuplicates()
        .withColumn("by_log", F.lit(True))
    )


def _with_keeps(changes: DataFrame, beats: DataFrame) -> DataFrame:
    """With `keeps`: of the log, whose own reader has left out what changes nothing; of authors, before anything else
    has told what is there."""
    first_beats = beats.groupBy("cluster_id", "entity_type").agg(F.min("observed_ts").alias("first_beat"))
    known_since = F.least("first_beat", "first_record")
    unknown = known_since.isNull() | (F.col("event_ts") < known_since)
    return changes.join(first_beats, on=["cluster_id", "entity_type"], how="left").withColumn(
        "keeps", (F.col("source") == "kraft_log") | (F.col("source").isin(*AUTHORS) & unknown)
    )


def _log_time() -> Column:
    """The time of a change. A controller whose clock is behind its predecessor's does not turn the log's order."""
    of_log = F.col("source").isin(*LOG)
    log_first = Window.partitionBy(*ATTRIBUTE).orderBy(of_log.desc(), "log_offset", F.col("source").desc(), "ts")
    return F.when(of_log, F.max("ts").over(log_first)).otherwise(F.col("ts"))


def _rank() -> Column:
    ranks = F.lit(len(_RANKS))
    for source, rank in _RANKS.items():
        ranks = F.when(F.col("source") == source, rank).otherwise(ranks)
    return ranks


def _looks(
    changes: DataFrame, snapshot: DataFrame, beats: DataFrame, covers: DataFrame, tolerance: timedelta
) -> DataFrame:
    """ATTRIBUTE's columns, ts (of the first look that is later than a change by the tolerance), by_log (false).

    Only of looks after the end of the log, and of what looks can show: brokers that none has seen are left out.
    """
    of_type = ["cluster_id", "entity_type"]
    in_hole = F.exists("holes", lambda hole: (F.col("ts") > hole["from_ts"]) & (F.col("ts") < hole["to_ts"]))
    first_hole = F.array_min(F.transform("holes", lambda hole: hole["from_ts"]))
    marks = (
        beats.withColumnRenamed("observed_ts", "ts")
        .join(covers, on="cluster_id", how="left")
        .withColumn(
            "needless", F.coalesce(F.col("ts").between(F.col("from_ts"), F.col("to_ts")) & ~in_hole, F.lit(False))
        )
        .select(*of_type, "ts", F.least("to_ts", first_hole).alias("sure_to"), F.struct("ts", "needless").alias("beat"))
    )
    ends = marks.groupBy(*of_type).agg(
        F.max(F.when(F.col("ts") <= F.col("sure_to"), F.col("ts"))).alias("sure_to"), F.max("ts").alias("last_ts")
    )
    shown_from = F.col("event_ts") + micros(tolerance)
    in_doubt = F.col("sure_to").isNull() | (F.col("event_ts") < F.col("first_record")) | (shown_from > F.col("sure_to"))
    open_ends = (
        changes.where((F.col("source") != "snapshot") & ~_not_in_logs())
        .join(ends, on=of_type, how="inner")
        .where(in_doubt & (shown_from <= F.col("last_ts")))
        .select(*ATTRIBUTE, shown_from.alias("ts"))
    )
    # From late to early, so that the next look is the last that was passed; at one time the look comes first.
    backwards = Window.partitionBy(*of_type).orderBy(F.col("ts").desc(), F.col("beat").desc_nulls_last())
    found = (
        open_ends.unionByName(marks.drop("sure_to"), allowMissingColumns=True)
        .withColumn("next_beat", F.last("beat", ignorenulls=True).over(backwards))
        .where(F.col("attr").isNotNull() & ~F.col("next_beat.needless"))
        .select(*ATTRIBUTE, F.col("next_beat.ts").alias("ts"), F.lit(False).alias("by_log"))
        .dropDuplicates()
    )
    is_broker = (F.col("entity_type") == "broker") & (F.col("entity_key") != DEFAULT)
    seen = snapshot.where((F.col("kind") == "state") & is_broker).select("cluster_id", "entity_type", "entity_key")
    brokers = found.where(is_broker).join(seen.dropDuplicates(), on=list(ATTRIBUTE[:3]), how="left_semi")
    return found.where(~is_broker).unionByName(brokers)


def micros(time: timedelta) -> Column:
    """The time as an interval of Spark's."""
    return F.expr(f"INTERVAL {int(time.total_seconds() * 1e6)} MICROSECONDS")
