"""What `history` puts in order: each change that counts, and what later looks have to say of it.

Columns: those of an attribute; ts; source (`look` for what a look says without a change of its own); rank, at one time;
log_offset, op, value, digest, uncertainty_ms, principal, client_id, attribution; keeps (a deletion counts though
nothing is known to have been there).
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
    kept = _with_keeps(changes, beats, covers).select(
        *ATTRIBUTE,
        _log_time().alias("ts"),
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
    )
    looks = _looks(changes, snapshot, beats.dropDuplicates(), covers, tolerance)
    return kept.unionByName(looks, allowMissingColumns=True).withColumn("rank", _rank())


def log_covers(change_event: DataFrame) -> DataFrame:
    """The time that a cluster's metadata log tells of, as far as its changes show: cluster_id, from_ts, to_ts, holes
    (an array of structs of from_ts and to_ts, in which a part of it is missing)."""
    log = change_event.where(F.col("source").isin(*LOG))
    begun = F.timestamp_micros(F.unix_micros("event_ts") - F.col("ts_uncertainty_ms") * 1000)
    is_hole = (F.col("source") == "kraft_snapshot") & (F.col("ts_uncertainty_ms") > 0)
    by_snapshot = log.groupBy("cluster_id", F.when(is_hole, F.col("event_ts")).alias("hole_ends")).agg(
        F.min("event_ts").alias("from_ts"),
        F.max("event_ts").alias("to_ts"),
        F.min(F.when(is_hole, begun)).alias("hole_begins"),
    )
    hole = F.when(
        F.col("hole_ends").isNotNull(),
        F.struct(F.col("hole_begins").alias("from_ts"), F.col("hole_ends").alias("to_ts")),
    )
    return by_snapshot.groupBy("cluster_id").agg(
        F.min("from_ts").alias("from_ts"), F.max("to_ts").alias("to_ts"), F.collect_list(hole).alias("holes")
    )


def _alone(change_event: DataFrame, covers: DataFrame, tolerance: timedelta) -> DataFrame:
    """The changes without what requests and the journal tell of time that the log covers."""
    by_author = F.col("source").isin(*AUTHORS)
    began = F.timestamp_micros(F.unix_micros("event_ts") - F.col("ts_uncertainty_ms") * 1000)
    more = micros(tolerance)
    in_hole = F.exists("holes", lambda hole: (F.col("event_ts") > hole["from_ts"]) & (began < hole["to_ts"]))
    covered = (began - more <= F.col("to_ts")) & (F.col("event_ts") + more >= F.col("from_ts")) & ~in_hole
    alone = (
        change_event.where(by_author)
        .join(covers, on="cluster_id", how="left")
        .where(~F.coalesce(covered, F.lit(False)))
        .select(*change_event.columns)
    )
    return change_event.where(~by_author).unionByName(alone)


def _with_keeps(changes: DataFrame, beats: DataFrame, covers: DataFrame) -> DataFrame:
    """With `keeps`: of the log, whose own reader has left out what changes nothing; of authors, before anything else
    has told what is there."""
    first_beats = beats.groupBy("cluster_id", "entity_type").agg(F.min("observed_ts").alias("first_beat"))
    first_records = covers.select("cluster_id", F.col("from_ts").alias("first_record"))
    known_since = F.least("first_beat", "first_record")
    unknown = known_since.isNull() | (F.col("event_ts") < known_since)
    return (
        changes.join(first_beats, on=["cluster_id", "entity_type"], how="left")
        .join(first_records, on="cluster_id", how="left")
        .withColumn("keeps", (F.col("source") == "kraft_log") | (F.col("source").isin(*AUTHORS) & unknown))
    )


def _log_time() -> Column:
    """The time of a change. A controller whose clock is behind its predecessor's does not turn the log's order."""
    in_log = Window.partitionBy(*ATTRIBUTE, F.col("source").isin(*LOG)).orderBy(
        "log_offset", F.col("source").desc(), "event_ts"
    )
    return F.when(F.col("source").isin(*LOG), F.max("event_ts").over(in_log)).otherwise(F.col("event_ts"))


def _rank() -> Column:
    ranks = F.lit(len(_RANKS))
    for source, rank in _RANKS.items():
        ranks = F.when(F.col("source") == source, rank).otherwise(ranks)
    return ranks


def _looks(
    changes: DataFrame, snapshot: DataFrame, beats: DataFrame, covers: DataFrame, tolerance: timedelta
) -> DataFrame:
    """ATTRIBUTE's columns, ts (of the first look that is later than a change by the tolerance), source.

    Only of looks after the end of the log, and of what looks can show: brokers that none has seen are left out.
    """
    of_type = ["cluster_id", "entity_type"]
    in_log = (
        beats.join(covers, on="cluster_id", how="inner")
        .where(F.col("observed_ts") <= F.col("to_ts"))
        .groupBy(*of_type)
        .agg(F.max("observed_ts").alias("covered_to"))
    )
    open_ends = (
        changes.where(F.col("source") != "snapshot")
        .join(in_log, on=of_type, how="left")
        .where(F.col("covered_to").isNull() | (F.col("event_ts") + micros(tolerance) > F.col("covered_to")))
        .select(*ATTRIBUTE, (F.col("event_ts") + micros(tolerance)).alias("ts"))
    )
    marks = beats.select(*of_type, F.col("observed_ts").alias("ts"), F.col("observed_ts").alias("beat"))
    # From late to early, so that the next look is the last that was passed; at one time the look comes first.
    backwards = Window.partitionBy(*of_type).orderBy(F.col("ts").desc(), F.col("beat").desc_nulls_last())
    found = (
        open_ends.unionByName(marks, allowMissingColumns=True)
        .withColumn("next_beat", F.last("beat", ignorenulls=True).over(backwards))
        .where(F.col("attr").isNotNull() & F.col("next_beat").isNotNull())
        .select(*ATTRIBUTE, F.col("next_beat").alias("ts"), F.lit(LOOK).alias("source"))
        .dropDuplicates()
    )
    is_broker = (F.col("entity_type") == "broker") & (F.col("entity_key") != DEFAULT)
    seen = snapshot.where((F.col("kind") == "state") & is_broker).select("cluster_id", "entity_type", "entity_key")
    brokers = found.where(is_broker).join(seen.dropDuplicates(), on=list(ATTRIBUTE[:3]), how="left_semi")
    return (
        found.where(~is_broker)
        .unionByName(brokers)
        .withColumn("attribution", F.lit("none"))
        .withColumn("uncertainty_ms", F.lit(SINCE_BEFORE).cast("bigint"))
        .withColumn("keeps", F.lit(False))
    )


def micros(time: timedelta) -> Column:
    """The time as an interval of Spark's."""
    return F.expr(f"INTERVAL {int(time.total_seconds() * 1e6)} MICROSECONDS")
