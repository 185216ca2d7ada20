"""Finds the author of a change: the requests and journal entries whose time covers it and whose content is the same.

If exactly one author fits, it is named; if several do, all are named; never a guess. Those whose own time covers the
change are preferred to those that are off by a little, and these to those that are off by more: see `STEPS`. A request
that set a value again fits as well as the one that changed it, if both fit in time: then both are named.

The same content is: a value that is set; for a hidden value, its name alone; for `append` a list that has all items,
for `subtract` one that has none of them. A topic's deletion deletes all its attributes, its creation also sets its id,
and ALTER_CONFIGS, which replaces everything, deletes the configs that it does not name. A journal that does not know
the principal (`certificate`) gives way to requests, which do.
"""

from __future__ import annotations

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from console.history.transforms.kraft_changes import ATTRIBUTE

TOLERANCE = timedelta(seconds=2)
"""How far the clocks of brokers and hosts may be apart."""
STEPS = (timedelta(milliseconds=25), timedelta(milliseconds=250))
"""How far a change may be from its request: on one host, where a line is logged a little after the request's end and
its start is computed from there; and in one data centre. Requests that are further off count only if none is as near.
"""
_MICROSECOND = timedelta(microseconds=1)
_ALL = "*"
_ALL_CONFIGS = "* configs"
_OF_LOG = timedelta(minutes=1)
_OF_POLLS = timedelta(days=1)
"""Time is cut into pieces of this length, so that changes join authors by equality: a record has one time and requests
are short, but the time between two polls is long."""


def attributed(changes: DataFrame, authors: DataFrame, tolerance: timedelta = TOLERANCE) -> DataFrame:
    """The changes with principal, client_id, client_host and attribution.

    changes: of the log and of polls, CHANGE_EVENT's columns without those. authors: rows of `change_event.AUTHOR`.
    """
    sought = _sought(changes).alias("c")
    offered = _offered(authors, tolerance).alias("a")
    in_time = (F.col("a.from_ts") <= F.col("c.event_ts")) & (F.col("a.to_ts") >= F.col("c.since_ts"))
    meet = [F.col(f"c.{name}") == F.col(f"a.{name}") for name in (*ATTRIBUTE[:3], "piece", "by_attr")]
    off = F.greatest(
        F.unix_micros("a.start_ts") - F.unix_micros("c.event_ts"),
        F.unix_micros("c.since_ts") - F.unix_micros("a.end_ts"),
        F.lit(0),
    )
    steps = (timedelta(0), *STEPS)
    author = F.when(
        F.col("a.principal").isNotNull(),
        F.struct(
            sum((F.when(off > step / _MICROSECOND, 1).otherwise(0) for step in steps), F.lit(0)).alias("tier"),
            *(F.col(f"a.{name}") for name in ("principal", "client_id", "client_host", "told_by", "is_copy")),
        ),
    )
    return (
        sought.join(offered, on=[*meet, in_time, _same_content()], how="left")
        .select(*(F.col(f"c.{name}") for name in changes.columns), author.alias("author"))
        .groupBy(*changes.columns)
        .agg(F.collect_set("author").alias("authors"))
        .select(*changes.columns, *_named())
    )


def _sought(changes: DataFrame) -> DataFrame:
    """The changes, once for each attribute and piece of time by which authors may be found."""
    deleted = F.col("op") == "delete"
    by = F.array(
        F.col("attr"),
        F.when(deleted & (F.col("entity_type") == "topic"), F.lit(_ALL)),
        F.when(deleted & ~F.col("attr").startswith(":"), F.lit(_ALL_CONFIGS)),
    )
    since = F.timestamp_micros(F.unix_micros("event_ts") - F.col("ts_uncertainty_ms") * 1000)
    pieces = F.when(F.col("source") == "kraft_log", _pieces("since_ts", "event_ts", _OF_LOG)).when(
        F.col("ts_uncertainty_ms") >= 0, _pieces("since_ts", "event_ts", _OF_POLLS)
    )
    return (
        changes.withColumn("since_ts", since)
        .withColumn("by_attr", F.explode(F.array_compact(by)))
        .withColumn("piece", F.explode_outer(pieces))
    )


