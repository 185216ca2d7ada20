"""`quota_usage` and `quota_suggestion`: an hour of a cluster at a time, in executors' tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from console.history.entities import POLL_SOURCES
from console.history.requests.counted import added_up
from console.history.schema import HISTORY, QUOTA_SUGGESTION, QUOTA_USAGE, REQUEST, REQUEST_1S
from console.history.tables import Batch, Tables, given, of_clusters
from console.history.transforms.quota_usage import (
    FIGURES,
    HOUR,
    SCOPE,
    WINDOW_SECONDS,
    Limits,
    suggestions,
    used_minutes,
)
from console.history.transforms.rows import rows_of

_HOURS = pa.schema([("cluster_id", pa.string()), ("hour", pa.int64())])


def make_usage(tables: Tables, hours: Iterable[tuple[str, int]], whole: frozenset[str], batch: Batch) -> None:
    """Makes the minutes of these hours (clusters, and hours since 1970), and those of all hours of whole clusters,
    whose limits differ; and what all minutes of their clusters suggest."""
    wanted = set(hours)
    # A rate reaches back ten seconds: out of the hour after.
    wanted |= {(cluster, hour + 1) for cluster, hour in wanted}
    clusters = whole | {cluster for cluster, _ in wanted}
    seconds = tables.read(REQUEST).where(of_clusters(clusters)).where("second IS NOT NULL").select("second.*")
    at = F.unix_seconds("second")
    of_hours = F.array_distinct(F.array(_hour(at), _hour(at + WINDOW_SECONDS - 1)))
    by_hour = seconds.withColumn("hour", F.explode(of_hours))
    some = [(cluster, hour) for cluster, hour in wanted if cluster not in whole]
    of_some = by_hour.join(F.broadcast(given(tables.spark, some, _HOURS)), ["cluster_id", "hour"], "left_semi")
    by_hour = by_hour.where(F.col("cluster_id").isin(sorted(whole))).unionByName(of_some)
    history = tables.newest(HISTORY, of_clusters(clusters))
    quotas = history.where("entity_type = 'quota'").withColumn("of", F.lit("quota"))
    looks = history.where(F.col("source").isin(*POLL_SOURCES)).groupBy("cluster_id")
    first = looks.agg(F.min("valid_from").alias("valid_from")).withColumn("of", F.lit("first"))
    limits = quotas.unionByName(first, allowMissingColumns=True)
    of_hour = by_hour.select("cluster_id", "hour").distinct().join(limits, "cluster_id")
    rows = by_hour.withColumn("of", F.lit("second")).unionByName(of_hour, allowMissingColumns=True)
    made = rows.groupBy("cluster_id", "hour").applyInArrow(_minutes, QUOTA_USAGE.ddl)
    tables.append(made, QUOTA_USAGE, batch)
    minutes = tables.newest(QUOTA_USAGE, of_clusters(clusters))
    figures = minutes.groupBy(*SCOPE).agg(*(F.expr(sql).alias(name) for name, sql in FIGURES.items()))
    judged = figures.mapInArrow(_suggested, QUOTA_SUGGESTION.ddl)
    tables.append(judged, QUOTA_SUGGESTION, batch)


def _hour(seconds: Column) -> Column:
    return F.floor(seconds / HOUR)


def _minutes(rows: pa.Table) -> pa.Table:
    """The minutes of one hour of a cluster. rows: its seconds, and the limits of the cluster."""
    of = {name: rows.filter(pc.equal(rows["of"], name)) for name in ("second", "quota", "first")}
    first = next((at for (at,) in rows_of(of["first"], "valid_from")), None)
    seconds = added_up(of["second"].select(REQUEST_1S.names))
    return used_minutes(seconds, rows["hour"][0].as_py(), Limits(of["quota"].select(HISTORY.names), first))


def _suggested(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from suggestions(pa.Table.from_batches([batch])).to_batches()
