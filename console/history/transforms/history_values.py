"""The value of each attribute after each event, in the order of its time, and which events changed it.

Works on `history_events`' columns; adds is_set, and `change`: how many changes of the attribute there were up to here.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from .change_event_request import changed_list
from .history_events import AUTHORS, LOG, LOOK, micros
from .kraft_state import ATTRIBUTE

_SEEN = ("snapshot", LOOK)
_ADDS = ("append", "subtract")


def in_order() -> WindowSpec:
    """The events of an attribute, always in the same order, whatever the order and the cut of the input."""
    return Window.partitionBy(*ATTRIBUTE).orderBy(
        "ts", "rank", "log_offset", "op", "value", "digest", "principal", "client_id", "uncertainty_ms"
    )


def changed_values(events: DataFrame, tolerance: timedelta) -> DataFrame:
    """The events less those that say nothing, with the value that each left behind."""
    valued = _whole_lists(_answered(events))
    return _numbered(_without_echoes(_without_early_looks(valued, tolerance)), tolerance)


def _answered(events: DataFrame) -> DataFrame:
    """A `look` says what the last difference between looks left behind, or of the log; where there was none, that there
    is nothing."""
    is_look = F.col("source") == LOOK
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
    """What is added to a list or taken from it becomes the whole list, where it is known what it was before. Where
    there was nothing, brokers start from their own default: then it is not known."""
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


def _without_early_looks(events: DataFrame, tolerance: timedelta) -> DataFrame:
    """A look that shows a value shortly before its change was made has another clock."""
    later = in_order()

    def told_at(rows: int) -> Column:
        same = (F.lead("is_set", rows).over(later) == F.col("is_set")) & F.lead("digest", rows).over(later).eqNullSafe(
            F.col("digest")
        )
        soon = F.lead("ts", rows).over(later) <= F.col("ts") + micros(tolerance)
        return same & soon & ~F.lead("source", rows).over(later).isin(*_SEEN)

    behind_look = (F.lead("source").over(later) == LOOK) & told_at(2)
    early = (F.col("source") == "snapshot") & (told_at(1) | behind_look)
    return events.withColumn("early", F.coalesce(early, F.lit(False))).where(~F.col("early")).drop("early")


def _without_echoes(events: DataFrame) -> DataFrame:
    """Without what looks show less of than is known: a hidden value that is still set, one of many endpoints, nothing
    of a broker that is down."""
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
    # Of a credential the log has what no look shows: what a look shows is the same, or it is another.
    shown_again = F.col("source").isin(*_SEEN) & (F.col("value") == last["value"])
    by_author = F.col("source").isin(*AUTHORS)
    # The journal and the request log both tell of a hidden value that was set once.
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
