"""What follows from `history`: `quota_usage` and `quota_suggestion`, ten minutes of a cluster at a time; and, with the
operator's files, `drift` and `policy_violation`. All of it in executors' tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from console.pipeline.entities import CLUSTER, POLL_SOURCES
from console.pipeline.policy_files import Policy, Wanted
from console.pipeline.schema import (
    DRIFT,
    HISTORY,
    POLICY_VIOLATION,
    QUOTA_SUGGESTION,
    QUOTA_USAGE,
    REQUEST,
    SNAPSHOT,
)
from console.pipeline.tables import Batch, Tables, given, of_clusters, taken
from console.pipeline.transforms.drift import A_PAIR, drift_between, drift_within
from console.pipeline.transforms.policy_violation import policy_violation
from console.pipeline.transforms.quota_usage import (
    FIGURES,
    HOUR,
    LIMITING,
    PART_MINUTES,
    PART_SECONDS,
    SCOPE,
    WINDOW_SECONDS,
    Limits,
    suggestions,
    used_minutes,
)
from console.pipeline.transforms.rows import differing, holding, parted, rows_of

# -- usage -------------------------------------------------------------------------------------------------------------

_HOURS = pa.schema([("cluster_id", pa.string()), ("hour", pa.int64())])


def make_usage(tables: Tables, hours: Iterable[tuple[str, int]], whole: frozenset[str], batch: Batch) -> None:
    """Make the minutes of these hours (clusters, and hours since 1970), and those of all hours of whole clusters, whose
    limits differ; and what all minutes of their clusters suggest.
    """
    wanted = set(hours)
    # A rate reaches back ten seconds: out of the hour after.
    wanted |= {(cluster, hour + 1) for cluster, hour in wanted}
    clusters = whole | {cluster for cluster, _ in wanted}
    seconds = tables.read(REQUEST).where(of_clusters(clusters)).where("second IS NOT NULL").select("second.*")
    at = F.unix_seconds("second")
    of_parts = F.array_distinct(F.array(_part(at), _part(at + WINDOW_SECONDS - 1)))
    placed = seconds.withColumn("part", F.explode(of_parts))
    by_part = placed.withColumn("hour", F.floor(F.col("part") * PART_SECONDS / HOUR))
    some = [(cluster, hour) for cluster, hour in wanted if cluster not in whole]
    of_some = by_part.join(F.broadcast(given(tables.spark, some, _HOURS)), ["cluster_id", "hour"], "left_semi")
    by_part = by_part.where(F.col("cluster_id").isin(sorted(whole))).unionByName(of_some).drop("hour")
    history = tables.newest(HISTORY, of_clusters(clusters))
    # A column more is one more in each row of seconds, too.
    quotas = history.where("entity_type = 'quota'").select("cluster_id", *LIMITING, F.lit("quota").alias("of"))
    first = _first_polls(history, "valid_from").withColumn("of", F.lit("first"))
    limits = quotas.unionByName(first, allowMissingColumns=True)
    of_part = by_part.select("cluster_id", "part").distinct().join(limits, "cluster_id")
    rows = by_part.withColumn("of", F.lit("second")).unionByName(of_part, allowMissingColumns=True)
    # Groups are made by sorting: it takes no more of the processor to have each in order, what has no second first.
    ordered = rows.repartition("cluster_id", "part").sortWithinPartitions("cluster_id", "part", "second")
    made = ordered.groupBy("cluster_id", "part").applyInArrow(_minutes, QUOTA_USAGE.ddl)
    tables.append(made, QUOTA_USAGE, batch)
    minutes = tables.newest(QUOTA_USAGE, of_clusters(clusters))
    figures = minutes.groupBy(*SCOPE).agg(*(F.expr(sql).alias(name) for name, sql in FIGURES.items()))
    judged = figures.mapInArrow(_suggested, QUOTA_SUGGESTION.ddl)
    tables.append(judged, QUOTA_SUGGESTION, batch)


def _first_polls(history: DataFrame, name: str) -> DataFrame:
    """Return when a poll, or a snapshot of the log, first showed something of each cluster, in a column of that
    name.
    """
    looks = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    return looks.agg(F.min("valid_from").alias(name))


def _part(seconds: Column) -> Column:
    return F.floor(seconds / PART_SECONDS)


def _minutes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the minutes of one part of an hour of a cluster. batches: what limits its users and clients, and then its
    seconds, by time: most of the rows, which are never held at once.
    """
    rows = (pa.Table.from_batches([batch]) for batch in batches)
    head = []
    for each in rows:
        head.append(each)
        if each["second"].null_count < each.num_rows:
            break
    quotas, first, seconds = parted(pa.concat_tables(head), "quota", "first", "second")
    first_poll = next((at for (at,) in rows_of(first, "valid_from")), None)
    first_minute = seconds["part"][0].as_py() * PART_MINUTES
    wanted = range(first_minute, first_minute + PART_MINUTES)
    limits = Limits(quotas, first_poll)
    yield from used_minutes(seconds["cluster_id"][0].as_py(), chain((seconds,), rows), wanted, limits).to_batches()