def _offered(authors: DataFrame, tolerance: timedelta) -> DataFrame:
    """The authors, once for each attribute that they may have changed (`by_attr`) and each piece of their widened
    time."""
    is_topic = F.col("entity_type") == "topic"
    deletes_topic = is_topic & (F.col("op") == "delete") & (F.col("attr") == ":topic_id")
    # A topic's replication is that of its first partition; a reassignment names the wanted replicas.
    reassigns = is_topic & (F.col("op") == "set") & (F.col("attr") == ":reassignment/0")
    replicas = F.size(F.split("value", ",")).cast("string")
    creates_topic = is_topic & (F.col("op") == "set") & (F.col("attr") == ":replication")
    creates_topic &= F.coalesce(F.col("api") == "CREATE_TOPICS", F.lit(True))
    replaces = F.coalesce(F.col("api") == "ALTER_CONFIGS", F.lit(False))
    own = _covers(F.col("attr"), F.col("op"), F.col("value"))
    nothing = F.lit(None).cast("string")
    covered = F.array(
        own,
        F.when(deletes_topic, _covers(F.lit(_ALL), F.lit("delete"), nothing)),
        F.when(creates_topic, _covers(F.lit(":topic_id"), F.lit("set"), nothing)),
        F.when(reassigns, _covers(F.lit(":replication"), F.lit("set"), replicas)),
        F.when(replaces, _covers(F.lit(_ALL_CONFIGS), F.lit("delete"), nothing)),
    )
    more = F.expr(f"INTERVAL {int(tolerance.total_seconds() * 1e6)} MICROSECONDS")
    return (
        authors.withColumn("covers", F.explode(covered))
        .where(F.col("covers").isNotNull())
        .drop("attr", "op", "value")
        .select("*", "covers.*")
        .withColumn("from_ts", F.col("start_ts") - more)
        .withColumn("to_ts", F.col("end_ts") + more)
        .withColumn(
            "piece",
            F.explode(F.concat(_pieces("from_ts", "to_ts", _OF_LOG), _pieces("from_ts", "to_ts", _OF_POLLS))),
        )
    )


def _covers(attr: Column, op: Column, value: Column) -> Column:
    return F.struct(attr.alias("by_attr"), op.alias("op"), value.alias("value"))


def _pieces(first: str, last: str, piece: timedelta) -> Column:
    """The pieces of time from first to last, by their length and number."""
    micros = int(piece.total_seconds() * 1e6)
    numbers = F.sequence(F.floor(F.unix_micros(first) / micros), F.floor(F.unix_micros(last) / micros))
    return F.transform(numbers, lambda number: F.struct(F.lit(micros).alias("length"), number.alias("number")))


def _same_content() -> Column:
    asked, became = F.col("a.value"), F.col("c.value")
    was_set = F.col("c.op") == "set"
    hidden = asked.isNull() | became.isNull()
    items, those = F.split(asked, ","), F.split(became, ",")
    return (
        F.when(F.col("a.op") == "set", was_set & (hidden | (asked == became)))
        .when(F.col("a.op") == "delete", ~was_set)
        .when(F.col("a.op") == "append", was_set & (hidden | (F.size(F.array_except(items, those)) == 0)))
        .when(F.col("a.op") == "subtract", was_set & (hidden | ~F.arrays_overlap(items, those)))
    )


def _named() -> list[Column]:
    """The author's columns, from all authors that fit."""
    best = F.array_min(F.transform("authors", lambda each: each["tier"]))
    fitting = F.filter("authors", lambda each: each["tier"] == best)
    by_request = F.filter(fitting, lambda each: each["told_by"] == "request")
    by_journal = F.filter(fitting, lambda each: each["told_by"] == "journal")
    all_names = _distinct(fitting, "principal")
    names = F.filter(all_names, lambda each: each.contains(":"))
    principals = F.when(F.size(names) > 0, names).otherwise(all_names)
    # A forwarded copy may be the one that fits, yet only its original has the client's address.
    originals = F.filter("authors", lambda each: ~each["is_copy"] & F.array_contains(principals, each["principal"]))
    own = F.filter(originals, lambda each: each["told_by"] == "request")
    copies = F.when(F.size(own) > 0, own).otherwise(by_request)
    hosts = F.when(F.size(copies) > 0, _distinct(copies, "client_host")).otherwise(_distinct(by_journal, "client_host"))
    alone = F.size(principals) == 1
    return [
        F.when(F.size(principals) > 0, F.array_join(F.array_sort(principals), ", ")).alias("principal"),
        F.when(alone, _only(_distinct(by_request, "client_id"))).alias("client_id"),
        F.when(alone, _only(hosts)).alias("client_host"),
        F.when(F.size(principals) == 0, "none")
        .when(~alone, "several")
        .when(F.size(by_journal) > 0, "journal")
        .otherwise("request")
        .alias("attribution"),
    ]


def _distinct(authors: Column, name: str) -> Column:
    return F.array_compact(F.array_distinct(F.transform(authors, lambda each: each[name])))


def _only(values: Column) -> Column:
    return F.when(F.size(values) == 1, F.get(values, F.lit(0)))
