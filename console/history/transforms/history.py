"""`history`: each value of each attribute of each entity, from when until when, and who set it.

Several sources report the same change: it becomes one row, with the best source (the log, its snapshots, polls, the
journal, requests in this order), the time of the most exact one, and the author. Setting the same value again makes no
row.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from console.history.entities import CLUSTER, DEFAULT, UNOBSERVED
from console.history.schema import HISTORY
from console.history.transforms.attribution import TOLERANCE
from console.history.transforms.change_event import changed_list
from console.history.transforms.coverage_gaps import coverage_gaps
from console.history.transforms.kraft_changes import ATTRIBUTE, SINCE_BEFORE
from console.history.transforms.touched import Touched, cut

# -- events in order. Columns: those of an attribute; ts; source (`poll` for what a poll shows without a change of its
# own); rank, at one time; log_offset, op, value, digest, uncertainty_ms, principal, client_id, attribution; keeps (a
# deletion counts though no value is known); in_log (the metadata log covers that time); by_log (of a `poll`: it is a
# snapshot of the log).

POLL = "poll"
AUTHORS = ("journal", "request_log")
LOG = ("kraft_log", "kraft_snapshot")
_RANKS = {"kraft_log": 0, "kraft_snapshot": 1, "journal": 2, "request_log": 3, "snapshot": 4, POLL: 5}
"""The order at one time: a poll shows the result of changes before it."""


def counted(change_event: DataFrame, snapshot: DataFrame, covers: DataFrame, tolerance: timedelta) -> DataFrame:
    """The events, and a `poll` for each attribute at the first poll after an event that the log does not cover.

    Where the log covers everything, requests and the journal only name its authors (`attribution`) and are no changes.
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
    looks = _polls(changes, snapshot, beats.dropDuplicates(), covers, tolerance).unionByName(_log_polls(changes))
    shown = (
        looks.withColumn("source", F.lit(POLL))
        .withColumn("attribution", F.lit("none"))
        .withColumn("uncertainty_ms", F.lit(SINCE_BEFORE).cast("bigint"))
        .withColumn("keeps", F.lit(False))
        .withColumn("in_log", F.lit(False))
    )
    events = kept.unionByName(shown, allowMissingColumns=True)
    return events.withColumn("ts", _log_time()).withColumn("rank", _rank())


def log_covers(change_event: DataFrame) -> DataFrame:
    """The time that a cluster's metadata log covers, as far as its changes show: cluster_id, from_ts, to_ts, holes (an
    array of structs of from_ts and to_ts, in which a part of it is missing), whole_ts (of the first snapshot, if it
    begins with one: what that lacks did not exist)."""
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
    """The changes without those of requests and the journal in time that the log covers; the others with `then_ts`: the
    time of the log's next snapshot, since the log does not cover the time before it."""
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
    """What no metadata log reports, or not as requested, and no poll shows."""
    return (F.col("entity_type") == "broker-logger") | F.col("attr").startswith(":reassignment/")


def _log_polls(changes: DataFrame) -> DataFrame:
    """ATTRIBUTE's columns, ts (of the snapshot of the log that shows the state), by_log."""
    return (
        changes.where(F.col("then_ts").isNotNull() & ~_not_in_logs())
        .select(*ATTRIBUTE, F.col("then_ts").alias("ts"))
        .dropDuplicates()
        .withColumn("by_log", F.lit(True))
    )


def _with_keeps(changes: DataFrame, beats: DataFrame) -> DataFrame:
    """With `keeps`: for the log, whose reader has dropped what changes nothing; for authors, before any other
    source."""
    first_beats = beats.groupBy("cluster_id", "entity_type").agg(F.min("observed_ts").alias("first_beat"))
    known_since = F.least("first_beat", "first_record")
    unknown = known_since.isNull() | (F.col("event_ts") < known_since)
    return changes.join(first_beats, on=["cluster_id", "entity_type"], how="left").withColumn(
        "keeps", (F.col("source") == "kraft_log") | (F.col("source").isin(*AUTHORS) & unknown)
    )