def _suggested(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from suggestions(pa.Table.from_batches([batch])).to_batches()


# -- policies and drift ------------------------------------------------------------------------------------------------

MOST_CLUSTERS = 100_000
BUCKETS = 64
"""That entities are compared in, those of one name in one of them."""


def judge(tables: Tables, clusters: Iterable[str], policies: Sequence[Policy], batch: Batch) -> None:
    """Make the violations of policies in these clusters again: a policy may depend on all of a cluster."""
    wanted = of_clusters(clusters)
    history = tables.newest(HISTORY, wanted).where(F.col("entity_type") != CLUSTER).withColumn("of", F.lit("history"))
    former = tables.read(POLICY_VIOLATION).where(wanted)
    former = former.select(*POLICY_VIOLATION.names, "made", F.lit("former").alias("of"))
    rows = history.unionByName(former, allowMissingColumns=True)
    made = rows.groupBy("cluster_id").applyInArrow(_violations(policies), POLICY_VIOLATION.ddl)
    tables.append(made, POLICY_VIOLATION, batch)


def _violations(policies: Sequence[Policy]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        history, former = parted(rows, "history", "former")
        found = policy_violation(history.select(HISTORY.names), policies)
        return differing(POLICY_VIOLATION, found, holding(former, POLICY_VIOLATION))

    return make


def compare(tables: Tables, baseline: Sequence[Wanted], batch: Batch) -> None:
    """Make all of `drift` again: what one cluster changes may be odd in another."""
    history = tables.newest(HISTORY, F.lit(True))
    # Of the cluster itself too: what was not observed says when a first look was.
    first = _first_polls(history, "first_poll")
    current = (
        history.where("is_current")
        .where(F.col("entity_type") != CLUSTER)
        .join(F.broadcast(first), "cluster_id", "left")
        .withColumn("of", F.lit("now"))
    )
    everywhere = [cluster for (cluster,) in taken(current.select("cluster_id").distinct(), MOST_CLUSTERS)]
    seen = tables.read(SNAPSHOT).where("kind = 'state' AND entity_type = 'broker'").withColumn("of", F.lit("seen"))
    mine = current if baseline else current.where("entity_type = 'broker'")
    within = mine.unionByName(seen.select(*SNAPSHOT.names, "of"), allowMissingColumns=True)
    made = within.groupBy("cluster_id").applyInArrow(_within(baseline), DRIFT.ddl)
    if len(everywhere) > A_PAIR:
        place = F.pmod(F.xxhash64("entity_type", "entity_key"), F.lit(BUCKETS)).alias("place")
        between = current.where("entity_type IN ('topic', 'quota', 'broker')").groupBy(place)
        made = made.unionByName(between.applyInArrow(_between(everywhere), DRIFT.ddl))
    tables.overwrite(made, DRIFT, batch)


def _within(baseline: Sequence[Wanted]) -> Callable[[pa.Table], pa.Table]:
    def make(rows: pa.Table) -> pa.Table:
        now, seen = parted(rows, "now", "seen")
        return drift_within(now, seen, baseline)

    return make


def _between(everywhere: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: drift_between(rows, everywhere)