def _log_time() -> Column:
    """The time of a change. A controller whose clock is behind its predecessor's does not change the log's order."""
    of_log = F.col("source").isin(*LOG)
    log_first = Window.partitionBy(*ATTRIBUTE).orderBy(of_log.desc(), "log_offset", F.col("source").desc(), "ts")
    return F.when(of_log, F.max("ts").over(log_first)).otherwise(F.col("ts"))


def _rank() -> Column:
    ranks = F.lit(len(_RANKS))
    for source, rank in _RANKS.items():
        ranks = F.when(F.col("source") == source, rank).otherwise(ranks)
    return ranks


def _polls(
    changes: DataFrame, snapshot: DataFrame, beats: DataFrame, covers: DataFrame, tolerance: timedelta
) -> DataFrame:
    """ATTRIBUTE's columns, ts (of the first poll that is later than a change by the tolerance), by_log (false).

    Only of polls after the end of the log, and of what polls can show: without brokers that none has seen.
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
    # From late to early, so that the next poll is the last one passed; at one time the poll comes first.
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


# -- the value after each event, and which events changed it; adds is_set, and `change`: the number of changes so far.

_SEEN = ("snapshot", POLL)
_ADDS = ("append", "subtract")


def in_order() -> WindowSpec:
    """The events of an attribute, in an order that does not depend on the order and partitions of the input."""
    return Window.partitionBy(*ATTRIBUTE).orderBy(
        "ts", "rank", "log_offset", "op", "value", "digest", "principal", "client_id", "uncertainty_ms"
    )


def changed_values(events: DataFrame, tolerance: timedelta) -> DataFrame:
    """The events without redundant ones, with the value after each."""
    valued = _whole_lists(_answered(events))
    return _numbered(_without_echoes(_without_early_polls(valued, tolerance)), tolerance)


def _answered(events: DataFrame) -> DataFrame:
    """A `poll` shows the state after the last difference between polls, or of the log; without any, that nothing is
    set."""
    is_look = F.col("source") == POLL
    state = F.struct("op", "value", "digest")
    of_looks = F.last(F.when(F.col("source") == "snapshot", state), ignorenulls=True).over(in_order())
    of_log = F.last(F.when(F.col("source").isin(*LOG), state), ignorenulls=True).over(in_order())
    shown = F.when(F.col("by_log"), of_log).otherwise(of_looks)
    op = F.when(is_look, F.coalesce(F.col("shown.op"), F.lit("delete"))).otherwise(F.col("op"))
    return (
        events.withColumn("shown", shown)
        .withColumn("op", op)
        .withColumn("value", F.when(is_look, F.col("shown.value")).otherwise(F.col("value")))
        .withColumn("digest", F.when(is_look, F.col("shown.digest")).otherwise(F.col("digest")))
        .withColumn("is_set", F.col("op") != "delete")
        .drop("shown", "by_log")
    )


def _whole_lists(events: DataFrame) -> DataFrame:
    """`append` and `subtract` become the whole list, if the former one is known. If nothing was set, brokers start from
    their own default, which is unknown."""
    adds = F.col("op").isin(*_ADDS)
    stretches = F.sum((~adds).cast("int")).over(in_order())
    numbered = events.withColumn("place", F.row_number().over(in_order())).withColumn("stretch", stretches)
    so_far = Window.partitionBy(*ATTRIBUTE, "stretch").orderBy("place").rowsBetween(Window.unboundedPreceding, 0)
    steps = F.collect_list(F.when(adds, F.struct("op", "value"))).over(so_far)
    base = F.first(F.when(~adds & F.col("is_set"), F.col("value"))).over(so_far)
    whole = F.aggregate("steps", F.col("base"), lambda had, step: changed_list(had, step["op"], step["value"]))
    return (
        numbered.withColumn("steps", steps)
        .withColumn("base", base)
        .withColumn("value", F.when(adds, whole).otherwise(F.col("value")))
        .withColumn("digest", F.when(adds, F.sha2("value", 256)).otherwise(F.col("digest")))
        .drop("place", "stretch", "steps", "base")
    )


def _without_early_polls(events: DataFrame, tolerance: timedelta) -> DataFrame:
    """Without polls that show a value shortly before its change: their clock is ahead."""
    later = in_order()

    def told_at(rows: int) -> Column:
        same = (F.lead("is_set", rows).over(later) == F.col("is_set")) & F.lead("digest", rows).over(later).eqNullSafe(
            F.col("digest")
        )
        soon = F.lead("ts", rows).over(later) <= F.col("ts") + micros(tolerance)
        return same & soon & ~F.lead("source", rows).over(later).isin(*_SEEN)

    behind_look = (F.lead("source").over(later) == POLL) & told_at(2)
    early = (F.col("source") == "snapshot") & (told_at(1) | behind_look)
    return events.withColumn("early", F.coalesce(early, F.lit(False))).where(~F.col("early")).drop("early")


def _without_echoes(events: DataFrame) -> DataFrame:
    """Without polls that show less than is known: a hidden value that is still set, one of many endpoints, nothing of a
    broker that is down."""
    by_log = F.last(F.when(F.col("source").isin(*LOG), F.struct("is_set", "value")), ignorenulls=True).over(in_order())
    set_by_log = F.col("by_log")["is_set"]
    hidden = F.col("is_set") & F.col("digest").isNull() & F.lag("is_set").over(in_order())
    one_of_many = (F.col("attr") == ":endpoints") & set_by_log & F.col("by_log")["value"].contains(F.col("value"))
    down = (F.col("entity_type") == "broker") & ~F.col("is_set") & F.col("in_log") & set_by_log
    is_echo = [F.coalesce(each, F.lit(False)) for each in (hidden, one_of_many, down)]
    return (
        events.withColumn("by_log", by_log)
        .withColumn("echo", F.col("source").isin(*_SEEN) & (is_echo[0] | is_echo[1] | is_echo[2]))
        .where(~F.col("echo"))
        .drop("echo", "by_log")
    )


def _numbered(events: DataFrame, tolerance: timedelta) -> DataFrame:
    last = F.lag(F.struct("is_set", "digest", "value", "ts", "source")).over(in_order())
    # Of a credential the log has more than a poll shows: the same value in a poll is no change.
    shown_again = F.col("source").isin(*_SEEN) & (F.col("value") == last["value"])
    by_author = F.col("source").isin(*AUTHORS)
    # The journal and the request log both report a hidden value that was set once.
    told_again = last["digest"].isNull() & (F.col("source") != last["source"]) & last["source"].isin(*AUTHORS)
    began = F.timestamp_micros(F.unix_micros("ts") - F.greatest("uncertainty_ms", F.lit(0)) * 1000)
    told_again &= began - micros(tolerance) <= last["ts"]
    changed = (
        F.when(last.isNull(), F.col("is_set") | F.col("keeps"))
        .when(F.col("is_set") != last["is_set"], F.lit(True))
        .when(~F.col("is_set"), F.lit(False))
        .when(F.col("digest").isNull(), by_author & ~told_again)
        .when(shown_again, F.lit(False))
        .otherwise(~F.col("digest").eqNullSafe(last["digest"]))
    )
    return (
        events.withColumn("changed", changed)
        .withColumn("change", F.sum(F.col("changed").cast("int")).over(in_order()))
        .where(F.col("change") > 0)
    )


# -- the table -------------------------------------------------------------------------------------------------------

_BEST = ("kraft_log", "kraft_snapshot", "snapshot", "journal", "request_log")


def history(
    change_event: DataFrame,
    snapshot: DataFrame,
    tolerance: timedelta = TOLERANCE,
    now: datetime | None = None,
    touched: Touched | None = None,
) -> DataFrame:
    """HISTORY's rows. change_event, snapshot: the tables of these names. tolerance: how far clocks may be apart.

    now: until when polls may be missing (`coverage_gaps`); None: the latest poll of any cluster. What the first poll of
    a cluster shows is valid from that poll. touched: what the rows are about (None: everything).
    """
    covers = log_covers(change_event)
    values = changed_values(counted(cut(change_event, touched), snapshot, covers, tolerance), tolerance)
    gaps = coverage_gaps(snapshot, covers.select("cluster_id", "from_ts", "to_ts"), now)
    return cut(_rows(values, tolerance).unionByName(_gap_rows(gaps)), touched).select(*HISTORY.names)


def _rows(values: DataFrame, tolerance: timedelta) -> DataFrame:
    """A row for each change, with what its repeated reports add."""
    told = ("ts", "source", "is_set", "value", "principal", "attribution", "uncertainty_ms")
    echo = F.when(
        ~F.col("changed") & ~F.col("source").isin("kraft_log", POLL),
        F.struct("ts", "source", "principal", "attribution", "uncertainty_ms"),
    )
    changes = (
        values.groupBy(*ATTRIBUTE, "change")
        .agg(F.max(F.when(F.col("changed"), F.struct(*told))).alias("told"), F.collect_list(echo).alias("echoes"))
        .withColumn("echoes", F.filter("echoes", _of_same_change(tolerance)))
    )
    with_time = changes.select(*ATTRIBUTE, "change", "told.*", _best_source().alias("best"), *_author())
    # Two changes within the clock's millisecond get times a microsecond apart.
    at_once = Window.partitionBy(*ATTRIBUTE, "ts").orderBy("change")
    apart = F.timestamp_micros(F.unix_micros("ts") + F.row_number().over(at_once) - 1)
    following = Window.partitionBy(*ATTRIBUTE).orderBy("change")
    return with_time.withColumn("valid_from", apart).select(
        *ATTRIBUTE,
        F.lag("value").over(following).alias("old_value"),
        F.col("value").alias("new_value"),
        "valid_from",
        F.lead("valid_from").over(following).alias("valid_to"),
        F.lead("valid_from").over(following).isNull().alias("is_current"),
        (~F.col("is_set")).alias("is_deleted"),
        F.col("by").alias("principal"),
        F.col("by_what").alias("attribution"),
        F.col("best").alias("source"),
    )


def _of_same_change(tolerance: timedelta) -> Callable[[Column], Column]:
    def same(each: Column) -> Column:
        began = F.timestamp_micros(F.unix_micros(each["ts"]) - each["uncertainty_ms"] * 1000)
        return (each["uncertainty_ms"] < 0) | (began - micros(tolerance) <= F.col("told.ts"))

    return same


def _best_source() -> Column:
    sources = F.concat(
        F.array(F.when(F.col("told.source") == POLL, F.lit("snapshot")).otherwise(F.col("told.source"))),
        F.transform("echoes", lambda each: each["source"]),
    )
    best = F.lit(None).cast("string")
    for source in reversed(_BEST):
        best = F.when(F.array_contains(sources, source), F.lit(source)).otherwise(best)
    return best


def _author() -> list[Column]:
    """The author that was found for a change of the log or of polls; else the one who reports it, with all who report
    the same at that time."""
    told = F.col("told")
    authors = F.concat(
        F.array(F.struct("told.principal", "told.attribution")),
        F.transform(
            F.filter("echoes", lambda each: each["source"].isin(*AUTHORS)),
            lambda each: F.struct(each["principal"].alias("principal"), each["attribution"].alias("attribution")),
        ),
    )
    known = F.filter(authors, lambda each: each["principal"].contains(":"))
    fitting = F.when(F.size(known) > 0, known).otherwise(authors)
    names = F.array_sort(F.array_distinct(F.transform(fitting, lambda each: each["principal"])))
    by_journal = F.exists(authors, lambda each: each["attribution"] == "journal")
    by_author = told["source"].isin(*AUTHORS)
    return [
        F.when(by_author, F.array_join(names, ", ")).otherwise(told["principal"]).alias("by"),
        F.when(~by_author, told["attribution"])
        .when(F.size(names) > 1, "several")
        .when(by_journal, "journal")
        .otherwise("request")
        .alias("by_what"),
    ]


def _gap_rows(gaps: DataFrame) -> DataFrame:
    return gaps.select(
        "cluster_id",
        F.lit(CLUSTER).alias("entity_type"),
        F.col("cluster_id").alias("entity_key"),
        F.lit(UNOBSERVED).alias("attr"),
        F.lit(None).cast("string").alias("old_value"),
        F.lit(None).cast("string").alias("new_value"),
        "valid_from",
        "valid_to",
        F.col("valid_to").isNull().alias("is_current"),
        F.lit(False).alias("is_deleted"),
        F.lit(None).cast("string").alias("principal"),
        F.lit("none").alias("attribution"),
        F.lit("snapshot").alias("source"),
    )
